/* Wald's builder on all cores: tag and sort.
   Source: Wald 2022, "GPU-friendly, parallel, and (almost-)in-place construction of left-balanced
           k-d trees", sections 3 to 6.
   Idea: the tag of a point is the root of the sub-tree that contains it. Sort all points by (tag,
         coordinate); then the position alone tells whether a point is that root, or left or right
         of it. Repeat for each level.
   Work: a radix sort and two passes over the points for each of the log2(n) levels.
   Memory: one int per point for the tag; the sort takes 24 bytes per point.
   Invariants: sorting starts from the order of ids and is stable, so ties are ordered by id.
   Differs from the paper in: points are not moved; their ids are sorted instead, for any payload; a
         sub-tree's axis is determined once, not by each of its points; the last level needs no
         sort, as its tags are final positions. */
#include "points/papers/build_wald.h"
#include "core/memory.h"
#include "core/parallel/parallel.h"
#include "core/parallel/primitives.h"

enum { WALD_GRAIN = 1 << 13 };

static uint64_t build_wald_scratch_bytes(uint64_t count) {
    return count * (2 * sizeof(uint32_t) + sizeof(uint64_t)) +
           radix_sort_pairs_scratch_bytes(count);
}

kd_status wald_open(wald_steps *out, pointtree *tree, const point_array *points) {
    kd_status status = KD_OK;
    memset(out, 0, sizeof *out);
    out->points = points;
    out->out = tree;
    const uint64_t count = points->count;
    KD_TRY_GOTO(point_keys_open(&out->keys, points));
    KD_TRY_GOTO(KD_RESERVE_ZEROED(out->tags, count));
    KD_TRY_GOTO(KD_RESERVE(out->sort_keys, count));
    KD_TRY_GOTO(KD_RESERVE(out->order, count));
    KD_TRY_GOTO(memory_reserve(&out->scratch, radix_sort_pairs_scratch_bytes(count), 1));
    if (tree->axes) tree->axes[0] = (uint8_t)point_box_widest(&tree->box, tree->dims, tree->scalar);
done:
    if (status != KD_OK) wald_close(out);
    return status;
}

void wald_close(wald_steps *owned) {
    point_keys_close(&owned->keys);
    memory_free(owned->tags);
    memory_free(owned->sort_keys);
    memory_free(owned->order);
    memory_free(owned->scratch);
    memset(owned, 0, sizeof *owned);
}

static void key_piece(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const wald_steps *steps = (const wald_steps *)context;
    const uint8_t *axes = steps->out->axes;
    const uint32_t level_axis = steps->level % steps->out->dims;
    for (int64_t i = begin; i < end; ++i) {
        const uint32_t tag = steps->tags[i];
        const uint32_t axis = axes ? axes[tag] : level_axis;
        steps->sort_keys[i] = (uint64_t)tag << 32 | point_key(&steps->keys, (uint64_t)i, axis);
        steps->order[i] = (uint32_t)i;
    }
}

void wald_sort(wald_steps *steps) {
    const uint32_t count = steps->out->count;
    parallel_for(count, WALD_GRAIN, key_piece, steps);
    const int tag_bits = (int)steps->level + 1; /* bits of the node indices down to this level */
    radix_sort_pairs(steps->sort_keys, steps->order, count, 0, 32 + tag_bits, steps->scratch);
}

static void tag_piece(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const wald_steps *steps = (const wald_steps *)context;
    const uint32_t count = steps->out->count, placed = pointtree_level_begin(steps->level);
    for (int64_t i = begin < placed ? placed : begin; i < end; ++i) {
        const uint32_t id = steps->order[i], tag = steps->tags[id];
        const uint32_t next = pointtree_next_tag((uint32_t)i, tag, count);
        steps->tags[id] = next;
        if (next == tag) steps->out->ids[tag] = id;
    }
}

/* Section 6: chooses each node's axis from the bounding box clipped by the ancestors. */
static void axis_piece(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const wald_steps *steps = (const wald_steps *)context;
    pointtree *out = steps->out;
    const uint32_t first = pointtree_level_begin(steps->level);
    for (int64_t i = begin; i < end; ++i) {
        const uint32_t node = first + (uint32_t)i;
        const point_box domain = pointtree_domain(out, steps->points, node);
        out->axes[node] = (uint8_t)point_box_widest(&domain, out->dims, out->scalar);
    }
}

void wald_update(wald_steps *steps) {
    const uint32_t count = steps->out->count;
    parallel_for(count, WALD_GRAIN, tag_piece, steps);
    ++steps->level;
    if (!steps->out->axes || steps->level >= pointtree_levels(count)) return;
    const uint32_t begin = pointtree_level_begin(steps->level);
    const uint32_t end = pointtree_level_begin(steps->level + 1);
    parallel_for((end < count ? end : count) - begin, WALD_GRAIN, axis_piece, steps);
}

static void place_piece(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const wald_steps *steps = (const wald_steps *)context;
    for (int64_t i = begin; i < end; ++i) steps->out->ids[steps->tags[i]] = (uint32_t)i;
}

static kd_status build_wald(pointtree *out, const point_array *points, job_control *job) {
    wald_steps steps;
    KD_TRY(wald_open(&steps, out, points));
    kd_status status = KD_OK;
    const uint32_t levels = pointtree_levels(out->count);
    while (steps.level + 1 < levels && status == KD_OK) {
        wald_sort(&steps);
        wald_update(&steps);
        job_advance(job, pointtree_level_begin(steps.level) / 2 + 1);
        if (job_cancelled(job))
            status = status_fail(KD_INTERRUPTED, __FILE__, __LINE__,
                                 "building the point tree was cancelled at level %u", steps.level);
    }
    if (status == KD_OK) {
        parallel_for(out->count, WALD_GRAIN, place_piece, &steps);
        pointtree_gather(out, points);
    }
    wald_close(&steps);
    return status;
}

const pointtree_builder pointtree_builder_wald = {.name = "wald",
                                                  .source = "Wald 2022, tag and sort",
                                                  .scratch_bytes = build_wald_scratch_bytes,
                                                  .build = build_wald,
                                                  .order = POINTTREE_BY_COORDINATE};
