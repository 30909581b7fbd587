/* XXH3 (64 bits, seed 0), the hash that stats files report for trees, photon maps and images. */
#ifndef KD_CORE_HASH_H
#define KD_CORE_HASH_H
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

uint64_t hash_bytes(const void *bytes, size_t count);

/* Continues `hash` with more bytes; the order of the calls matters. */
uint64_t hash_combine(uint64_t hash, const void *bytes, size_t count);

/* Equals hash_combine over `count` contiguous records of `bytes` each (at most 256), where
   item(context, i, out) writes record i to `out`. */
uint64_t hash_combine_each(uint64_t hash, uint64_t count, size_t bytes,
                           void (*item)(const void *context, uint64_t i, void *out),
                           const void *context);

/* Mixes the bits of `x` so that a hash table may use the lowest ones. Xor-shifts and odd
   multiplications are invertible, so distinct numbers have distinct hashes. */
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
