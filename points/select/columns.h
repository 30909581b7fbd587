/* Columns of 32-bit integers: selection by rank, and two-way partition of records, each field of
   which is in a column. AVX2, and a plain version of each kernel, which is the reference
   implementation. Buffers are never read beyond `count`, nor written beyond the documented ranges.
   Source: Floyd and Rivest 1975, "Expected time bounds for selection", for the brackets; Bramas
           2017, "A novel hybrid quicksort algorithm vectorized using AVX-512", for partitioning by
           masks, here with a table of permutations. */
#ifndef KD_POINTS_SELECT_COLUMNS_H
#define KD_POINTS_SELECT_COLUMNS_H
#include "core/parallel/select_keys.h"
#include <stdbool.h>
#ifdef __AVX2__
#include <immintrin.h>
#endif

enum {
    COLUMN_LANES = 8,
    COLUMN_TINY = 32, /* up to this many values are ranked by counting */
    /* from this many values on, samples have 32 elements instead of 16 */
    COLUMN_SAMPLE_MANY = 512,
    COLUMNS_MAX = 9 /* eight dimensions and the id */
};

/* Result of a selection: the value, how many are less, and how many are equal to it. */
typedef struct column_value {
    int32_t value;
    uint32_t less, equal;
} column_value;

/* Records before the pivot in the order (key, id) go to the left. */
typedef struct column_pivot {
    int32_t key, id;
    bool tied; /* other keys may be equal: compare ids */
} column_pivot;

/* Source of a partition. */
typedef struct columns_source {
    const int32_t *at; /* the first column; others follow at `stride` values */
    uint64_t stride;
    uint32_t count;
    uint32_t axis; /* the column of keys; ids are in the last column */
} columns_source;

/* Target of a partition: the left side is filled forward from `left` to `left_end`, the right side
   backward from `right_end` to `right`; columns have the stride of the source. */
typedef struct columns_target {
    int32_t *at;
    uint32_t left, left_end, right, right_end;
} columns_target;

#define COLUMN_FN static inline __attribute__((always_inline))

/* --- plain versions ------------------------------------------------------------------------- */

/* Copies the values in [lo, hi], in order, to `to`, which may equal `from`; *below receives the
   number of values less than lo. Returns the number copied. */
static inline uint32_t column_narrow_plain(const int32_t *from, uint32_t count, int32_t lo,
                                           int32_t hi, int32_t *to, uint32_t *below) {
    uint32_t kept = 0, less = 0;
    for (uint32_t i = 0; i < count; ++i) {
        const int32_t value = from[i];
        to[kept] = value;
        kept += (uint32_t)(value >= lo) & (uint32_t)(value <= hi);
        less += value < lo;
    }
    *below = less;
    return kept;
}

/* Fills both sides of the target completely. */
COLUMN_FN void columns_partition_plain(columns_source from, columns_target to, column_pivot pivot,
                                       uint32_t columns) {
    const int32_t *keys = from.at + from.axis * from.stride;
    const int32_t *ids = from.at + (columns - 1) * from.stride;
    for (uint32_t i = 0; i < from.count; ++i) {
        const uint32_t before = (uint32_t)(keys[i] < pivot.key) |
                                ((uint32_t)(keys[i] == pivot.key) & (uint32_t)(ids[i] < pivot.id));
        const uint32_t place = before ? to.left : to.right_end - 1;
        to.left += before;
        to.right_end -= 1 - before;
        for (uint32_t c = 0; c < columns; ++c)
            to.at[c * from.stride + place] = from.at[c * from.stride + i];
    }
}

/* --- eight at a time ------------------------------------------------------------------------ */
#ifdef __AVX2__
/* For each mask: the lanes in the mask, followed by the others. */
extern const uint64_t column_orders[256];

COLUMN_FN __m256i column_order(uint32_t mask) {
    return _mm256_cvtepu8_epi32(
        _mm_loadl_epi64((const __m128i *)(const void *)&column_orders[mask]));
}
COLUMN_FN __m256i column_load(const int32_t *from) {
    return _mm256_loadu_si256((const __m256i *)(const void *)from);
}
COLUMN_FN void column_store(int32_t *to, __m256i lanes) {
    _mm256_storeu_si256((__m256i *)(void *)to, lanes);
}
/* Sets all bits in the lanes [begin, end). */
COLUMN_FN __m256i column_lanes(uint32_t begin, uint32_t end) {
    const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_andnot_si256(_mm256_cmpgt_epi32(_mm256_set1_epi32((int32_t)begin), lane),
                               _mm256_cmpgt_epi32(_mm256_set1_epi32((int32_t)end), lane));
}
COLUMN_FN uint32_t column_mask(__m256i lanes) {
    return (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(lanes));
}

