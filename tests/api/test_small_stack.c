/* Every public function on a thread with the 128 KB of stack that the headers require. All work
   runs on that thread, because the library's own threads have larger stacks. */
#include "accel/builders.h"
#include "core/parallel/parallel.h"
#include "points/select/builders.h"
#include "render/integrators/integrators.h"
#include "tests/api/small_stack.h"
#include "tests/api/small_stack_points.h"
#include "tests/api/small_stack_scenes.h"
#include <kandela/machine.h>
#include <kandela/ray_scenes.h>
#include <kandela/triangles.h>
#include <kandela/version.h>

/* --- triangles -------------------------------------------------------------------------------- */

enum { RAYS = 4096, PLACES = 256 };

static float corners[9 * 20000];

static void cast_batch(const kd_triangles *tree, const kd_ray *rays) {
    static kd_ray_hit hits[RAYS];
    static kd_ray_counts counts[RAYS];
    static uint8_t blocked[RAYS];
    OK(kd_triangles_intersect(tree, rays, RAYS, hits, NULL));
    OK(kd_triangles_intersect(tree, rays, RAYS, hits, counts));
    OK(kd_triangles_occluded(tree, rays, RAYS, blocked, NULL));
    OK(kd_triangles_occluded(tree, rays, RAYS, blocked, counts));
    for (int order = KD_RAYS_MEASURED; order <= (int)KD_RAYS_INCOHERENT; ++order) {
        kd_ray_batch batch;
        kd_ray_batch_default(&batch);
        batch.count = RAYS;
        batch.rays = rays;
        batch.hits = hits;
        batch.order = (kd_ray_order)order;
        batch.width = order == (int)KD_RAYS_COHERENT ? 64 : 0;
        OK(kd_triangles_cast(tree, &batch));
        batch.hits = NULL;
        batch.blocked = blocked;
        OK(kd_triangles_cast(tree, &batch));
    }
}

static void cast_arrays(const kd_triangles *tree) {
    static float numbers[6][RAYS], t[RAYS];
    static uint32_t triangles[RAYS];
    kd_ray_batch batch;
    kd_ray_batch_default(&batch);
    for (uint32_t i = 0; i < 6 * RAYS; ++i)
        numbers[i / RAYS][i % RAYS] = (float)(i * 7919 % 1009) / 1009;
    for (int axis = 0; axis < 3; ++axis) {
        batch.origin[axis] = numbers[axis];
        batch.direction[axis] = numbers[3 + axis];
    }
    batch.count = RAYS;
    batch.t = t;
    batch.triangles = triangles;
    OK(kd_triangles_cast(tree, &batch));
}

/* Queries a scene of many instances of the tree, in two worlds. */
static void query_ray_scene(const kd_triangles *tree, const kd_ray *rays) {
    enum { PUT = 200 };
    static kd_ray_instance instances[PUT];
    static kd_scene_hit hits[RAYS];
    static kd_scene_near nearest[PLACES];
    static uint32_t counts[RAYS];
    static uint8_t blocked[RAYS];
    static uint64_t offsets[RAYS + 1];
    static float out[RAYS];
    static const double origin[3] = {1, 2, 3};
    kd_ray_scene *scene = NULL;
    kd_ray_scene_info info;
    kd_ray_query query;
    kd_point_query points;
    OK(kd_ray_scene_open(&scene, 2));
    OK(kd_ray_scene_add_geometry(scene, tree, NULL));
    for (uint32_t i = 0; i < PUT; ++i) {
        instances[i] = kd_ray_instance_make(0);
        instances[i].transform[3] = (double)(i % 100);
        instances[i].transform[7] = i % 2 ? ldexp(1, (int)(i / 10)) : 0;
        instances[i].world = i % 2;
    }
    OK(kd_ray_scene_add_instances(scene, instances, PUT, NULL));
    OK(kd_ray_scene_set_geometry(scene, 0, tree));
    OK(kd_ray_scene_set_instances(scene, 0, instances, PUT));
    OK(kd_ray_scene_set_transforms(scene, 1, instances[1].transform, 1));
    OK(kd_ray_scene_set_origin(scene, origin));
    OK(kd_ray_scene_commit(scene));
    kd_ray_scene_describe(scene, &info);
    kd_ray_query_default(&query);
    kd_point_query_default(&points);
    query.rays = rays;
    query.count = RAYS;
    points.points = corners;
    points.count = PLACES;
    OK(kd_ray_scene_intersect(scene, &query, hits));
    OK(kd_ray_scene_interpolate(scene, 0, corners, 1, hits, RAYS, out));
    OK(kd_ray_scene_occluded(scene, &query, blocked));
    OK(kd_ray_scene_count(scene, &query, counts));
    OK(kd_ray_scene_first(scene, &query, 1, hits, counts));
    OK(kd_ray_scene_all(scene, &query, offsets, hits));
    OK(kd_ray_scene_closest_point(scene, &points, nearest));
    kd_ray_scene_close(scene);
}

