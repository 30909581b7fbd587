/* Builder `exact`: the surface area heuristic by its definition. It is the reference for `sweep`,
   `parallel` and the other fast builders.
   Source: Wald and Havran 2006, "On building fast kd-trees for ray tracing, and on doing that in
   O(N log N)", sections 3 and 4.2.
   Idea: clip a node's triangles to its box. Every position where a clipped triangle begins or ends
   along an axis is a candidate plane, whose cost follows from the numbers of triangles left of it,
   right of it and in it. Split at the plane of least cost, unless a leaf is cheaper.
   Work: O(n log^2 n): each node sorts the ends of its triangles once per axis.
   Memory: 36 bytes per reference of the nodes on the path from the root to the current leaf.
   Invariants: of planes with equal cost the first by (axis, position) wins, then the one that puts
   planar triangles on the left, so the tree is a function of its input. Ids in a leaf ascend.
   Differs from the paper in: a plane lies strictly inside the node, or in one of its faces if some
   triangles lie entirely in that face, which then get a flat child; a node of more than
   EXACT_SMALL_MAX triangles becomes a leaf once its ancestors' splits would give more than
   EXACT_GROWTH_MAX references per triangle. */
#include "accel/tree/build.h"
#include "accel/tree/sah.h"
#include "accel/tree/triangle_clip.h"
#include "accel/tree/writer.h"
#include "core/memory.h"
#include <stdlib.h>

typedef struct exact_build {
    const tritree_input *input;
    sah_costs costs;
    int32_t max_depth;
    const job_control *job;
    tree_writer writer;
} exact_build;

typedef struct exact_part { /* a triangle's box, clipped to the node */
    box3 box;
    uint32_t id;
} exact_part;

typedef struct exact_node {
    box3 box;
    exact_part *parts; /* ascending by id */
    uint32_t count;
    uint32_t at; /* index in the tree */
    int32_t depth;
    double growth; /* references per triangle if all nodes were split like the ancestors */
} exact_node;

/* The ends of a node's triangles along one axis. */
typedef struct exact_ends {
    /* each sorted: where they begin, where they end, positions of planar ones */
    float *lo, *hi, *flat;
    uint32_t count, flat_count;
} exact_ends;

static uint64_t build_exact_scratch_bytes(uint32_t triangle_count) {
    return 250 * (uint64_t)triangle_count;
}

