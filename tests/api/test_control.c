/* <kandela/control.h>: threads, progress, cancellation, messages and memory of calls. */
#include "tests/test.h"
#include <kandela/clouds.h>
#include <kandela/control.h>
#include <kandela/machine.h>
#include <kandela/ray_scenes.h>
#include <kandela/render.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#define expect_ok(call)                                                                            \
    do {                                                                                           \
        if ((call) != KD_OK) fail_msg("%s: %s", #call, kd_last_error());                           \
    } while (0)

enum { POINTS = 20000, SIDE = 60, TRIANGLES = 2 * SIDE * SIDE };

static float cloud[POINTS][3], corners[(SIDE + 1) * (SIDE + 1)][3];
static uint32_t faces[TRIANGLES][3];
static const kd_scene_mesh ground = {
    "ground", corners[0], (SIDE + 1) * (SIDE + 1), faces[0], TRIANGLES, NULL, NULL};

/* --- An allocator that counts, with a header that only its own release finds --- */

static atomic_llong blocks;

static void *count_allocate(void *context, size_t bytes, size_t alignment) {
    char *block = (char *)aligned_alloc(alignment, bytes + alignment);
    assert_ptr_equal(context, &blocks);
    if (!block) return NULL;
    atomic_fetch_add(&blocks, 1);
    return block + alignment;
}

static void count_release(void *context, void *memory) {
    (void)context;
    atomic_fetch_sub(&blocks, 1);
    free((char *)memory - 64);
}

static int set_up(void **state) {
    (void)state;
    for (int i = 0; i < POINTS; ++i)
        for (int axis = 0; axis < 3; ++axis)
            cloud[i][axis] =
                (float)(((uint32_t)i * (uint32_t)(axis + 7) * 2654435761u) >> 8) * 0x1p-24f;
    for (int i = 0; i <= SIDE; ++i)
        for (int j = 0; j <= SIDE; ++j) {
            float *at = corners[i * (SIDE + 1) + j];
            at[0] = (float)i / SIDE - 0.5f;
            at[1] = 0.1f * cloud[i * SIDE + j][0];
            at[2] = (float)j / SIDE - 0.5f;
            if (i == SIDE || j == SIDE) continue;
            const uint32_t first = (uint32_t)(i * (SIDE + 1) + j), next = first + SIDE + 1;
            uint32_t *face = faces[2 * (i * SIDE + j)];
            face[0] = first, face[1] = first + 1, face[2] = next;
            face[3] = next, face[4] = first + 1, face[5] = next + 1;
        }
    const kd_allocator counting = {sizeof counting, &blocks, count_allocate, count_release};
    return kd_allocator_set(&counting) != KD_OK;
}

static int tear_down(void **state) {
    (void)state;
    return kd_allocator_set(NULL) != KD_OK;
}

static kd_points *open_points(int32_t threads) {
    kd_points *tree = NULL;
    kd_points_options options;
    const kd_point_array points = kd_point_array_make(cloud, POINTS, 3, KD_FLOAT);
    kd_points_options_default(&options);
    options.threads = threads;
    expect_ok(kd_points_open(&tree, &points, &options));
    return tree;
}

static kd_triangles *open_triangles(void) {
    kd_triangles *tree = NULL;
    const kd_triangle_mesh mesh =
        kd_triangle_mesh_make(corners[0], (SIDE + 1) * (SIDE + 1), faces[0], TRIANGLES);
    expect_ok(kd_triangles_open(&tree, &mesh, NULL));
    return tree;
}

/* --- Threads --- */

static pthread_t caller;
static atomic_int elsewhere; /* visits by other threads */

static double note_thread(void *context, uint64_t query, uint64_t id, double dist2, double bound) {
    (void)context, (void)query, (void)id, (void)dist2;
    if (!pthread_equal(pthread_self(), caller)) atomic_fetch_add(&elsewhere, 1);
    return bound;
}

/* Returns how many points threads other than the caller visit. */
static int visits_elsewhere(const kd_points *tree) {
    kd_points_query query;
    kd_points_query_default(&query);
    query.points = kd_point_array_make(cloud, POINTS, 3, KD_FLOAT);
    query.max_radius = 0.02;
    atomic_store(&elsewhere, 0);
    expect_ok(kd_points_visit(tree, &query, note_thread, NULL));
    return atomic_load(&elsewhere);
}

static void *visit_in_thread(void *tree) {
    caller = pthread_self();
    return (void *)(intptr_t)visits_elsewhere((const kd_points *)tree);
}

static void threads_of_trees_and_calls(void **state) {
    (void)state;
    kd_call call;
    kd_call_default(&call);
    kd_threads_set(4);
    caller = pthread_self();
    kd_points *one = open_points(1), *all = open_points(0);
    assert_int_equal(visits_elsewhere(one), 0);
    int others = 0;
    for (int i = 0; i < 100 && !others; ++i) others = visits_elsewhere(all);
    assert_true(others > 0);
    call.threads = 1;
    expect_ok(kd_call_set(&call));
    assert_int_equal(visits_elsewhere(all), 0);
    assert_int_equal(kd_threads(), 4); /* the process keeps its number */
    call.threads = 3;                  /* the call precedes the tree */
    expect_ok(kd_call_set(&call));
    for (int i = others = 0; i < 100 && !others; ++i) others = visits_elsewhere(one);
    assert_true(others > 0);
    pthread_t other; /* other threads have their own settings */
    void *visits = NULL;
    assert_int_equal(pthread_create(&other, NULL, visit_in_thread, one), 0);
    assert_int_equal(pthread_join(other, &visits), 0);
    assert_null(visits);
    call.threads = -1;
    assert_int_equal(kd_call_set(&call), KD_ERROR_USAGE);
    expect_ok(kd_call_set(NULL));
    kd_points_close(one);
    kd_points_close(all);
    kd_threads_set(0);
}

static void rendering_keeps_the_number_of_the_process(void **state) {
    (void)state;
    kd_scene *scene = NULL;
    kd_image *image = NULL;
    kd_render_options options;
    const kd_scene_parts parts = {.struct_size = sizeof parts, .meshes = &ground, .mesh_count = 1};
    kd_render_options_default(&options);
    options.width = options.height = 8;
    options.spp = 1;
    kd_threads_set(2);
    expect_ok(kd_scene_make(&scene, &parts, &options));
    expect_ok(kd_render(&image, scene, &options, NULL, NULL));
    assert_int_equal(kd_threads(), 2);
    kd_image_close(image);
    kd_scene_close(scene);
    kd_threads_set(0);
}

static void cameras_and_lights_are_those_of_a_description(void **state) {
    (void)state;
    static const char text[] =
        "{\"kandela\": 1, \"meshes\": [{\"file\": \"mesh:ground\"}],"
        " \"camera\": {\"eye\": [0.5, 1, 1.5], \"look_at\": [0, 0.1, 0], \"fov\": 35},"
        " \"lights\": [{\"kind\": \"point\", \"position\": [0, 1, 0], \"intensity\": [1, 2, 3],"
        " \"radius\": 0.1}, {\"kind\": \"spot\", \"position\": [0.5, 1, 0], \"direction\":"
        " [0, -1, 0], \"intensity\": 2, \"inner_degrees\": 5}, {\"kind\": \"directional\","
        " \"direction\": [1, -1, 0], \"irradiance\": 1, \"angle_degrees\": 2}, {\"kind\": \"area\","
        " \"corner\": [0, 2, 0], \"edge_u\": [0.2, 0, 0], \"edge_v\": [0, 0, 0.2],"
        " \"radiance\": 3, \"camera_visible\": false}]}";
    const kd_scene_camera camera = {.eye = {0.5, 1, 1.5}, .look_at = {0, 0.1, 0}, .fov = 35};
    kd_scene_light lights[] = {
        {.position = {0, 1, 0}, .emission = {1, 2, 3}, .radius = 0.1},
        {.kind = KD_LIGHT_SPOT,
         .position = {0.5, 1, 0},
         .direction = {0, -1, 0},
         .emission = {2, 2, 2},
         .inner = 5},
        {.kind = KD_LIGHT_DIRECTIONAL, .direction = {1, -1, 0}, .emission = {1, 1, 1}, .angle = 2},
        {.kind = KD_LIGHT_AREA,
         .hidden = 1,
         .position = {0, 2, 0},
         .edges = {{0.2, 0, 0}, {0, 0, 0.2}},
         .emission = {3, 3, 3}}};
    const char body[] = " {\"kandela\": 1, \"meshes\": [{\"file\": \"mesh:ground\"}] } \n";
    kd_scene_parts parts = {.struct_size = sizeof parts,
                            .meshes = &ground,
                            .mesh_count = 1,
                            .camera = &camera,
                            .lights = lights,
                            .light_count = 4};
    uint64_t hashes[3];
    kd_scene *scene = NULL;
    for (int i = 0; i < 3; ++i) {
        kd_image *image = NULL;
        kd_render_options options;
        kd_render_options_default(&options);
        options.width = options.height = 16;
        options.spp = 2;
        parts.text = i == 1 ? body : NULL;
        parts.bytes = sizeof body - 1;
        expect_ok(i < 2
                      ? kd_scene_make(&scene, &parts, &options)
                      : kd_scene_parse(&scene, text, sizeof text - 1, NULL, &ground, 1, &options));
        assert_true(kd_scene_count(scene).lights >= 4);
        expect_ok(kd_render(&image, scene, &options, NULL, NULL));
        hashes[i] = kd_image_hash(image);
        kd_image_close(image);
        kd_scene_close(scene);
    }
    assert_true(hashes[0] == hashes[2] && hashes[1] == hashes[2]);
}

static void parts_of_scenes_are_checked(void **state) {
    (void)state;
    kd_scene_light light = {
        .kind = KD_LIGHT_SPOT, .position = {0.5, 1, 0}, .direction = {0, -1, 0}, .inner = 5};
    kd_scene_parts parts = {.struct_size = sizeof parts,
                            .meshes = &ground,
                            .mesh_count = 1,
                            .lights = &light,
                            .light_count = 1};
    kd_scene *scene = NULL;
    light.emission[0] = -1;
    assert_int_equal(kd_scene_make(&scene, &parts, NULL), KD_ERROR_INPUT);
    assert_non_null(strstr(kd_last_error(), "lights[0]"));
    light.emission[0] = (double)NAN;
    assert_int_equal(kd_scene_make(&scene, &parts, NULL), KD_ERROR_INPUT);
    assert_non_null(strstr(kd_last_error(), "lights[0].intensity: found nan"));
    light.kind = (kd_scene_light_kind)7;
    assert_int_equal(kd_scene_make(&scene, &parts, NULL), KD_ERROR_USAGE);

    kd_scene_camera camera = {.eye = {0.5, 1, 1.5}, .look_at = {0, 0.1, 0}, .fov = 35};
    parts.camera = &camera;
    parts.light_count = 0;
    camera.up[0] = camera.up[1] = camera.up[2] = (double)NAN; /* the default */
    expect_ok(kd_scene_make(&scene, &parts, NULL));
    kd_scene_close(scene);
    camera.up[1] = 1;
    assert_int_equal(kd_scene_make(&scene, &parts, NULL), KD_ERROR_INPUT);
    assert_non_null(strstr(kd_last_error(), "camera.up: found nan"));
    const kd_scene_mesh two[] = {ground, ground}; /* which of them a name means is unknown */
    parts = (kd_scene_parts){.struct_size = sizeof parts, .meshes = two, .mesh_count = 2};
    assert_int_equal(kd_scene_make(&scene, &parts, NULL), KD_ERROR_INPUT);
    assert_non_null(strstr(kd_last_error(), "both called \"ground\""));
}

/* --- Progress and cancellation --- */

typedef struct watch {
    int calls, stop_at; /* cancels in this call; 0: never */
    bool strange;       /* called by another thread, or with an impossible number */
    char stages[64];
} watch;

static int watch_progress(void *context, const char *stage, int64_t done, int64_t total) {
    watch *seen = (watch *)context;
    if (!pthread_equal(pthread_self(), caller) || done < 0 || done > total) seen->strange = true;
    if (!strstr(seen->stages, stage) && strlen(seen->stages) + strlen(stage) < 60)
        strcat(strcat(seen->stages, stage), " ");
    return ++seen->calls == seen->stop_at;
}

static uint32_t ids[POINTS];
static float dist2[POINTS];
static kd_ray rays[POINTS];
static kd_ray_hit hits[POINTS];
static kd_near_triangle near[POINTS];
static double winding[POINTS];
static int64_t labels[POINTS];

/* Each makes one call; `points`, `triangles` and `scene` are open. */
static kd_points *points;
static kd_triangles *triangles;

static kd_status call_open(void) {
    kd_points *tree = NULL;
    const kd_point_array array = kd_point_array_make(cloud, POINTS, 3, KD_FLOAT);
    const kd_status status = kd_points_open(&tree, &array, NULL);
    assert_true((status == KD_OK) == (tree != NULL));
    kd_points_close(tree);
    return status;
}
static kd_status call_update(void) {
    const kd_point_array array = kd_point_array_make(cloud, POINTS, 3, KD_FLOAT);
    const kd_status status = kd_points_update(points, &array);
    assert_int_equal(kd_points_count(points), POINTS);
    return status;
}
static kd_status call_nearest(void) {
    kd_points_query query;
    kd_points_query_default(&query);
    query.points = kd_point_array_make(cloud, POINTS, 3, KD_FLOAT);
    return kd_points_closest(points, &query, ids, dist2);
}
static kd_status call_self(void) {
    kd_points_query query;
    kd_points_query_default(&query);
    query.self = query.skip_self = 1;
    return kd_points_closest(points, &query, ids, dist2);
}
static kd_status call_mesh(void) {
    kd_triangles *tree = NULL;
    const kd_triangle_mesh mesh =
        kd_triangle_mesh_make(corners[0], (SIDE + 1) * (SIDE + 1), faces[0], TRIANGLES);
    const kd_status status = kd_triangles_open(&tree, &mesh, NULL);
    assert_true((status == KD_OK) == (tree != NULL));
    kd_triangles_close(tree);
    return status;
}
static kd_status call_rays(void) {
    return kd_triangles_intersect(triangles, rays, POINTS, hits, NULL);
}
static kd_status call_closest_point(void) {
    return kd_triangles_closest_point(triangles, cloud[0], POINTS, INFINITY, near);
}
static kd_status call_winding(void) {
    return kd_triangles_winding_number(triangles, cloud[0], POINTS, 2, winding);
}
static kd_status call_cluster(void) {
    int32_t suited;
    const kd_point_array array = kd_point_array_make(cloud, POINTS, 3, KD_FLOAT);
    return kd_clouds_cluster(&array, 0.05, 4, labels, &suited);
}
static kd_status call_density(void) {
    static double log_sums[POINTS];
    const kd_point_array array = kd_point_array_make(cloud, POINTS, 3, KD_FLOAT);
    return kd_clouds_density(&array, NULL, &array, KD_DENSITY_GAUSSIAN, 0.05, 0, 0, log_sums);
}
/* Points of more than eight dimensions, which are compared in blocks. */
static kd_status call_many_axes(void) {
    enum { AXES = 12, COUNT = POINTS * 3 / AXES };
    kd_points *tree = NULL;
    kd_points_query query;
    kd_points_query_default(&query);
    query.points = kd_point_array_make(cloud, COUNT, AXES, KD_FLOAT);
    kd_status status = kd_points_open(&tree, &query.points, NULL);
    if (status == KD_OK) status = kd_points_closest(tree, &query, ids, dist2);
    kd_points_close(tree);
    return status;
}
static kd_status call_scene(void) {
    kd_ray_scene *scene = NULL;
    uint32_t geometry;
    expect_ok(kd_ray_scene_open(&scene, 1));
    kd_status status = kd_ray_scene_add_geometry(scene, triangles, &geometry);
    const kd_ray_instance instance = kd_ray_instance_make(0);
    if (status == KD_OK) status = kd_ray_scene_add_instances(scene, &instance, 1, NULL);
    if (status == KD_OK) status = kd_ray_scene_commit(scene);
    kd_ray_scene_close(scene);
    return status;
}

static void calls_can_be_watched_and_cancelled(void **state) {
    (void)state;
    static const struct {
        kd_status (*make)(void);
        const char *stages;
    } rows[] = {
        {call_open, "build "},          {call_update, "build "},    {call_nearest, "query "},
        {call_self, "query "},          {call_mesh, "build "},      {call_rays, "query "},
        {call_closest_point, "query "}, {call_winding, "query "},   {call_cluster, "query "},
        {call_density, "query "},       {call_many_axes, "query "}, {call_scene, "build "}};
    caller = pthread_self();
    kd_threads_set(2);
    points = open_points(0);
    triangles = open_triangles();
    for (int i = 0; i < POINTS; ++i)
        rays[i] = (kd_ray){{cloud[i][0] - 0.5f, 1, cloud[i][1] - 0.5f}, 0, {0, -1, 0}, INFINITY};
    expect_ok(call_closest_point()); /* makes the trees that queries need */
    expect_ok(call_winding());
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        for (int stop_at = 0; stop_at <= 2; ++stop_at) {
            watch seen = {0, stop_at, false, ""};
            kd_call call;
            kd_call_default(&call);
            call.progress = watch_progress;
            call.context = &seen;
            const long long before = atomic_load(&blocks);
            expect_ok(kd_call_set(&call));
            const kd_status status = rows[i].make();
            expect_ok(kd_call_set(NULL));
            if (status != (stop_at ? KD_INTERRUPTED : KD_OK))
                fail_msg("row %zu, stop at %d: status %d", i, stop_at, (int)status);
            assert_string_equal(seen.stages, rows[i].stages);
            assert_false(seen.strange);
            if (rows[i].make != call_update) assert_int_equal(atomic_load(&blocks), before);
        }
        expect_ok(rows[i].make()); /* nothing stays cancelled */
    }
    kd_points_close(points);
    kd_triangles_close(triangles);
    kd_threads_set(0);
    assert_int_equal(atomic_load(&blocks), 0);
}

