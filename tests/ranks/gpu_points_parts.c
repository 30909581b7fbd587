/* Trees distributed over several devices, at least one of them a GPU, return the same bytes as one
   tree on the CPU. Several parts may share a GPU. */
#include "core/device/device_memory.h"
#include "tests/gpu.h"
#include "tests/points/self_cases.h"
#include "tests/ranks/parts_cases.h"

static const char *const device_lists[] = {"cuda:0,cuda:0", "cuda:0,cpu", "cpu,cuda:0,cuda:0"};

static void test_results_equal_single_tree(void **state) {
    (void)state;
    const uint32_t sizes[] = {gpu_size(700, 300), 0, 3};
    for (uint32_t variant = 0; variant < CASE_POINT_SETS * 3; ++variant) {
        if (gpu_leaves_out(variant, 4)) continue;
        const parts_case test = {(case_points)(variant % CASE_POINT_SETS),
                                 sizes[variant / CASE_POINT_SETS],
                                 variant % 2 ? 3 : 1 + variant % 8,
                                 variant % 3 ? KD_FLOAT : KD_DOUBLE,
                                 device_lists[variant % 3],
                                 variant % 5 ? KD_POINTS_SPREAD_PARTS : KD_POINTS_SPREAD_COPIES,
                                 variant % 7 ? KD_POINTS_SPLIT_WIDEST : KD_POINTS_SPLIT_ROUND_ROBIN,
                                 variant % 6 == 1,
                                 variant % 15 == 8 ? 1ull << 35 : 0};
        check_all(&test);
    }
}

static void test_self_queries_agree(void **state) {
    (void)state;
    static const uint32_t ks[] = {8, 1, 0};
    for (uint32_t which = 0; which < CASE_POINT_SETS; ++which) {
        if (gpu_leaves_out(which, 3)) continue;
        const self_case test = {device_lists[which % 3],
                                gpu_size(600, 50),
                                which % 2 ? 3 : 4,
                                KD_FLOAT,
                                (case_points)which,
                                KD_POINTS_SPLIT_WIDEST,
                                which % 4 == 1,
                                which % 5 > 1,
                                "auto"};
        self_spread = which % 4 ? KD_POINTS_SPREAD_PARTS : KD_POINTS_SPREAD_COPIES;
        self_check(&test, ks);
    }
}

/* Points, queries and results in device memory; one array of points per part. */
static void test_device_arrays(void **state) {
    (void)state;
    enum { K = 5 };
    const uint32_t count = gpu_size(5000, 300), cut = count / 3;
    const parts_case test = {
        CASE_DUPLICATES,        count, 3, KD_FLOAT, "cuda:0,cuda:0,cuda:0", KD_POINTS_SPREAD_PARTS,
        KD_POINTS_SPLIT_WIDEST, false, 0};
    both b;
    void *cloud = NULL, *queries = NULL, *device_data = NULL, *far = NULL, *rows = NULL;
    begin(&b, &test);
    ok(device_memory_reserve(&cloud, count * 12));
    ok(device_memory_upload(cloud, b.cloud, count * 12));
    ok(device_memory_reserve(&queries, QUERIES * 12));
    ok(device_memory_upload(queries, b.queries, QUERIES * 12));
    ok(device_memory_reserve(&device_data, QUERIES * K * sizeof(uint32_t)));
    ok(device_memory_reserve(&far, QUERIES * K * sizeof(float)));
    ok(device_memory_reserve(&rows, (QUERIES + 1) * sizeof(uint64_t)));
    const kd_point_array arrays[] = {
        kd_point_array_make(cloud, cut, 3, KD_FLOAT),
        kd_point_array_make((char *)cloud + 12 * cut, cut, 3, KD_FLOAT),
        kd_point_array_make((char *)cloud + 24 * cut, count - 2 * cut, 3, KD_FLOAT)};
    kd_points_options options;
    kd_points_options_default(&options);
    strcpy(options.device, test.devices);
    kd_points_close(b.parts);
    ok(kd_points_open_arrays(&b.parts, arrays, 3, &options));
    check_whole(&b);
    check_nearest(&b, K);
    ok(kd_points_nearest(b.one, &b.query, K, narrow_ids[0], dist2[0], NULL));
    b.query.max_radius = b.reach;
    ok(kd_points_within_count(b.one, &b.query, offsets[0]));
    b.query.max_radius = (double)INFINITY;
    b.query.points.coordinates = queries;
    ok(kd_points_nearest(b.parts, &b.query, K, (uint32_t *)device_data, far, NULL));
    ok(device_memory_download(narrow_ids[1], device_data, QUERIES * K * sizeof(uint32_t)));
    ok(device_memory_download(dist2[1], far, QUERIES * K * sizeof(float)));
    assert_memory_equal(narrow_ids[0], narrow_ids[1], QUERIES * K * sizeof(uint32_t));
    assert_memory_equal(dist2[0], dist2[1], QUERIES * K * sizeof(float));
    b.query.max_radius = b.reach;
    ok(kd_points_within_count(b.parts, &b.query, (uint64_t *)rows));
    ok(device_memory_download(offsets[1], rows, sizeof offsets[1]));
    assert_memory_equal(offsets[0], offsets[1], sizeof offsets[0]);
    /* one array for both parts, and one with a coordinate that is not finite */
    const kd_point_array whole = kd_point_array_make(cloud, count, 3, KD_FLOAT);
    const float bad = NAN;
    options.spread = KD_POINTS_SPREAD_PARTS;
    kd_points_close(b.parts);
    ok(kd_points_open(&b.parts, &whole, &options));
    check_whole(&b);
    ok(device_memory_upload((char *)cloud + 12 * (count - 1), &bad, sizeof bad));
    kd_points *none = NULL;
    assert_int_equal(kd_points_open(&none, &whole, &options), KD_ERROR_INPUT);
    assert_null(none);
    device_memory_free(cloud);
    device_memory_free(queries);
    device_memory_free(device_data);
    device_memory_free(far);
    device_memory_free(rows);
    end(&b);
}

int main(void) {
    if (gpu_is_missing()) return TEST_SKIPPED;
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_results_equal_single_tree),
                                       cmocka_unit_test(test_self_queries_agree),
                                       cmocka_unit_test(test_device_arrays)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
