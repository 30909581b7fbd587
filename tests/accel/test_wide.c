/* accel/wide/wide_tree.h: what every wide tree must keep, and that it is the same on any number of
   threads. That rays find the same in it: test_trace.c. */
#include "accel/builders.h"
#include "accel/wide/wide_tree.h"
#include "core/parallel/parallel.h"
#include "triangle_sets.h"

enum { COUNT_MASK = (1 << WIDE_COUNT_BITS) - 1 };

typedef struct visit {
    const tritree *tree;
    uint8_t *node_seen;
    uint64_t leaf_seen; /* triangles of leaves */
    uint32_t depth;
} visit;

static float coordinate(const visit *of, uint32_t id, uint32_t corner, int axis) {
    const uint32_t vertex = of->tree->input.triangles[3 * (uint64_t)id + corner];
    return vec3_axis(of->tree->input.positions[vertex], axis);
}

/* Triangles are the input's, none twice, and meet the cell. */
static void check_leaf(visit *of, uint32_t word, const float lo[3], const float hi[3]) {
    const wide_tree *wide = of->tree->wide;
    const uint32_t count = word & COUNT_MASK, first = word >> WIDE_COUNT_BITS;
    const float *leaf = wide->leaves + (uint64_t)first * WIDE_LEAF_FLOATS;
    assert_in_range(count, 1, WIDE_CELLS);
    assert_true(first + count <= wide->leaf_triangles);
    of->leaf_seen += count;
    for (uint32_t i = 0; i < count; ++i) {
        const uint32_t id = float_bits(leaf[9 * count + i]);
        assert_true(id < of->tree->input.triangle_count);
        for (uint32_t k = 0; k < i; ++k) assert_true(float_bits(leaf[9 * count + k]) != id);
        for (uint32_t axis = 0; axis < 3; ++axis) {
            float least = INFINITY, most = -INFINITY;
            for (uint32_t corner = 0; corner < 3; ++corner) {
                const float x = leaf[(3 * axis + corner) * count + i];
                assert_true(x == coordinate(of, id, corner, (int)axis));
                least = fminf(least, x);
                most = fmaxf(most, x);
            }
            assert_true(least <= hi[axis] && most >= lo[axis]);
        }
    }
}

/* Cells lie in their parent's, and their interiors are apart; each order has each of them once. */
static uint32_t check_node(const visit *of, const wide_node *node, const float lo[3],
                           const float hi[3]) {
    uint32_t cells = 0;
    while (cells < WIDE_CELLS && node->word[cells]) ++cells;
    for (uint32_t i = cells; i < WIDE_CELLS; ++i) {
        assert_int_equal(node->word[i], 0);
        assert_true(node->bound[0][i] == INFINITY && node->bound[1][i] == -INFINITY);
    }
    for (uint32_t i = 0; i < cells; ++i)
        for (int axis = 0; axis < 3; ++axis) {
            const float slack =
                1e-6f * (vec3_axis(of->tree->box.hi, axis) - vec3_axis(of->tree->box.lo, axis));
            assert_true(node->bound[2 * axis][i] >= lo[axis] - slack);
            assert_true(node->bound[2 * axis + 1][i] <= hi[axis] + slack);
        }
    for (int octant = 0; octant < 4; ++octant) {
        uint32_t seen = 0;
        for (int k = 0; k < WIDE_CELLS; ++k) {
            seen |= 1u << node->order[octant][k];
            assert_true((node->order[octant][k] < cells) == ((uint32_t)k < cells));
        }
        assert_int_equal(seen, (1 << WIDE_CELLS) - 1);
    }
    return cells;
}

static void walk(visit *of, uint32_t index, uint32_t depth, const float lo[3], const float hi[3]) {
    const wide_tree *wide = of->tree->wide;
    assert_true(index < wide->node_count);
    assert_false(of->node_seen[index]);
    of->node_seen[index] = 1;
    if (depth > of->depth) of->depth = depth;
    const wide_node *node = wide->nodes + index;
    assert_int_equal((uintptr_t)node % 64, 0);
    const uint32_t cells = check_node(of, node, lo, hi);
    assert_true(cells >= (index ? 2u : 1u));
    for (uint32_t i = 0; i < cells; ++i) {
        float least[3], most[3], from[3], to[3];
        for (int axis = 0; axis < 3; ++axis) {
            const float centre = vec3_axis(wide->centre, axis);
            least[axis] = node->bound[2 * axis][i];
            most[axis] = node->bound[2 * axis + 1][i];
            /* what rounding may have added to a bound is at most a unit of the centre or of it */
            from[axis] = float_down(least[axis] + centre) - fabsf(centre) * 0x1p-23f;
            to[axis] = float_up(most[axis] + centre) + fabsf(centre) * 0x1p-23f;
        }
        if (node->word[i] & COUNT_MASK)
            check_leaf(of, node->word[i], from, to);
        else
            walk(of, node->word[i] >> WIDE_COUNT_BITS, depth + 1, least, most);
    }
}

