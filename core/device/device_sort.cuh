/* Prefix sums, selection and radix sorts on a device, by CUB. They are instantiated in one file,
   because every file that includes CUB's headers takes some 10 s longer to compile, once per
   architecture.

   With `scratch` NULL, each function only stores the size of the scratch memory in *bytes.
   Otherwise it appends its work to the stream and does not wait. All arrays lie on the current
   device. */
#ifndef KD_CORE_DEVICE_DEVICE_SORT_CUH
#define KD_CORE_DEVICE_DEVICE_SORT_CUH
#include "core/device/cuda.h"
#include "core/status.h"
#include <stdint.h>

/* Replaces each value by the sum of those before it. */
kd_status device_prefix_sum(void *scratch, size_t *bytes, uint32_t *values, uint64_t count,
                            cudaStream_t stream);
kd_status device_prefix_sum(void *scratch, size_t *bytes, uint64_t *values, uint64_t count,
                            cudaStream_t stream);

/* Adds to each value the sum of those before it. */
kd_status device_running_sum(void *scratch, size_t *bytes, uint32_t *values, uint32_t count,
                             cudaStream_t stream);

/* Writes the items whose flag is not 0, in their order, to `kept`, and their number to *kept_count.
 */
kd_status device_keep_flagged(void *scratch, size_t *bytes, const uint32_t *items,
                              const uint8_t *flags, uint32_t *kept, uint32_t *kept_count,
                              uint32_t count, cudaStream_t stream);

/* Sorts keys by their lowest `bits` bits; pairs are stable. Inputs are not changed. */
kd_status device_sort_keys(void *scratch, size_t *bytes, const uint32_t *keys,
                           uint32_t *keys_sorted, uint32_t count, int bits, cudaStream_t stream);
kd_status device_sort_pairs(void *scratch, size_t *bytes, const uint32_t *keys,
                            uint32_t *keys_sorted, const uint32_t *values, uint32_t *values_sorted,
                            uint32_t count, int bits, cudaStream_t stream);
kd_status device_sort_pairs(void *scratch, size_t *bytes, const uint64_t *keys,
                            uint64_t *keys_sorted, const uint32_t *values, uint32_t *values_sorted,
                            uint32_t count, int bits, cudaStream_t stream);

#endif
