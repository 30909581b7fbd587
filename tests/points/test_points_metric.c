/* Norms 1 and infinity, periodic space and boxes on the CPU: every set of cases.h against brute
   force. */
#include "tests/points/metric_cases.h"

static void answers_equal_brute_force(void **state) {
    (void)state;
    static const uint32_t counts[] = {260, 33, 1, 0};
    metric_check_all("cpu", 1, counts);
}

static void bad_requests_are_refused(void **state) {
    (void)state;
    static const float cloud[4][3] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    static uint32_t ids[16];
    static uint64_t offsets[5];
    const kd_point_array points = kd_point_array_make(cloud, 4, 3, KD_FLOAT);
    kd_points *tree = NULL;
    assert_int_equal(kd_points_open(&tree, &points, NULL), KD_OK);
    kd_points_query query;
    kd_points_query_default(&query);
    query.points = points;
    query.norm = 3;
    assert_int_equal(kd_points_nearest(tree, &query, 1, ids, NULL, NULL), KD_ERROR_USAGE);
    query.norm = 1;
    query.period[1] = -1;
    assert_int_equal(kd_points_nearest(tree, &query, 1, ids, NULL, NULL), KD_ERROR_INPUT);
    query.period[1] = (double)INFINITY;
    assert_int_equal(kd_points_nearest(tree, &query, 1, ids, NULL, NULL), KD_ERROR_INPUT);
    query.period[1] = 2;
    assert_int_equal(kd_points_nearest(tree, &query, 1, ids, NULL, NULL), KD_OK);
    const uint32_t gone = 0;
    assert_int_equal(kd_points_remove(tree, &gone, 1), KD_OK);
    assert_int_equal(kd_points_nearest(tree, &query, 1, ids, NULL, NULL), KD_OK);
    assert_int_equal(ids[0], 1); /* the point at the query itself was removed */
    snprintf(query.method, sizeof query.method, "walk");
    assert_int_equal(kd_points_nearest(tree, &query, 1, ids, NULL, NULL), KD_ERROR_USAGE);
    assert_int_equal(in_box_count(tree, &points, &points, offsets), KD_OK);
    assert_int_equal(offsets[4], 3); /* the boxes of a changed tree bound the points present */
    const kd_point_array flat = kd_point_array_make(cloud, 4, 2, KD_FLOAT);
    const kd_point_array fewer = kd_point_array_make(cloud, 3, 3, KD_FLOAT);
    assert_int_equal(in_box_count(tree, &flat, &points, offsets), KD_ERROR_USAGE);
    assert_int_equal(in_box_count(tree, &points, &fewer, offsets), KD_ERROR_USAGE);
    kd_points_close(tree);
}

/* The points at even places are removed; the others are found, each once. */
static void removed_points_are_not_found(void **state) {
    (void)state;
    enum { COUNT = 200 };
    static float cloud[COUNT * 8];
    static uint32_t gone[COUNT / 2], ids[COUNT];
    for (uint32_t i = 0; i < COUNT * 8; ++i) cloud[i] = (float)(i * 7919 % 1009) / 1009;
    for (uint32_t i = 0; i < COUNT / 2; ++i) gone[i] = 2 * i;
    for (uint32_t dims = 1; dims <= 8; ++dims)
        for (int norm = 0; norm < 3; ++norm)
            for (int periodic = 0; periodic < 2; ++periodic) {
                kd_points *tree = NULL;
                const kd_point_array points = kd_point_array_make(cloud, COUNT, dims, KD_FLOAT);
                assert_int_equal(kd_points_open(&tree, &points, NULL), KD_OK);
                assert_int_equal(kd_points_remove(tree, gone, COUNT / 2), KD_OK);
                kd_points_query query;
                kd_points_query_default(&query);
                query.points = kd_point_array_make(cloud, 1, dims, KD_FLOAT);
                query.norm = metric_norms[norm];
                query.period[0] = periodic;
                uint32_t found = 0;
                bool seen[COUNT] = {false};
                assert_int_equal(kd_points_nearest(tree, &query, COUNT, ids, NULL, &found), KD_OK);
                assert_int_equal(found, COUNT / 2);
                for (uint32_t j = 0; j < found; ++j) {
                    assert_true(ids[j] % 2 == 1 && !seen[ids[j]]);
                    seen[ids[j]] = true;
                }
                kd_points_close(tree);
            }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(answers_equal_brute_force),
                                       cmocka_unit_test(removed_points_are_not_found),
                                       cmocka_unit_test(bad_requests_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
