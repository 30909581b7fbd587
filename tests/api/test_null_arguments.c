/* Every public function with each of its pointer arguments NULL in turn: the function returns
   KD_ERROR_USAGE, or does what its header states. The test fails if a function of include/kandela
   has no row here. */
#include <kandela/clouds.h>
#include <kandela/control.h>
#include <kandela/exchange.h>
#include <kandela/photons.h>
#include <kandela/points.h>
#include <kandela/ray_scenes.h>
#include <kandela/render.h>
#include <kandela/triangles.h>
#include <kandela/version.h>

#include "tests/test.h"
#include <dirent.h>
#include <math.h>
#include <unistd.h>

static float cloud[64][3];
static uint32_t triple[3] = {0, 1, 2}, new_id[1];
static kd_points *points;
static kd_triangles *triangles;
static kd_scene *scene;
static kd_image *image;
static kd_photons *photons;
static kd_point_array array;
static kd_points_query query;
static kd_triangle_mesh mesh;
static kd_ray one_ray;
static char folder[] = "/tmp/kandela-null-XXXXXX", path[64], scene_path[64];

/* Argument number `at` of a call; NULL if it is the argument under test. */
#define ARG(at, pointer) (null == (at) ? NULL : (pointer))
#define CALL(name) static kd_status call_##name(int null)
/* The two functions that initialise a struct with defaults. */
#define DEFAULTS(name, type)                                                                       \
    CALL(name##_default) {                                                                         \
        type filled;                                                                               \
        kd_##name##_default(ARG(0, &filled));                                                      \
        return KD_OK;                                                                              \
    }                                                                                              \
    CALL(name##_default_sized) {                                                                   \
        type filled;                                                                               \
        kd_##name##_default_sized(ARG(0, &filled), sizeof filled);                                 \
        return KD_OK;                                                                              \
    }

#include "tests/api/null_points.h"