/* Appends those of the first `valid` values of a group that are in [lo, hi] to *to. */
COLUMN_FN void column_keep(__m256i values, uint32_t valid, __m256i minimum, __m256i maximum,
                           int32_t **to, uint32_t *below) {
    const uint32_t under = column_mask(_mm256_cmpgt_epi32(minimum, values));
    const uint32_t over = column_mask(_mm256_cmpgt_epi32(values, maximum));
    const uint32_t valid_lanes = (1u << valid) - 1, mask = ~(under | over) & valid_lanes;
    const __m256i packed = _mm256_permutevar8x32_epi32(values, column_order(mask));
    if (valid == COLUMN_LANES)
        column_store(*to, packed);
    else
        _mm256_maskstore_epi32(*to, column_lanes(0, valid), packed);
    *to += __builtin_popcount(mask);
    *below += (uint32_t)__builtin_popcount(under & valid_lanes);
}

static inline uint32_t column_narrow(const int32_t *from, uint32_t count, int32_t lo, int32_t hi,
                                     int32_t *to, uint32_t *below) {
    const __m256i minimum = _mm256_set1_epi32(lo), maximum = _mm256_set1_epi32(hi);
    int32_t *next = to;
    uint32_t i = 0;
    *below = 0;
    for (; i + COLUMN_LANES <= count; i += COLUMN_LANES)
        column_keep(column_load(from + i), COLUMN_LANES, minimum, maximum, &next, below);
    if (i < count) {
        const __m256i rest = _mm256_maskload_epi32(from + i, column_lanes(0, count - i));
        column_keep(rest, count - i, minimum, maximum, &next, below);
    }
    return (uint32_t)(next - to);
}

/* Partitions a group of eight records, of which the first `valid` exist. */
COLUMN_FN void columns_move(const columns_source *source, columns_target *target,
                            column_pivot pivot, uint32_t columns, uint32_t i, uint32_t valid) {
    const int32_t *at = source->at + i;
    const __m256i valid_lanes = column_lanes(0, valid), pivot_key = _mm256_set1_epi32(pivot.key);
    __m256i group[COLUMNS_MAX], keys;
    if (valid == COLUMN_LANES) {
        for (uint32_t c = 0; c < columns; ++c) group[c] = column_load(at + c * source->stride);
        keys = column_load(at + source->axis * source->stride);
    } else {
        for (uint32_t c = 0; c < columns; ++c)
            group[c] = _mm256_maskload_epi32(at + c * source->stride, valid_lanes);
        keys = _mm256_maskload_epi32(at + source->axis * source->stride, valid_lanes);
    }
    __m256i before = _mm256_cmpgt_epi32(pivot_key, keys);
    if (pivot.tied) {
        const __m256i id_before =
            _mm256_cmpgt_epi32(_mm256_set1_epi32(pivot.id), group[columns - 1]);
        before = _mm256_or_si256(before,
                                 _mm256_and_si256(_mm256_cmpeq_epi32(keys, pivot_key), id_before));
    }
    const uint32_t mask = column_mask(before) & ((1u << valid) - 1);
    const __m256i order = column_order(mask);
    const uint32_t lefts = (uint32_t)__builtin_popcount(mask), rights = valid - lefts;
    /* so that the lanes for the right side end at right_end */
    int32_t *left = target->at + target->left, *right = target->at + target->right_end - valid;
    if (valid == COLUMN_LANES && target->left + COLUMN_LANES <= target->left_end &&
        target->right + COLUMN_LANES <= target->right_end) {
        for (uint32_t c = 0; c < columns; ++c) {
            const __m256i packed = _mm256_permutevar8x32_epi32(group[c], order);
            column_store(left + c * source->stride, packed);
            column_store(right + c * source->stride, packed);
        }
    } else {
        const __m256i to_left = column_lanes(0, lefts), to_right = column_lanes(lefts, valid);
        for (uint32_t c = 0; c < columns; ++c) {
            const __m256i packed = _mm256_permutevar8x32_epi32(group[c], order);
            _mm256_maskstore_epi32(left + c * source->stride, to_left, packed);
            _mm256_maskstore_epi32(right + c * source->stride, to_right, packed);
        }
    }
    target->left += lefts;
    target->right_end -= rights;
}

