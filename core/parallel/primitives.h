/* The parallel primitives that builders are made of: exclusive scan and stable radix sort, on all
   cores, the same result for any thread count. Their GPU twins are CUB's. Scratch is the caller's.
 */
#ifndef KD_CORE_PARALLEL_PRIMITIVES_H
#define KD_CORE_PARALLEL_PRIMITIVES_H
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* out[i] = in[0] + ... + in[i-1]; out may be in. Returns the sum of all. For 32 bits the caller
   refuses a sum above UINT32_MAX: out has wrapped then. */
uint64_t scan_exclusive_u32(const uint32_t *in, uint32_t *out, uint64_t count);
uint64_t scan_exclusive_u64(const uint64_t *in, uint64_t *out, uint64_t count);

/* Bytes that radix_sort and radix_sort_pairs need beside their arrays. */
uint64_t radix_sort_scratch_bytes(uint64_t count);
uint64_t radix_sort_pairs_scratch_bytes(uint64_t count);

/* Sorts by bits [begin_bit, end_bit) of the items, stable: what is equal there stays in order. A
   32-bit key with a 32-bit value is one item: key << 32 | value, sorted by bits [32, 64).
   `scratch` is 64-byte aligned. */
void radix_sort(uint64_t *items, uint64_t count, int begin_bit, int end_bit, void *scratch);

/* Sorts keys, and moves the values with them. */
void radix_sort_pairs(uint64_t *keys, uint32_t *values, uint64_t count, int begin_bit, int end_bit,
                      void *scratch);

#ifdef __cplusplus
}
#endif
#endif
