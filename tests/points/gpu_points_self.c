/* Self-queries on a CUDA device: the CPU's results bit for bit, by packets, groups, leaves and
   stack-free traversal, for sizes around the chunks of the index and points of any distribution. */
#include "core/device/device_memory.h"
#include "tests/gpu.h"
#include "tests/points/self_cases.h"

static void three_floats(void **state) {
    (void)state;
    static const uint32_t ks[] = {8, 1, 2, 4, 12, 16, 17, 20, 23, 24, 25, 50, 56, 111, 112, 130, 0};
    static const uint32_t few[] = {8, 1, 19, 0};
    static const uint32_t counts[] = {1, 2, 33, 600, 1023, 1024, 1500, 3000, 4096, 10000, 70000};
    uint32_t number = 0;
    for (int which = 0; which < CASE_POINT_SETS; ++which)
        for (uint32_t c = 0; c < 11; ++c)
            for (int skips = 0; skips < 2; ++skips, ++number) {
                if (gpu_leaves_out(number, 47) || counts[c] > gpu_size(70000, 1500)) continue;
                if (counts[c] > 10000 && which != CASE_UNIFORM) continue;
                const self_case test = {"cuda:0",
                                        counts[c],
                                        3,
                                        KD_FLOAT,
                                        (case_points)which,
                                        number % 3 ? KD_POINTS_SPLIT_WIDEST
                                                   : KD_POINTS_SPLIT_ROUND_ROBIN,
                                        number % 4 > 1,
                                        skips != 0,
                                        number % 5 ? "auto" : "leaves"};
                self_check(&test, gpu_is_emulated() ? few : ks);
            }
}

/* Treats small sets as the index treats large ones with overlapping subtrees: sorted along a curve,
   or by leaves if they are below the threshold. */
static void sorted_along_the_curve(void **state) {
    (void)state;
    static const uint32_t ks[] = {8, 1, 16, 20, 25, 111, 112, 0};
    static const uint32_t counts[] = {1, 33, 1023, 1500, 4096};
    uint32_t number = 0;
    for (int which = 0; which < CASE_POINT_SETS; ++which)
        for (uint32_t c = 0; c < 5; ++c, ++number) {
            if (gpu_leaves_out(number, 17) || counts[c] > gpu_size(4096, 1500)) continue;
            const self_case test = {"cuda:0",
                                    counts[c],
                                    3,
                                    KD_FLOAT,
                                    (case_points)which,
                                    number % 3 ? KD_POINTS_SPLIT_WIDEST
                                               : KD_POINTS_SPLIT_ROUND_ROBIN,
                                    number % 4 > 1,
                                    number % 2 != 0,
                                    "auto"};
            own_sorts_from = number % 5 ? 1 : counts[c] + 1;
            self_check(&test, ks);
        }
    own_sorts_from = 0;
}

/* Many points on a wall have overlapping subtrees, which the index detects; points in a volume do
   not. */
static void walls_are_noticed(void **state) {
    (void)state;
    const uint32_t count = gpu_size(300000, 30000);
    float(*cloud)[3] = (float(*)[3])malloc(count * sizeof *cloud);
    assert_non_null(cloud);
    kd_points_options options;
    kd_points_options_default(&options);
    snprintf(options.device, sizeof options.device, "cuda:0");
    for (int wall = 0; wall < 2; ++wall) {
        kd_points *tree = NULL;
        for (uint32_t i = 0; i < count; ++i) {
            const vec3 p = case_point(CASE_UNIFORM, i, count);
            for (int axis = 0; axis < 3; ++axis) cloud[i][axis] = vec3_axis(p, axis);
            if (wall && i % 9) cloud[i][2] = 0;
        }
        const kd_point_array points = kd_point_array_make(cloud, count, 3, KD_FLOAT);
        assert_int_equal(kd_points_open(&tree, &points, &options), KD_OK);
        assert_int_equal(tree->cuda->index.sorts_from != 0, wall);
        kd_points_close(tree);
    }
    free(cloud);
}

