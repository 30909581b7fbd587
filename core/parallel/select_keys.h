/* Selecting and sorting 64-bit keys, all different, without branches that depend on them. */
#ifndef KD_CORE_PARALLEL_SELECT_KEYS_H
#define KD_CORE_PARALLEL_SELECT_KEYS_H
#include <stdint.h>
#include <string.h>

enum { KEYS_TINY = 16 }; /* sorted by counting */

/* Below `bound`, from a linear congruential generator: for choices that no result depends on. */
static inline uint32_t keys_random(uint32_t *state, uint32_t bound) {
    *state = *state * 1664525u + 1013904223u;
    return (uint32_t)((uint64_t)*state * bound >> 32);
}

static inline uint64_t keys_pivot(const uint64_t *keys, uint32_t count, uint32_t *random) {
    const uint64_t a = keys[keys_random(random, count)], b = keys[keys_random(random, count)];
    const uint64_t c = keys[keys_random(random, count)];
    const uint64_t least = a < b ? a : b, most = a < b ? b : a;
    return c < least ? least : c > most ? most : c;
}

/* Lomuto's partition: smaller ones to the front; returns how many. */
static inline uint32_t keys_partition(uint64_t *keys, uint32_t count, uint64_t pivot) {
    uint32_t left = 0;
    for (uint32_t i = 0; i < count; ++i) {
        const uint64_t key = keys[i];
        keys[i] = keys[left];
        keys[left] = key;
        left += key < pivot;
    }
    return left;
}

/* Up to KEYS_TINY keys: each counts the ones before it. */
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

/* The least `rank` + 1 keys to the front; that of `rank` is the last of them. */
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
        } else { /* the pivot is the least: put it first, lest nothing shrinks */
            uint32_t least = 0;
            while (keys[least] != pivot) ++least;
            keys[least] = keys[0];
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

/* Quicksort; the smaller part by recursion, so that it is never deep. */
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
