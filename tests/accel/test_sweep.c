/* The exact builder's tree against one built as plainly as can be: every plane of every node tried,
   its sides counted triangle by triangle. What makes it fast, against what it stands for. */
#include "accel/clip_halves.h"
#include "accel/small_nodes.h"
#include "accel/sweep.h"
#include "shaders/triangle_clip.h"
#include "triangle_sets.h"

enum { PLAIN_MOST = 333 };

typedef struct plain_node {
    box3 box;
    uint32_t count, at, id[PLAIN_MOST];
    box3 part[PLAIN_MOST];
    int32_t depth;
    double growth;
} plain_node;

typedef struct plain_build {
    tritree_input input;
    sah_costs costs;
    int32_t max_depth;
    tree_writer writer;
} plain_build;

static void try_plane(const plain_build *build, const plain_node *node, int axis, float plane,
                      sah_split *best) {
    const sah_axis of = sah_axis_of(node->box, axis);
    uint32_t left = 0, right = 0, planar = 0;
    const bool at_lo = plane == of.lo, at_hi = plane == of.hi;
    if (at_lo && at_hi) return;
    for (uint32_t i = 0; i < node->count; ++i) {
        const float lo = vec3_axis(node->part[i].lo, axis), hi = vec3_axis(node->part[i].hi, axis);
        planar += lo == plane && hi == plane;
        left += lo < plane;
        right += hi > plane;
    }
    if ((at_lo || at_hi) && !planar) return;
    for (int to_left = 1; to_left >= 0; --to_left) {
        if (to_left ? at_hi : at_lo) continue; /* else nothing would be parted */
        const float cost = sah_split_cost(&build->costs, &of, plane, left + (to_left ? planar : 0),
                                          right + (to_left ? 0 : planar));
        const bool sooner = cost == best->cost && axis == best->axis && plane < best->position;
        if (!(cost < best->cost || sooner)) continue;
        best->cost = cost;
        best->position = plane;
        best->axis = axis;
        best->planar_left = to_left != 0;
    }
}

static void plain_give(plain_node *child, uint32_t id, box3 part) {
    child->id[child->count] = id;
    child->part[child->count++] = part;
}

static void plain_share_out(const plain_build *build, const plain_node *node,
                            const sah_split *split, plain_node *left, plain_node *right) {
    for (uint32_t i = 0; i < node->count; ++i) {
        const float lo = vec3_axis(node->part[i].lo, split->axis);
        const float hi = vec3_axis(node->part[i].hi, split->axis);
        const uint32_t *index = build->input.triangles + 3 * node->id[i];
        const vec3 *corner = build->input.positions;
        if (lo == hi && lo == split->position) {
            plain_give(split->planar_left ? left : right, node->id[i], node->part[i]);
        } else if (hi <= split->position) {
            plain_give(left, node->id[i], node->part[i]);
        } else if (lo >= split->position) {
            plain_give(right, node->id[i], node->part[i]);
        } else {
            box3 below, above;
            const int parts =
                triangle_clip_halves(corner[index[0]], corner[index[1]], corner[index[2]],
                                     node->box, split->axis, split->position, &below, &above);
            if (parts & 1) plain_give(left, node->id[i], below);
            if (parts & 2) plain_give(right, node->id[i], above);
        }
    }
}

static void plain_subdivide(plain_build *build, const plain_node *node) {
    sah_split split = sah_split_none();
    split.cost = build->costs.intersect * (float)node->count;
    const bool grown = node->growth > SWEEP_GROWTH_MOST && node->count > SMALL_NODE_MOST;
    for (uint32_t i = 0; !grown && node->depth < build->max_depth && i < 6 * node->count; ++i) {
        const box3 *part = &node->part[i % node->count];
        const int axis = (int)(i / (2 * node->count));
        try_plane(build, node, axis,
                  vec3_axis(i / node->count % 2 ? part->hi : part->lo, axis) + 0.0f, &split);
    }
    if (split.axis == 3) {
        uint32_t *ids = NULL;
        assert_int_equal(tree_writer_leaf(&build->writer, node->at, node->count, &ids), KD_OK);
        for (uint32_t i = 0; i < node->count; ++i) ids[i] = node->id[i];
        return;
    }
    plain_node *child = (plain_node *)calloc(2, sizeof *child);
    assert_non_null(child);
    child[0].box = child[1].box = node->box;
    vec3_set_axis(&child[0].box.hi, split.axis, split.position);
    vec3_set_axis(&child[1].box.lo, split.axis, split.position);
    plain_share_out(build, node, &split, &child[0], &child[1]);
    child[0].depth = child[1].depth = node->depth + 1;
    child[0].growth = child[1].growth =
        node->growth * (((double)child[0].count + (double)child[1].count) / (double)node->count);
    assert_int_equal(
        tree_writer_inner(&build->writer, node->at, split.axis, split.position, &child[0].at),
        KD_OK);
    child[1].at = child[0].at + 1;
    plain_subdivide(build, &child[0]);
    plain_subdivide(build, &child[1]);
    free(child);
}

