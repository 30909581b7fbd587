/* points/neighbours/leaf_index.h in four to eight dimensions against the stack-free traversal; and
   which points share a bucket if many coordinates are equal. */
#include "core/memory.h"
#include "points/neighbours/lanes_doubles.h"
#include "points/neighbours/leaf_index.h"
#include "points/select/builders.h"
#include "tests/test.h"

enum { COUNT_MAX = 20000, K_MAX = 60, QUERIES = 12 };

typedef enum cloud {
    CLOUD_UNIFORM,
    CLOUD_GRID,      /* four values per axis */
    CLOUD_HALF_GRID, /* a grid in the first axes only */
    CLOUD_COPIES,    /* each point ten times */
    CLOUD_EQUAL,
    CLOUD_ODD_ONE, /* all points equal except the last */
    CLOUD_FAR,     /* a distant grid whose steps are finer than the float spacing there */
    CLOUD_HUGE,    /* distances overflow */
    CLOUD_SHIFTED, /* uniform, at 1e9 along the first axis, and at -1e9 with outliers at 0 */
    CLOUDS
} cloud;

static double wide[COUNT_MAX * POINT_DIMS_MAX];
static float narrow[COUNT_MAX * POINT_DIMS_MAX];
static neighbour_nd expected[COUNT_MAX], found[COUNT_MAX];
static uint32_t state = 1;

static double draw(void) {
    state = state * 1664525u + 1013904223u;
    return (double)(state >> 8) * 0x1p-24;
}

static double draw_step(void) {
    return floor(draw() * 4);
}

static void make_point(double *to, cloud which, uint32_t i, uint32_t count, uint32_t dims) {
    for (uint32_t axis = 0; axis < dims; ++axis) switch (which) {
        case CLOUD_GRID: to[axis] = draw_step(); break;
        case CLOUD_HALF_GRID: to[axis] = axis < dims / 2 ? draw_step() : draw(); break;
        case CLOUD_COPIES: to[axis] = i % 10 ? wide[(i / 10 * 10) * dims + axis] : draw(); break;
        case CLOUD_EQUAL: to[axis] = 7; break;
        case CLOUD_ODD_ONE: to[axis] = i + 1 < count ? 7 : 9; break;
        case CLOUD_FAR: to[axis] = 1e6 + draw_step() * 1e-3; break;
        case CLOUD_HUGE: to[axis] = (draw_step() - 1.5) * 1e300; break;
        case CLOUD_SHIFTED:
            to[axis] = axis == 0 ? 1e9 + draw() : axis == 1 && i % 50 ? draw() - 1e9 : draw();
            break;
        default: to[axis] = draw(); break;
        }
}

/* Builds a tree of the cloud; `input` receives the points. */
static void open_cloud(pointtree *tree, point_array *input, cloud which, uint32_t count,
                       uint32_t dims, point_scalar scalar) {
    for (uint32_t i = 0; i < count; ++i) make_point(wide + i * dims, which, i, count, dims);
    for (uint32_t i = 0; i < count * dims; ++i)
        narrow[i] = (float)(which == CLOUD_HUGE ? wide[i] * 1e-262 : wide[i]);
    const pointtree_options options = {count % 2 ? POINTTREE_WIDEST : POINTTREE_ROUND_ROBIN, false,
                                       0};
    *input = point_array_make(scalar == POINT_DOUBLE ? (void *)wide : (void *)narrow, count, dims,
                              scalar);
    assert_int_equal(pointtree_open_nd(tree, input, &options, "auto", NULL), KD_OK);
}

static int by_id(const void *a, const void *b) {
    const uint32_t x = ((const neighbour_nd *)a)->id, y = ((const neighbour_nd *)b)->id;
    return x < y ? -1 : x > y;
}

static void expect_same(uint32_t count, uint32_t found_count) {
    assert_int_equal(found_count, count);
    for (uint32_t i = 0; i < count; ++i) {
        assert_int_equal(found[i].id, expected[i].id);
        assert_memory_equal(&found[i].dist2, &expected[i].dist2, sizeof found[i].dist2);
    }
}

static uint64_t keys[COUNT_MAX];

/* Converts keys to neighbours. */
static uint32_t take_keys(uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) {
        found[i].dist2 = (double)leaf_key_dist2(keys[i]);
        found[i].id = leaf_key_id(keys[i]);
    }
    return count;
}

static uint32_t find_nearest(const leafindex *index, const void *query, uint32_t k, double bound2) {
    return index->scalar == POINT_DOUBLE
               ? leafindex_nearest_doubles(index, NULL, (const double *)query, k, bound2, found,
                                           NULL)
               : take_keys(leafindex_nearest_keys(index, NULL, (const float *)query, k,
                                                  (float)bound2, keys, NULL));
}