static void query_triangles(uint32_t count, const char *builder) {
    kd_triangles *tree = NULL, *read = NULL;
    kd_triangles_options options;
    kd_triangles_info info;
    static kd_ray rays[RAYS];
    static kd_near_triangle nearest[PLACES];
    static double winding[PLACES];
    static int32_t crossings[PLACES];
    kd_triangles_options_default(&options);
    strncpy(options.device, "cpu", sizeof options.device - 1);
    strncpy(options.builder, builder, sizeof options.builder - 1);
    const kd_triangle_mesh mesh = kd_triangle_mesh_make(corners, 3 * count, NULL, count);
    OK(kd_triangles_open(&tree, &mesh, &options));
    kd_triangles_describe(tree, &info);
    assert_int_equal(info.triangles, count);
    for (uint32_t i = 0; i < RAYS; ++i) {
        rays[i] = (kd_ray){{0, 0, 0}, 0, {0, 0, 0}, 1e30f};
        for (uint32_t axis = 0; axis < 3; ++axis) {
            rays[i].origin[axis] = i % 7 ? 0.5f : corners[(3 * i + axis) % (9 * count)] * 1e6f;
            rays[i].direction[axis] = i < 2048 ? (float)(axis == 2) + (float)(i % 64) * 1e-3f
                                               : corners[(i * 9 + axis) % (9 * count)] - 0.5f;
        }
    }
    cast_batch(tree, rays);
    cast_arrays(tree);
    query_ray_scene(tree, rays);
    OK(kd_triangles_closest_point(tree, corners, PLACES, INFINITY, nearest));
    OK(kd_triangles_winding_number(tree, corners, PLACES, 2, winding));
    OK(kd_triangles_crossings(tree, corners, PLACES, NULL, crossings));
    OK(kd_triangles_download(tree, NULL, NULL));
    OK(kd_triangles_download_nodes(tree, NULL, NULL));
    OK(kd_triangles_save(tree, "small_stack.kdt"));
    OK(kd_triangles_load(&read, "small_stack.kdt", &options));
    kd_triangles_close(read);
    kd_triangles_close(tree);
}

static void *triangles_in_thread(void *unused) {
    uint32_t state = 1;
    for (uint32_t i = 0; i < sizeof corners / sizeof *corners; ++i) {
        state = state * 1664525u + 1013904223u;
        const float step = (float)(state >> 8) / 16777216.0f;
        corners[i] = i % 9 < 3 ? step : corners[i - 3] + (step - 0.5f) / 50;
    }
    for (const tritree_builder *const *row = tritree_builders; *row; ++row)
        query_triangles(600, (*row)->name);
    query_triangles(20000, "auto");
    return unused;
}

/* --- photons, pictures ------------------------------------------------------------------------ */

static void *pictures_in_thread(void *unused) {
    for (const integrator *const *row = integrators; *row; ++row)
        for (size_t i = 0; i < sizeof stack_scenes / sizeof *stack_scenes; ++i)
            render_small(stack_scenes[i], (*row)->name);
    render_variants();
    return unused;
}

static void *photons_in_thread(void *unused) {
    for (size_t i = 0; i < sizeof stack_scenes / sizeof *stack_scenes; ++i)
        emit_small(stack_scenes[i]);
    return unused;
}

/* --- measurement of the stack used ------------------------------------------------------------ */

static void *options_in_thread(void *unused) {
    kd_render_options options;
    kd_render_option info;
    char text[512];
    kd_render_options_default(&options);
    for (int32_t i = 0; i < kd_render_option_count(); ++i) {
        OK(kd_render_option_get_info(&info, i));
        OK(kd_render_options_get(&options, info.name, text, sizeof text));
        if (!info.alias && text[0]) OK(kd_render_options_set(&options, info.name, text));
    }
    assert_int_equal(kd_render_options_set(&options, "spp", "-1"), KD_ERROR_USAGE);
    assert_true(strlen(kd_last_error_trace()) > 0 && strlen(kd_version()) > 0);
    assert_true(strlen(kd_points_builders()) > 0 && strlen(kd_triangles_builders()) > 0);
    kd_threads_set(kd_threads());
    for (uint32_t i = 0; i < kd_device_count(); ++i)
        assert_true(strlen(kd_device_id(i)) > 0 && strlen(kd_device_name(i)) > 0 &&
                    kd_device_bytes(i) > 0);
    return unused;
}

