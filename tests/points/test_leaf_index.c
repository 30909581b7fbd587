/* points/neighbours/leaf_index.h against the stack-free traversal, and AVX2 versions against scalar
   ones. */
#include "core/memory.h"
#include "points/neighbours/lanes_doubles.h"
#include "points/neighbours/leaf_index.h"
#include "points/select/builders.h"
#include "tests/cases.h"
#include "tests/test.h"

enum { POINTS_MAX = 10000, QUERIES = 10, K_MAX = 1024 };
static vec3 points[POINTS_MAX];
static neighbour expected[POINTS_MAX], found[POINTS_MAX];
static uint64_t keys[POINTS_MAX + 4 * K_MAX];

static void expect_same(uint32_t expected_count, uint32_t count) {
    assert_int_equal(count, expected_count);
    for (uint32_t i = 0; i < count; ++i) {
        assert_int_equal(found[i].id, expected[i].id);
        assert_int_equal(found[i].node, expected[i].node);
        assert_int_equal(float_bits(found[i].dist2), float_bits(expected[i].dist2));
    }
}

/* The results must not depend on where the previous query ended. */
static void compare_near(const leafindex *index, vec3 query, uint32_t k, float radius,
                         uint32_t count) {
    const leaf_shape *shape = &index->shape;
    const uint32_t last = shape->levels ? leaf_groups(shape, shape->levels - 1) - 1 : 0;
    uint32_t places[] = {0, last / 3, last, 0};
    for (int i = 0; i < 4; ++i) { /* the last query starts where the third one ended */
        uint32_t near = i == 3 ? places[2] : places[i];
        assert_int_equal(
            leafindex_nearest_keys(index, NULL, &query.x, k, pointtree_bound2(radius), keys, &near),
            count);
        assert_true(near <= last);
        places[2] = i == 2 ? near : places[2];
        for (uint32_t j = 0; j < count; ++j)
            assert_true(keys[j] == leaf_key(expected[j].dist2, expected[j].id));
    }
}

/* Results in any order, except that the farthest comes last. */
static void compare_some(const leafindex *index, vec3 query, uint32_t k, float radius,
                         uint32_t count) {
    uint32_t near = 0;
    for (int i = 0; i < 2; ++i) {
        uint32_t *const place = i ? &near : NULL;
        assert_int_equal(leafindex_nearest_some(index, query, k, radius, false, place, keys, found),
                         count);
        if (count == 0) return;
        assert_int_equal(found[count - 1].id, expected[count - 1].id);
        neighbour_sort(found, count);
        expect_same(count, count);
    }
}

static void compare_query(const pointtree_view *view, const leafindex *index, vec3 query) {
    static const uint32_t ks[] = {1, 7, 8, 9, 20, 21, 50, 300, K_MAX};
    enum { KS = sizeof ks / sizeof *ks };
    float radii[] = {INFINITY, 0, -1, NAN, 0};
    if (view->count > 40) {
        pointtree_nearest_k(view, query, 40, INFINITY, expected);
        radii[4] = sqrtf(expected[39].dist2);
    }
    for (int r = 0; r < 5; ++r) {
        for (int i = 0; i < KS; ++i) {
            const uint32_t count = pointtree_nearest_k(view, query, ks[i], radii[r], expected);
            expect_same(count, leafindex_nearest_some(index, query, ks[i], radii[r], true, NULL,
                                                      keys, found));
            if (ks[i] <= 50) compare_near(index, query, ks[i], radii[r], count);
            compare_some(index, query, ks[i], radii[r], count);
        }
        const float bound2 = pointtree_bound2(radii[r]);
        const uint32_t within = pointtree_within(view, query, radii[r], POINTS_MAX, expected);
        assert_int_equal(leafindex_within_keys(index, NULL, &query.x, bound2, 0, NULL), within);
        assert_int_equal(leafindex_within_keys(index, NULL, &query.x, bound2, within, keys),
                         within);
        neighbour_sort(expected, within);
        leaf_keys_sort(keys, within);
        for (uint32_t i = 0; i < within; ++i)
            assert_true(keys[i] == leaf_key(expected[i].dist2, expected[i].id));
    }
    assert_int_equal(leafindex_nearest_some(index, query, 0, 1, true, NULL, keys, found), 0);
}

