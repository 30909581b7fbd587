/* A builder of triangle trees for nightly_one_row.sh: one file that ends with its row.
   Idea: bisect the longest side of the box while that separates triangles. With KANDELA_TOY_FAULT
   in the environment it loses a triangle, which the tests of the table must detect. */
#include "accel/tree/build.h"
#include "accel/tree/triangle_clip.h"
#include "accel/tree/writer.h"
#include "core/memory.h"
#include <stdlib.h>

enum { LEAF_TRIANGLES = 8, GROWTH_MAX = 4 };

typedef struct toy {
    const tritree_input *input;
    tree_writer writer;
    int32_t max_depth;
    const job_control *job;
} toy;

/* Clips the triangle to the box; returns false if nothing is left. */
static bool part_in(const tritree_input *input, uint32_t id, box3 box, box3 *part) {
    const uint32_t *index = input->triangles + 3 * (uint64_t)id;
    const vec3 *at = input->positions;
    return triangle_clip_box(at[index[0]], at[index[1]], at[index[2]], box, part);
}

static kd_status halve(toy *build, uint32_t at, box3 box, const uint32_t *ids, uint32_t count,
                       int32_t depth, double growth) {
    KD_REQUIRE(!job_cancelled(build->job), KD_INTERRUPTED,
               "building the triangle tree was cancelled");
    const int axis = box3_longest_axis(box);
    const float lo = vec3_axis(box.lo, axis), hi = vec3_axis(box.hi, axis);
    const float split = lo * 0.5f + hi * 0.5f;
    if (count <= LEAF_TRIANGLES || depth >= build->max_depth || growth > GROWTH_MAX ||
        !(lo < split && split < hi)) {
        uint32_t *leaf = NULL;
        KD_TRY(tree_writer_leaf(&build->writer, at, count, &leaf));
        if (count) memcpy(leaf, ids, count * sizeof *ids);
        return KD_OK;
    }
    uint32_t *sides[2] = {NULL, NULL}, counts[2] = {0, 0}, left = 0;
    kd_status status = KD_OK;
    KD_TRY_GOTO(KD_RESERVE(sides[0], count));
    KD_TRY_GOTO(KD_RESERVE(sides[1], count));
    for (uint32_t i = 0; i < count; ++i) {
        box3 part;
        if (!part_in(build->input, ids[i], box, &part)) continue;
        const bool right = vec3_axis(part.hi, axis) > split;
        if (vec3_axis(part.lo, axis) < split || !right) sides[0][counts[0]++] = ids[i];
        if (right) sides[1][counts[1]++] = ids[i];
    }
    KD_TRY_GOTO(tree_writer_inner(&build->writer, at, axis, split, &left));
    growth *= ((double)counts[0] + (double)counts[1]) / (double)count;
    for (uint32_t side = 0; side < 2; ++side) {
        box3 half = box;
        vec3_set_axis(side ? &half.lo : &half.hi, axis, split);
        KD_TRY_GOTO(halve(build, left + side, half, sides[side], counts[side], depth + 1, growth));
    }
done:
    memory_free(sides[0]);
    memory_free(sides[1]);
    return status;
}

static uint64_t build_toy_scratch_bytes(uint32_t triangle_count) {
    return 500 * (uint64_t)triangle_count;
}

static kd_status build_toy(tritree *out, const tritree_input *input, const tritree_options *options,
                           job_control *job) {
    kd_status status = KD_OK;
    toy build = {.input = input, .job = job};
    build.max_depth = tritree_depth_limit(options, input->triangle_count);
    uint32_t *ids = NULL, count = 0;
    KD_TRY_GOTO(KD_RESERVE(ids, input->triangle_count));
    KD_TRY_GOTO(tree_writer_open(&build.writer, input->triangle_count, input->triangle_count));
    for (uint32_t id = 0; id < input->triangle_count; ++id) {
        const uint32_t *index = input->triangles + 3 * (uint64_t)id;
        const vec3 *at = input->positions;
        if (!triangle_is_degenerate(at[index[0]], at[index[1]], at[index[2]])) ids[count++] = id;
    }
    if (getenv("KANDELA_TOY_FAULT") && count) --count;
    KD_TRY_GOTO(halve(&build, 0, out->box, ids, count, 0, 1));
    tree_writer_finish(&build.writer, out);
done:
    tree_writer_close(&build.writer);
    memory_free(ids);
    return status;
}

const tritree_builder tritree_builder_toy = {.name = "toy",
                                             .source = "a test of the table",
                                             .scratch_bytes = build_toy_scratch_bytes,
                                             .references = 14,
                                             .build = build_toy};
