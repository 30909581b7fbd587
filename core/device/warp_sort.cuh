/* Warp-level sorting of keys in registers, and per-lane columns of keys in shared memory. */
#ifndef KD_CORE_DEVICE_WARP_SORT_CUH
#define KD_CORE_DEVICE_WARP_SORT_CUH
#include <stdint.h>

/* Sorts keys that the lanes of a warp hold in registers.
   Source: Batcher 1968, "Sorting networks and their applications": the bitonic sorter, in the
           variant in which all comparators have the same direction.
   Idea: key i of lane l is element l * N + i. A step within a lane costs two instructions per pair;
         a step between lanes costs one shuffle more.
   Work: log2(n) (log2(n) + 1) / 2 steps. */

namespace warp_sort {

template <class KEY> __device__ inline void order_pair(KEY &low, KEY &high) {
    const KEY a = low, b = high;
    low = b < a ? b : a;
    high = b < a ? a : b;
}

#ifndef KD_CUDA_EMULATED
/* Inline PTX with a single comparison, where the compiler emits two or three. */
__device__ inline void order_pair(unsigned long long &low, unsigned long long &high) {
    asm("{\n\t.reg .pred swap;\n\t.reg .b64 least;\n\tsetp.lt.u64 swap, %1, %0;\n\t"
        "selp.b64 least, %1, %0, swap;\n\tselp.b64 %1, %0, %1, swap;\n\tmov.b64 %0, least;\n\t}"
        : "+l"(low), "+l"(high));
}
#endif

/* The smallest power of two that is not below n. */
constexpr int span_of(int n) {
    return n > 1 ? 2 * span_of((n + 1) / 2) : 1;
}

/* Sorts a lane's keys in ascending order, which must first ascend and then descend; if N is a power
   of two, any bitonic sequence will do. Otherwise the keys are the last N of a power of two, after
   others that count as least and never move. */
template <int N, class KEY> __device__ inline void merge_key_lists(KEY (&key)[N]) {
    constexpr int SPAN = span_of(N);
#pragma unroll
    for (int step = SPAN / 2; step > 0; step /= 2)
#pragma unroll
        for (int i = 0; i < N; ++i)
            if (((i + SPAN - N) & step) == 0) order_pair(key[i], key[i + step]);
}

template <int N, class KEY> __device__ inline void sort_key_lists(KEY (&key)[N]) {
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

template <class KEY> __device__ inline KEY chosen(KEY own_key, KEY other, bool minimum) {
    return (other < own_key) == minimum ? other : own_key;
}

/* Sorts the keys of each group of `lanes` consecutive lanes, a power of two. All lanes of the warp
   must participate. */
template <int N, class KEY> __device__ inline void sort_lanes(KEY (&key)[N], int lanes) {
    const int lane = (int)(threadIdx.x & 31);
    sort_key_lists(key);
#pragma unroll 1
    for (int run = 2; run <= lanes; run *= 2) {
        const bool lower = (lane & (run / 2)) == 0;
#pragma unroll
        for (int i = 0; i < N / 2; ++i) { /* compares element e with its mirror image */
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
        merge_key_lists(key);
    }
}

} // namespace warp_sort

/* One column per lane in shared memory, appended to by predicated stores: plain pointers would cost
   64-bit additions and generic stores in the innermost loop. `place` is a 32-bit shared-memory
   address. */

namespace warp_columns {

#ifdef KD_CUDA_EMULATED /* host equivalents of the PTX below */
inline uint32_t place_of(const void *shared) {
    return emulated::place_in_shared(shared);
}
inline void store_two(uint32_t place, uint32_t a, uint32_t b) {
    uint32_t *at = (uint32_t *)emulated::at_shared(place);
    at[0] = a, at[1] = b;
}
template <int APART> inline void store_apart(uint32_t place, uint32_t a, uint32_t b) {
    *(uint32_t *)emulated::at_shared(place) = a;
    *(uint32_t *)emulated::at_shared(place + APART) = b;
}
template <int BACK> inline unsigned long long load_two_before(uint32_t place, bool valid) {
    if (!valid) return ~0ull;
    const uint32_t *at = (const uint32_t *)emulated::at_shared(place - BACK);
    return (unsigned long long)at[0] << 32 | at[1];
}
#else

__device__ inline uint32_t place_of(const void *shared) {
    return (uint32_t)__cvta_generic_to_shared(shared);
}

__device__ inline void store_two(uint32_t place, uint32_t a, uint32_t b) {
    asm volatile("st.shared.v2.u32 [%0], {%1, %2};" ::"r"(place), "r"(a), "r"(b) : "memory");
}

/* Stores `a` at `place` and `b` APART bytes after it. */
template <int APART> __device__ inline void store_apart(uint32_t place, uint32_t a, uint32_t b) {
    asm volatile("st.shared.u32 [%0], %1;\n\tst.shared.u32 [%0 + %3], %2;" ::"r"(place), "r"(a),
                 "r"(b), "n"(APART)
                 : "memory");
}

/* Loads the two words BACK bytes before `place` as one integer, high word first; returns all ones
   if `valid` (the predicate) is false. */
template <int BACK>
__device__ inline unsigned long long load_two_before(uint32_t place, bool valid) {
    uint32_t high, low;
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.u32 p, %3, 0;\n\tmov.u32 %0, -1;\n\t"
                 "mov.u32 %1, -1;\n\t@p ld.shared.v2.u32 {%0, %1}, [%2 + -%4];\n\t}"
                 : "=r"(high), "=r"(low)
                 : "r"(place), "r"((uint32_t)valid), "n"(BACK)
                 : "memory");
    return (unsigned long long)high << 32 | low;
}
#endif

} // namespace warp_columns

#endif
