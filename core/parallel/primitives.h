/* Parallel primitives for tree builders: exclusive scan and stable radix sort on all cores, with
   the same result for any number of threads. CUB provides their counterparts on a GPU. The caller
   provides scratch memory. */
#ifndef KD_CORE_PARALLEL_PRIMITIVES_H
#define KD_CORE_PARALLEL_PRIMITIVES_H
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* out[i] = in[0] + ... + in[i-1]; `out` may equal `in`. Returns the sum of all items. The 32-bit
   form wraps if the sum exceeds UINT32_MAX, which the caller must check. */
uint64_t scan_exclusive_u32(const uint32_t *in, uint32_t *out, uint64_t count);
uint64_t scan_exclusive_u64(const uint64_t *in, uint64_t *out, uint64_t count);

/* Return the bytes of scratch that radix_sort and radix_sort_pairs need. */
uint64_t radix_sort_scratch_bytes(uint64_t count);
uint64_t radix_sort_pairs_scratch_bytes(uint64_t count);

/* Sorts by bits [begin_bit, end_bit) of the items. The sort is stable. A 32-bit key with a 32-bit
   value can be sorted as one item, key << 32 | value, by bits [32, 64). `scratch` must be 64-byte
   aligned. */
void radix_sort(uint64_t *items, uint64_t count, int begin_bit, int end_bit, void *scratch);

/* As radix_sort by `keys`; permutes `values` accordingly. */
void radix_sort_pairs(uint64_t *keys, uint32_t *values, uint64_t count, int begin_bit, int end_bit,
                      void *scratch);

#ifdef __cplusplus
}
#endif
#endif