static void check_tree(const tritree *tree) {
    const wide_tree *wide = tree->wide;
    visit of = {.tree = tree};
    const float all[3] = {INFINITY, INFINITY, INFINITY},
                none[3] = {-INFINITY, -INFINITY, -INFINITY};
    if (!wide) {
        assert_int_equal(tree->reference_count, 0);
        return;
    }
    assert_int_equal(KD_RESERVE_ZEROED(of.node_seen, wide->node_count), KD_OK);
    walk(&of, 0, 1, none, all);
    for (uint32_t i = 0; i < wide->node_count; ++i) assert_true(of.node_seen[i]);
    assert_int_equal(of.leaf_seen, wide->leaf_triangles);
    assert_int_equal(of.depth, wide->depth);
    assert_true(wide->depth <= WIDE_MAX_DEPTH);
    assert_true(wide_tree_bytes(wide) >= wide->node_count * sizeof(wide_node));
    memory_free(of.node_seen);
}

/* Every triangle that some leaf of the k-d tree holds is in a leaf of the wide one, and no other.
 */
static void check_triangles(const tritree *tree) {
    const uint32_t count = tree->input.triangle_count;
    uint8_t *in_tree = NULL, *in_wide = NULL;
    if (!tree->wide) return;
    assert_int_equal(KD_RESERVE_ZEROED(in_tree, count), KD_OK);
    assert_int_equal(KD_RESERVE_ZEROED(in_wide, count), KD_OK);
    for (uint32_t i = 0; i < tree->reference_count; ++i) in_tree[tree->references[i]] = 1;
    for (uint32_t n = 0; n < tree->wide->node_count; ++n)
        for (int i = 0; i < WIDE_CELLS; ++i) {
            const uint32_t word = tree->wide->nodes[n].word[i], held = word & COUNT_MASK;
            const float *leaf =
                tree->wide->leaves + (uint64_t)(word >> WIDE_COUNT_BITS) * WIDE_LEAF_FLOATS;
            for (uint32_t k = 0; k < held; ++k) in_wide[float_bits(leaf[9 * held + k])] = 1;
        }
    assert_memory_equal(in_tree, in_wide, count);
    memory_free(in_tree);
    memory_free(in_wide);
}

static void every_tree_has_a_sound_wide_form(void **state) {
    (void)state;
    static const uint32_t counts[] = {0, 1, 2, 3, 7, 8, 9, 16, 17, 64, 127, 500, 1025};
    for (const tritree_builder *const *row = tritree_builders; *row; ++row)
        for (int which = 0; which < CASE_TRIANGLE_SETS; ++which)
            for (size_t i = 0; i < sizeof counts / sizeof *counts; ++i) {
                triangle_set set = triangle_set_make((case_triangles)which, counts[i]);
                const tritree_options options = tritree_options_default();
                tritree tree;
                assert_int_equal(tritree_open(&tree, &set.input, &options, (*row)->name, NULL),
                                 KD_OK);
                check_tree(&tree);
                check_triangles(&tree);
                tritree_close(&tree);
                triangle_set_close(&set);
            }
}

static void threads_make_the_same_wide_tree(void **state) {
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
        assert_int_equal(other->node_count, tree.wide->node_count);
        assert_int_equal(other->leaf_triangles, tree.wide->leaf_triangles);
        assert_memory_equal(other->nodes, tree.wide->nodes, other->node_count * sizeof(wide_node));
        assert_memory_equal(other->leaves, tree.wide->leaves,
                            other->leaf_triangles * WIDE_LEAF_FLOATS * sizeof(float));
        wide_tree_close(other);
    }
    parallel_set_threads(0);
    check_tree(&tree);
    tritree_close(&tree);
    triangle_set_close(&set);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_tree_has_a_sound_wide_form),
                                       cmocka_unit_test(threads_make_the_same_wide_tree)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
