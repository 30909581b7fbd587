/* Exclusive scan in two passes: sums of pieces and a serial scan of these sums, then a scan of each
   piece from its offset. */
#include "core/parallel/primitives.h"
#include "core/parallel/parallel.h"
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

enum { SCAN_PIECES = 256, SCAN_PIECE_MIN = 1 << 14 };

typedef struct scan_work {
    const uint32_t *in32; /* either the 32-bit or the 64-bit pair is NULL */
    uint32_t *out32;
    const uint64_t *in64;
    uint64_t *out64;
    int64_t piece; /* items per piece */
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
    if (work->piece < SCAN_PIECE_MIN) work->piece = SCAN_PIECE_MIN;
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

/* Stable least-significant-digit radix sort.
   Source: Knuth, The Art of Computer Programming 3, section 5.2.5; in parallel as by Zagha and
           Blelloch 1991, "Radix sort for vector multiprocessors".
   Idea: each piece of the array builds a histogram of its digits; a scan over (digit, piece) gives
         the output position of each piece's items of each digit; each piece then scatters its items
         in order. A pass is skipped if all items have the same digit.
   Work: two passes over the items for every 8 bits.
   Memory: a second array of keys and of values, and 2 KB per piece.
   Invariants: a stable order is unique, so the result does not depend on the number of pieces. */

enum { DIGIT_BITS = 8, DIGITS = 1 << DIGIT_BITS, SORT_PIECES = 64, SORT_PIECE_MIN = 1 << 13 };

typedef uint64_t digit_counts[DIGITS];

typedef struct sort_work {
    uint64_t *keys, *keys_out;
    uint32_t *values, *values_out; /* NULL for radix_sort */
    digit_counts *counts;          /* one histogram per piece, later output positions */
    int64_t piece;                 /* items per piece */
    int shift;
    uint64_t mask;
} sort_work;

static uint64_t aligned(uint64_t bytes) {
    return (bytes + 63) / 64 * 64;
}

uint64_t radix_sort_scratch_bytes(uint64_t count) {
    return SORT_PIECES * sizeof(digit_counts) + aligned(count * sizeof(uint64_t));
}

uint64_t radix_sort_pairs_scratch_bytes(uint64_t count) {
    return radix_sort_scratch_bytes(count) + aligned(count * sizeof(uint32_t));
}

static void count_piece(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const sort_work *work = (const sort_work *)context;
    uint64_t *counts = work->counts[begin / work->piece];
    memset(counts, 0, sizeof(digit_counts));
    for (int64_t i = begin; i < end; ++i) ++counts[work->keys[i] >> work->shift & work->mask];
}

static void move_piece(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const sort_work *work = (const sort_work *)context;
    digit_counts next;
    memcpy(next, work->counts[begin / work->piece], sizeof next);
    if (work->values)
        for (int64_t i = begin; i < end; ++i) {
            const uint64_t key = work->keys[i], place = next[key >> work->shift & work->mask]++;
            work->keys_out[place] = key;
            work->values_out[place] = work->values[i];
        }
    else
        for (int64_t i = begin; i < end; ++i) {
            const uint64_t key = work->keys[i];
            work->keys_out[next[key >> work->shift & work->mask]++] = key;
        }
}

/* Turns histograms into output positions. Returns false if all items have the same digit. */
static bool place_pieces(sort_work *work, int64_t pieces, uint64_t count) {
    uint64_t place = 0;
    for (int digit = 0; digit < DIGITS; ++digit) {
        const uint64_t begin = place;
        for (int64_t piece = 0; piece < pieces; ++piece) {
            const uint64_t items = work->counts[piece][digit];
            work->counts[piece][digit] = place;
            place += items;
        }
        if (place - begin == count) return false;
    }
    return true;
}

static void sort(sort_work *work, uint64_t count, int begin_bit, int end_bit) {
    /* few pieces, because the scan's cost grows with them; more than threads, for load balance */
    const uint64_t threads = (uint64_t)parallel_threads();
    const uint64_t piece_count = threads == 1                ? 1
                                 : threads > SORT_PIECES / 4 ? SORT_PIECES
                                                             : 4 * threads;
    work->piece = (int64_t)((count + piece_count - 1) / piece_count);
    if (work->piece < SORT_PIECE_MIN) work->piece = SORT_PIECE_MIN;
    const int64_t pieces = ((int64_t)count + work->piece - 1) / work->piece;
    uint64_t *const keys = work->keys;
    uint32_t *const values = work->values;
    for (int bit = begin_bit; bit < end_bit; bit += DIGIT_BITS) {
        work->shift = bit;
        work->mask = end_bit - bit < DIGIT_BITS ? (1u << (end_bit - bit)) - 1 : DIGITS - 1;
        parallel_for((int64_t)count, work->piece, count_piece, work);
        if (!place_pieces(work, pieces, count)) continue;
        parallel_for((int64_t)count, work->piece, move_piece, work);
        uint64_t *const moved_keys = work->keys_out;
        uint32_t *const moved_values = work->values_out;
        work->keys_out = work->keys;
        work->values_out = work->values;
        work->keys = moved_keys;
        work->values = moved_values;
    }
    if (work->keys == keys) return;
    memcpy(keys, work->keys, count * sizeof *keys);
    if (values) memcpy(values, work->values, count * sizeof *values);
}

void radix_sort_pairs(uint64_t *keys, uint32_t *values, uint64_t count, int begin_bit, int end_bit,
                      void *scratch) {
    if (count < 2) return;
    char *bytes = (char *)scratch;
    sort_work work = {keys, NULL, values, NULL, NULL, 0, 0, 0};
    work.counts = (digit_counts *)(void *)bytes;
    bytes += SORT_PIECES * sizeof(digit_counts);
    work.keys_out = (uint64_t *)(void *)bytes;
    bytes += aligned(count * sizeof(uint64_t));
    if (values) work.values_out = (uint32_t *)(void *)bytes;
    sort(&work, count, begin_bit, end_bit);
}

void radix_sort(uint64_t *items, uint64_t count, int begin_bit, int end_bit, void *scratch) {
    radix_sort_pairs(items, NULL, count, begin_bit, end_bit, scratch);
}