static void answers_equal_stack_free_ones(void **state) {
    (void)state;
    for (int which = 0; which < CASE_POINT_SETS; ++which)
        for (int c = 0; c < CASE_COUNTS; ++c) {
            const uint32_t count = case_counts[c];
            if (test_leaves_out((uint32_t)(which + c), 2)) continue;
            for (uint32_t i = 0; i < count; ++i)
                points[i] = case_point((case_points)which, i, count);
            pointtree tree;
            const pointtree_options options = {c % 2 ? POINTTREE_WIDEST : POINTTREE_ROUND_ROBIN,
                                               false, 0};
            assert_int_equal(pointtree_open(&tree, points, count, &options, NULL, NULL), KD_OK);
            const pointtree_view view = pointtree_get_view(&tree);
            leafindex index;
            const pointtree_nd_view nd = pointtree_get_nd_view(&tree);
            assert_int_equal(leafindex_open(&index, &nd, true), KD_OK);
            for (uint32_t q = 0; q < (count < 3000 ? QUERIES : 3); ++q) {
                vec3 query = case_point((case_points)which, q * 7, count);
                if (q % 3 == 1) query = vec3_scale(query, 1.0001f);
                if (q % 3 == 2) query = case_point(CASE_UNIFORM, 1000 + q, 0);
                compare_query(&view, &index, query);
            }
            compare_query(&view, &index, vec3_make(NAN, 0, 0));
            compare_query(&view, &index, vec3_make(0, -NAN, 0));
            compare_query(&view, &index, vec3_all(INFINITY));
            leafindex_close(&index);
            pointtree_close(&tree);
        }
}

/* The buckets contain the whole tree, for one to three floats of any values. */
static void the_tree_comes_back_from_its_buckets(void **state) {
    (void)state;
    static float points_in[3 * POINTS_MAX], coordinates[3 * POINTS_MAX];
    static uint32_t ids[POINTS_MAX];
    for (int which = 0; which < CASE_POINT_SETS; ++which)
        for (int c = 0; c < CASE_COUNTS; ++c) {
            const uint32_t count = case_counts[c], dims = 1 + (uint32_t)(c + which) % 3;
            for (uint32_t i = 0; i < count; ++i) {
                const vec3 at = case_point((case_points)which, i, count);
                for (uint32_t axis = 0; axis < dims; ++axis)
                    points_in[i * dims + axis] = vec3_axis(at, (int)axis);
            }
            pointtree tree;
            leafindex index;
            const point_array input = point_array_make(points_in, count, dims, POINT_FLOAT);
            assert_int_equal(pointtree_open_nd(&tree, &input, NULL, "auto", NULL), KD_OK);
            const pointtree_nd_view view = pointtree_get_nd_view(&tree);
            assert_int_equal(leafindex_open(&index, &view, false), KD_OK);
            memset(coordinates, 0x55, sizeof coordinates);
            memset(ids, 0x55, sizeof ids);
            leafindex_restore(&index, coordinates, ids);
            assert_memory_equal(coordinates, tree.coordinates, count * dims * sizeof(float));
            assert_memory_equal(ids, tree.ids, count * sizeof *ids);
            leafindex_close(&index);
            pointtree_close(&tree);
        }
}

static double doubles[3 * POINTS_MAX];
static neighbour_nd nd_expected[POINTS_MAX], nd_found[POINTS_MAX];

static void expect_same_nd(uint32_t expected_count, uint32_t count) {
    assert_int_equal(count, expected_count);
    for (uint32_t i = 0; i < count; ++i) {
        assert_int_equal(nd_found[i].id, nd_expected[i].id);
        assert_memory_equal(&nd_found[i].dist2, &nd_expected[i].dist2, sizeof nd_found[i].dist2);
    }
}