/* --- is every function called? ---------------------------------------------------------------- */

static const char *read_text(const char *name) {
    static char text[2][1 << 17];
    static int next;
    char path[512];
    snprintf(path, sizeof path, "%s/%s", KD_TEST_SOURCE_DIR, name);
    FILE *file = fopen(path, "r");
    if (!file) fail_msg("%s cannot be read", path);
    char *into = text[next++ % 2];
    const size_t count = fread(into, 1, sizeof text[0] - 1, file);
    assert_true(count < sizeof text[0] - 1);
    into[count] = '\0';
    fclose(file);
    return into;
}

/* Reads the name of a declared function; `x_sized` is called through the inline function `x`. */
static void read_name(char name[64], const char *declaration) {
    const char *begin = strstr(declaration, "kd_"), *end = strchr(declaration, '(');
    for (const char *at = begin; at && at < end; at = strstr(at + 1, "kd_")) begin = at;
    assert_true(begin && begin < end && end - begin < 60);
    snprintf(name, 64, "%.*s", (int)(end - begin), begin);
    char *sized = strstr(name, "_sized");
    if (sized) *sized = '\0';
    strcat(name, "(");
}

static void test_every_function_is_covered(void **state) {
    (void)state;
    static const char *const headers[] = {"exchange", "machine",    "photons",
                                          "points",   "ray_scenes", "render",
                                          "status",   "triangles",  "version"};
    static const char *const sources[] = {"tests/api/test_small_stack.c",
                                          "tests/api/small_stack_points.h",
                                          "tests/api/small_stack_scenes.h"};
    enum { SOURCES = sizeof sources / sizeof *sources };
    int found = 0;
    for (size_t i = 0; i < sizeof headers / sizeof *headers; ++i) {
        char path[64];
        snprintf(path, sizeof path, "include/kandela/%s.h", headers[i]);
        char *text = strdup(read_text(path));
        for (const char *at = text; (at = strstr(at, "\nKD_API ")); ++at, ++found) {
            char name[64];
            bool called = false;
            read_name(name, at);
            for (int k = 0; k < SOURCES && !called; ++k)
                called = strstr(read_text(sources[k]), name) != NULL;
            if (!called) fail_msg("%s) of %s is not called in this test", name, path);
        }
        free(text);
    }
    assert_true(found > 50);
}

/* --- how much of the stack was used ----------------------------------------------------------- */

static void expect_stack_suffices(const char *label, void *(*run)(void *)) {
    parallel_set_threads(1);
    print_message("%s: %zu bytes of stack\n", label, small_stack_call(run, NULL));
}

static void test_options_need_little_stack(void **state) {
    (void)state;
    expect_stack_suffices("options", options_in_thread);
}
static void test_points_need_little_stack(void **state) {
    (void)state;
    expect_stack_suffices("points", points_in_thread);
}
static void test_triangles_need_little_stack(void **state) {
    (void)state;
    expect_stack_suffices("triangles", triangles_in_thread);
}
static void test_files_need_little_stack(void **state) {
    (void)state;
    expect_stack_suffices("files", files_in_thread);
}
static void test_photons_need_little_stack(void **state) {
    (void)state;
    expect_stack_suffices("photons", photons_in_thread);
}
static void test_pictures_need_little_stack(void **state) {
    (void)state;
    expect_stack_suffices("pictures", pictures_in_thread);
}

int main(void) {
    const struct CMUnitTest lists[] = {cmocka_unit_test(test_every_function_is_covered)};
    if (cmocka_run_group_tests(lists, NULL, NULL) != 0) return 1;
#ifndef __OPTIMIZE__
    return TEST_SKIPPED; /* stack frames are larger without optimisation */
#endif
    if (TEST_HAS_SANITIZER) return TEST_SKIPPED;
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_options_need_little_stack),
                                       cmocka_unit_test(test_points_need_little_stack),
                                       cmocka_unit_test(test_triangles_need_little_stack),
                                       cmocka_unit_test(test_files_need_little_stack),
                                       cmocka_unit_test(test_photons_need_little_stack),
                                       cmocka_unit_test(test_pictures_need_little_stack)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