static tree_writer plain_tree(const tritree *like) {
    plain_build build = {.input = like->input};
    const tritree_options *options = &like->options;
    build.costs.traversal = options->traversal_cost;
    build.costs.intersect = options->intersect_cost;
    build.costs.empty_factor = options->empty_factor;
    build.max_depth = tritree_depth_limit(options, like->input.triangle_count);
    plain_node *root = (plain_node *)calloc(1, sizeof *root);
    assert_non_null(root);
    root->box = like->box;
    root->growth = 1;
    for (uint32_t id = 0; id < like->input.triangle_count; ++id) {
        const vec3 *corner = like->input.positions + 3 * id; /* of a triangle_set */
        if (!triangle_is_degenerate(corner[0], corner[1], corner[2]))
            plain_give(root, id, triangle_box(corner[0], corner[1], corner[2]));
    }
    assert_int_equal(tree_writer_open(&build.writer, 1, 1), KD_OK);
    plain_subdivide(&build, root);
    free(root);
    return build.writer;
}

static void the_tree_is_the_plain_one(void **state) {
    (void)state;
    static const uint32_t counts[] = {1, 2, 7, 8, 9, 16, 33, 80, 81, 100, PLAIN_MOST};
    static const tritree_options settings[] = {{1.5f, 1, 1, 0}, {1, 1, 0.8f, 0}, {0, 1, 1, 9}};
    for (int which = 0; which < CASE_TRIANGLE_SETS; ++which)
        for (size_t i = 0; i < sizeof counts / sizeof *counts; ++i) {
            triangle_set set = triangle_set_make((case_triangles)which, counts[i]);
            tritree tree;
            assert_int_equal(tritree_open(&tree, &set.input, &settings[i % 3], "sweep", NULL),
                             KD_OK);
            tree_writer plain = plain_tree(&tree);
            if (plain.node_count != tree.node_count ||
                memcmp(plain.nodes, tree.nodes, tree.node_count * sizeof *tree.nodes) != 0 ||
                plain.reference_count != tree.reference_count ||
                (tree.reference_count &&
                 memcmp(plain.references, tree.references,
                        tree.reference_count * sizeof *tree.references) != 0))
                fail_msg("%s %u: another tree", case_triangles_name((case_triangles)which),
                         counts[i]);
            tree_writer_close(&plain);
            tritree_close(&tree);
            triangle_set_close(&set);
        }
}

/* A number on a grid, so that corners, boxes and planes meet. */
static float on_grid(uint32_t i, uint32_t k, float scale) {
    const float at = rng_draw(rng_key_make(7, k, i), 0, 0).value[k % 4];
    const float steps = i % 2 ? 8.0f : 0x1p24f;
    const float x = (2 * floorf(at * steps) / steps - 1) * scale;
    return x == 0 && k % 3 == 0 ? -0.0f : x;
}

static void clipping_by_vectors_gives_the_same_bits(void **state) {
    (void)state;
    static const float scales[] = {1, 1e30f, 1e-30f, 1e-44f};
    uint32_t seen[4] = {0};
    for (uint32_t i = 0; i < 40000; ++i) {
        const float scale = scales[i / 2 % 4];
        vec3 v[5];
        for (uint32_t k = 0; k < 15; ++k)
            vec3_set_axis(&v[k / 3], (int)(k % 3), on_grid(i, k, scale));
        box3 box = {vec3_min(v[3], v[4]), vec3_max(v[3], v[4])};
        const int axis = (int)(i / 8 % 3);
        const float lo = vec3_axis(box.lo, axis), hi = vec3_axis(box.hi, axis);
        const float plane =
            float_clamp(i % 5 ? on_grid(i, 15, scale) : vec3_axis(v[0], axis), lo, hi);
        box3 want[2], got[2];
        const int parts =
            triangle_clip_halves(v[0], v[1], v[2], box, axis, plane, &want[0], &want[1]);
        const clip_split split = clip_split_make(box, axis, plane);
        const float4v corner[3] = {float4v_of(v[0]), float4v_of(v[1]), float4v_of(v[2])};
        clip_part part[2];
        assert_int_equal(clip_halves_by_vectors(&split, corner, part), parts);
        for (int side = 0; side < 2; ++side) got[side] = clip_part_box(&part[side]);
        assert_memory_equal(want, got, sizeof want);
        ++seen[parts];
    }
    for (int parts = 0; parts < 4; ++parts) assert_true(seen[parts] > 1000);
}

static void growth_is_bounded(void **state) {
    (void)state;
    triangle_set set = triangle_set_make(CASE_FAN, 20000);
    const tritree_options options = tritree_options_default();
    tritree tree;
    assert_int_equal(tritree_open(&tree, &set.input, &options, "sweep", NULL), KD_OK);
    assert_true(tree.statistics.references_per_triangle < 2 * SWEEP_GROWTH_MOST);
    tritree_close(&tree);
    triangle_set_close(&set);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_tree_is_the_plain_one),
                                       cmocka_unit_test(clipping_by_vectors_gives_the_same_bits),
                                       cmocka_unit_test(growth_is_bounded)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
