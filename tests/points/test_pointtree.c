/* points/: pointtree_check accepts the tree of every builder and rejects damaged trees; invalid
   input is rejected. */
#include "core/parallel/parallel.h"
#include "points/select/builders.h"
#include "points/tree/check.h"
#include "tests/cases.h"
#include "tests/test.h"

enum { POINTS_MAX = 10000 };
static vec3 points[POINTS_MAX];

static void fill(case_points which, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) points[i] = case_point(which, i, count);
}

static void build_and_check(const char *builder, pointtree_split split, uint32_t count,
                            uint64_t *hash) {
    pointtree tree;
    const pointtree_options options = {split, false, 0};
    assert_int_equal(pointtree_open(&tree, points, count, &options, builder, NULL), KD_OK);
    const pointtree_nd_view view = pointtree_get_nd_view(&tree);
    const point_array array = point_array_make(points, count, 3, POINT_FLOAT);
    if (pointtree_check_nd(&view, &array) != KD_OK)
        fail_msg("%s, %u points: %s", builder, count, kd_last_error());
    *hash = pointtree_hash(&tree);
    pointtree_close(&tree);
}

/* All builders satisfy P1 to P3 on all sets of cases.h, and build the reference tree bit for
   bit. */
static void builders_make_the_same_tree(void **state) {
    (void)state;
    for (int which = 0; which < CASE_POINT_SETS; ++which)
        for (int c = 0; c < CASE_COUNTS; ++c)
            for (int split = 0; split < 2; ++split) {
                fill((case_points)which, case_counts[c]);
                uint64_t expected, actual;
                const pointtree_split rule = split ? POINTTREE_WIDEST : POINTTREE_ROUND_ROBIN;
                build_and_check("recursive", rule, case_counts[c], &expected);
                for (const pointtree_builder *const *row = pointtree_builders; *row; ++row) {
                    build_and_check((*row)->name, rule, case_counts[c], &actual);
                    if (actual != expected && (*row)->order == POINTTREE_BY_COORDINATE)
                        fail_msg("%s: %s, %u points, split %d: another tree", (*row)->name,
                                 case_points_name((case_points)which), case_counts[c], split);
                }
            }
}

static void trees_do_not_depend_on_threads(void **state) {
    (void)state;
    fill(CASE_CLUSTERED, POINTS_MAX);
    for (const pointtree_builder *const *row = pointtree_builders; *row; ++row) {
        uint64_t hash[4];
        for (int t = 0; t < 4; ++t) {
            parallel_set_threads(t == 3 ? 8 : t + 1);
            build_and_check((*row)->name, POINTTREE_WIDEST, POINTS_MAX, &hash[t]);
            assert_true(hash[t] == hash[0]);
        }
        parallel_set_threads(0);
    }
}

/* So many points that all cores split the top of the tree. */
static void large_trees_do_not_depend_on_threads(void **state) {
    (void)state;
    enum { MANY = 100000 };
    static const case_points sets[] = {CASE_UNIFORM, CASE_DUPLICATES, CASE_ALL_EQUAL, CASE_SORTED};
    static vec3 many[MANY];
    for (int which = 0; which < 4; ++which) {
        for (uint32_t i = 0; i < MANY; ++i) many[i] = case_point(sets[which], i, MANY);
        const pointtree_options options = {which % 2 ? POINTTREE_ROUND_ROBIN : POINTTREE_WIDEST,
                                           false, 0};
        uint64_t expected = 0;
        for (int threads = 0; threads < 4; ++threads) {
            pointtree tree;
            parallel_set_threads(threads == 3 ? 8 : threads);
            assert_int_equal(
                pointtree_open(&tree, many, MANY, &options, threads ? "select" : "recursive", NULL),
                KD_OK);
            if (threads == 0) expected = pointtree_hash(&tree);
            assert_true(pointtree_hash(&tree) == expected);
            pointtree_close(&tree);
        }
    }
    parallel_set_threads(0);
}

/* Fills an array with points of `dims` coordinates, `stride` scalars apart. Coordinates beyond the
   third come from other points. */
static void fill_nd(void *to, case_points which, uint32_t count, uint32_t dims, uint32_t stride,
                    point_scalar scalar) {
    for (uint32_t i = 0; i < count; ++i)
        for (uint32_t axis = 0; axis < dims; ++axis) {
            const vec3 p = case_point(which, i + axis / 3 * 977, count);
            const float x = vec3_axis(p, (int)(axis % 3));
            if (scalar == POINT_DOUBLE)
                ((double *)to)[i * stride + axis] = (double)x * (1 + 0x1p-40 * (i % 3));
            else
                ((float *)to)[i * stride + axis] = x;
        }
}

