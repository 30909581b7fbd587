/* accel/wide/wide_tree.h: every wide tree satisfies its invariants, holds the triangles of the k-d
   tree, and does not depend on the number of threads. test_trace.c tests its traversal. */
#include "accel/builders.h"
#include "accel/wide/wide_tree.h"
#include "core/parallel/parallel.h"
#include "triangle_sets.h"

enum { COUNT_MASK = WIDE_COUNT_MASK };

typedef struct traversal {
    const tritree *tree;
    const wide_tree *wide;
    uint8_t *node_seen;
    uint64_t leaf_seen; /* total of the leaves */
    uint32_t depth;
} traversal;

static float coordinate(const traversal *traversal, uint32_t id, uint32_t corner, int axis) {
    const uint32_t vertex = traversal->tree->input.triangles[3 * (uint64_t)id + corner];
    return vec3_axis(traversal->tree->input.positions[vertex], axis);
}

/* Checks that the triangles of a leaf are valid, distinct, and overlap its cell. */
static void check_leaf(traversal *traversal, uint32_t word, const float lo[3], const float hi[3]) {
    const wide_tree *wide = traversal->wide;
    const uint32_t count = word & COUNT_MASK, first = word >> WIDE_COUNT_BITS;
    const float *leaf = wide->leaves + (uint64_t)first * WIDE_LEAF_FLOATS;
    assert_in_range(count, 1, WIDE_LEAF_MAX);
    assert_true(first + count <= wide->leaf_triangles);
    traversal->leaf_seen += count;
    for (uint32_t i = 0; i < count; ++i) {
        const uint32_t id = float_bits(leaf[9 * count + i]);
        assert_true(id < traversal->tree->input.triangle_count);
        for (uint32_t k = 0; k < i; ++k) assert_true(float_bits(leaf[9 * count + k]) != id);
        for (uint32_t axis = 0; axis < 3; ++axis) {
            float minimum = INFINITY, maximum = -INFINITY;
            for (uint32_t corner = 0; corner < 3; ++corner) {
                const float x = leaf[(3 * axis + corner) * count + i];
                assert_true(x == coordinate(traversal, id, corner, (int)axis));
                minimum = fminf(minimum, x);
                maximum = fmaxf(maximum, x);
            }
            assert_true(minimum <= hi[axis] && maximum >= lo[axis]);
        }
    }
}

/* Returns entry i of the order of a node's children for rays of this octant. */
static uint32_t nibble(const wide_tree *wide, wide_node node, uint32_t octant, uint32_t i) {
    const uint32_t numbers = wide->children / 8;
    return node.orders[octant * numbers + i % numbers] >> i / numbers * 4 & 15;
}

/* Checks that each order contains every child once, and that opposite directions have opposite
   orders. */
static void check_orders(const wide_tree *wide, wide_node node, uint32_t children) {
    bool sound = true;
    for (uint32_t octant = 0; octant < 8; ++octant) {
        uint32_t seen = 0;
        for (uint32_t i = 0; i < wide->children; ++i) {
            const uint32_t lane = nibble(wide, node, octant, i);
            seen |= 1u << lane;
            sound = sound && (lane < children) == (i < children);
            if (i < children)
                sound = sound && lane == nibble(wide, node, 7 - octant, children - 1 - i);
        }
        sound = sound && seen == (1u << wide->children) - 1;
    }
    assert_true(sound);
}

/* Checks that children lie inside their parent; returns their number. */
static uint32_t check_node(const traversal *traversal, wide_node node, const float lo[3],
                           const float hi[3]) {
    const wide_tree *wide = traversal->wide;
    uint32_t children = 0;
    while (children < wide->children && node.words[children]) ++children;
    for (uint32_t i = children; i < wide->children; ++i) {
        assert_int_equal(node.words[i], 0);
        for (uint32_t row = 0; row < 6; ++row)
            assert_true(node.bounds[row * wide->children + i] == (row % 2 ? -INFINITY : INFINITY));
    }
    for (uint32_t i = 0; i < children; ++i)
        for (uint32_t axis = 0; axis < 3; ++axis) {
            assert_true(node.bounds[2 * axis * wide->children + i] >= lo[axis]);
            assert_true(node.bounds[(2 * axis + 1) * wide->children + i] <= hi[axis]);
        }
    check_orders(wide, node, children);
    return children;
}

