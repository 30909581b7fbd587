/* Ranks of doubles, for coordinate_keys.h.
   Idea: the position of a coordinate between the minimum and the maximum of its axis, quantised to
         32 bits, nearly determines its rank; the few coordinates with equal positions are sorted by
         comparison.
   Work: per axis, a radix sort of 8 bytes per point by 32 bits. Long runs of different coordinates
         with the same position (when all but a few lie close together) are sorted by their own 64
         bits.
   Invariants: quantisation is monotone: subtraction, multiplication by a positive number and
               truncation to an integer all preserve the order. */
#include "points/tree/coordinate_keys.h"
#include "core/memory.h"
#include "core/parallel/parallel.h"
#include "core/parallel/primitives.h"

enum { KEYS_GRAIN = 1 << 14, FEW = 24 /* longest run sorted by insertion */ };

typedef struct rank_work {
    const double *doubles;
    uint64_t *order; /* for one axis: position << 32 | point, sorted */
    uint32_t *steps; /* 1 where the coordinate differs from the previous one; later the ranks */
    uint32_t *ranks;
    uint64_t count;
    uint32_t dims, axis;
    double lo, scale;
    void *scratch;
} rank_work;

static double coordinate(const rank_work *work, uint64_t item) {
    return work->doubles[(uint64_t)(uint32_t)item * work->dims + work->axis];
}

static uint32_t place_of(const rank_work *work, double x) {
    const double place = (x - work->lo) * work->scale;
    return place < 0x1.fffffffep31 ? (uint32_t)place : UINT32_MAX;
}

static void place_piece(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const rank_work *work = (const rank_work *)context;
    for (int64_t i = begin; i < end; ++i)
        work->order[i] =
            (uint64_t)place_of(work, coordinate(work, (uint64_t)i)) << 32 | (uint64_t)i;
}

/* Finds the range of the axis. If it, or the scale, overflows, all coordinates get the same
   position and long runs are sorted by their own bits. */
static void find_range(rank_work *work) {
    double lo = coordinate(work, 0), hi = lo;
    for (uint64_t i = 1; i < work->count; ++i) {
        const double x = coordinate(work, i);
        lo = x < lo ? x : lo;
        hi = x > hi ? x : hi;
    }
    const double size = hi - lo, scale = 0x1p32 / size;
    work->lo = lo;
    work->scale = size <= DBL_MAX && scale <= DBL_MAX ? scale : 0;
}

static void insert_run(const rank_work *work, uint64_t *run, uint64_t count) {
    for (uint64_t i = 1; i < count; ++i) {
        const uint64_t item = run[i];
        const double x = coordinate(work, item);
        uint64_t hole = i;
        for (; hole > 0 && coordinate(work, run[hole - 1]) > x; --hole) run[hole] = run[hole - 1];
        run[hole] = item;
    }
}

static bool in_order(const rank_work *work, const uint64_t *run, uint64_t count) {
    for (uint64_t i = 1; i < count; ++i)
        if (coordinate(work, run[i - 1]) > coordinate(work, run[i])) return false;
    return true;
}

/* Sorts a long run by the bits of its coordinates, with the points as values. */
static kd_status sort_run(const rank_work *work, uint64_t *run, uint64_t count) {
    kd_status status = KD_OK;
    uint64_t *bits = NULL;
    uint32_t *owners = NULL;
    void *scratch = NULL;
    KD_TRY_GOTO(KD_RESERVE(bits, count));
    KD_TRY_GOTO(KD_RESERVE(owners, count));
    KD_TRY_GOTO(memory_reserve(&scratch, radix_sort_pairs_scratch_bytes(count), 1));
    for (uint64_t i = 0; i < count; ++i) {
        bits[i] = pointtree_order_bits_double(coordinate(work, run[i]));
        owners[i] = (uint32_t)run[i];
    }
    radix_sort_pairs(bits, owners, count, 0, 64, scratch);
    for (uint64_t i = 0; i < count; ++i) run[i] = (run[i] >> 32 << 32) | owners[i];
done:
    memory_free(bits);
    memory_free(owners);
    memory_free(scratch);
    return status;
}