COLUMN_FN void columns_partition(columns_source from, columns_target to, column_pivot pivot,
                                 uint32_t columns) {
    uint32_t i = 0;
    for (; i + COLUMN_LANES <= from.count; i += COLUMN_LANES)
        columns_move(&from, &to, pivot, columns, i, COLUMN_LANES);
    if (i < from.count) columns_move(&from, &to, pivot, columns, i, from.count - i);
}
#else
#define column_narrow column_narrow_plain
#define columns_partition columns_partition_plain
#endif

/* --- selection by rank ---------------------------------------------------------------------- */

#pragma GCC diagnostic ignored "-Wpsabi" /* vectors are passed to inlined functions only */
typedef int32_t int32x8 __attribute__((vector_size(4 * COLUMN_LANES)));
typedef float float32x8 __attribute__((vector_size(4 * COLUMN_LANES)));
typedef int64_t int64x8 __attribute__((vector_size(8 * COLUMN_LANES)));
typedef double float64x8 __attribute__((vector_size(8 * COLUMN_LANES)));

COLUMN_FN int32x8 int32x8_all(int32_t x) {
    const int32x8 v = {x, x, x, x, x, x, x, x};
    return v;
}
COLUMN_FN int32x8 int32x8_select(int32x8 mask, int32x8 if_set, int32x8 if_clear) {
    return (mask & if_set) | (~mask & if_clear);
}
COLUMN_FN int32x8 int32x8_greater(int32x8 a, int32x8 b) {
    return int32x8_select(a > b, a, b);
}
COLUMN_FN bool int32x8_none(int32x8 mask) {
    int64_t halves[COLUMN_LANES / 2];
    memcpy(halves, &mask, sizeof halves);
    return ((halves[0] | halves[1]) | (halves[2] | halves[3])) == 0;
}
/* Converts signed keys, which have the order of floats, to floats; a zero becomes +0. */
COLUMN_FN float32x8 float32x8_of_keys(int32x8 keys) {
    return (float32x8)(keys ^ ((keys >> 31) & int32x8_all(INT32_MAX)));
}
COLUMN_FN int32_t int32x8_greatest(int32x8 v) {
#ifdef __AVX2__
    const __m256i all = (__m256i)v;
    __m128i maximum = _mm_max_epi32(_mm256_castsi256_si128(all), _mm256_extracti128_si256(all, 1));
    maximum = _mm_max_epi32(maximum, _mm_shuffle_epi32(maximum, _MM_SHUFFLE(1, 0, 3, 2)));
    maximum = _mm_max_epi32(maximum, _mm_shuffle_epi32(maximum, _MM_SHUFFLE(2, 3, 0, 1)));
    return _mm_cvtsi128_si32(maximum);
#else
    int32_t maximum = v[0];
    for (int lane = 1; lane < COLUMN_LANES; ++lane) maximum = v[lane] > maximum ? v[lane] : maximum;
    return maximum;
#endif
}

/* Lane i of out[j] is from[8 i + j]. */
COLUMN_FN void int32x8_transpose(int32x8 out[COLUMN_LANES], const int32_t *from) {
#ifdef __AVX2__
    __m256i pairs[COLUMN_LANES], fours[COLUMN_LANES];
    for (int i = 0; i < COLUMN_LANES; i += 2) {
        const __m256i a = column_load(from + COLUMN_LANES * i);
        const __m256i b = column_load(from + COLUMN_LANES * (i + 1));
        pairs[i] = _mm256_unpacklo_epi32(a, b);
        pairs[i + 1] = _mm256_unpackhi_epi32(a, b);
    }
    for (int i = 0; i < COLUMN_LANES; i += 4)
        for (int j = 0; j < 2; ++j) {
            fours[i + 2 * j] = _mm256_unpacklo_epi64(pairs[i + j], pairs[i + j + 2]);
            fours[i + 2 * j + 1] = _mm256_unpackhi_epi64(pairs[i + j], pairs[i + j + 2]);
        }
    for (int i = 0; i < COLUMN_LANES / 2; ++i) {
        out[i] = (int32x8)_mm256_permute2x128_si256(fours[i], fours[i + 4], 0x20);
        out[i + 4] = (int32x8)_mm256_permute2x128_si256(fours[i], fours[i + 4], 0x31);
    }
#else
    for (int i = 0; i < COLUMN_LANES; ++i)
        for (int j = 0; j < COLUMN_LANES; ++j) out[j][i] = from[COLUMN_LANES * i + j];
#endif
}