static void trees_have_one_to_eight_dimensions(void **state) {
    (void)state;
    static double buffer[600 * 10];
    static const uint32_t counts[] = {1, 2, 31, 100, 600};
    for (uint32_t dims = 1; dims <= 8; ++dims)
        for (int which = 0; which < CASE_POINT_SETS; ++which)
            for (int variant = 0; variant < 5 * 2 * 2; ++variant) {
                const uint32_t count = counts[variant / 4], stride = dims + (uint32_t)variant % 2;
                const point_scalar scalar = variant / 2 % 2 ? POINT_DOUBLE : POINT_FLOAT;
                fill_nd(buffer, (case_points)which, count, dims, stride, scalar);
                point_array array = point_array_make(buffer, count, dims, scalar);
                array.stride_bytes = stride * point_scalar_bytes(scalar);
                const pointtree_options options = {
                    (which + variant) % 3 ? POINTTREE_WIDEST : POINTTREE_ROUND_ROBIN, false, 0};
                uint64_t expected = 0;
                for (int pass = 0; pass < 2; ++pass)
                    for (const pointtree_builder *const *row = pointtree_builders; *row; ++row) {
                        if ((strcmp((*row)->name, "recursive") == 0) != (pass == 0)) continue;
                        pointtree tree;
                        assert_int_equal(
                            pointtree_open_nd(&tree, &array, &options, (*row)->name, NULL), KD_OK);
                        const pointtree_nd_view view = pointtree_get_nd_view(&tree);
                        if (pointtree_check_nd(&view, &array) != KD_OK)
                            fail_msg("%s: %s", (*row)->name, kd_last_error());
                        if (pass == 0) expected = pointtree_hash(&tree);
                        if (pointtree_hash(&tree) != expected &&
                            (*row)->order == POINTTREE_BY_COORDINATE)
                            fail_msg("%s: %s, %u points of %u dimensions: another tree",
                                     (*row)->name, case_points_name((case_points)which), count,
                                     dims);
                        pointtree_close(&tree);
                    }
            }
}

/* Brown's builder removes duplicates on request: of equal points the one with the smallest id
   stays, and the result is the tree of the remaining points. */
static void duplicates_go_when_asked(void **state) {
    (void)state;
    static const case_points sets[] = {CASE_DUPLICATES, CASE_ALL_EQUAL, CASE_UNIFORM,
                                       CASE_SIGNED_ZERO};
    static uint8_t kept[2000];
    for (int set = 0; set < 4; ++set)
        for (int split = 0; split < 2; ++split) {
            const uint32_t count = 2000;
            fill(sets[set], count);
            uint32_t distinct = 0;
            for (uint32_t i = 0; i < count; ++i) {
                kept[i] = 1;
                for (uint32_t j = 0; j < i && kept[i]; ++j)
                    kept[i] = points[i].x != points[j].x || points[i].y != points[j].y ||
                              points[i].z != points[j].z;
                distinct += kept[i];
            }
            const pointtree_options options = {split ? POINTTREE_WIDEST : POINTTREE_ROUND_ROBIN,
                                               true, 0};
            pointtree tree;
            assert_int_equal(pointtree_open(&tree, points, count, &options, "brown", NULL), KD_OK);
            assert_int_equal(tree.count, distinct);
            for (uint32_t i = 0; i < distinct; ++i) assert_true(kept[tree.ids[i]]);
            const pointtree_nd_view view = pointtree_get_nd_view(&tree);
            const point_array array = point_array_make(points, count, 3, POINT_FLOAT);
            if (pointtree_check_nd(&view, &array) != KD_OK) fail_msg("%s", kd_last_error());
            pointtree_close(&tree);
            assert_int_equal(pointtree_open(&tree, points, count, &options, "wald", NULL),
                             KD_ERROR_USAGE);
        }
}

/* Brown's super key: points that tie on an axis are ordered by the next axes, not by their ids. */
static void browns_order_is_the_super_key(void **state) {
    (void)state;
    for (uint32_t i = 0; i < 64; ++i) points[i] = vec3_make(1, (float)(63 - i), 2);
    pointtree tree;
    assert_int_equal(pointtree_open(&tree, points, 64, NULL, "brown", NULL), KD_OK);
    assert_int_equal(tree.ids[0], 63 - pointtree_subtree_size(1, 64));
    pointtree_nd_view view = pointtree_get_nd_view(&tree);
    const point_array array = point_array_make(points, 64, 3, POINT_FLOAT);
    assert_int_equal(pointtree_check_nd(&view, &array), KD_OK);
    view.order = POINTTREE_BY_COORDINATE;
    assert_int_equal(pointtree_check_nd(&view, &array), KD_ERROR_CHECK);
    pointtree_close(&tree);
}

