/* Few items among many threads.
   Idea: a warp takes as long as the longest of its lanes, and longer the more they differ. So where
         there are fewer items than threads, each warp takes as few as it can; neighbours stay
         together as far as that goes. */
#ifndef KD_CORE_BESIDE_SPREAD_CUH
#define KD_CORE_BESIDE_SPREAD_CUH
#include <stdint.h>

/* Items a warp takes first, of so many; all 32 where there are as many as threads. */
__device__ __forceinline__ uint32_t spread_each(uint32_t count) {
    const uint32_t warps = gridDim.x * (blockDim.x / 32);
    return count >= 32 * warps ? 32 : (count + warps - 1) / warps;
}

/* The first item of this thread; `count` or more: none. Others follow in steps of all threads. */
__device__ __forceinline__ uint32_t spread_first(uint32_t count) {
    const uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x, each = spread_each(count);
    if (each == 32) return thread;
    return thread % 32 < each ? thread / 32 * each + thread % 32 : count;
}

#endif
