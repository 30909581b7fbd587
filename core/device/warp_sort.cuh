/* Lanes of a warp sort keys that they hold in registers.
   Source: Batcher 1968, "Sorting networks and their applications": the bitonic sorter, in the
           form whose comparisons all point up.
   Idea: key i of lane l is number l * N + i; a step within a lane costs two instructions a pair,
         one between lanes a shuffle more.
   Work: log2(n) (log2(n) + 1) / 2 steps. */
#ifndef KD_CORE_DEVICE_WARP_SORT_CUH
#define KD_CORE_DEVICE_WARP_SORT_CUH
#include <stdint.h>

namespace warp_sort {

template <class KEY> __device__ inline void order_pair(KEY &low, KEY &high) {
    const KEY a = low, b = high;
    low = b < a ? b : a;
    high = b < a ? a : b;
}

#ifndef KD_CUDA_EMULATED
/* By one comparison: the compiler makes two or three of it. */
__device__ inline void order_pair(unsigned long long &low, unsigned long long &high) {
    asm("{\n\t.reg .pred swap;\n\t.reg .b64 least;\n\tsetp.lt.u64 swap, %1, %0;\n\t"
        "selp.b64 least, %1, %0, swap;\n\tselp.b64 %1, %0, %1, swap;\n\tmov.b64 %0, least;\n\t}"
        : "+l"(low), "+l"(high));
}
#endif

/* The keys of a lane form a bitonic sequence: afterwards they ascend. */
template <int N, class KEY> __device__ inline void merge_own(KEY (&key)[N]) {
#pragma unroll
    for (int step = N / 2; step > 0; step /= 2)
#pragma unroll
        for (int i = 0; i < N; ++i)
            if ((i & step) == 0) order_pair(key[i], key[i + step]);
}

template <int N, class KEY> __device__ inline void sort_own(KEY (&key)[N]) {
#pragma unroll
    for (int run = 2; run <= N; run *= 2) {
#pragma unroll
        for (int i = 0; i < N; ++i)
            if ((i & (run / 2)) == 0) order_pair(key[i], key[i ^ (run - 1)]);
#pragma unroll
        for (int step = run / 4; step > 0; step /= 2)
#pragma unroll
            for (int i = 0; i < N; ++i)
                if ((i & step) == 0) order_pair(key[i], key[i + step]);
    }
}

template <class KEY> __device__ inline KEY chosen(KEY mine, KEY other, bool least) {
    return (other < mine) == least ? other : mine;
}

/* Sorts the keys of each `lanes` neighbouring lanes, a power of two; all of the warp takes part. */
template <int N, class KEY> __device__ inline void sort_lanes(KEY (&key)[N], int lanes) {
    const int lane = (int)(threadIdx.x & 31);
    sort_own(key);
#pragma unroll 1
    for (int run = 2; run <= lanes; run *= 2) {
        const bool lower = (lane & (run / 2)) == 0;
#pragma unroll
        for (int i = 0; i < N / 2; ++i) { /* the mirror of e is the run's end less e */
            const KEY a = key[i], b = key[N - 1 - i];
            key[i] = chosen(a, __shfl_xor_sync(0xffffffffu, b, run - 1), lower);
            key[N - 1 - i] = chosen(b, __shfl_xor_sync(0xffffffffu, a, run - 1), lower);
        }
#pragma unroll 1
        for (int step = run / 4; step > 0; step /= 2)
#pragma unroll
            for (int i = 0; i < N; ++i)
                key[i] =
                    chosen(key[i], __shfl_xor_sync(0xffffffffu, key[i], step), (lane & step) == 0);
        merge_own(key);
    }
}

} // namespace warp_sort
#endif