/* --- Messages --- */

typedef struct heard {
    int count[4];
    char last[256];
} heard;

static void hear(void *context, kd_log_level level, const char *message) {
    heard *to = (heard *)context;
    ++to->count[level];
    snprintf(to->last, sizeof to->last, "%s", message);
}

static void messages_go_to_the_caller(void **state) {
    (void)state;
    heard to = {{0}, ""};
    kd_points *tree = NULL;
    kd_log_set(hear, &to, KD_LOG_WARNING);
    assert_int_equal(kd_points_open(&tree, NULL, NULL), KD_ERROR_USAGE);
    assert_int_equal(to.count[KD_LOG_ERROR], 1);
    assert_string_equal(to.last, kd_last_error());
    tree = open_points(1 << 30); /* more threads than are useful */
    assert_int_equal(to.count[KD_LOG_WARNING], 1);
    kd_points_close(tree);
    kd_log_set(hear, &to, KD_LOG_ERROR);
    assert_int_equal(kd_triangles_cast(NULL, NULL), KD_ERROR_USAGE);
    assert_int_equal(to.count[KD_LOG_ERROR], 2);
    kd_log_set(NULL, NULL, KD_LOG_DETAIL);
    assert_int_equal(kd_triangles_cast(NULL, NULL), KD_ERROR_USAGE);
    assert_int_equal(to.count[KD_LOG_ERROR], 2);
}

/* --- Memory --- */

static void the_allocator_does_not_change_under_a_handle(void **state) {
    (void)state;
    kd_points *tree = open_points(0);
    assert_true(atomic_load(&blocks) > 0);
    assert_int_equal(kd_allocator_set(NULL), KD_ERROR_USAGE);
    kd_points_close(tree);
    assert_int_equal(atomic_load(&blocks), 0);
    const kd_allocator half = {sizeof half, NULL, count_allocate, NULL};
    assert_int_equal(kd_allocator_set(&half), KD_ERROR_USAGE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_of_trees_and_calls),
        cmocka_unit_test(rendering_keeps_the_number_of_the_process),
        cmocka_unit_test(cameras_and_lights_are_those_of_a_description),
        cmocka_unit_test(parts_of_scenes_are_checked),
        cmocka_unit_test(calls_can_be_watched_and_cancelled),
        cmocka_unit_test(messages_go_to_the_caller),
        cmocka_unit_test(the_allocator_does_not_change_under_a_handle),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