static void walk(traversal *traversal, uint32_t index, uint32_t depth, const float lo[3],
                 const float hi[3]) {
    const wide_tree *wide = traversal->wide;
    assert_true(index < wide->node_count);
    assert_false(traversal->node_seen[index]);
    traversal->node_seen[index] = 1;
    if (depth > traversal->depth) traversal->depth = depth;
    const wide_node node = wide_node_at(wide, index);
    assert_int_equal((uintptr_t)node.bounds % 64, 0);
    const uint32_t children = check_node(traversal, node, lo, hi);
    assert_true(children >= (index ? 2u : 1u));
    for (uint32_t i = 0; i < children; ++i) {
        float minimum[3], maximum[3], from[3], to[3];
        for (uint32_t axis = 0; axis < 3; ++axis) {
            const double centre = (double)vec3_axis(wide->centre, (int)axis);
            const double margin = (double)wide->margin;
            minimum[axis] = node.bounds[2 * axis * wide->children + i];
            maximum[axis] = node.bounds[(2 * axis + 1) * wide->children + i];
            /* the child's cell without the margin, relative to the origin */
            from[axis] = float_down((float)((double)minimum[axis] + margin + centre));
            to[axis] = float_up((float)((double)maximum[axis] - margin + centre));
        }
        if (node.words[i] & COUNT_MASK)
            check_leaf(traversal, node.words[i], from, to);
        else
            walk(traversal, node.words[i] >> WIDE_COUNT_BITS, depth + 1, minimum, maximum);
    }
}

static void check_tree(const tritree *tree, const wide_tree *wide) {
    traversal traversal = {.tree = tree, .wide = wide};
    const float all[3] = {INFINITY, INFINITY, INFINITY},
                none[3] = {-INFINITY, -INFINITY, -INFINITY};
    if (!wide) {
        assert_int_equal(tree->reference_count, 0);
        return;
    }
    assert_int_equal(KD_RESERVE_ZEROED(traversal.node_seen, wide->node_count), KD_OK);
    walk(&traversal, 0, 1, none, all);
    for (uint32_t i = 0; i < wide->node_count; ++i) assert_true(traversal.node_seen[i]);
    assert_int_equal(traversal.leaf_seen, wide->leaf_triangles);
    assert_int_equal(traversal.depth, wide->depth);
    assert_true(wide->depth <= WIDE_MAX_DEPTH);
    assert_true(wide_tree_bytes(wide) >= wide->node_count * 32ull * wide->children);
    double square = 0;
    for (int axis = 0; axis < 3; ++axis)
        square +=
            pow((double)vec3_axis(tree->box.hi, axis) - (double)vec3_axis(tree->box.lo, axis), 2);
    assert_true((double)wide->margin >= 0x1p-20 * 0.999 * WIDE_REACH * sqrt(square) &&
                (double)wide->reach <= 1.001 * WIDE_REACH * sqrt(square));
    memory_free(traversal.node_seen);
}

/* Checks that the leaves of the wide tree hold the same triangles as those of the k-d tree. */
static void check_triangles(const tritree *tree, const wide_tree *wide) {
    const uint32_t count = tree->input.triangle_count;
    uint8_t *in_tree = NULL, *in_wide = NULL;
    if (!wide) return;
    assert_int_equal(KD_RESERVE_ZEROED(in_tree, count), KD_OK);
    assert_int_equal(KD_RESERVE_ZEROED(in_wide, count), KD_OK);
    for (uint32_t i = 0; i < tree->reference_count; ++i) in_tree[tree->references[i]] = 1;
    for (uint32_t n = 0; n < wide->node_count; ++n)
        for (uint32_t i = 0; i < wide->children; ++i) {
            const uint32_t word = wide_node_at(wide, n).words[i], held = word & COUNT_MASK;
            const float *leaf =
                wide->leaves + (uint64_t)(word >> WIDE_COUNT_BITS) * WIDE_LEAF_FLOATS;
            for (uint32_t k = 0; k < held; ++k) in_wide[float_bits(leaf[9 * held + k])] = 1;
        }
    assert_memory_equal(in_tree, in_wide, count);
    memory_free(in_tree);
    memory_free(in_wide);
}

/* Checks trees of eight and of sixteen children, regardless of which this CPU uses. */
static void check_both(const tritree *tree) {
    const tritree_view view = tritree_get_view(tree);
    for (uint32_t children = 8; children <= WIDE_CHILDREN_MAX; children += 8) {
        wide_tree *wide = NULL;
        assert_int_equal(wide_tree_make(&wide, &view, children), KD_OK);
        assert_true(!wide == !tree->wide);
        check_tree(tree, wide);
        check_triangles(tree, wide);
        wide_tree_close(wide);
    }
}