CALL(clouds_cluster) {
    static int64_t labels[64];
    int32_t suited;
    return kd_clouds_cluster(ARG(0, &array), 0.1, 2, ARG(1, labels), ARG(2, &suited));
}
CALL(clouds_downsample) {
    static const double origin[3] = {0, 0, 0};
    static float means[64][3];
    uint64_t voxels;
    int32_t suited;
    return kd_clouds_downsample(ARG(0, &array), 0.1, ARG(1, origin), ARG(2, means), ARG(3, &voxels),
                                ARG(4, &suited));
}
CALL(clouds_normals) {
    static const double toward[3] = {0, 0, 0};
    static uint32_t ids[64];
    static float normals[64][3];
    return kd_clouds_normals(ARG(0, &array), ARG(1, &array), ARG(2, ids), 1, ARG(3, toward),
                             ARG(4, normals));
}
DEFAULTS(call, kd_call)
CALL(call_set) {
    kd_call call;
    kd_call_default(&call);
    return kd_call_set(ARG(0, &call));
}
CALL(log_set) {
    int context;
    kd_log_set(NULL, ARG(0, &context), KD_LOG_INFO);
    return KD_OK;
}
CALL(allocator_set) {
    const kd_allocator none = {sizeof none, NULL, NULL, NULL};
    assert_int_equal(kd_allocator_set(ARG(0, &none)), KD_ERROR_USAGE); /* trees are open */
    return KD_OK;
}
CALL(clouds_density) {
    static const double weights[64] = {1};
    static double log_sums[64];
    return kd_clouds_density(ARG(0, &array), ARG(1, weights), ARG(2, &array), KD_DENSITY_GAUSSIAN,
                             0.1, 0, 0, ARG(3, log_sums));
}
CALL(triangle_mesh_make) {
    (void)kd_triangle_mesh_make(ARG(0, cloud[0]), 64, ARG(1, triple), 1);
    return KD_OK;
}
DEFAULTS(triangles_options, kd_triangles_options)
DEFAULTS(ray_batch, kd_ray_batch)
CALL(triangles_open) {
    kd_triangles *made = NULL;
    kd_triangles_options options;
    kd_triangles_options_default(&options);
    const kd_status status = kd_triangles_open(ARG(0, &made), ARG(1, &mesh), ARG(2, &options));
    kd_triangles_close(made);
    return status;
}
CALL(triangles_close) {
    kd_triangles *made = NULL;
    if (null != 0) (void)kd_triangles_open(&made, &mesh, NULL);
    kd_triangles_close(made);
    return KD_OK;
}
CALL(triangles_describe) {
    kd_triangles_info info;
    kd_triangles_describe(ARG(0, triangles), ARG(1, &info));
    if (null == 0) assert_true(info.triangles == 0 && info.device[0] == '\0');
    return KD_OK;
}
CALL(triangles_describe_sized) {
    kd_triangles_info info;
    kd_triangles_describe_sized(ARG(0, triangles), ARG(1, &info), sizeof info);
    if (null == 0) assert_true(info.triangles == 0 && info.device[0] == '\0');
    return KD_OK;
}
CALL(triangles_cast) {
    kd_ray_hit hit;
    kd_ray_batch batch;
    kd_ray_batch_default(&batch);
    batch.count = 1;
    batch.rays = &one_ray;
    batch.hits = &hit;
    return kd_triangles_cast(ARG(0, triangles), ARG(1, &batch));
}
CALL(triangles_intersect) {
    kd_ray_hit hit;
    kd_ray_counts counts;
    return kd_triangles_intersect(ARG(0, triangles), ARG(1, &one_ray), 1, ARG(2, &hit),
                                  ARG(3, &counts));
}
CALL(triangles_occluded) {
    uint8_t blocked;
    kd_ray_counts counts;
    return kd_triangles_occluded(ARG(0, triangles), ARG(1, &one_ray), 1, ARG(2, &blocked),
                                 ARG(3, &counts));
}
CALL(triangles_closest_point) {
    kd_near_triangle nearest;
    return kd_triangles_closest_point(ARG(0, triangles), ARG(1, cloud[0]), 1, INFINITY,
                                      ARG(2, &nearest));
}
CALL(triangles_winding_number) {
    double winding;
    return kd_triangles_winding_number(ARG(0, triangles), ARG(1, cloud[0]), 1, 2, ARG(2, &winding));
}
CALL(triangles_crossings) {
    uint32_t crossings;
    int32_t winding;
    return kd_triangles_crossings(ARG(0, triangles), ARG(1, cloud[0]), 1, ARG(2, &crossings),
                                  ARG(3, &winding));
}
CALL(triangles_download) {
    float vertices[sizeof cloud / sizeof(float)];
    uint32_t indices[3];
    return kd_triangles_download(ARG(0, triangles), ARG(1, vertices), ARG(2, indices));
}
CALL(triangles_download_nodes) {
    kd_triangle_node nodes[1];
    uint32_t references[1];
    return kd_triangles_download_nodes(ARG(0, triangles), ARG(1, nodes), ARG(2, references));
}
CALL(triangles_save) {
    return kd_triangles_save(ARG(0, triangles), ARG(1, path));
}
CALL(triangles_load) {
    kd_triangles *made = NULL;
    kd_triangles_options options;
    kd_triangles_options_default(&options);
    assert_int_equal(kd_triangles_save(triangles, path), KD_OK);
    const kd_status status = kd_triangles_load(ARG(0, &made), ARG(1, path), ARG(2, &options));
    kd_triangles_close(made);
    return status;
}

#include "tests/api/null_arguments_render.h"
#include "tests/api/null_ray_scenes.h"

/* `refused`: the positions of the arguments that must not be NULL, one digit each. */
typedef struct row {
    const char *name;
    kd_status (*call)(int null);
    int pointers;
    const char *refused;
} row;