static void other_points(void **state) {
    (void)state;
    static const uint32_t ks[] = {2, 9, 40, 0};
    for (uint32_t variant = 0; variant < 8 * 2 * 2; ++variant) {
        const self_case test = {"cuda:0",
                                gpu_size(2000, 200) + variant,
                                1 + variant % 8,
                                variant / 8 % 2 ? KD_DOUBLE : KD_FLOAT,
                                variant % 3 ? CASE_UNIFORM : CASE_DUPLICATES,
                                KD_POINTS_SPLIT_WIDEST,
                                variant % 2 == 1,
                                variant / 16 != 0,
                                variant % 5 ? "auto" : "walk"};
        self_check(&test, ks);
    }
}

static void *to_device(const void *host, uint64_t bytes) {
    void *pointer = NULL;
    assert_int_equal(device_memory_reserve(&pointer, bytes), KD_OK);
    if (host) assert_int_equal(device_memory_upload(pointer, host, bytes), KD_OK);
    return pointer;
}

/* Calls that do not synchronise, with scratch memory from the caller, return the same results. */
static void asynchronous_with_scratch(void **state) {
    (void)state;
    enum { COUNT = 1500, K = 5 };
    static float cloud[COUNT][3];
    static uint32_t ids[COUNT * K], later_ids[COUNT * K];
    for (uint32_t i = 0; i < COUNT; ++i) {
        const vec3 p = case_point(CASE_CLUSTERED, i, COUNT);
        for (int axis = 0; axis < 3; ++axis) cloud[i][axis] = vec3_axis(p, axis);
    }
    kd_points_options options;
    kd_points_options_default(&options);
    snprintf(options.device, sizeof options.device, "cuda:0");
    const kd_point_array points = kd_point_array_make(cloud, COUNT, 3, KD_FLOAT);
    kd_points *tree = NULL;
    assert_int_equal(kd_points_open(&tree, &points, &options), KD_OK);
    kd_points_query query;
    kd_points_query_default(&query);
    void *queries = to_device(cloud, sizeof cloud), *rows = to_device(NULL, sizeof ids);
    query.points = kd_point_array_make(queries, COUNT, 3, KD_FLOAT);
    assert_int_equal(kd_points_nearest(tree, &query, K, ids, NULL, NULL), KD_OK);
    query.asynchronous = 1;
    const uint64_t bytes = kd_points_scratch_bytes(tree, &query);
    assert_true(bytes > 0);
    char *scratch = (char *)to_device(NULL, bytes + 64);
    query.scratch = scratch + 64; /* aligned no more than required */
    query.scratch_bytes = bytes;
    for (int self = 0; self < 2; ++self) {
        memset(later_ids, 0, sizeof later_ids);
        assert_int_equal(device_memory_upload(rows, later_ids, sizeof later_ids), KD_OK);
        const kd_status status =
            self ? self_nearest(tree, &query, K, NULL, (uint32_t *)rows, NULL, NULL)
                 : kd_points_nearest(tree, &query, K, (uint32_t *)rows, NULL, NULL);
        assert_int_equal(status, KD_OK);
        assert_int_equal(device_wait(), KD_OK);
        assert_int_equal(device_memory_download(later_ids, rows, sizeof later_ids), KD_OK);
        assert_memory_equal(ids, later_ids, sizeof ids);
    }
    query.points.coordinates =
        cloud; /* points on the host: the call synchronises and validates them */
    cloud[7][1] = NAN;
    assert_int_equal(kd_points_nearest(tree, &query, K, (uint32_t *)rows, NULL, NULL),
                     KD_ERROR_INPUT);
    kd_points_close(tree);
    device_memory_free(queries);
    device_memory_free(rows);
    device_memory_free(scratch);
}

int main(void) {
    if (gpu_is_missing()) return TEST_SKIPPED;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(three_floats), cmocka_unit_test(sorted_along_the_curve),
        cmocka_unit_test(walls_are_noticed), cmocka_unit_test(other_points),
        cmocka_unit_test(asynchronous_with_scratch)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