static void compare_double_query(const pointtree_nd_view *tree, const leafindex *index,
                                 const double query[3]) {
    static const uint32_t ks[] = {1, 2, 4, 5, 7, 8, 9, 16, 17, 60};
    enum { KS = sizeof ks / sizeof *ks };
    double radii[] = {(double)INFINITY, 0, -1, (double)NAN, 0};
    const uint32_t last =
        index->shape.levels ? leaf_groups(&index->shape, index->shape.levels - 1) - 1 : 0;
    if (tree->count > 40) {
        pointtree_nd_nearest_k(tree, NULL, query, 40, (double)INFINITY, nd_expected);
        radii[4] = sqrt(nd_expected[39].dist2);
    }
    uint32_t near = last / 3;
    for (int r = 0; r < 5; ++r) {
        const double bound2 = pointtree_nd_bound2(POINT_DOUBLE, radii[r]);
        for (int i = 0; i < KS; ++i) {
            const uint32_t count =
                pointtree_nd_nearest_k(tree, NULL, query, ks[i], bound2, nd_expected);
            expect_same_nd(count, leafindex_nearest_doubles(index, NULL, query, ks[i], bound2,
                                                            nd_found, i % 2 ? &near : NULL));
            assert_true(near <= last);
        }
        const uint32_t within =
            pointtree_nd_within(tree, NULL, query, bound2, POINTS_MAX, nd_expected);
        assert_int_equal(leafindex_within_doubles(index, NULL, query, bound2, 0, nd_found), within);
        assert_int_equal(leafindex_within_doubles(index, NULL, query, bound2, within, nd_found),
                         within);
        neighbour_nd_sort(nd_expected, within);
        neighbour_nd_sort(nd_found, within);
        expect_same_nd(within, within);
    }
}

/* A point of a case as doubles: with more bits than a float, or exactly a float's value. */
static void double_case(double to[3], int which, uint32_t i, uint32_t count, bool fine) {
    const vec3 p = case_point((case_points)which, i, count);
    for (int axis = 0; axis < 3; ++axis) {
        const double x = (double)vec3_axis(p, axis);
        to[axis] = fine ? x * (1 + 0x1p-40 * (double)(i % 13)) : x;
    }
}

static void compare_double_set(int which, uint32_t count, uint32_t dims, bool fine) {
    for (uint32_t i = 0; i < count; ++i) {
        double p[3];
        double_case(p, which, i, count, fine);
        memcpy(doubles + (uint64_t)i * dims, p, dims * sizeof *p);
    }
    pointtree tree;
    const pointtree_options options = {count % 2 ? POINTTREE_WIDEST : POINTTREE_ROUND_ROBIN, false,
                                       0};
    const point_array input = point_array_make(doubles, count, dims, POINT_DOUBLE);
    assert_int_equal(pointtree_open_nd(&tree, &input, &options, "auto", NULL), KD_OK);
    const pointtree_nd_view view = pointtree_get_nd_view(&tree);
    leafindex index;
    assert_int_equal(leafindex_open(&index, &view, false), KD_OK);
    for (uint32_t q = 0; q < 8; ++q) {
        double query[3] = {0, 0, 0};
        double_case(query, q % 3 == 2 ? CASE_UNIFORM : which, q * 7, count, q % 2);
        for (uint32_t axis = dims; axis < 3; ++axis) query[axis] = 0;
        if (q == 6) query[dims - 1] = (double)NAN;
        if (q == 7) query[0] = -(double)INFINITY;
        compare_double_query(&view, &index, query);
    }
    leafindex_close(&index);
    pointtree_close(&tree);
}

static void doubles_equal_stack_free_ones(void **state) {
    (void)state;
    for (int which = 0; which < CASE_POINT_SETS; ++which)
        for (int c = 0; c < CASE_COUNTS; c += 1 + c / 8)
            for (uint32_t dims = 1; dims <= 3; ++dims)
                compare_double_set(which, case_counts[c], dims, (c + which) % 2);
}

static uint32_t not_behind(uint64_t *some, uint32_t count, uint64_t bound_key) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; ++i)
        if (some[i] <= bound_key) some[kept++] = some[i];
    return kept;
}