/* A few values, and for each the number of values less than it. */
typedef struct column_ranks {
    int32_t values[COLUMN_TINY]; /* padded with INT32_MAX */
    int32x8 less[COLUMN_TINY / COLUMN_LANES];
} column_ranks;

COLUMN_FN int32x8 column_ranks_at(const column_ranks *ranks, uint32_t vector) {
    int32x8 v;
    memcpy(&v, ranks->values + vector * COLUMN_LANES, sizeof v);
    return v;
}

/* Computes `less` for `count` values, at most vectors * COLUMN_LANES. */
COLUMN_FN void column_ranks_count(column_ranks *ranks, uint32_t count, uint32_t vectors) {
    int32x8 less[COLUMN_TINY / COLUMN_LANES];
    for (uint32_t v = 0; v < vectors; ++v) less[v] = int32x8_all(0);
    for (uint32_t i = 0; i < count; ++i)
        for (uint32_t v = 0; v < vectors; ++v)
            less[v] -= column_ranks_at(ranks, v) > int32x8_all(ranks->values[i]);
    for (uint32_t v = 0; v < vectors; ++v) ranks->less[v] = less[v];
}

/* Returns the value of a rank: the greatest value with at most `rank` values less than it. */
COLUMN_FN int32_t column_ranks_value(const column_ranks *ranks, uint32_t rank, uint32_t vectors) {
    int32x8 maximum = int32x8_all(INT32_MIN);
    for (uint32_t v = 0; v < vectors; ++v) {
        const int32x8 behind = ranks->less[v] > int32x8_all((int32_t)rank);
        maximum =
            int32x8_greater(maximum, (behind & INT32_MIN) | (~behind & column_ranks_at(ranks, v)));
    }
    return int32x8_greatest(maximum);
}

/* Finds two values that most probably enclose the one of `rank`, from a sample of two or four
   vectors: about two standard deviations to both sides. */
COLUMN_FN void column_bracket(const int32_t *values, uint32_t count, uint32_t rank,
                              uint32_t vectors, int32_t bracket[2]) {
    const uint32_t size = vectors * COLUMN_LANES, spread = vectors == 2 ? 3 : 5;
    const uint32_t step = count / size;
    column_ranks sample;
    uint32_t random = count;
    for (uint32_t v = 0; v < vectors; ++v) {
        const uint32_t begin = v * COLUMN_LANES * step + keys_random(&random, step);
        for (uint32_t lane = 0; lane < COLUMN_LANES; ++lane)
            sample.values[v * COLUMN_LANES + lane] = values[begin + lane * step];
    }
    column_ranks_count(&sample, size, vectors);
    const uint32_t middle = (uint32_t)((uint64_t)rank * size / count);
    bracket[0] = INT32_MIN;
    bracket[1] = INT32_MAX;
    if (middle >= spread) bracket[0] = column_ranks_value(&sample, middle - spread, vectors);
    if (middle + spread < size) bracket[1] = column_ranks_value(&sample, middle + spread, vectors);
}

static inline column_value column_select_tiny(const int32_t *values, uint32_t count,
                                              uint32_t rank) {
    column_ranks ranks;
    const uint32_t vectors = COLUMN_TINY / COLUMN_LANES;
    for (uint32_t i = 0; i < COLUMN_TINY; ++i) ranks.values[i] = i < count ? values[i] : INT32_MAX;
    if (count <= COLUMN_TINY / 2)
        column_ranks_count(&ranks, count, vectors / 2);
    else
        column_ranks_count(&ranks, count, vectors);
    column_value value = {0, 0, 0};
    value.value = count <= COLUMN_TINY / 2 ? column_ranks_value(&ranks, rank, vectors / 2)
                                           : column_ranks_value(&ranks, rank, vectors);
    for (uint32_t i = 0; i < COLUMN_TINY; ++i) {
        value.less += ranks.values[i] < value.value;
        value.equal += ranks.values[i] == value.value;
    }
    return value;
}

