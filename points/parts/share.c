/* Operations on a share in host memory.
   Work: one pass over the points for every round of counting, two to divide them. */
#include "points/parts/share.h"
#include "core/device/device_memory.h"
#include "core/memory.h"
#include "core/parallel/parallel.h"
#include "points/tree/bounds.h"
#include <string.h>

enum { SLICES = 16 /* slices of a share, each with its own bins */ };

static uint64_t slice_begin(uint64_t count, uint64_t slice) {
    return count / SLICES * slice + (count % SLICES * slice) / SLICES;
}

/* --- counting ------------------------------------------------------------------------------- */

typedef struct count_work {
    const point_share *share;
    const top_node *nodes;
    const uint32_t *slots;
    const top_bracket *brackets;
    uint64_t bins; /* in all brackets */
    uint64_t *of_slices;
} count_work;

static void count_slices(void *context, int64_t begin, int64_t end, int thread) {
    const count_work *work = (const count_work *)context;
    const point_array *points = &work->share->points;
    (void)thread;
    for (int64_t slice = begin; slice < end; ++slice) {
        uint64_t *bins = work->of_slices + (uint64_t)slice * work->bins;
        const uint64_t last = slice_begin(points->count, (uint64_t)slice + 1);
        for (uint64_t i = slice_begin(points->count, (uint64_t)slice); i < last; ++i) {
            const void *point = point_array_at(points, i);
            const uint64_t number = work->share->first + i;
            const uint32_t slot =
                work->slots[top_descend(work->nodes, point, points->scalar, number)];
            if (slot == UINT32_MAX) continue;
            const uint32_t bin = top_bin(&work->brackets[slot], point, points->scalar, number);
            if (bin < TOP_BINS) ++bins[(uint64_t)slot * TOP_BINS + bin];
        }
    }
}

kd_status share_count(const point_share *share, const top_node *nodes, uint32_t node_count,
                      const uint32_t *slots, const top_bracket *brackets, uint32_t bracket_count,
                      int64_t *bins) {
    if (share->on_device)
        return share_device_count(share, nodes, node_count, slots, brackets, bracket_count, bins);
    count_work work = {share, nodes, slots, brackets, (uint64_t)bracket_count * TOP_BINS, NULL};
    KD_TRY(KD_RESERVE_ZEROED(work.of_slices, work.bins * SLICES));
    parallel_for(SLICES, 1, count_slices, &work);
    for (uint64_t b = 0; b < work.bins; ++b) {
        uint64_t sum = 0;
        for (uint64_t slice = 0; slice < SLICES; ++slice)
            sum += work.of_slices[slice * work.bins + b];
        bins[b] = (int64_t)sum;
    }
    memory_free(work.of_slices);
    return KD_OK;
}

kd_status share_scan(point_box *box, const point_share *share) {
    return share->on_device ? share_device_scan(box, &share->points)
                            : point_scan(box, &share->points);
}

/* --- dividing ------------------------------------------------------------------------------- */

typedef struct divide_work {
    const point_share *share;
    const top_node *nodes;
    share_split *out;
    uint32_t parts;
    uint32_t *targets; /* part of each point */
    /* per slice and part a count, later the next write position */
    uint64_t *of_slices;
} divide_work;

static void target_slices(void *context, int64_t begin, int64_t end, int thread) {
    const divide_work *work = (const divide_work *)context;
    const point_array *points = &work->share->points;
    (void)thread;
    for (int64_t slice = begin; slice < end; ++slice) {
        uint64_t *counts = work->of_slices + (uint64_t)slice * work->parts;
        const uint64_t last = slice_begin(points->count, (uint64_t)slice + 1);
        for (uint64_t i = slice_begin(points->count, (uint64_t)slice); i < last; ++i) {
            const uint32_t node = top_descend(work->nodes, point_array_at(points, i),
                                              points->scalar, work->share->first + i);
            ++counts[work->targets[i] = work->nodes[node].first];
        }
    }
}

static void move_slices(void *context, int64_t begin, int64_t end, int thread) {
    const divide_work *work = (const divide_work *)context;
    const point_array *points = &work->share->points;
    const uint64_t bytes = points->dims * point_scalar_bytes(points->scalar);
    (void)thread;
    for (int64_t slice = begin; slice < end; ++slice) {
        uint64_t *to = work->of_slices + (uint64_t)slice * work->parts;
        const uint64_t last = slice_begin(points->count, (uint64_t)slice + 1);
        for (uint64_t i = slice_begin(points->count, (uint64_t)slice); i < last; ++i) {
            const uint64_t at = to[work->targets[i]]++, number = work->share->first + i;
            memcpy((char *)work->out->coordinates + at * bytes, point_array_at(points, i), bytes);
            if (work->share->wide)
                ((uint64_t *)work->out->numbers)[at] = number;
            else
                ((uint32_t *)work->out->numbers)[at] = (uint32_t)number;
        }
    }
}

/* Converts counts to positions: ordered by part, and by slice within each part. */
static void place_slices(const divide_work *work) {
    uint64_t at = 0;
    for (uint32_t part = 0; part < work->parts; ++part) {
        work->out->begins[part] = at;
        for (uint64_t slice = 0; slice < SLICES; ++slice) {
            uint64_t *place = &work->of_slices[slice * work->parts + part];
            const uint64_t count = *place;
            *place = at;
            at += count;
        }
    }
    work->out->begins[work->parts] = at;
}

kd_status share_divide(share_split *out, const point_share *share, const top_node *nodes,
                       uint32_t parts) {
    const uint64_t count = share->points.count;
    kd_status status = KD_OK;
    divide_work work = {share, nodes, out, parts, NULL, NULL};
    memset(out, 0, sizeof *out);
    if (share->on_device) {
        KD_TRY(share_device_divide(out, share, nodes, 2 * parts - 1, parts));
        out->on_device = true;
        return KD_OK;
    }
    KD_TRY_GOTO(KD_RESERVE(out->begins, parts + 1ull));
    KD_TRY_GOTO(memory_reserve(&out->coordinates, count * share->points.dims,
                               point_scalar_bytes(share->points.scalar)));
    KD_TRY_GOTO(memory_reserve(&out->numbers, count, share_number_bytes(share->wide)));
    KD_TRY_GOTO(KD_RESERVE(work.targets, count));
    KD_TRY_GOTO(KD_RESERVE_ZEROED(work.of_slices, (uint64_t)SLICES * parts));
    parallel_for(SLICES, 1, target_slices, &work);
    place_slices(&work);
    parallel_for(SLICES, 1, move_slices, &work);
done:
    memory_free(work.targets);
    memory_free(work.of_slices);
    if (status != KD_OK) share_split_close(out);
    return status;
}

void share_split_close(share_split *owned) {
    (owned->on_device ? device_memory_free : memory_free)(owned->coordinates);
    (owned->on_device ? device_memory_free : memory_free)(owned->numbers);
    memory_free(owned->begins);
    memset(owned, 0, sizeof *owned);
}