static int by_value(const void *a, const void *b) {
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* Returns how many of the sorted values are less than `plane`; `included`: at most `plane`. */
static uint32_t count_below(const float *sorted, uint32_t count, float plane, bool included) {
    uint32_t begin = 0, end = count;
    while (begin < end) {
        const uint32_t middle = begin + (end - begin) / 2;
        if (sorted[middle] < plane || (included && sorted[middle] == plane))
            begin = middle + 1;
        else
            end = middle;
    }
    return begin;
}

static void sort_ends(exact_ends *out, const exact_node *node, int axis) {
    out->count = node->count;
    out->flat_count = 0;
    for (uint32_t i = 0; i < node->count; ++i) {
        out->lo[i] = vec3_axis(node->parts[i].box.lo, axis) + 0.0f; /* -0 becomes 0 */
        out->hi[i] = vec3_axis(node->parts[i].box.hi, axis) + 0.0f;
        if (out->lo[i] == out->hi[i]) out->flat[out->flat_count++] = out->lo[i];
    }
    qsort(out->lo, out->count, sizeof *out->lo, by_value);
    qsort(out->hi, out->count, sizeof *out->hi, by_value);
    qsort(out->flat, out->flat_count, sizeof *out->flat, by_value);
}

/* Updates *best if the plane costs less. */
static void try_plane(const exact_build *build, const exact_ends *ends, const sah_axis *areas,
                      int axis, float plane, sah_split *best) {
    const bool at_lo = plane == areas->lo, at_hi = plane == areas->hi;
    const uint32_t left = count_below(ends->lo, ends->count, plane, false);
    const uint32_t right = ends->count - count_below(ends->hi, ends->count, plane, true);
    const uint32_t planar = count_below(ends->flat, ends->flat_count, plane, true) -
                            count_below(ends->flat, ends->flat_count, plane, false);
    if ((at_lo && at_hi) || ((at_lo || at_hi) && !planar)) return;
    for (int to_left = 1; to_left >= 0; --to_left) {
        if (to_left ? at_hi : at_lo) continue; /* one child would get everything */
        const float cost =
            sah_split_cost(&build->costs, areas, plane, left + (to_left ? planar : 0),
                           right + (to_left ? 0 : planar));
        const bool sooner = cost == best->cost && axis == best->axis && plane < best->position;
        if (!(cost < best->cost || sooner)) continue;
        best->cost = cost;
        best->position = plane;
        best->axis = axis;
        best->planar_left = to_left != 0;
    }
}

/* Finds the plane of least cost. Its axis is 3 if a leaf is cheaper or required. */
static kd_status find_split(sah_split *best, const exact_build *build, const exact_node *node) {
    *best = sah_split_none();
    best->cost = build->costs.intersect * (float)node->count;
    if (node->depth >= build->max_depth || node->count == 0) return KD_OK;
    if (node->growth > EXACT_GROWTH_MAX && node->count > EXACT_SMALL_MAX) return KD_OK;
    float *memory = NULL;
    KD_TRY(KD_RESERVE(memory, 3 * (uint64_t)node->count));
    exact_ends ends = {memory, memory + node->count, memory + 2 * (uint64_t)node->count, 0, 0};
    for (int axis = 0; axis < 3; ++axis) {
        const sah_axis areas = sah_axis_of(node->box, axis);
        sort_ends(&ends, node, axis);
        for (uint32_t i = 0; i < node->count; ++i) {
            if (i == 0 || ends.lo[i] != ends.lo[i - 1])
                try_plane(build, &ends, &areas, axis, ends.lo[i], best);
            if (i == 0 || ends.hi[i] != ends.hi[i - 1])
                try_plane(build, &ends, &areas, axis, ends.hi[i], best);
        }
    }
    memory_free(memory);
    return KD_OK;
}

static void add_part(exact_node *child, uint32_t id, box3 part) {
    child->parts[child->count].id = id;
    child->parts[child->count++].box = part;
}

/* Distributes the node's triangles to the two children; those that straddle the plane are clipped
   to both. */
static void share_out(const exact_build *build, const exact_node *node, const sah_split *split,
                      exact_node child[2]) {
    for (uint32_t i = 0; i < node->count; ++i) {
        const exact_part *part = &node->parts[i];
        const float lo = vec3_axis(part->box.lo, split->axis);
        const float hi = vec3_axis(part->box.hi, split->axis);
        if (lo == hi && lo == split->position) {
            add_part(&child[split->planar_left ? 0 : 1], part->id, part->box);
        } else if (hi <= split->position) {
            add_part(&child[0], part->id, part->box);
        } else if (lo >= split->position) {
            add_part(&child[1], part->id, part->box);
        } else {
            const uint32_t *index = build->input->triangles + 3 * (uint64_t)part->id;
            const vec3 *corner = build->input->positions;
            box3 half[2];
            const int halves =
                triangle_clip_halves(corner[index[0]], corner[index[1]], corner[index[2]],
                                     node->box, split->axis, split->position, &half[0], &half[1]);
            for (int side = 0; side < 2; ++side)
                if (halves & 1 << side) add_part(&child[side], part->id, half[side]);
        }
    }
}

static kd_status subdivide(exact_build *build, const exact_node *node);

/* Creates the node's two children and builds their subtrees, the left one first. */
static kd_status cut(exact_build *build, const exact_node *node, const sah_split *split) {
    kd_status status = KD_OK;
    exact_part *parts = NULL;
    exact_node child[2] = {*node, *node};
    KD_TRY(KD_RESERVE(parts, 2 * (uint64_t)node->count));
    vec3_set_axis(&child[0].box.hi, split->axis, split->position);
    vec3_set_axis(&child[1].box.lo, split->axis, split->position);
    child[0].count = child[1].count = 0;
    child[0].parts = parts;
    child[1].parts = parts + node->count;
    share_out(build, node, split, child);
    KD_TRY_GOTO(
        tree_writer_inner(&build->writer, node->at, split->axis, split->position, &child[0].at));
    child[1].at = child[0].at + 1;
    const double references = (double)child[0].count + (double)child[1].count;
    for (int side = 0; side < 2; ++side) {
        child[side].depth = node->depth + 1;
        child[side].growth = node->growth * (references / (double)node->count);
        KD_TRY_GOTO(subdivide(build, &child[side]));
    }
done:
    memory_free(parts);
    return status;
}

static kd_status subdivide(exact_build *build, const exact_node *node) {
    KD_REQUIRE(!job_cancelled(build->job), KD_INTERRUPTED,
               "building the triangle tree was cancelled");
    sah_split split;
    KD_TRY(find_split(&split, build, node));
    if (split.axis != 3) return cut(build, node, &split);
    uint32_t *ids = NULL;
    KD_TRY(tree_writer_leaf(&build->writer, node->at, node->count, &ids));
    for (uint32_t i = 0; i < node->count; ++i) ids[i] = node->parts[i].id;
    return KD_OK;
}

/* Fills the root with all triangles that can be hit. */
static void fill_root(exact_node *root, const tritree_input *input) {
    for (uint32_t id = 0; id < input->triangle_count; ++id) {
        const uint32_t *index = input->triangles + 3 * (uint64_t)id;
        const vec3 a = input->positions[index[0]], b = input->positions[index[1]],
                   c = input->positions[index[2]];
        if (!triangle_is_degenerate(a, b, c)) add_part(root, id, triangle_box(a, b, c));
    }
}

static kd_status build_exact(tritree *out, const tritree_input *input,
                             const tritree_options *options, job_control *job) {
    kd_status status = KD_OK;
    exact_build build = {.input = input, .job = job};
    exact_node root = {.box = out->box, .growth = 1};
    build.costs.traversal = options->traversal_cost;
    build.costs.intersect = options->intersect_cost;
    build.costs.empty_factor = options->empty_factor;
    build.max_depth = tritree_depth_limit(options, input->triangle_count);
    KD_TRY_GOTO(KD_RESERVE(root.parts, input->triangle_count));
    KD_TRY_GOTO(tree_writer_open(&build.writer, input->triangle_count, input->triangle_count));
    fill_root(&root, input);
    KD_TRY_GOTO(subdivide(&build, &root));
    tree_writer_finish(&build.writer, out);
done:
    tree_writer_close(&build.writer);
    memory_free(root.parts);
    return status;
}

const tritree_builder tritree_builder_exact = {
    .name = "exact",
    .source = "Wald and Havran 2006: exact SAH as defined, serial; reference of sweep",
    .scratch_bytes = build_exact_scratch_bytes,
    .references = 4,
    .build = build_exact,
    .exact = true};
