#include "points/tree/coordinate_keys.h"
#include "core/memory.h"
#include "core/parallel/parallel.h"
#include "core/parallel/primitives.h"

enum { KEYS_GRAIN = 1 << 14 };

typedef struct rank_work {
    const double *doubles;
    uint64_t *bits;  /* of one axis, sorted */
    uint32_t *order; /* whose they are */
    uint32_t *steps; /* 1 where the bits differ from those before; then the ranks */
    uint32_t *ranks;
    uint32_t dims, axis;
    void *scratch;
} rank_work;

static void load_piece(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const rank_work *work = (const rank_work *)context;
    for (int64_t i = begin; i < end; ++i) {
        work->bits[i] = pointtree_order_bits_double(work->doubles[i * work->dims + work->axis]);
        work->order[i] = (uint32_t)i;
    }
}

/* The step stands one place late, so that the exclusive scan counts it at its own item. */
static void step_piece(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const rank_work *work = (const rank_work *)context;
    for (int64_t i = begin; i < end; ++i) work->steps[i] = work->bits[i] != work->bits[i + 1];
}

static void store_piece(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const rank_work *work = (const rank_work *)context;
    for (int64_t i = begin; i < end; ++i)
        work->ranks[(uint64_t)work->order[i] * work->dims + work->axis] = work->steps[i];
}

uint64_t point_keys_bytes(uint64_t count, uint32_t dims, point_scalar scalar) {
    if (scalar == POINT_FLOAT) return 0;
    return count * (dims * sizeof(uint32_t) + sizeof(uint64_t) + 2 * sizeof(uint32_t)) +
           radix_sort_pairs_scratch_bytes(count);
}

kd_status point_keys_open(point_keys *out, const point_array *points) {
    memset(out, 0, sizeof *out);
    out->dims = points->dims;
    if (points->scalar == POINT_FLOAT) {
        out->floats = (const float *)points->coordinates;
        return KD_OK;
    }
    kd_status status = KD_OK;
    const int64_t count = (int64_t)points->count;
    rank_work work;
    memset(&work, 0, sizeof work);
    work.doubles = (const double *)points->coordinates;
    work.dims = points->dims;
    KD_TRY_GOTO(KD_RESERVE(out->ranks, points->count * points->dims));
    work.ranks = out->ranks;
    KD_TRY_GOTO(KD_RESERVE(work.bits, points->count));
    KD_TRY_GOTO(KD_RESERVE(work.order, points->count));
    KD_TRY_GOTO(KD_RESERVE_ZEROED(work.steps, points->count));
    KD_TRY_GOTO(memory_reserve(&work.scratch, radix_sort_pairs_scratch_bytes(points->count), 1));
    for (work.axis = 0; work.axis < points->dims && count; ++work.axis) {
        parallel_for(count, KEYS_GRAIN, load_piece, &work);
        radix_sort_pairs(work.bits, work.order, points->count, 0, 64, work.scratch);
        parallel_for(count - 1, KEYS_GRAIN, step_piece, &work);
        scan_exclusive_u32(work.steps, work.steps, points->count);
        parallel_for(count, KEYS_GRAIN, store_piece, &work);
    }
done:
    memory_free(work.bits);
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