static bool starts_run(const rank_work *work, uint64_t i) {
    return i == work->count || work->steps[i];
}
static uint64_t run_length(const rank_work *work, uint64_t i) {
    uint64_t after = i + 1;
    while (!starts_run(work, after)) ++after;
    return after - i;
}

/* Marks the beginning of each run of equal positions with 1. */
static void mark_piece(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const rank_work *work = (const rank_work *)context;
    for (int64_t i = begin; i < end; ++i)
        work->steps[i] = i == 0 || work->order[i] >> 32 != work->order[i - 1] >> 32;
}

/* Sorts the short runs that begin in the piece; resolve_long_runs sorts the others. */
static void resolve_piece(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const rank_work *work = (const rank_work *)context;
    for (uint64_t i = (uint64_t)begin; i < (uint64_t)end; ++i) {
        if (!work->steps[i] || starts_run(work, i + 1)) continue;
        const uint64_t length = run_length(work, i);
        if (length <= FEW) insert_run(work, work->order + i, length);
    }
}

static kd_status resolve_long_runs(const rank_work *work) {
    for (uint64_t i = 0; i < work->count;) {
        const uint64_t length = run_length(work, i);
        if (length > FEW && !in_order(work, work->order + i, length))
            KD_TRY(sort_run(work, work->order + i, length));
        i += length;
    }
    return KD_OK;
}

/* Stores each step at the item before it, so that the exclusive scan counts it at its own item. */
static void step_piece(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const rank_work *work = (const rank_work *)context;
    for (int64_t i = begin; i < end; ++i)
        work->steps[i] = coordinate(work, work->order[i]) != coordinate(work, work->order[i + 1]);
}

static void store_piece(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const rank_work *work = (const rank_work *)context;
    for (int64_t i = begin; i < end; ++i)
        work->ranks[(uint64_t)(uint32_t)work->order[i] * work->dims + work->axis] = work->steps[i];
}

static kd_status rank_axis(rank_work *work) {
    const int64_t count = (int64_t)work->count;
    find_range(work);
    parallel_for(count, KEYS_GRAIN, place_piece, work);
    radix_sort(work->order, work->count, 32, 64, work->scratch);
    parallel_for(count, KEYS_GRAIN, mark_piece, work);
    parallel_for(count, KEYS_GRAIN, resolve_piece, work);
    KD_TRY(resolve_long_runs(work));
    parallel_for(count - 1, KEYS_GRAIN, step_piece, work);
    work->steps[count - 1] = 0;
    scan_exclusive_u32(work->steps, work->steps, work->count);
    parallel_for(count, KEYS_GRAIN, store_piece, work);
    return KD_OK;
}

kd_status point_keys_open(point_keys *out, const point_array *points) {
    memset(out, 0, sizeof *out);
    out->dims = points->dims;
    if (points->scalar == POINT_FLOAT) {
        out->floats = (const float *)points->coordinates;
        return KD_OK;
    }
    kd_status status = KD_OK;
    rank_work work;
    memset(&work, 0, sizeof work);
    work.doubles = (const double *)points->coordinates;
    work.count = points->count;
    work.dims = points->dims;
    KD_TRY_GOTO(KD_RESERVE(out->ranks, points->count * points->dims));
    work.ranks = out->ranks;
    KD_TRY_GOTO(KD_RESERVE(work.order, points->count));
    KD_TRY_GOTO(KD_RESERVE(work.steps, points->count));
    KD_TRY_GOTO(memory_reserve(&work.scratch, radix_sort_scratch_bytes(points->count), 1));
    for (work.axis = 0; work.axis < points->dims && work.count; ++work.axis)
        KD_TRY_GOTO(rank_axis(&work));
done:
    memory_free(work.order);
    memory_free(work.steps);
    memory_free(work.scratch);
    if (status != KD_OK) point_keys_close(out);
    return status;
}

void point_keys_close(point_keys *owned) {
    memory_free(owned->ranks);
    memset(owned, 0, sizeof *owned);
}
