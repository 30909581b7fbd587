/* points/papers/build_wehr.h: the tree is the same for all parameters, coordinates are rounded to
   cells, and chunks and the recall of the approximate search are those of the paper's formulas. */
#include "core/parallel/parallel.h"
#include "points/neighbours/leaf_index.h"
#include "points/papers/approximate.h"
#include "points/papers/build_wehr.h"
#include "points/select/builders.h"
#include "points/tree/check.h"
#include "tests/cases.h"
#include "tests/test.h"

enum { POINTS_MAX = 5000 };
static vec3 points[POINTS_MAX];
static double queries[3]; /* a query of either scalar type */
static neighbour_nd found[POINTS_MAX], expected[POINTS_MAX];

static void fill(case_points which, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) points[i] = case_point(which, i, count);
}

static void open_tree(pointtree *tree, uint32_t count, pointtree_split split, double cells) {
    const pointtree_options options = {split, false, cells};
    assert_int_equal(pointtree_open(tree, points, count, &options, "wehr", NULL), KD_OK);
    const pointtree_nd_view view = pointtree_get_nd_view(tree);
    const point_array array = point_array_make(points, count, 3, POINT_FLOAT);
    if (pointtree_check_nd(&view, &array) != KD_OK) fail_msg("%s", kd_last_error());
}

static void parameters_do_not_show(void **state) {
    (void)state;
    fill(CASE_DUPLICATES, POINTS_MAX);
    const point_array array = point_array_make(points, POINTS_MAX, 3, POINT_FLOAT);
    pointtree tree;
    open_tree(&tree, POINTS_MAX, POINTTREE_WIDEST, 1000);
    const uint64_t hash = pointtree_hash(&tree);
    static const wehr_parameters all[] = {{16, 1, 16, 0, NULL},
                                          {64, 5, 64, 1, NULL},
                                          {100, 11, 1, 0, NULL},
                                          {1 << 20, 8, 1 << 20, 99, NULL},
                                          {333, 7, 2000, 2000, NULL}};
    for (int i = 0; i < 5; ++i)
        for (int threads = 1; threads <= 4; threads *= 4) {
            parallel_set_threads(threads);
            memset(tree.ids, 0, tree.count * sizeof *tree.ids);
            assert_int_equal(build_wehr_with(&tree, &array, &all[i], NULL), KD_OK);
            assert_true(pointtree_hash(&tree) == hash);
        }
    parallel_set_threads(0);
    const wehr_parameters bad = {8, 5, 64, 0, NULL}, worse = {64, 12, 64, 0, NULL};
    assert_int_equal(build_wehr_with(&tree, &array, &bad, NULL), KD_ERROR_USAGE);
    assert_int_equal(build_wehr_with(&tree, &array, &worse, NULL), KD_ERROR_USAGE);
    pointtree_close(&tree);
}

/* Rounded coordinates order points wrongly within a cell; queries take that into account and stay
   exact. */
static void cells_round_and_queries_stay_exact(void **state) {
    (void)state;
    static const double cells[] = {0, 1, 8, 100, 65536};
    for (int which = 0; which < CASE_POINT_SETS; ++which)
        for (int c = 0; c < 5; ++c) {
            const bool fits = which != CASE_HUGE && which != CASE_WILD;
            if (c && !fits) continue;
            const uint32_t count = 700;
            fill((case_points)which, count);
            pointtree tree;
            open_tree(&tree, count, c % 2 ? POINTTREE_WIDEST : POINTTREE_ROUND_ROBIN, cells[c]);
            pointtree_nd_view view = pointtree_get_nd_view(&tree);
            leafindex index;
            assert_int_equal(leafindex_open(&index, &view, false), KD_OK);
            for (uint32_t q = 0; q < 10; ++q) {
                const vec3 query = case_point(q % 2 ? (case_points)which : CASE_UNIFORM, q * 91, 0);
                memcpy(queries, &query, sizeof query);
                for (uint32_t i = 0; i < count; ++i) {
                    expected[i].dist2 = (double)pointtree_dist2(query, points[i]);
                    expected[i].id = i;
                }
                neighbour_nd_sort(expected, count);
                const double bound2 = (double)INFINITY;
                assert_int_equal(pointtree_nd_nearest_k(&view, NULL, queries, 20, bound2, found),
                                 20);
                uint64_t keys[64];
                assert_int_equal(
                    leafindex_nearest_keys(&index, NULL, &query.x, 20, INFINITY, keys, NULL), 20);
                for (uint32_t i = 0; i < 20; ++i) {
                    assert_int_equal(found[i].id, expected[i].id);
                    assert_int_equal(leaf_key_id(keys[i]), expected[i].id);
                }
            }
            leafindex_close(&index);
            pointtree_close(&tree);
        }
}

