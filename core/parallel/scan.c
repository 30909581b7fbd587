/* Exclusive scan: sums of pieces, a scan of these sums, then each piece again from its own start.
 */
#include "core/parallel/parallel.h"
#include "core/parallel/primitives.h"
#include <stddef.h>

enum { SCAN_PIECES = 256, SCAN_PIECE_LEAST = 1 << 14 };

typedef struct scan_work {
    const uint32_t *in32; /* one of the two pairs is NULL */
    uint32_t *out32;
    const uint64_t *in64;
    uint64_t *out64;
    int64_t piece; /* items in one */
    uint64_t sums[SCAN_PIECES];
} scan_work;

static void sum_piece(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    scan_work *work = (scan_work *)context;
    uint64_t sum = 0;
    if (work->in32)
        for (int64_t i = begin; i < end; ++i) sum += work->in32[i];
    else
        for (int64_t i = begin; i < end; ++i) sum += work->in64[i];
    work->sums[begin / work->piece] = sum;
}

static void scan_piece(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    scan_work *work = (scan_work *)context;
    uint64_t sum = work->sums[begin / work->piece];
    if (work->in32)
        for (int64_t i = begin; i < end; ++i) {
            const uint32_t item = work->in32[i];
            work->out32[i] = (uint32_t)sum;
            sum += item;
        }
    else
        for (int64_t i = begin; i < end; ++i) {
            const uint64_t item = work->in64[i];
            work->out64[i] = sum;
            sum += item;
        }
}

static uint64_t scan(scan_work *work, uint64_t count) {
    work->piece = (int64_t)(count / SCAN_PIECES + 1);
    if (work->piece < SCAN_PIECE_LEAST) work->piece = SCAN_PIECE_LEAST;
    const int64_t pieces = ((int64_t)count + work->piece - 1) / work->piece;
    parallel_for((int64_t)count, work->piece, sum_piece, work);
    uint64_t total = 0;
    for (int64_t i = 0; i < pieces; ++i) {
        const uint64_t sum = work->sums[i];
        work->sums[i] = total;
        total += sum;
    }
    parallel_for((int64_t)count, work->piece, scan_piece, work);
    return total;
}

uint64_t scan_exclusive_u32(const uint32_t *in, uint32_t *out, uint64_t count) {
    scan_work work = {in, out, NULL, NULL, 0, {0}};
    return scan(&work, count);
}

uint64_t scan_exclusive_u64(const uint64_t *in, uint64_t *out, uint64_t count) {
    scan_work work = {NULL, NULL, in, out, 0, {0}};
    return scan(&work, count);
}
