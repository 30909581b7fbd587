/* Columns in shared memory, one a lane, that grow by predicated stores: plain pointers would cost
   64-bit additions and generic stores in the innermost loop. A place is a 32-bit shared address. */
#ifndef KD_CORE_DEVICE_WARP_COLUMNS_CUH
#define KD_CORE_DEVICE_WARP_COLUMNS_CUH
#include <stdint.h>

namespace warp_columns {

#ifdef KD_CUDA_EMULATED /* what the instructions below do */
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
template <int BACK> inline unsigned long long load_two_before(uint32_t place, bool there) {
    if (!there) return ~0ull;
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

/* `a` there and `b` so many bytes on. */
template <int APART> __device__ inline void store_apart(uint32_t place, uint32_t a, uint32_t b) {
    asm volatile("st.shared.u32 [%0], %1;\n\tst.shared.u32 [%0 + %3], %2;" ::"r"(place), "r"(a),
                 "r"(b), "n"(APART)
                 : "memory");
}

/* Two words so many bytes back as one, high word first; all ones where `there` is false. */
template <int BACK>
__device__ inline unsigned long long load_two_before(uint32_t place, bool there) {
    uint32_t high, low;
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.u32 p, %3, 0;\n\tmov.u32 %0, -1;\n\t"
                 "mov.u32 %1, -1;\n\t@p ld.shared.v2.u32 {%0, %1}, [%2 + -%4];\n\t}"
                 : "=r"(high), "=r"(low)
                 : "r"(place), "r"((uint32_t)there), "n"(BACK)
                 : "memory");
    return (unsigned long long)high << 32 | low;
}
#endif

} // namespace warp_columns
#endif
