/* Self-queries on the CPU: every dimension and scalar type on every set of cases.h, with every k
   that selects other code; a tree after insertions and removals; invalid calls. */
#include "tests/points/self_cases.h"

static void rows_are_those_of_a_copy(void **state) {
    (void)state;
    static const uint32_t ks[] = {2, 1, 8, 9, 13, 40, 0};
    static const uint32_t counts[] = {0, 1, 2, 17, 33, 300};
    for (uint32_t variant = 0; variant < 8 * 2 * CASE_POINT_SETS; ++variant)
        for (uint32_t c = 0; c < 6; ++c) {
            const uint32_t mixed = variant * 7 + c * 3;
            const self_case test = {"cpu",
                                    counts[c],
                                    1 + variant % 8,
                                    variant / 8 % 2 ? KD_DOUBLE : KD_FLOAT,
                                    (case_points)(variant / 16),
                                    mixed % 3 ? KD_POINTS_SPLIT_WIDEST
                                              : KD_POINTS_SPLIT_ROUND_ROBIN,
                                    mixed % 2 == 1,
                                    mixed % 5 > 1,
                                    mixed % 4 ? "auto" : "walk"};
            self_check(&test, ks);
        }
}

static void large_trees(void **state) {
    (void)state;
    static const uint32_t ks[] = {8, 1, 21, 0};
    for (uint32_t dims = 2; dims <= 3; ++dims)
        for (int skips = 0; skips < 2; ++skips) {
            const self_case test = {"cpu",    4000,           dims,
                                    KD_FLOAT, CASE_CLUSTERED, KD_POINTS_SPLIT_WIDEST,
                                    false,    skips != 0,     "auto"};
            self_check(&test, ks);
        }
}

/* The rows of a changed tree are in the order of insertion. */
static void after_changes(void **state) {
    (void)state;
    enum { FIRST = 500, MORE = 200, K = 3 };
    static float cloud[FIRST + MORE][3];
    static uint32_t gone[FIRST / 5], ids[(FIRST + MORE) * K], anew_ids[(FIRST + MORE) * K];
    for (uint32_t i = 0; i < FIRST + MORE; ++i) {
        const vec3 p = case_point(CASE_UNIFORM, i, FIRST + MORE);
        for (int axis = 0; axis < 3; ++axis) cloud[i][axis] = vec3_axis(p, axis);
    }
    for (uint32_t i = 0; i < FIRST / 5; ++i) gone[i] = 5 * i;
    const kd_point_array first = kd_point_array_make(cloud, FIRST, 3, KD_FLOAT);
    const kd_point_array more = kd_point_array_make(cloud + FIRST, MORE, 3, KD_FLOAT);
    kd_points *tree = NULL;
    assert_int_equal(kd_points_open(&tree, &first, NULL), KD_OK);
    assert_int_equal(kd_points_insert(tree, &more, NULL), KD_OK);
    assert_int_equal(kd_points_remove(tree, gone, FIRST / 5), KD_OK);
    kd_points_query query;
    kd_points_query_default(&query);
    query.skip_self = 1;
    assert_int_equal(self_nearest(tree, &query, K, NULL, ids, NULL, NULL), KD_OK);
    assert_int_equal(kd_points_rebuild(tree), KD_OK);
    assert_int_equal(self_nearest(tree, &query, K, NULL, anew_ids, NULL, NULL), KD_OK);
    const uint64_t count = kd_points_count(tree);
    assert_memory_equal(ids, anew_ids, count * K * sizeof *ids);
    for (uint64_t i = 0, point = 0; i < count;
         ++i, ++point) { /* the nearest neighbour of each, by brute force */
        while (point < FIRST && point % 5 == 0) ++point;
        float minimum = INFINITY;
        uint32_t nearest = KD_NO_POINT;
        for (uint32_t j = 0; j < FIRST + MORE; ++j) {
            if (j == point || (j < FIRST && j % 5 == 0)) continue;
            float dist2 = 0;
            for (int axis = 0; axis < 3; ++axis) {
                const float difference = cloud[point][axis] - cloud[j][axis];
                dist2 += difference * difference;
            }
            if (dist2 < minimum) minimum = dist2, nearest = j;
        }
        assert_int_equal(ids[i * K], nearest);
    }
    kd_points_close(tree);
}

static void bad_requests_are_refused(void **state) {
    (void)state;
    static float cloud[50][3];
    static uint32_t ids[51 * 4];
    static uint64_t offsets[51];
    const kd_point_array points = kd_point_array_make(cloud, 50, 3, KD_FLOAT);
    kd_points *tree = NULL;
    assert_int_equal(kd_points_open(&tree, &points, NULL), KD_OK);
    kd_points_query query;
    kd_points_query_default(&query);
    assert_int_equal(self_nearest(tree, &query, 0, NULL, ids, NULL, NULL), KD_ERROR_USAGE);
    assert_int_equal(self_nearest(tree, &query, 0xffffffffu, NULL, ids, NULL, NULL),
                     KD_ERROR_USAGE);
    assert_int_equal(
        self_nearest(tree, &query, 4, NULL, (uint32_t *)(void *)((char *)ids + 1), NULL, NULL),
        KD_ERROR_USAGE);
    query.max_radius = -1;
    assert_int_equal(self_nearest(tree, &query, 4, NULL, ids, NULL, NULL), KD_ERROR_INPUT);
    query.max_radius = 1;
    snprintf(query.method, sizeof query.method, "guess");
    assert_int_equal(self_nearest(tree, &query, 4, NULL, ids, NULL, NULL), KD_ERROR_USAGE);
    snprintf(query.method, sizeof query.method, "auto");
    offsets[0] = 1;
    assert_int_equal(self_within(tree, &query, NULL, offsets, ids, NULL), KD_ERROR_USAGE);
    kd_points_close(tree);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_those_of_a_copy), cmocka_unit_test(large_trees),
        cmocka_unit_test(after_changes), cmocka_unit_test(bad_requests_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
