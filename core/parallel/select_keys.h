/* Selection and sorting of distinct 64-bit keys without branches that depend on the keys. */
#ifndef KD_CORE_PARALLEL_SELECT_KEYS_H
#define KD_CORE_PARALLEL_SELECT_KEYS_H
#include <stdint.h>
#include <string.h>
#if defined(__AVX512F__) && defined(__AVX512VL__) && defined(__AVX512DQ__)
#include <immintrin.h>
#define KEYS_512
#endif

enum {
    KEYS_TINY = 16,       /* sorted by counting smaller keys */
    KEYS_BY_VECTORS = 256 /* with AVX-512, at most this many keys are partitioned through a buffer,
                             eight at a time */
};

/* Returns a number below `bound` from a linear congruential generator. It only chooses pivots,
   which do not affect results. */
static inline uint32_t keys_random(uint32_t *state, uint32_t bound) {
    *state = *state * 1664525u + 1013904223u;
    return (uint32_t)((uint64_t)*state * bound >> 32);
}

static inline uint64_t keys_pivot(const uint64_t *keys, uint32_t count, uint32_t *random) {
    const uint64_t a = keys[keys_random(random, count)], b = keys[keys_random(random, count)];
    const uint64_t c = keys[keys_random(random, count)];
    const uint64_t minimum = a < b ? a : b, maximum = a < b ? b : a;
    return c < minimum ? minimum : c > maximum ? maximum : c;
}

#ifdef KEYS_512
/* keys_partition by vector compression: smaller keys go to the front of `keys`, the others to a
   buffer that is appended at the end. */
static inline uint32_t keys_partition_few(uint64_t *keys, uint32_t count, uint64_t pivot) {
    uint64_t rest[KEYS_BY_VECTORS + 8];
    const __m512i at = _mm512_set1_epi64((int64_t)pivot);
    uint32_t left = 0, right = 0;
    for (uint32_t i = 0; i < count; i += 8) {
        const __mmask8 valid = (__mmask8)(count - i < 8 ? (1u << (count - i)) - 1 : 0xff);
        const __m512i group = _mm512_maskz_loadu_epi64(valid, keys + i);
        const __mmask8 less = _mm512_mask_cmplt_epu64_mask(valid, group, at);
        const __mmask8 other = (__mmask8)(valid & ~less);
        const uint32_t smaller = (uint32_t)__builtin_popcount(less);
        _mm512_mask_storeu_epi64(keys + left, (__mmask8)((1u << smaller) - 1),
                                 _mm512_maskz_compress_epi64(less, group));
        _mm512_storeu_si512((void *)(rest + right), _mm512_maskz_compress_epi64(other, group));
        left += smaller;
        right += (uint32_t)__builtin_popcount(other);
    }
    memcpy(keys + left, rest, right * sizeof *keys);
    return left;
}
#endif

/* Lomuto's partition: moves keys smaller than `pivot` to the front and returns their number. */
static inline uint32_t keys_partition(uint64_t *keys, uint32_t count, uint64_t pivot) {
    uint32_t left = 0;
#ifdef KEYS_512
    if (count <= KEYS_BY_VECTORS) return keys_partition_few(keys, count, pivot);
#endif
    for (uint32_t i = 0; i < count; ++i) {
        const uint64_t key = keys[i];
        keys[i] = keys[left];
        keys[left] = key;
        left += key < pivot;
    }
    return left;
}

/* Sorts up to KEYS_TINY keys: the position of a key is the number of smaller keys. */
#ifdef KEYS_512
static inline void keys_sort_tiny(uint64_t *keys, uint32_t count) {
    const __mmask16 valid = (__mmask16)((1u << count) - 1);
    const __m512i low = _mm512_maskz_loadu_epi64((__mmask8)valid, keys);
    const __m512i high = _mm512_maskz_loadu_epi64((__mmask8)(valid >> 8), keys + 8);
    uint64_t sorted[KEYS_TINY];
    for (uint32_t i = 0; i < count; ++i) {
        const __m512i key = _mm512_set1_epi64((int64_t)keys[i]);
        const uint32_t before = _mm512_mask_cmplt_epu64_mask((__mmask8)valid, low, key);
        const uint32_t more = _mm512_mask_cmplt_epu64_mask((__mmask8)(valid >> 8), high, key);
        sorted[__builtin_popcount(before | more << 8)] = keys[i];
    }
    memcpy(keys, sorted, count * sizeof *keys);
}
#else
static inline void keys_sort_tiny(uint64_t *keys, uint32_t count) {
    int64_t padded[KEYS_TINY];
    uint64_t sorted[KEYS_TINY];
    for (uint32_t i = 0; i < KEYS_TINY; ++i)
        padded[i] = i < count ? (int64_t)(keys[i] ^ 1ull << 63) : INT64_MAX;
    for (uint32_t i = 0; i < count; ++i) {
        int64_t before = 0;
        for (uint32_t j = 0; j < KEYS_TINY; ++j) before += padded[j] < padded[i];
        sorted[before] = keys[i];
    }
    memcpy(keys, sorted, count * sizeof *keys);
}
#endif

/* Moves the `rank` + 1 smallest keys to the front and returns the largest of these, which is
   last. */
static inline uint64_t keys_select(uint64_t *keys, uint32_t count, uint32_t rank) {
    uint32_t random = count;
    while (count > KEYS_TINY) {
        const uint64_t pivot = keys_pivot(keys, count, &random);
        const uint32_t left = keys_partition(keys, count, pivot);
        if (rank < left) {
            count = left;
        } else if (left > 0) {
            keys += left;
            count -= left;
            rank -= left;
        } else { /* the pivot is the minimum: move it to the front, or the range would not shrink */
            uint32_t minimum = 0;
            while (keys[minimum] != pivot) ++minimum;
            keys[minimum] = keys[0];
            keys[0] = pivot;
            if (rank == 0) return pivot;
            ++keys;
            --count;
            --rank;
        }
    }
    keys_sort_tiny(keys, count);
    return keys[rank];
}

/* Quicksort. Recursion on the smaller part bounds its depth by log2(count). */
static inline void keys_sort(uint64_t *keys, uint32_t count) {
    uint32_t random = count;
    while (count > KEYS_TINY) {
        const uint64_t pivot = keys_pivot(keys, count, &random);
        uint32_t left = keys_partition(keys, count, pivot);
        if (left == 0) {
            while (keys[left] != pivot) ++left;
            keys[left] = keys[0];
            keys[0] = pivot;
            left = 1;
        }
        uint64_t *const smaller = left < count - left ? keys : keys + left;
        const uint32_t smaller_count = left < count - left ? left : count - left;
        keys_sort(smaller, smaller_count);
        if (smaller == keys) keys += left;
        count -= smaller_count;
    }
    keys_sort_tiny(keys, count);
}

#endif