static uint32_t find_within(const leafindex *index, const void *query, double bound2) {
    return index->scalar == POINT_DOUBLE
               ? leafindex_within_doubles(index, NULL, (const double *)query, bound2, COUNT_MAX,
                                          found)
               : take_keys(leafindex_within_keys(index, NULL, (const float *)query, (float)bound2,
                                                 COUNT_MAX, keys));
}

static void compare(const pointtree_nd_view *tree, const leafindex *index, const void *query) {
    static const uint32_t ks[] = {1, 2, 7, 8, 9, 16, 17, 21, K_MAX};
    double bounds[] = {(double)INFINITY, 0, -1, 1, 0};
    if (tree->count > 40) {
        pointtree_nd_nearest_k(tree, NULL, query, 40, (double)INFINITY, expected);
        bounds[4] = expected[39].dist2;
    }
    for (int b = 0; b < 5; ++b) {
        for (size_t i = 0; i < sizeof ks / sizeof *ks; ++i)
            expect_same(pointtree_nd_nearest_k(tree, NULL, query, ks[i], bounds[b], expected),
                        find_nearest(index, query, ks[i], bounds[b]));
        const uint32_t within =
            pointtree_nd_within(tree, NULL, query, bounds[b], COUNT_MAX, expected);
        assert_int_equal(find_within(index, query, bounds[b]), within);
        qsort(expected, within, sizeof *expected, by_id);
        qsort(found, within, sizeof *found, by_id);
        expect_same(within, within);
    }
}

static void answers_equal_stack_free_ones(void **test) {
    static const uint32_t counts[] = {1, 15, 16, 17, 63, 64, 100, 333, 1000, COUNT_MAX};
    (void)test;
    for (int which = 0; which < CLOUDS; ++which)
        for (uint32_t c = 0; c < sizeof counts / sizeof *counts; ++c)
            for (uint32_t dims = 4; dims <= POINT_DIMS_MAX; dims += counts[c] > 500 ? 2 : 1) {
                const point_scalar scalar = (c + dims / 2) % 2 ? POINT_DOUBLE : POINT_FLOAT;
                pointtree tree;
                point_array input;
                leafindex index;
                open_cloud(&tree, &input, (cloud)which, counts[c], dims, scalar);
                const pointtree_nd_view view = pointtree_get_nd_view(&tree);
                assert_int_equal(leafindex_open(&index, &view, false), KD_OK);
                for (uint32_t q = 0; q < (counts[c] > 5000 ? 2 : QUERIES); ++q) {
                    double place[POINT_DIMS_MAX];
                    float rounded[POINT_DIMS_MAX];
                    for (uint32_t axis = 0; axis < dims; ++axis) {
                        place[axis] = point_array_coordinate(&input, q * 7 % counts[c], axis) +
                                      (q % 2 ? draw() : 0);
                        if (q == 5) place[axis] = axis ? 0 : (double)NAN;
                        if (q == 7) place[axis] = -(double)INFINITY;
                        rounded[axis] = (float)place[axis];
                    }
                    compare(&view, &index,
                            scalar == POINT_DOUBLE ? (void *)place : (void *)rounded);
                }
                leafindex_close(&index);
                pointtree_close(&tree);
            }
}

/* Grids are recognised as such, and each point is in one bucket. */
static void buckets_hold_each_point_once(void **test) {
    (void)test;
    for (int which = 0; which < CLOUDS; ++which)
        for (uint32_t count = 60; count <= COUNT_MAX; count *= 3) {
            const uint32_t dims = 4 + count % 5;
            pointtree tree;
            point_array input;
            leaf_slots slots;
            open_cloud(&tree, &input, (cloud)which, count, dims, POINT_DOUBLE);
            const pointtree_nd_view view = pointtree_get_nd_view(&tree);
            const leaf_shape shape = leaf_shape_tied(&view);
            const bool grid = which == CLOUD_GRID || which == CLOUD_FAR || which == CLOUD_HUGE;
            assert_int_equal(shape.count, count);
            if (grid && count > 100) assert_true(shape.ties);
            if (which == CLOUD_UNIFORM) assert_false(shape.ties);
            if (!shape.ties) {
                pointtree_close(&tree);
                continue;
            }
            assert_int_equal(leaf_slots_open(&slots, &view, &shape), KD_OK);
            bool *seen = (bool *)calloc(count, sizeof *seen);
            uint32_t all = 0;
            for (uint32_t s = 0; s < shape.leaf_count; ++s) {
                assert_true(slots.filled[s] <= LEAF_POINTS);
                for (uint32_t i = 0; i < slots.filled[s]; ++i, ++all) {
                    const uint32_t node = slots.nodes[s * LEAF_POINTS + i];
                    assert_true(node < count && !seen[node]);
                    seen[node] = true;
                }
            }
            assert_int_equal(all, count);
            free(seen);
            leaf_slots_close(&slots);
            pointtree_close(&tree);
        }
}