static void test_wide_trees_are_valid(void **state) {
    (void)state;
    static const uint32_t counts[] = {0, 1, 2, 3, 7, 8, 9, 16, 17, 64, 127, 500, 1025};
    for (const tritree_builder *const *row = tritree_builders; *row; ++row)
        for (int which = 0; which < CASE_TRIANGLE_SETS; ++which)
            for (size_t i = 0; i < sizeof counts / sizeof *counts; ++i) {
                if (test_leaves_out((uint32_t)((row - tritree_builders) + which) + (uint32_t)i, 3))
                    continue;
                triangle_set set = triangle_set_make((case_triangles)which, counts[i]);
                const tritree_options options = tritree_options_default();
                tritree tree;
                assert_int_equal(tritree_open(&tree, &set.input, &options, (*row)->name, NULL),
                                 KD_OK);
                assert_true(!tree.wide || tree.wide->children == wide_children_best());
                check_both(&tree);
                tritree_close(&tree);
                triangle_set_close(&set);
            }
}

static void same_tree(const wide_tree *a, const wide_tree *b) {
    assert_int_equal(a->node_count, b->node_count);
    assert_int_equal(a->leaf_triangles, b->leaf_triangles);
    assert_memory_equal(a->nodes, b->nodes, a->node_count * 32ull * a->children);
    assert_memory_equal(a->leaves, b->leaves, a->leaf_triangles * WIDE_LEAF_FLOATS * sizeof(float));
}

static void test_wide_tree_is_independent_of_threads(void **state) {
    (void)state;
    triangle_set set = triangle_set_make(CASE_SOUP, 20000);
    const tritree_options options = tritree_options_default();
    tritree tree;
    parallel_set_threads(1);
    assert_int_equal(tritree_open(&tree, &set.input, &options, "auto", NULL), KD_OK);
    const tritree_view view = tritree_get_view(&tree);
    for (int threads = 2; threads <= 4; ++threads) {
        wide_tree *other = NULL;
        parallel_set_threads(threads);
        assert_int_equal(wide_tree_open(&other, &view), KD_OK);
        same_tree(tree.wide, other);
        wide_tree_close(other);
    }
    parallel_set_threads(0);
    check_both(&tree);
    tritree_close(&tree);
    triangle_set_close(&set);
}

/* Lanes are ordered for any-hit rays: the wall, which blocks all rays, is in the last lane,
   although a few specks are in front of it. */
static void test_strongest_occluder_comes_first(void **state) {
    (void)state;
    enum { SPECKS = 40 };
    vec3 positions[3 * (SPECKS + 2)];
    uint32_t triangles[3 * (SPECKS + 2)];
    for (uint32_t i = 0; i < 3 * (SPECKS + 2); ++i) triangles[i] = i;
    for (uint32_t i = 0; i < SPECKS; ++i) {
        const vec3 at = vec3_make((float)(i % 7) + 0.5f, (float)(i / 7) + 0.5f, (float)i / 20);
        positions[3 * i] = at;
        positions[3 * i + 1] = vec3_add(at, vec3_make(0.05f, 0, 0));
        positions[3 * i + 2] = vec3_add(at, vec3_make(0, 0.05f, 0));
    }
    static const float wall[6][2] = {{0, 0}, {7, 0}, {7, 7}, {0, 0}, {7, 7}, {0, 7}};
    for (uint32_t i = 0; i < 6; ++i)
        positions[3 * SPECKS + i] = vec3_make(wall[i][0], wall[i][1], 9);
    const tritree_input input = {positions, triangles, 3 * (SPECKS + 2), SPECKS + 2};
    const tritree_options options = tritree_options_default();
    tritree tree;
    assert_int_equal(tritree_open(&tree, &input, &options, "auto", NULL), KD_OK);
    const wide_node root = wide_node_at(tree.wide, 0);
    uint32_t lane = tree.wide->children - 1;
    while (!root.words[lane]) --lane;
    const uint32_t count = root.words[lane] & COUNT_MASK;
    assert_true(count > 0);
    const float *leaf =
        tree.wide->leaves + (uint64_t)(root.words[lane] >> WIDE_COUNT_BITS) * WIDE_LEAF_FLOATS;
    assert_true(float_bits(leaf[9 * count]) >= SPECKS);
    tritree_close(&tree);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_wide_trees_are_valid),
                                       cmocka_unit_test(test_wide_tree_is_independent_of_threads),
                                       cmocka_unit_test(test_strongest_occluder_comes_first)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