static void sizes_and_begins_add_up(void **state) {
    (void)state;
    static uint32_t size[2 * 1025 + 2];
    for (uint32_t count = 1; count <= 1025; ++count) {
        memset(size, 0, sizeof size);
        for (uint32_t node = count; node-- > 0;) {
            size[node] = 1 + size[2 * node + 1] + size[2 * node + 2];
            assert_int_equal(pointtree_subtree_size(node, count), size[node]);
        }
        uint32_t begin = 0;
        for (uint32_t node = 0; node < count; ++node) {
            const uint32_t level_begin = pointtree_level_begin(pointtree_level_of(node));
            if (node == level_begin) begin = level_begin;
            assert_int_equal(pointtree_segment_begin(node, count), begin);
            begin += size[node];
        }
        assert_int_equal(pointtree_subtree_size(count, count), 0);
        assert_int_equal(pointtree_inorder_begin(0, count), 0);
        for (uint32_t node = 1; node < count; ++node) {
            const uint32_t parent = (node - 1) / 2, above = pointtree_inorder_begin(parent, count);
            assert_int_equal(pointtree_inorder_begin(node, count),
                             node == 2 * parent + 1 ? above : above + size[node - 1] + 1);
        }
    }
    assert_int_equal(pointtree_subtree_size(0, POINTTREE_COUNT_MAX), POINTTREE_COUNT_MAX);
    assert_int_equal(pointtree_subtree_size(2, POINTTREE_COUNT_MAX), POINTTREE_COUNT_MAX / 2);
}

static kd_status check_now(const pointtree *tree, uint32_t count) {
    const point_array array = point_array_make(points, count, 3, POINT_FLOAT);
    const pointtree_nd_view view = pointtree_get_nd_view(tree);
    return pointtree_check_nd(&view, &array);
}

/* The checker must detect damage. */
static void sabotage_is_found(void **state) {
    (void)state;
    const uint32_t count = 1000;
    fill(CASE_UNIFORM, count);
    pointtree tree;
    const pointtree_options options = {POINTTREE_WIDEST, false, 0};
    assert_int_equal(pointtree_open(&tree, points, count, &options, "recursive", NULL), KD_OK);
    assert_int_equal(check_now(&tree, count), KD_OK);
    assert_int_equal(check_now(&tree, count - 1), KD_ERROR_CHECK);
    for (uint32_t node = 0; node < count; ++node) { /* P1, P3 at every node */
        const uint32_t id = tree.ids[node];
        tree.ids[node] = tree.ids[(node + 1) % count];
        assert_int_equal(check_now(&tree, count), KD_ERROR_CHECK);
        tree.ids[node] = node % 2 ? count : KD_NONE;
        assert_int_equal(check_now(&tree, count), KD_ERROR_CHECK);
        tree.ids[node] = id;
        const float x = tree.points[node].x;
        tree.points[node].x = nextafterf(x, 2);
        assert_int_equal(check_now(&tree, count), KD_ERROR_CHECK);
        tree.points[node].x = x;
        const uint8_t axis = tree.axes[node];
        tree.axes[node] = (uint8_t)((axis + 1 + node % 3) % 4);
        if (tree.axes[node] != axis) {
            assert_int_equal(check_now(&tree, count), KD_ERROR_CHECK);
            tree.axes[node] = axis;
        }
    }
    for (uint32_t node = 1; node < count; ++node) { /* P2: two points exchanged */
        const uint32_t other = (node - 1) / 2, id = tree.ids[node];
        const vec3 point = tree.points[node];
        tree.ids[node] = tree.ids[other], tree.points[node] = tree.points[other];
        tree.ids[other] = id, tree.points[other] = point;
        assert_int_equal(check_now(&tree, count), KD_ERROR_CHECK);
        tree.ids[other] = tree.ids[node], tree.points[other] = tree.points[node];
        tree.ids[node] = id, tree.points[node] = point;
    }
    assert_int_equal(check_now(&tree, count), KD_OK);
    pointtree_close(&tree);
}

/* If coordinates tie, only the order of ids distinguishes a valid tree from an invalid one. -0
   equals +0 and must not affect the order. */