/* Collects keys up to a bound, and up to the key of each point. */
static void collected_keys_equal_plain_ones(const leaf_points *leaf, const float *query,
                                            uint32_t dims, float bound2) {
    for (uint32_t id = 0; id <= LEAF_POINTS; ++id) {
        uint64_t taken[LEAF_POINTS + 8], plain[LEAF_POINTS];
        float dist2[LEAF_POINTS];
        const uint64_t bound_key = leaf_key(bound2, id < LEAF_POINTS ? id : KD_NONE);
        const uint32_t within = lanes_points_plain(leaf, query, dims, bound2, dist2);
        const uint32_t count =
            not_behind(plain, lanes_keys_plain(leaf, dist2, within, plain), bound_key);
        const uint32_t collected = lanes_collect(taken, leaf, query, dims, bound_key);
        assert_int_equal(not_behind(taken, collected, bound_key), count);
        assert_memory_equal(taken, plain, count * sizeof *plain);
    }
}

static float coordinate(int which, uint32_t i, uint32_t axis) {
    return vec3_axis(case_point((case_points)which, i + axis / 3 * 50, 0), (int)axis % 3);
}

static void keys_equal_plain_ones(const leaf_points *leaf, const float dist2[LEAF_POINTS]) {
    for (uint32_t mask = 0; mask < 1u << 16; mask += 1 + mask % 7) {
        uint64_t some[LEAF_POINTS], plain_some[LEAF_POINTS];
        const uint32_t valid = mask & ((1u << leaf->places) - 1);
        const uint32_t some_count = lanes_keys(leaf, dist2, valid, some);
        assert_int_equal(some_count, lanes_keys_plain(leaf, dist2, valid, plain_some));
        assert_memory_equal(some, plain_some, some_count * sizeof *some);
    }
}

/* Runs one round with random boxes and a bucket of `count` points, in `dims` dimensions. */
static void compare_lanes(int which, uint32_t round, int count, uint32_t dims) {
    static _Alignas(64) float sides[2 * LEAF_GROUP * POINT_DIMS_MAX];
    static _Alignas(64) float places[(POINT_DIMS_MAX + 1) * LEAF_POINTS];
    static _Alignas(64) double wide[(POINT_DIMS_MAX + 1) * LEAF_POINTS];
    const leaf_points leaf = leaf_points_at(places, dims, sizeof(float), count);
    const leaf_points doubled = leaf_points_at(wide, dims, sizeof(double), LEAF_POINTS);
    float query[POINT_DIMS_MAX], bound2 = 0;
    double wide_query[POINT_DIMS_MAX];
    for (uint32_t i = 0; i < (uint32_t)count; ++i) {
        const uint32_t id = (i * 7 + round) % (uint32_t)count;
        memcpy(places + dims * (uint32_t)count + i, &id, sizeof id);
        memcpy((uint32_t *)(void *)(wide + dims * LEAF_POINTS) + i, &id, sizeof id);
    }
    for (uint32_t axis = 0; axis < dims; ++axis) {
        query[axis] = coordinate(which, round, axis);
        wide_query[axis] = (double)query[axis];
        const float difference = query[axis] - coordinate(which, round + 9, axis);
        bound2 = axis ? bound2 + difference * difference : difference * difference;
        for (uint32_t i = 0; i < LEAF_POINTS; ++i) {
            const float a = coordinate(which, round * 32 + i, axis);
            const float b = coordinate(which, round * 32 + 16 + i, axis);
            if (i < (uint32_t)count)
                places[axis * (uint32_t)count + i] = i == 7 && axis == 0 ? NAN : a;
            wide[axis * LEAF_POINTS + i] = (double)a;
            if (i >= LEAF_GROUP) continue;
            sides[2 * LEAF_GROUP * axis + i] = a < b ? a : b;
            sides[2 * LEAF_GROUP * axis + LEAF_GROUP + i] = a < b ? b : a;
        }
    }
    _Alignas(32) int32_t lanes[LEAF_GROUP], plain_lanes[LEAF_GROUP];
    const lanes_set set = lanes_of_boxes(sides, query, query, dims);
    memcpy(lanes, &set, sizeof lanes);
    lanes_boxes_plain(sides, query, query, dims, plain_lanes);
    assert_memory_equal(lanes, plain_lanes, sizeof lanes);
    assert_int_equal(lanes_set_min(set), lanes_min_plain(lanes));
    _Alignas(32) float dist2[LEAF_POINTS], plain_dist2[LEAF_POINTS];
    const uint32_t within = lanes_points(&leaf, query, dims, bound2, dist2);
    assert_int_equal(within, lanes_points_plain(&leaf, query, dims, bound2, plain_dist2));
    for (int i = 0; i < count; ++i)
        assert_true(!(within >> i & 1) || float_bits(dist2[i]) == float_bits(plain_dist2[i]));
    _Alignas(32) double far[LEAF_POINTS], plain_far[LEAF_POINTS];
    const uint32_t inside =
        doubles_points(&doubled, wide_query, dims, (double)bound2, KD_NONE, far);
    assert_int_equal(inside,
                     doubles_points_plain(&doubled, wide_query, dims, (double)bound2, plain_far));
    for (int i = 0; i < LEAF_POINTS; ++i)
        assert_true(!(inside >> i & 1) || memcmp(&far[i], &plain_far[i], sizeof far[i]) == 0);
    keys_equal_plain_ones(&leaf, plain_dist2);
    const float bounds[] = {bound2, 0, INFINITY};
    for (int i = 0; i < 3; ++i) {
        const lanes_one one = lanes_closest(&leaf, query, dims, bounds[i]);
        const lanes_one plain = lanes_closest_plain(&leaf, query, dims, bounds[i]);
        assert_true(one.valid == plain.valid && one.id == plain.id);
        assert_true(float_bits(one.dist2) == float_bits(plain.dist2));
        collected_keys_equal_plain_ones(&leaf, query, dims, bounds[i]);
    }
}

