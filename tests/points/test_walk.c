/* points/tree/walk.h against brute force, including ties. */
#include "points/select/builders.h"
#include "points/tree/walk.h"
#include "tests/cases.h"
#include "tests/test.h"

enum { POINTS_MAX = 2047, QUERIES = 12 };
static vec3 points[POINTS_MAX];
static neighbour all[POINTS_MAX], found[POINTS_MAX + 8];

static int compare(const void *a, const void *b) {
    const neighbour x = *(const neighbour *)a, y = *(const neighbour *)b;
    return neighbour_before(x, y) ? -1 : neighbour_before(y, x);
}

/* Neighbours by definition: all points sorted by (dist2, id). */
static void brute_force(vec3 query, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) {
        all[i].dist2 = pointtree_dist2(query, points[i]);
        all[i].id = i;
        all[i].node = KD_NONE;
    }
    qsort(all, count, sizeof *all, compare);
}

static uint32_t count_within(uint32_t count, float radius) {
    uint32_t within = 0;
    while (within < count && all[within].dist2 <= pointtree_bound2(radius)) ++within;
    return within;
}

static void expect(const pointtree *tree, uint32_t expected, uint32_t answered) {
    assert_int_equal(answered, expected);
    for (uint32_t i = 0; i < expected; ++i) {
        assert_int_equal(found[i].id, all[i].id);
        assert_int_equal(float_bits(found[i].dist2), float_bits(all[i].dist2));
        assert_int_equal(tree->ids[found[i].node], found[i].id);
    }
}

static void compare_query(const pointtree *tree, vec3 query) {
    static const uint32_t ks[] = {1, 2, 8, 16, 17, 50, 100, 3000};
    const uint32_t count = tree->count;
    const pointtree_view view = pointtree_get_view(tree);
    brute_force(query, count);
    /* no limit, zero, the exact distance of some neighbours (set below), negative, NaN */
    float radii[] = {INFINITY, 0, 0, 0, -1, NAN};
    if (count) radii[2] = sqrtf(all[count / 20].dist2), radii[3] = sqrtf(all[count - 1].dist2);
    for (int r = 0; r < 6; ++r) {
        const uint32_t within = count_within(count, radii[r]);
        for (int i = 0; i < 8; ++i) {
            if (ks[i] > POINTS_MAX + 8 && count > 100) continue;
            const uint32_t k = ks[i] > POINTS_MAX + 8 ? POINTS_MAX + 8 : ks[i];
            expect(tree, within < k ? within : k,
                   pointtree_nearest_k(&view, query, k, radii[r], found));
        }
        assert_int_equal(pointtree_within(&view, query, radii[r], 0, NULL), within);
        found[within / 2].id = 12345;
        assert_int_equal(pointtree_within(&view, query, radii[r], within / 2, found), within);
        assert_int_equal(found[within / 2].id, 12345);
        const uint32_t stored = pointtree_within(&view, query, radii[r], POINTS_MAX, found);
        neighbour_sort(found, stored);
        expect(tree, within, stored);
    }
    assert_int_equal(pointtree_nearest_k(&view, query, 0, INFINITY, NULL), 0);
}

static void queries_equal_brute_force(void **state) {
    (void)state;
    for (int which = 0; which < CASE_POINT_SETS; ++which)
        for (int c = 0; c < CASE_COUNTS && case_counts[c] <= POINTS_MAX; ++c)
            for (int split = 0; split < 2; ++split) {
                const uint32_t count = case_counts[c];
                for (uint32_t i = 0; i < count; ++i)
                    points[i] = case_point((case_points)which, i, count);
                pointtree tree;
                const pointtree_options options = {split ? POINTTREE_WIDEST : POINTTREE_ROUND_ROBIN,
                                                   false, 0};
                assert_int_equal(pointtree_open(&tree, points, count, &options, NULL, NULL), KD_OK);
                for (uint32_t q = 0; q < QUERIES; ++q) {
                    /* a point, a nearby position, or one far from all points */
                    vec3 query = case_point((case_points)which, q * 7, count);
                    if (q % 3 == 1) query = vec3_scale(query, 1.0001f);
                    if (q % 3 == 2) query = case_point(CASE_UNIFORM, 1000 + q, 0);
                    compare_query(&tree, query);
                }
                pointtree_close(&tree);
            }
}

/* Queries at NaN and infinity terminate, and find nothing or everything. */
static void strange_queries_end(void **state) {
    (void)state;
    for (uint32_t i = 0; i < 500; ++i) points[i] = case_point(CASE_UNIFORM, i, 500);
    pointtree tree;
    assert_int_equal(pointtree_open(&tree, points, 500, NULL, NULL, NULL), KD_OK);
    const pointtree_view view = pointtree_get_view(&tree);
    assert_int_equal(pointtree_nearest_k(&view, vec3_all(NAN), 4, INFINITY, found), 0);
    assert_int_equal(pointtree_within(&view, vec3_make(0, NAN, 0), 1, 0, NULL), 0);
    assert_int_equal(pointtree_nearest_k(&view, vec3_all(INFINITY), 4, INFINITY, found), 4);
    for (uint32_t i = 0; i < 4; ++i) assert_int_equal(found[i].id, i);
    pointtree_close(&tree);
}

/* A traversal without a bound visits every node once; with a small bound it visits a logarithmic
   number. */
static void walks_visit_no_more_than_they_must(void **state) {
    (void)state;
    static uint8_t visited[POINTS_MAX];
    for (uint32_t i = 0; i < POINTS_MAX; ++i) points[i] = case_point(CASE_UNIFORM, i, 0);
    pointtree tree;
    assert_int_equal(pointtree_open(&tree, points, POINTS_MAX, NULL, NULL, NULL), KD_OK);
    const pointtree_view view = pointtree_get_view(&tree);
    memset(visited, 0, sizeof visited);
    pointtree_walk walk = pointtree_walk_begin();
    while (pointtree_walk_next(&view, vec3_all(0.5f), INFINITY, &walk)) ++visited[walk.node];
    for (uint32_t i = 0; i < POINTS_MAX; ++i) assert_int_equal(visited[i], 1);
    uint32_t visits = 0;
    walk = pointtree_walk_begin();
    while (pointtree_walk_next(&view, points[77], 0, &walk)) ++visits;
    assert_in_range(visits, 1, 12);
    pointtree_close(&tree);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(queries_equal_brute_force),
        cmocka_unit_test(strange_queries_end),
        cmocka_unit_test(walks_visit_no_more_than_they_must),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