static void too_many_cells_are_refused(void **state) {
    (void)state;
    fill(CASE_UNIFORM, 100);
    pointtree tree;
    pointtree_options options = {POINTTREE_WIDEST, false, 1e12};
    assert_int_equal(pointtree_open(&tree, points, 100, &options, "wehr", NULL), KD_ERROR_USAGE);
    options.cells = -1;
    assert_int_equal(pointtree_open(&tree, points, 100, &options, "wehr", NULL), KD_ERROR_USAGE);
    options.cells = 8;
    assert_int_equal(pointtree_open(&tree, points, 100, &options, "wald", NULL), KD_ERROR_USAGE);
}

/* The chunks of the paper's appendix: chunk c of level l begins at floor(c N / 2^l) + 1, or 0; if n
   + 1 is a power of two, these are the chunks of the left-balanced tree. */
static void chunks_are_the_papers(void **state) {
    (void)state;
    for (uint32_t levels = 1; levels <= 12; ++levels) {
        const uint32_t count = (1u << levels) - 1;
        for (uint32_t level = 0; level < levels; ++level)
            for (uint32_t chunk = 0; chunk < 1u << level; ++chunk) {
                const double width = (double)count / (1u << level);
                const uint32_t begin = chunk ? (uint32_t)floor(width * chunk) + 1 : 0;
                assert_int_equal(
                    pointtree_inorder_begin(pointtree_level_begin(level) + chunk, count), begin);
            }
    }
}

static void approximate_search_has_its_recall(void **state) {
    (void)state;
    fill(CASE_UNIFORM, POINTS_MAX);
    pointtree tree;
    open_tree(&tree, POINTS_MAX, POINTTREE_ROUND_ROBIN, 10000);
    const pointtree_nd_view view = pointtree_get_nd_view(&tree);
    uint32_t right[4] = {0};
    static const uint32_t capacities[4] = {0, 2, 8, POINTTREE_QUEUE_MAX};
    enum { QUERIES = 1000 };
    for (uint32_t q = 0; q < QUERIES; ++q) {
        const vec3 query = case_point(CASE_UNIFORM, 100000 + q, 0);
        memcpy(queries, &query, sizeof query);
        assert_int_equal(
            pointtree_nd_nearest_k(&view, NULL, queries, 1, (double)INFINITY, expected), 1);
        for (int c = 0; c < 4; ++c) {
            assert_true(pointtree_approximate(&view, queries, capacities[c], found));
            assert_true(found->dist2 >= expected->dist2);
            assert_true(found->dist2 == pointtree_nd_dist2(&view, queries, found->node));
            assert_int_equal(tree.ids[found->node], found->id);
            right[c] += found->id == expected->id;
        }
    }
    assert_int_equal(right[3], QUERIES); /* no candidate was discarded, so all results are exact */
    assert_in_range(right[0], QUERIES / 10, right[1]);
    assert_in_range(right[2], QUERIES * 95 / 100, QUERIES);
    pointtree_nd_view empty = view;
    empty.count = 0;
    assert_false(pointtree_approximate(&empty, queries, 8, found));
    pointtree_close(&tree);
}

static void tuning_finds_parameters_that_build(void **state) {
    (void)state;
    fill(CASE_UNIFORM, 2000);
    const point_array array = point_array_make(points, 2000, 3, POINT_FLOAT);
    const pointtree_options options = {POINTTREE_WIDEST, false, 0};
    wehr_parameters best;
    assert_int_equal(wehr_tune(&best, &array, &options), KD_OK);
    pointtree tree;
    open_tree(&tree, 2000, POINTTREE_WIDEST, 0);
    const uint64_t hash = pointtree_hash(&tree);
    assert_int_equal(build_wehr_with(&tree, &array, &best, NULL), KD_OK);
    assert_true(pointtree_hash(&tree) == hash);
    pointtree_close(&tree);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parameters_do_not_show),
        cmocka_unit_test(cells_round_and_queries_stay_exact),
        cmocka_unit_test(too_many_cells_are_refused),
        cmocka_unit_test(chunks_are_the_papers),
        cmocka_unit_test(approximate_search_has_its_recall),
        cmocka_unit_test(tuning_finds_parameters_that_build),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