static void lanes_equal_plain_ones(void **state) {
    (void)state;
    for (int which = 0; which < CASE_POINT_SETS; ++which)
        for (uint32_t round = 0; round < 60; ++round) {
            const uint32_t dims = round % 2 ? 3 : 1 + round / 2 % POINT_DIMS_MAX;
            compare_lanes(which, round, round % 3 ? LEAF_POINTS : LEAF_POINTS / 2, dims);
        }
}

static void struck_lanes_are_gone(void **state) {
    (void)state;
    static _Alignas(64) float sides[2 * LEAF_GROUP * 3];
    const float query[3] = {-1, -1, -1};
    for (int axis = 0; axis < 3; ++axis)
        for (int lane = 0; lane < LEAF_GROUP; ++lane)
            sides[2 * LEAF_GROUP * axis + lane] = sides[2 * LEAF_GROUP * axis + LEAF_GROUP + lane] =
                (float)(lane * 5 % 8);
    for (uint32_t count = 1; count <= LEAF_GROUP; ++count) {
        lanes_set all = lanes_set_limit(lanes_of_boxes(sides, query, query, 3), count);
        bool seen[LEAF_GROUP] = {false};
        int32_t before = -1;
        for (uint32_t i = 0; i < count; ++i) {
            const int32_t minimum = lanes_set_min(all);
            const uint32_t lane = (uint32_t)minimum & 7;
            assert_true(minimum > before && lane < count && !seen[lane]);
            assert_int_equal(lanes_set_at(all, lane), minimum);
            seen[lane] = true;
            before = minimum;
            all = lanes_set_strike(all, minimum);
            assert_int_equal(lanes_set_at(all, lane), LANE_NEVER);
        }
        assert_int_equal(lanes_set_min(all), LANE_NEVER);
    }
}