/* The purpose of the redistribution: equal points share a bucket, if they are few. */
static void equal_points_are_together(void **test) {
    enum { COUNT = 6000, DIMS = 6 }; /* a grid of 4096 cells */
    static uint32_t bucket_of[4096];
    (void)test;
    pointtree tree;
    point_array input;
    leaf_slots slots;
    open_cloud(&tree, &input, CLOUD_GRID, COUNT, DIMS, POINT_FLOAT);
    const pointtree_nd_view view = pointtree_get_nd_view(&tree);
    const leaf_shape shape = leaf_shape_tied(&view);
    assert_int_equal(leaf_slots_open(&slots, &view, &shape), KD_OK);
    memset(bucket_of, 0xff, sizeof bucket_of);
    for (uint32_t s = 0; s < shape.leaf_count; ++s)
        for (uint32_t i = 0; i < slots.filled[s]; ++i) {
            uint32_t cell = 0;
            for (uint32_t axis = 0; axis < DIMS; ++axis)
                cell = 4 * cell + (uint32_t)pointtree_nd_coordinate(
                                      &view, slots.nodes[s * LEAF_POINTS + i], axis);
            assert_true(bucket_of[cell] == KD_NONE || bucket_of[cell] == s);
            bucket_of[cell] = s;
        }
    leaf_slots_close(&slots);
    pointtree_close(&tree);
}

/* Boxes of doubles far from the origin are as narrow as those at the origin. */
static void boxes_do_not_depend_on_the_origin(void **test) {
    enum { COUNT = 5000, DIMS = 4 };
    static const double shifts[] = {0, 1e7, -1e9, 1.7e9};
    double widths[4] = {0, 0, 0, 0};
    (void)test;
    for (int i = 0; i < 4; ++i) {
        pointtree tree;
        point_array input;
        leafindex index;
        for (uint32_t j = 0; j < COUNT * DIMS; ++j) wide[j] = draw() + shifts[i];
        const pointtree_options options = {POINTTREE_WIDEST, false, 0};
        input = point_array_make(wide, COUNT, DIMS, POINT_DOUBLE);
        assert_int_equal(pointtree_open_nd(&tree, &input, &options, "auto", NULL), KD_OK);
        const pointtree_nd_view view = pointtree_get_nd_view(&tree);
        assert_int_equal(leafindex_open(&index, &view, false), KD_OK);
        const float *sides = index.boxes + index.shape.level_begin[index.shape.levels - 1] *
                                               (uint64_t)(DIMS * 2 * LEAF_GROUP);
        for (uint32_t s = 0; s < index.shape.leaf_count; ++s) {
            const float *at = sides + s / LEAF_GROUP * (DIMS * 2 * LEAF_GROUP) + s % LEAF_GROUP;
            for (uint32_t axis = 0; axis < DIMS; ++axis, at += 2 * LEAF_GROUP)
                widths[i] += (double)(at[LEAF_GROUP] - at[0]) / (DIMS * index.shape.leaf_count);
        }
        leafindex_close(&index);
        pointtree_close(&tree);
    }
    for (int i = 1; i < 4; ++i) assert_true(widths[i] < widths[0] * 1.1);
}

/* Lists of eight nearest, by AVX2 and scalar code, for dist2 with many ties and some infinite
   values. */
static void nearest_eight_equal_plain_ones(void **test) {
    (void)test;
    for (uint32_t round = 0; round < 2000; ++round) {
        doubles_nearest list, plain;
        for (int lane = 0; lane < LEAF_GROUP; ++lane) {
            list.dist2[lane] = plain.dist2[lane] = (double)INFINITY;
            list.id[lane] = plain.id[lane] = INT64_MAX;
        }
        for (int leaf = 0; leaf < 4; ++leaf) {
            double dist2[LEAF_POINTS];
            uint32_t ids[LEAF_POINTS];
            for (uint32_t i = 0; i < LEAF_POINTS; ++i) {
                dist2[i] = round % 3 ? draw_step() : draw();
                if (draw() < 0.05) dist2[i] = (double)INFINITY;
                ids[i] = (uint32_t)(draw() * 1024) * LEAF_POINTS + i;
            }
            const uint32_t within = (uint32_t)(draw() * 65536);
            doubles_nearest_take(&list, dist2, ids, within);
            doubles_nearest_take_plain(&plain, dist2, ids, within);
            assert_memory_equal(&list, &plain, sizeof list);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nearest_eight_equal_plain_ones),
        cmocka_unit_test(buckets_hold_each_point_once),
        cmocka_unit_test(equal_points_are_together),
        cmocka_unit_test(boxes_do_not_depend_on_the_origin),
        cmocka_unit_test(answers_equal_stack_free_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
