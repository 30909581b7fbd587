/* Nearest-triangle queries on a CUDA device: equal to the CPU's bit for bit, for points, results
   and meshes in host or device memory. */
#include "core/device/device_memory.h"
#include "nearest_points.h"
#include "tests/gpu.h"
#include <kandela/triangles.h>

enum { POINTS = 1000 };

static kd_triangles *open_mesh(const kd_triangle_mesh *mesh, const char *device) {
    kd_triangles_options options;
    kd_triangles *tree = NULL;
    kd_triangles_options_default(&options);
    snprintf(options.device, sizeof options.device, "%s", device);
    if (kd_triangles_open(&tree, mesh, &options) != KD_OK)
        fail_msg("%s: %s", device, kd_last_error());
    return tree;
}

static void expect_same(const char *label, const kd_near_triangle *expected,
                        const kd_near_triangle *got) {
    for (uint32_t i = 0; i < POINTS; ++i)
        if (memcmp(expected + i, got + i, sizeof *expected) != 0)
            fail_msg("%s, point %u: triangle %u at %.9g, expected %u at %.9g", label, i,
                     got[i].triangle, (double)got[i].distance, expected[i].triangle,
                     (double)expected[i].distance);
}

static void query_device(const kd_triangles *gpu, const vec3 *points, float maximum,
                         kd_near_triangle *nearest) {
    void *from = NULL, *to = NULL;
    assert_int_equal(device_memory_reserve(&from, POINTS * sizeof *points), KD_OK);
    assert_int_equal(device_memory_reserve(&to, POINTS * sizeof *nearest), KD_OK);
    assert_int_equal(device_memory_upload(from, points, POINTS * sizeof *points), KD_OK);
    if (kd_triangles_closest_point(gpu, (const float *)from, POINTS, maximum,
                                   (kd_near_triangle *)to) != KD_OK)
        fail_msg("%s", kd_last_error());
    assert_int_equal(device_memory_download(nearest, to, POINTS * sizeof *nearest), KD_OK);
    device_memory_free(from);
    device_memory_free(to);
}

static void test_results_equal_cpu_results(void **state) {
    (void)state;
    static vec3 points[POINTS];
    static kd_near_triangle of_cpu[POINTS], of_gpu[POINTS];
    for (int which = 0; which < CASE_TRIANGLE_SETS; ++which) {
        triangle_set set = triangle_set_make((case_triangles)which, gpu_size(20000, 1500));
        const kd_triangle_mesh mesh = kd_triangle_mesh_make(
            &set.positions[0].x, set.input.position_count, set.triangles, set.input.triangle_count);
        kd_triangles *cpu = open_mesh(&mesh, "cpu"), *gpu = open_mesh(&mesh, "cuda:0");
        const float maximum = which % 2 ? INFINITY : 0.05f * set.size;
        for (uint32_t i = 0; i < POINTS; ++i) points[i] = nearest_point_case(&set, i);
        points[3].z = NAN;
        assert_int_equal(kd_triangles_closest_point(cpu, &points[0].x, POINTS, maximum, of_cpu),
                         KD_OK);
        if (kd_triangles_closest_point(gpu, &points[0].x, POINTS, maximum, of_gpu) != KD_OK)
            fail_msg("%s", kd_last_error());
        expect_same(case_triangles_name((case_triangles)which), of_cpu, of_gpu);
        memset(of_gpu, 7, sizeof of_gpu);
        query_device(gpu, points, maximum, of_gpu);
        expect_same("points on the device", of_cpu, of_gpu);
        kd_triangles_close(cpu);
        kd_triangles_close(gpu);
        triangle_set_close(&set);
    }
}

/* A mesh without triangles, and no query points. */
static void test_empty_meshes(void **state) {
    (void)state;
    const kd_triangle_mesh mesh = kd_triangle_mesh_make(NULL, 0, NULL, 0);
    kd_triangles *gpu = open_mesh(&mesh, "cuda:0");
    const float point[3] = {1, 2, 3};
    kd_near_triangle nearest;
    if (kd_triangles_closest_point(gpu, point, 1, INFINITY, &nearest) != KD_OK)
        fail_msg("%s", kd_last_error());
    assert_int_equal(nearest.triangle, KD_NO_TRIANGLE);
    kd_triangles_close(gpu);
}

/* A tree on a device answers from its copy on the host. */
static void test_winding_numbers_equal_cpu_results(void **state) {
    static vec3 points[POINTS];
    static double of_cpu[POINTS], of_gpu[POINTS];
    static uint32_t cpu_crossings[POINTS], gpu_crossings[POINTS];
    (void)state;
    triangle_set set = triangle_set_make((case_triangles)0, 1500);
    const kd_triangle_mesh mesh = kd_triangle_mesh_make(
        &set.positions[0].x, set.input.position_count, set.triangles, set.input.triangle_count);
    kd_triangles *cpu = open_mesh(&mesh, "cpu"), *gpu = open_mesh(&mesh, "cuda:0");
    for (uint32_t i = 0; i < POINTS; ++i) points[i] = nearest_point_case(&set, i);
    kd_triangles *const trees[] = {cpu, gpu};
    for (int i = 0; i < 2; ++i) {
        assert_int_equal(
            kd_triangles_winding_number(trees[i], &points[0].x, POINTS, 2, i ? of_gpu : of_cpu),
            KD_OK);
        assert_int_equal(kd_triangles_crossings(trees[i], &points[0].x, POINTS,
                                                i ? gpu_crossings : cpu_crossings, NULL),
                         KD_OK);
    }
    assert_memory_equal(of_cpu, of_gpu, sizeof of_cpu);
    assert_memory_equal(cpu_crossings, gpu_crossings, sizeof cpu_crossings);
    for (int i = 0; i < 2; ++i) {
        const uint64_t vertices = 3 * (uint64_t)set.input.position_count,
                       corners = 3 * (uint64_t)set.input.triangle_count;
        float *xyz = (float *)malloc(vertices * sizeof *xyz);
        uint32_t *at = (uint32_t *)malloc(corners * sizeof *at);
        assert_int_equal(kd_triangles_download(trees[i], xyz, at), KD_OK);
        assert_memory_equal(xyz, set.positions, vertices * sizeof *xyz);
        assert_memory_equal(at, set.triangles, corners * sizeof *at);
        free(xyz);
        free(at);
    }
    kd_triangles_close(cpu);
    kd_triangles_close(gpu);
    triangle_set_close(&set);
}

int main(void) {
    if (gpu_is_missing()) return TEST_SKIPPED;
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_results_equal_cpu_results),
                                       cmocka_unit_test(test_winding_numbers_equal_cpu_results),
                                       cmocka_unit_test(test_empty_meshes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