/* Lists of eight nearest, by AVX2 and scalar code, for dist2 with many ties. */
static void nearest_eight_equal_plain_ones(void **state) {
    (void)state;
    uint32_t random = 1;
    for (uint32_t round = 0; round < 2000; ++round) {
        lanes_nearest list, plain;
        doubles_nearest wide, wide_plain;
        for (int lane = 0; lane < LEAF_GROUP; ++lane) {
            list.dist2[lane] = plain.dist2[lane] = LANE_NEVER;
            list.id[lane] = plain.id[lane] = 0;
            wide.dist2[lane] = wide_plain.dist2[lane] = (double)INFINITY;
            wide.id[lane] = wide_plain.id[lane] = INT64_MAX;
        }
        for (int leaf = 0; leaf < 4; ++leaf) {
            float dist2[LEAF_POINTS];
            uint32_t ids[LEAF_POINTS];
            for (uint32_t i = 0; i < LEAF_POINTS; ++i) {
                random = random * 1664525u + 1013904223u;
                dist2[i] = (float)(random >> 28) * (round % 3 ? 0.5f : 0);
                ids[i] = (random >> 8) % 1024 * LEAF_POINTS + i;
            }
            lanes_nearest_take(&list, dist2, ids, random >> 16);
            lanes_nearest_take_plain(&plain, dist2, ids, random >> 16);
            assert_memory_equal(&list, &plain, sizeof list);
            double wide_dist2[LEAF_POINTS];
            for (int i = 0; i < LEAF_POINTS; ++i) wide_dist2[i] = (double)dist2[i];
            doubles_nearest_take(&wide, wide_dist2, ids, random >> 16);
            doubles_nearest_take_plain(&wide_plain, wide_dist2, ids, random >> 16);
            assert_memory_equal(&wide, &wide_plain, sizeof wide);
        }
        for (int lane = 1; lane < LEAF_GROUP; ++lane)
            assert_true(
                list.dist2[lane - 1] < list.dist2[lane] || list.dist2[lane] == LANE_NEVER ||
                (list.dist2[lane - 1] == list.dist2[lane] && list.id[lane - 1] <= list.id[lane]));
    }
}

/* Lists of keys kept in vector registers against sorting all keys. */
static void keys_taken_are_the_least(void **state) {
    (void)state;
#ifndef LANES_512
    skip();
#else
    uint32_t random = 3;
    for (uint32_t round = 0; round < 500; ++round)
        for (int vectors = 1; vectors <= LANES_KEYS_MAX / 8; ++vectors) {
            uint64_t list[LANES_KEYS_MAX], all[LANES_KEYS_MAX + 48];
            for (int i = 0; i < LANES_KEYS_MAX; ++i) list[i] = all[i] = UINT64_MAX;
            for (uint32_t i = 0; i < 48; ++i) {
                random = random * 1664525u + 1013904223u;
                all[LANES_KEYS_MAX + i] = leaf_key((float)(random >> 29), 48 - i);
            }
            const uint32_t first = round % 48;
            lanes_keys_take(list, vectors, all + LANES_KEYS_MAX, first);
            lanes_keys_take(list, vectors, all + LANES_KEYS_MAX + first, 48 - first);
            leaf_keys_sort(all + LANES_KEYS_MAX, 48);
            assert_memory_equal(list, all + LANES_KEYS_MAX, 8 * (size_t)vectors * sizeof *list);
        }
#endif
}

static void keys_are_sorted(void **state) {
    (void)state;
    for (uint32_t count = 0; count < 2000; count = count * 3 / 2 + 1)
        for (int pattern = 0; pattern < 3; ++pattern) {
            for (uint32_t i = 0; i < count; ++i)
                keys[i] = pattern == 0 ? i : pattern == 1 ? count - i : i * 2654435761u % 65536;
            uint64_t before = 0, after = 0;
            for (uint32_t i = 0; i < count; ++i) before += keys[i] * keys[i];
            leaf_keys_sort(keys, count);
            for (uint32_t i = 0; i < count; ++i) after += keys[i] * keys[i];
            assert_true(before == after);
            for (uint32_t i = 1; i < count; ++i) assert_true(keys[i - 1] <= keys[i]);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lanes_equal_plain_ones),
        cmocka_unit_test(struck_lanes_are_gone),
        cmocka_unit_test(nearest_eight_equal_plain_ones),
        cmocka_unit_test(keys_taken_are_the_least),
        cmocka_unit_test(keys_are_sorted),
        cmocka_unit_test(answers_equal_stack_free_ones),
        cmocka_unit_test(the_tree_comes_back_from_its_buckets),
        cmocka_unit_test(doubles_equal_stack_free_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
