/* Calls with 64-bit ids return the same results as those with 32-bit ids, except for the value that
   means "no point". */
#include <kandela/points.h>

#include "tests/neighbours/searches.h"
#include "tests/test.h"

enum { COUNT = 700, QUERIES = 90, K = 5 };
static float cloud[COUNT * 3];
static float radii[QUERIES];
static uint32_t names[COUNT], narrow[COUNT * COUNT], order[2][COUNT];
static uint64_t wide[COUNT * COUNT], offsets[COUNT + 1];

static void expect_same(uint64_t count) {
    for (uint64_t i = 0; i < count; ++i)
        assert_true(wide[i] == (narrow[i] == KD_NO_POINT ? KD_NO_POINT64 : narrow[i]));
}

/* Self-queries in the cheapest order, and boxes. */
static void expect_same_self_and_box_queries(const kd_points *tree) {
    kd_points_query self, boxes;
    kd_points_rows rows;
    kd_points_query_default(&self);
    self.self = 1;
    self.max_radius = 90;
    assert_int_equal(self_nearest(tree, &self, K, order[0], narrow, NULL, NULL), KD_OK);
    kd_points_rows_default(&rows);
    rows.ids64 = wide;
    rows.order = order[1];
    assert_int_equal(kd_points_search_nearest(tree, &self, K, &rows), KD_OK);
    assert_memory_equal(order[0], order[1], sizeof order[0]);
    expect_same(COUNT * K);
    const kd_point_array lo = kd_point_array_make(cloud, QUERIES, 3, KD_FLOAT);
    const kd_point_array hi = kd_point_array_make(cloud + 3 * QUERIES, QUERIES, 3, KD_FLOAT);
    boxes = box_query_of(&lo, &hi);
    for (int box = 0; box < 2; ++box) {
        const kd_points_query *query = box ? &boxes : &self;
        const uint64_t count = box ? QUERIES : COUNT;
        assert_int_equal(kd_points_within_count(tree, query, offsets), KD_OK);
        assert_true(offsets[count] > 0);
        assert_int_equal(kd_points_within(tree, query, offsets, narrow, NULL), KD_OK);
        assert_int_equal(within64(tree, query, offsets, wide, NULL), KD_OK);
        expect_same(offsets[count]);
    }
}

static void ids_of_64_bits(void **state) {
    (void)state;
    for (int i = 0; i < COUNT * 3; ++i) cloud[i] = (float)(i * 7919 % 1009);
    for (int i = 0; i < QUERIES; ++i) radii[i] = (float)(5 * i);
    for (uint32_t i = 0; i < COUNT; ++i) names[i] = 4000000000u + i;
    kd_point_array points = kd_point_array_make(cloud, COUNT, 3, KD_FLOAT);
    for (int named = 0; named < 2; ++named) {
        points.ids = named ? names : NULL;
        kd_points *tree = NULL;
        assert_int_equal(kd_points_open(&tree, &points, NULL), KD_OK);
        kd_points_query query;
        kd_points_query_default(&query);
        query.points = kd_point_array_make(cloud + 3, QUERIES, 3, KD_FLOAT);
        query.radii = radii;
        assert_int_equal(kd_points_nearest(tree, &query, K, narrow, NULL, NULL), KD_OK);
        assert_int_equal(nearest64(tree, &query, K, wide, NULL, NULL), KD_OK);
        expect_same(QUERIES * K);
        int missing = 0;
        for (int i = 0; i < QUERIES * K; ++i) missing += wide[i] == KD_NO_POINT64;
        assert_true(missing > 0 && missing < QUERIES * K);
        assert_int_equal(kd_points_closest(tree, &query, narrow, NULL), KD_OK);
        assert_int_equal(nearest64(tree, &query, 1, wide, NULL, NULL), KD_OK);
        expect_same(QUERIES);
        assert_int_equal(kd_points_within_count(tree, &query, offsets), KD_OK);
        assert_int_equal(kd_points_within(tree, &query, offsets, narrow, NULL), KD_OK);
        assert_int_equal(within64(tree, &query, offsets, wide, NULL), KD_OK);
        expect_same(offsets[QUERIES]);
        assert_int_equal(kd_points_download(tree, NULL, narrow, NULL), KD_OK);
        assert_int_equal(kd_points_download_nodes(tree, NULL, NULL, wide, NULL), KD_OK);
        expect_same(COUNT);
        expect_same_self_and_box_queries(tree);
        assert_true(!named || wide[0] >= 4000000000u);
        offsets[0] = 1;
        assert_int_equal(within64(tree, &query, offsets, wide, NULL), KD_ERROR_USAGE);
        kd_points_close(tree);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(ids_of_64_bits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