static void order_is_by_coordinate_then_id(void **state) {
    (void)state;
    for (uint32_t i = 0; i < 100; ++i) points[i] = vec3_make(i % 2 ? -0.0f : 0.0f, 1, 1);
    pointtree tree;
    assert_int_equal(pointtree_open(&tree, points, 100, NULL, "recursive", NULL), KD_OK);
    assert_int_equal(check_now(&tree, 100), KD_OK);
    assert_int_equal(tree.ids[0], pointtree_subtree_size(1, 100));
    for (uint32_t i = 0; i < 100; ++i) points[i] = vec3_make(0, 1, 1);
    for (uint32_t i = 0; i < 100; ++i) tree.points[i] = points[i];
    assert_int_equal(check_now(&tree, 100), KD_OK);
    const uint32_t id = tree.ids[1];
    tree.ids[1] = tree.ids[2];
    tree.ids[2] = id;
    assert_int_equal(check_now(&tree, 100), KD_ERROR_CHECK);
    assert_non_null(strstr(kd_last_error(), "P2"));
    pointtree_close(&tree);
}

static void cancelled_builds_leave_nothing(void **state) {
    (void)state;
    fill(CASE_UNIFORM, 1000);
    for (const pointtree_builder *const *row = pointtree_builders; *row; ++row) {
        job_control job;
        job_init(&job);
        atomic_store(&job.cancelled, true);
        pointtree tree;
        assert_int_equal(pointtree_open(&tree, points, 1000, NULL, (*row)->name, &job),
                         KD_INTERRUPTED);
        assert_null(tree.points);
    }
}

static void bad_input_is_refused(void **state) {
    (void)state;
    const float bad[] = {NAN, INFINITY, -INFINITY};
    pointtree tree;
    for (int b = 0; b < 3; ++b)
        for (int axis = 0; axis < 3; ++axis) {
            fill(CASE_UNIFORM, 100);
            vec3_set_axis(&points[42], axis, bad[b]);
            vec3_set_axis(&points[77], axis, bad[b]);
            assert_int_equal(pointtree_open(&tree, points, 100, NULL, NULL, NULL), KD_ERROR_INPUT);
            assert_non_null(strstr(kd_last_error(), "point 42 is"));
            assert_null(tree.points);
        }
    fill(CASE_UNIFORM, 100);
    assert_int_equal(pointtree_open(&tree, points, 100, NULL, "oak", NULL), KD_ERROR_USAGE);
    assert_non_null(strstr(kd_last_error(), "recursive"));
    assert_int_equal(pointtree_open(&tree, NULL, 100, NULL, NULL, NULL), KD_ERROR_USAGE);
    assert_int_equal(pointtree_open(&tree, points, 1ull << 31, NULL, NULL, NULL), KD_ERROR_USAGE);
    const int unknown = 7;
    pointtree_options options = {POINTTREE_ROUND_ROBIN, false, 0};
    memcpy(&options.split, &unknown, sizeof options.split);
    assert_int_equal(pointtree_open(&tree, points, 100, &options, NULL, NULL), KD_ERROR_USAGE);
    point_array array = point_array_make(points, 10, 9, POINT_FLOAT);
    assert_int_equal(pointtree_open_nd(&tree, &array, NULL, NULL, NULL), KD_ERROR_USAGE);
    array = point_array_make(points, 10, 0, POINT_FLOAT);
    assert_int_equal(pointtree_open_nd(&tree, &array, NULL, NULL, NULL), KD_ERROR_USAGE);
    array = point_array_make(points, 10, 3, POINT_FLOAT);
    array.stride_bytes = 8;
    assert_int_equal(pointtree_open_nd(&tree, &array, NULL, NULL, NULL), KD_ERROR_USAGE);
    array.stride_bytes = 14;
    assert_int_equal(pointtree_open_nd(&tree, &array, NULL, NULL, NULL), KD_ERROR_USAGE);
    array = point_array_make((const char *)points + 1, 9, 3, POINT_FLOAT);
    assert_int_equal(pointtree_open_nd(&tree, &array, NULL, NULL, NULL), KD_ERROR_USAGE);
    assert_int_equal(pointtree_open(&tree, NULL, 0, NULL, NULL, NULL), KD_OK);
    assert_int_equal(tree.count, 0);
    pointtree_close(&tree);
    pointtree_close(&tree);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_and_begins_add_up),
        cmocka_unit_test(builders_make_the_same_tree),
        cmocka_unit_test(trees_have_one_to_eight_dimensions),
        cmocka_unit_test(duplicates_go_when_asked),
        cmocka_unit_test(browns_order_is_the_super_key),
        cmocka_unit_test(trees_do_not_depend_on_threads),
        cmocka_unit_test(large_trees_do_not_depend_on_threads),
        cmocka_unit_test(sabotage_is_found),
        cmocka_unit_test(order_is_by_coordinate_then_id),
        cmocka_unit_test(cancelled_builds_leave_nothing),
        cmocka_unit_test(bad_input_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
