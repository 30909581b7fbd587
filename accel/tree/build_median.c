/* Builder `median`: the baseline, which halves the longest side of the box.
   Source: the textbook; Glassner 1984 subdivides space in the same way.
   Idea: a node with more than LEAF_TRIANGLES triangles is halved across its longest side, down to
   the depth limit, or until the splits of its ancestors, if applied to all nodes, would give more
   than GROWTH_MAX references per triangle. A triangle goes to each side that its bounding box,
   clipped to the node, overlaps.
   Work: O(references), about n log n.
   Memory: 4 bytes per id of the nodes on the path from the root to the current leaf.
   Invariants: ids in a leaf ascend; at most 2 GROWTH_MAX references per triangle in all.
   Differs from the paper in: nothing. */
#include "accel/tree/build.h"
#include "accel/tree/triangle_clip.h"
#include "accel/tree/writer.h"
#include "core/memory.h"

enum { LEAF_TRIANGLES = 4, GROWTH_MAX = 16 };

typedef struct median_build {
    const tritree_input *input;
    tree_writer writer;
    uint32_t *ids; /* a stack of id lists: a node's list lies above those of its ancestors */
    uint64_t id_capacity;
    int32_t max_depth;
    const job_control *job;
} median_build;

static uint64_t build_median_scratch_bytes(uint32_t triangle_count) {
    return 500 * (uint64_t)triangle_count; /* mostly the tree: 13 references per triangle */
}

static void corners_of(const tritree_input *input, uint32_t id, vec3 corner[3]) {
    for (int k = 0; k < 3; ++k)
        corner[k] = input->positions[input->triangles[3 * (uint64_t)id + (uint64_t)k]];
}

static kd_status subdivide(median_build *build, uint32_t at, box3 box, uint64_t first,
                           uint32_t count, int32_t depth, double growth) {
    KD_REQUIRE(!job_cancelled(build->job), KD_INTERRUPTED,
               "building the triangle tree was cancelled");
    const int axis = box3_longest_axis(box);
    const float lo = vec3_axis(box.lo, axis), hi = vec3_axis(box.hi, axis);
    const float split = lo * 0.5f + hi * 0.5f;
    if (count <= LEAF_TRIANGLES || depth >= build->max_depth || growth > GROWTH_MAX ||
        !(lo < split && split < hi)) {
        uint32_t *ids = NULL;
        KD_TRY(tree_writer_leaf(&build->writer, at, count, &ids));
        if (count) memcpy(ids, build->ids + first, count * sizeof *ids);
        return KD_OK;
    }
    uint32_t left = 0;
    KD_TRY(tree_writer_inner(&build->writer, at, axis, split, &left));
    /* Two lists are pushed above this node's own: the right child's, then the left child's. */
    const uint64_t right_first = first + count, left_first = right_first + count;
    if (left_first + count > build->id_capacity) {
        const uint64_t capacity = 2 * (left_first + count);
        KD_TRY(KD_GROW(build->ids, right_first, capacity));
        build->id_capacity = capacity;
    }
    uint32_t left_count = 0, right_count = 0;
    for (uint32_t i = 0; i < count; ++i) {
        const uint32_t id = build->ids[first + i];
        vec3 corner[3];
        corners_of(build->input, id, corner);
        box3 part;
        if (!triangle_clip_box(corner[0], corner[1], corner[2], box, &part)) continue;
        const bool right_too = vec3_axis(part.hi, axis) > split;
        if (vec3_axis(part.lo, axis) < split || !right_too)
            build->ids[left_first + left_count++] = id;
        if (right_too) build->ids[right_first + right_count++] = id;
    }
    growth *= ((double)left_count + (double)right_count) / (double)count;
    box3 half = box;
    vec3_set_axis(&half.hi, axis, split);
    KD_TRY(subdivide(build, left, half, left_first, left_count, depth + 1, growth));
    half = box;
    vec3_set_axis(&half.lo, axis, split);
    KD_TRY(subdivide(build, left + 1, half, right_first, right_count, depth + 1, growth));
    return KD_OK;
}

static kd_status build_median(tritree *out, const tritree_input *input,
                              const tritree_options *options, job_control *job) {
    const uint32_t n = input->triangle_count;
    median_build build = {.input = input, .job = job, .id_capacity = 8 * (uint64_t)n};
    build.max_depth = tritree_depth_limit(options, n);
    kd_status status = KD_OK;
    KD_TRY_GOTO(KD_RESERVE(build.ids, build.id_capacity));
    KD_TRY_GOTO(tree_writer_open(&build.writer, n, 4 * (uint64_t)n));
    uint32_t count = 0;
    for (uint32_t id = 0; id < n; ++id) {
        vec3 corner[3];
        corners_of(input, id, corner);
        if (!triangle_is_degenerate(corner[0], corner[1], corner[2])) build.ids[count++] = id;
    }
    KD_TRY_GOTO(subdivide(&build, 0, out->box, 0, count, 0, 1));
    tree_writer_finish(&build.writer, out);
done:
    tree_writer_close(&build.writer);
    memory_free(build.ids);
    return status;
}

const tritree_builder tritree_builder_median = {.name = "median",
                                                .source = "median of the longest side; baseline",
                                                .scratch_bytes = build_median_scratch_bytes,
                                                .references = 14,
                                                .build = build_median};