#define ROW(name, pointers, refused)                                                               \
    { "kd_" #name, call_##name, pointers, refused }
static const row rows[] = {
    ROW(point_array_make, 1, ""),
    ROW(points_options_default, 1, ""),
    ROW(points_options_default_sized, 1, ""),
    ROW(points_query_default, 1, ""),
    ROW(points_rows_default, 1, ""),
    ROW(points_query_default_sized, 1, ""),
    ROW(points_open, 3, "01"),
    ROW(points_open_arrays, 3, "01"),
    ROW(points_open_shared, 4, "013"),
    ROW(points_update, 2, "01"),
    ROW(points_insert, 3, "01"),
    ROW(points_remove, 2, "01"),
    ROW(points_rebuild, 1, "0"),
    ROW(points_count, 1, ""),
    ROW(points_close, 1, ""),
    ROW(points_describe, 2, ""),
    ROW(points_describe_sized, 2, ""),
    ROW(points_download, 4, "0"),
    ROW(points_download_nodes, 5, "0"),
    ROW(points_search_nearest, 3, "012"),
    ROW(points_search_count, 3, "012"),
    ROW(points_search_within, 3, "012"),
    ROW(points_nearest, 5, "01"),
    ROW(points_closest, 4, "01"),
    ROW(points_within_count, 3, "012"),
    ROW(points_within, 5, "012"),
    ROW(points_visit, 4, "012"),
    ROW(points_scratch_bytes, 2, ""),
    ROW(points_save, 2, "01"),
    ROW(points_load, 3, "01"),
    ROW(clouds_cluster, 3, "012"),
    ROW(clouds_downsample, 5, "0234"),
    ROW(clouds_normals, 5, "0124"),
    ROW(call_default, 1, ""),
    ROW(call_default_sized, 1, ""),
    ROW(call_set, 1, ""),
    ROW(log_set, 1, ""),
    ROW(allocator_set, 1, ""),
    ROW(clouds_density, 4, "023"),
    ROW(triangle_mesh_make, 2, ""),
    ROW(triangles_options_default, 1, ""),
    ROW(triangles_options_default_sized, 1, ""),
    ROW(ray_batch_default, 1, ""),
    ROW(ray_batch_default_sized, 1, ""),
    ROW(triangles_open, 3, "01"),
    ROW(triangles_close, 1, ""),
    ROW(triangles_describe, 2, ""),
    ROW(triangles_describe_sized, 2, ""),
    ROW(triangles_cast, 2, "01"),
    ROW(triangles_intersect, 4, "012"),
    ROW(triangles_occluded, 4, "012"),
    ROW(triangles_closest_point, 3, "012"),
    ROW(triangles_winding_number, 3, "012"),
    ROW(triangles_crossings, 4, "01"),
    ROW(triangles_download, 3, "0"),
    ROW(triangles_download_nodes, 3, "0"),
    ROW(triangles_save, 2, "01"),
    ROW(triangles_load, 3, "01"),
    ROW(ray_query_default, 1, ""),
    ROW(ray_query_default_sized, 1, ""),
    ROW(point_query_default, 1, ""),
    ROW(point_query_default_sized, 1, ""),
    ROW(ray_scene_open, 1, "0"),
    ROW(ray_scene_close, 1, ""),
    ROW(ray_scene_add_geometry, 3, "01"),
    ROW(ray_scene_set_geometry, 2, "01"),
    ROW(ray_scene_add_instances, 3, "01"),
    ROW(ray_scene_set_instances, 2, "01"),
    ROW(ray_scene_set_transforms, 2, "01"),
    ROW(ray_scene_set_origin, 2, "01"),
    ROW(ray_scene_commit, 1, "0"),
    ROW(ray_scene_describe, 2, ""),
    ROW(ray_scene_describe_sized, 2, ""),
    ROW(ray_scene_intersect, 3, "012"),
    ROW(ray_scene_occluded, 3, "012"),
    ROW(ray_scene_count, 3, "012"),
    ROW(ray_scene_first, 4, "012"),
    ROW(ray_scene_all, 4, "0123"),
    ROW(ray_scene_closest_point, 3, "012"),
    ROW(ray_scene_interpolate, 4, "0123"),
    ROW(render_options_default, 1, ""),
    ROW(render_options_default_sized, 1, ""),
    ROW(render_option_count, 0, ""),
    ROW(render_option_get_info, 1, "0"),
    ROW(render_options_set, 3, "012"),
    ROW(render_options_get, 3, "012"),
    ROW(scene_load, 3, "01"),
    ROW(scene_parse, 5, "013"),
    ROW(scene_make, 3, "01"),
    ROW(scene_close, 1, ""),
    ROW(scene_count, 1, ""),
    ROW(scene_origin, 2, ""),
    ROW(render, 5, "012"),
    ROW(image_close, 1, ""),
    ROW(image_width, 1, ""),
    ROW(image_height, 1, ""),
    ROW(image_samples, 1, ""),
    ROW(image_channel, 2, ""),
    ROW(image_hash, 1, ""),
    ROW(image_read, 3, "01"),
    ROW(image_write, 2, "01"),
    ROW(photons_emit, 5, "012"),
    ROW(photons_close, 1, ""),
    ROW(photons_count, 1, ""),
    ROW(photons_list, 1, ""),
    ROW(photons_write, 2, "01"),
    ROW(photons_load, 2, "01"),
};
enum { ROWS = sizeof rows / sizeof *rows };

static void test_null_is_rejected_or_ignored(void **state) {
    (void)state;
    for (int i = 0; i < ROWS; ++i)
        for (int null = -1; null < rows[i].pointers; ++null) {
            const int refused = null >= 0 && strchr(rows[i].refused, '0' + null) != NULL;
            const kd_status status = rows[i].call(null);
            if (status != (refused ? KD_ERROR_USAGE : KD_OK))
                fail_msg("%s with argument %d NULL: %s (%s)", rows[i].name, null,
                         kd_status_name(status), kd_last_error());
        }
}

/* Counts the pointer parameters of the function at `text`, up to its closing parenthesis. */
static int pointers_of(const char *text) {
    const char *end = strchr(text, ')');
    int count = 0;
    for (const char *at = strchr(text, '('); at < end; ++at)
        count += (*at == '*' && at[1] != '*') || strncmp(at, "kd_progress ", 12) == 0 ||
                 strncmp(at, "kd_points_visitor ", 18) == 0;
    return count;
}

static void expect_row(const char *text) {
    char name[64] = "";
    sscanf(text, "%63[a-z0-9_]", name);
    const int pointers = pointers_of(text);
    for (int i = 0; i < ROWS; ++i)
        if (strcmp(rows[i].name, name) == 0) {
            if (rows[i].pointers != pointers)
                fail_msg("%s takes %d pointers, its row says %d", name, pointers, rows[i].pointers);
            return;
        }
    if (pointers > 0) fail_msg("%s has no row in this test", name);
}

/* Reads the functions of a header: declarations that begin with KD_API, and inline functions. */
static int read_header(const char *name) {
    static char text[1 << 16];
    char file_path[512];
    snprintf(file_path, sizeof file_path, "%s/include/kandela/%s", KD_TEST_SOURCE_DIR, name);
    FILE *file = fopen(file_path, "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    int count = 0;
    for (const char *at = text; (at = strchr(at, '\n')); ++at) {
        if (strncmp(at, "\nKD_API ", 8) != 0 && strncmp(at, "\nstatic inline ", 15) != 0) continue;
        ++count;
        const char *open = strchr(at, '(');
        while (open[-1] == '_' || (open[-1] >= 'a' && open[-1] <= 'z') ||
               (open[-1] >= '0' && open[-1] <= '9'))
            --open;
        expect_row(open);
    }
    return count;
}

static void test_every_function_is_covered(void **state) {
    (void)state;
    DIR *headers = opendir(KD_TEST_SOURCE_DIR "/include/kandela");
    assert_non_null(headers);
    int count = 0;
    for (struct dirent *entry; (entry = readdir(headers));)
        if (strstr(entry->d_name, ".h")) count += read_header(entry->d_name);
    closedir(headers);
    assert_true(count >= ROWS);
}

static int set_up(void **state) {
    (void)state;
    for (int i = 0; i < 64; ++i)
        for (int k = 0; k < 3; ++k) cloud[i][k] = (float)((i * 29 + k * i * 17) % 61);
    array = kd_point_array_make(cloud, 64, 3, KD_FLOAT);
    kd_points_query_default(&query);
    query.points = array;
    mesh = kd_triangle_mesh_make(cloud[0], 64, triple, 1);
    one_ray.direction[2] = one_ray.tmax = 1;
    if (!mkdtemp(folder)) return 1;
    snprintf(path, sizeof path, "%s/tree", folder);
    snprintf(scene_path, sizeof scene_path, "%s/scene.obj", folder);
    FILE *file = fopen(scene_path, "w");
    if (!file) return 1;
    fputs("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n", file);
    fclose(file);
    kd_render_options options;
    kd_render_options_default(&options);
    options.width = options.height = 4;
    options.spp = 1;
    options.photons = 1;
    return kd_points_open(&points, &array, NULL) || kd_triangles_open(&triangles, &mesh, NULL) ||
           kd_scene_load(&scene, scene_path, NULL) ||
           kd_render(&image, scene, &options, NULL, NULL) ||
           kd_photons_emit(&photons, scene, &options, NULL, NULL);
}

static int tear_down(void **state) {
    (void)state;
    kd_points_close(points);
    kd_triangles_close(triangles);
    kd_scene_close(scene);
    kd_image_close(image);
    kd_photons_close(photons);
    unlink(path);
    unlink(scene_path);
    return rmdir(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_null_is_rejected_or_ignored),
        cmocka_unit_test(test_every_function_is_covered),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
