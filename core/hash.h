/* XXH3 (64 bits, seed 0) of bytes: the hash of trees, photon maps and images in stats files. */
#ifndef KD_CORE_HASH_H
#define KD_CORE_HASH_H
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

uint64_t hash_bytes(const void *bytes, size_t count);
uint64_t hash_combine(uint64_t hash, const void *bytes, size_t count); /* order matters */

/* hash_combine of `count` records of `bytes` (at most 256) in a row, where item(context, i, out)
   writes the i-th one. */
uint64_t hash_combine_each(uint64_t hash, uint64_t count, size_t bytes,
                           void (*item)(const void *context, uint64_t i, void *out),
                           const void *context);

/* A number's bits, mixed so that tables may take the lowest: xor-shifts and multiplications, each
   of which can be undone, so no two numbers meet. */
static inline uint64_t hash_scatter(uint64_t x) {
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93u;
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93u;
    return x ^ x >> 32;
}

#ifdef __cplusplus
}
#endif
#endif
