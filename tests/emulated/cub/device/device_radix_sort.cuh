/* The part of CUB's interface that Kandela uses, implemented by loops on the host. */
#ifndef KD_TESTS_EMULATED_CUB_RADIX_SORT_CUH
#define KD_TESTS_EMULATED_CUB_RADIX_SORT_CUH
#include "cuda_runtime.h"
#include <algorithm>
#include <vector>

namespace cub {
namespace emulated_keys {
/* Returns the unsigned number with the order of the key. */
inline uint64_t ordered(uint64_t key) {
    return key;
}
inline uint64_t ordered(uint32_t key) {
    return key;
}
inline uint64_t ordered(unsigned long long key) {
    return key;
}
inline uint64_t ordered(float key) {
    const uint32_t bits = __float_as_uint(key);
    return bits >> 31 ? ~bits : bits | 0x80000000u;
}
inline uint64_t digits(uint64_t key, int begin, int end) {
    return (end - begin < 64 ? key & ~(~UINT64_C(0) << (end - begin)) << begin : key) >> begin;
}
} // namespace emulated_keys

struct DeviceRadixSort {
    template <class KEY, class VALUE, class COUNT>
    static cudaError_t SortPairs(void *scratch, size_t &bytes, const KEY *keys, KEY *keys_sorted,
                                 const VALUE *values, VALUE *values_sorted, COUNT count,
                                 int begin = 0, int end = 8 * (int)sizeof(KEY),
                                 cudaStream_t = NULL) {
        if (!scratch) {
            bytes = 256;
            return cudaSuccess;
        }
        typedef std::pair<uint64_t, size_t> entry;
        std::vector<entry> order((size_t)count);
        for (size_t i = 0; i < (size_t)count; ++i)
            order[i] = entry(emulated_keys::digits(emulated_keys::ordered(keys[i]), begin, end), i);
        std::sort(order.begin(), order.end());
        for (size_t i = 0; i < (size_t)count; ++i) {
            keys_sorted[i] = keys[order[i].second];
            values_sorted[i] = values[order[i].second];
        }
        return cudaSuccess;
    }
    template <class KEY, class COUNT>
    static cudaError_t SortKeys(void *scratch, size_t &bytes, const KEY *keys, KEY *keys_sorted,
                                COUNT count, int begin = 0, int end = 8 * (int)sizeof(KEY),
                                cudaStream_t stream = NULL) {
        std::vector<char> none(scratch ? (size_t)count : 0), sorted(none);
        return SortPairs(scratch, bytes, keys, keys_sorted, none.data(), sorted.data(), count,
                         begin, end, stream);
    }
};
} // namespace cub
#endif
