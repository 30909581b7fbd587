/* The part of CUB's interface that Kandela uses: every lane publishes its items, and the first lane
   sorts them all. */
#ifndef KD_TESTS_EMULATED_CUB_BLOCK_RADIX_SORT_CUH
#define KD_TESTS_EMULATED_CUB_BLOCK_RADIX_SORT_CUH
#include <cub/device/device_radix_sort.cuh>

namespace cub {
template <class KEY, int THREADS, int ITEMS, class VALUE> struct BlockRadixSort {
    struct TempStorage {
        KEY keys[THREADS * ITEMS];
        VALUE values[THREADS * ITEMS];
    };
    TempStorage &storage;
    explicit BlockRadixSort(TempStorage &storage_) : storage(storage_) {}

    void Sort(KEY (&keys)[ITEMS], VALUE (&values)[ITEMS], int begin, int end) {
        const int first = (int)threadIdx.x * ITEMS;
        for (int i = 0; i < ITEMS; ++i) {
            storage.keys[first + i] = keys[i];
            storage.values[first + i] = values[i];
        }
        __syncthreads();
        if (threadIdx.x == 0) sort_all(begin, end);
        __syncthreads();
        for (int i = 0; i < ITEMS; ++i) {
            keys[i] = storage.keys[first + i];
            values[i] = storage.values[first + i];
        }
    }

    void sort_all(int begin, int end) {
        size_t bytes = 1;
        const std::vector<KEY> keys(storage.keys, storage.keys + THREADS * ITEMS);
        const std::vector<VALUE> values(storage.values, storage.values + THREADS * ITEMS);
        DeviceRadixSort::SortPairs(&bytes, bytes, keys.data(), storage.keys, values.data(),
                                   storage.values, THREADS * ITEMS, begin, end);
    }
};
} // namespace cub
#endif