/* Selects the value of `rank` among `count` values, none of which is INT32_MAX. `scratch` holds two
   buffers of `count` values. Each round keeps about a third of the values. */
static inline column_value column_select(const int32_t *values, uint32_t count, uint32_t rank,
                                         int32_t *scratch[2]) {
    uint32_t less = 0;
    for (uint32_t round = 0; count > COLUMN_TINY; ++round) {
        int32_t bracket[2];
        if (count < COLUMN_SAMPLE_MANY)
            column_bracket(values, count, rank, 2, bracket);
        else
            column_bracket(values, count, rank, 4, bracket);
        int32_t *to = scratch[round & 1];
        uint32_t below, kept = column_narrow(values, count, bracket[0], bracket[1], to, &below);
        if (kept == count && bracket[0] < bracket[1]) { /* none excluded: try a single value */
            if (bracket[1] == INT32_MAX)
                bracket[1] = bracket[0];
            else
                bracket[0] = bracket[1];
            kept = column_narrow(values, count, bracket[0], bracket[1], to, &below);
        }
        if (rank < below) { /* the bracket missed */
            bracket[1] = bracket[0] - 1;
            bracket[0] = INT32_MIN;
            kept = column_narrow(values, count, bracket[0], bracket[1], to, &below);
        } else if (rank >= below + kept) {
            bracket[0] = bracket[1] + 1;
            bracket[1] = INT32_MAX;
            kept = column_narrow(values, count, bracket[0], bracket[1], to, &below);
        }
        rank -= below;
        less += below;
        if (bracket[0] == bracket[1]) {
            const column_value value = {bracket[0], less, kept};
            return value;
        }
        values = to;
        count = kept;
    }
    column_value result = column_select_tiny(values, count, rank);
    result.less += less;
    return result;
}

/* Returns the index of the pivot's record. */
static inline uint32_t column_find(const int32_t *keys, const int32_t *ids, uint32_t count,
                                   column_pivot pivot) {
    uint32_t i = 0;
#ifdef __AVX2__
    const __m256i key = _mm256_set1_epi32(pivot.key), id = _mm256_set1_epi32(pivot.id);
    for (; i + COLUMN_LANES <= count; i += COLUMN_LANES) {
        __m256i equal = _mm256_cmpeq_epi32(column_load(keys + i), key);
        if (pivot.tied)
            equal = _mm256_and_si256(equal, _mm256_cmpeq_epi32(column_load(ids + i), id));
        const uint32_t mask = column_mask(equal);
        if (mask) return i + (uint32_t)__builtin_ctz(mask);
    }
#endif
    while (i < count && (keys[i] != pivot.key || (pivot.tied && ids[i] != pivot.id))) ++i;
    return i;
}

/* Stores the ids of the `equal` records that have this key, in order; `to` has space for `count`
   values. */
static inline void column_ties(const int32_t *keys, const int32_t *ids, uint32_t count, int32_t key,
                               uint32_t equal, int32_t *to) {
    uint32_t ties = 0, i = 0;
#ifdef __AVX2__
    const __m256i all = _mm256_set1_epi32(key);
    for (; ties < equal && i + COLUMN_LANES <= count; i += COLUMN_LANES) {
        const uint32_t mask = column_mask(_mm256_cmpeq_epi32(column_load(keys + i), all));
        const __m256i packed =
            _mm256_permutevar8x32_epi32(column_load(ids + i), column_order(mask));
        column_store(to + ties, packed); /* ties <= i: within `count` values */
        ties += (uint32_t)__builtin_popcount(mask);
    }
#endif
    for (; ties < equal && i < count; ++i) {
        to[ties] = ids[i];
        ties += keys[i] == key;
    }
}

/* Selects the record of `rank` in the order (key, id); `scratch` holds three buffers of `count`
   values. */
static inline column_pivot column_pivot_select(const int32_t *keys, const int32_t *ids,
                                               uint32_t count, uint32_t rank, int32_t *scratch[3]) {
    const column_value value = column_select(keys, count, rank, scratch);
    column_pivot pivot = {value.value, 0, value.equal > 1};
    if (!pivot.tied) return pivot;
    column_ties(keys, ids, count, value.value, value.equal, scratch[2]);
    pivot.id = column_select(scratch[2], value.equal, rank - value.less, scratch).value;
    return pivot;
}

#endif
