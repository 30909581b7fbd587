#include "core/device/device_sort.cuh"
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>
#include <cub/device/device_select.cuh>

kd_status device_prefix_sum(void *scratch, size_t *bytes, uint32_t *values, uint64_t count,
                            cudaStream_t stream) {
    KD_CUDA(cub::DeviceScan::ExclusiveSum(scratch, *bytes, values, values, count, stream));
    return KD_OK;
}

kd_status device_prefix_sum(void *scratch, size_t *bytes, uint64_t *values, uint64_t count,
                            cudaStream_t stream) {
    KD_CUDA(cub::DeviceScan::ExclusiveSum(scratch, *bytes, values, values, count, stream));
    return KD_OK;
}

kd_status device_running_sum(void *scratch, size_t *bytes, uint32_t *values, uint32_t count,
                             cudaStream_t stream) {
    KD_CUDA(cub::DeviceScan::InclusiveSum(scratch, *bytes, values, values, count, stream));
    return KD_OK;
}

kd_status device_keep_flagged(void *scratch, size_t *bytes, const uint32_t *items,
                              const uint8_t *flags, uint32_t *kept, uint32_t *kept_count,
                              uint32_t count, cudaStream_t stream) {
    KD_CUDA(
        cub::DeviceSelect::Flagged(scratch, *bytes, items, flags, kept, kept_count, count, stream));
    return KD_OK;
}

kd_status device_sort_keys(void *scratch, size_t *bytes, const uint32_t *keys,
                           uint32_t *keys_sorted, uint32_t count, int bits, cudaStream_t stream) {
    KD_CUDA(
        cub::DeviceRadixSort::SortKeys(scratch, *bytes, keys, keys_sorted, count, 0, bits, stream));
    return KD_OK;
}

kd_status device_sort_pairs(void *scratch, size_t *bytes, const uint32_t *keys,
                            uint32_t *keys_sorted, const uint32_t *values, uint32_t *values_sorted,
                            uint32_t count, int bits, cudaStream_t stream) {
    KD_CUDA(cub::DeviceRadixSort::SortPairs(scratch, *bytes, keys, keys_sorted, values,
                                            values_sorted, count, 0, bits, stream));
    return KD_OK;
}

kd_status device_sort_pairs(void *scratch, size_t *bytes, const uint64_t *keys,
                            uint64_t *keys_sorted, const uint32_t *values, uint32_t *values_sorted,
                            uint32_t count, int bits, cudaStream_t stream) {
    KD_CUDA(cub::DeviceRadixSort::SortPairs(scratch, *bytes, keys, keys_sorted, values,
                                            values_sorted, count, 0, bits, stream));
    return KD_OK;
}
