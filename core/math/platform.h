/* Portability between C17 compilers and nvcc. Shared headers use the intersection of C17 and CUDA
   C++: no restrict, no implicit conversion from void *, none from int to enum, no array
   designators. */
#ifndef KD_CORE_MATH_PLATFORM_H
#define KD_CORE_MATH_PLATFORM_H
#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#ifdef __CUDACC__
#define KD_FN static __host__ __device__ inline
/* Never inlined: a function that is large or called from many places. */
#define KD_FN_NOINLINE static __host__ __device__ __noinline__
/* KD_FN_CALL marks functions that a path-tracing kernel calls from many places. If the warps of a
   kernel diverge, a single copy that is called keeps more of the kernel's code in the instruction
   caches; otherwise inlining is faster, above all for functions that are called very often
   (KD_FN_HOT). The build chooses per file, as it chooses optimisation options
   (cmake/KandelaCuda.cmake): KD_CALL_ALL for files whose warps diverge makes both kinds calls,
   KD_CALL_RARE inlines the hot ones. The choice does not affect results. */
#if defined(KD_CALL_ALL) || defined(KD_CALL_RARE)
#define KD_FN_CALL static __host__ __device__ __noinline__ __attribute__((unused))
#else
#define KD_FN_CALL KD_FN
#endif
#ifdef KD_CALL_ALL
#define KD_FN_HOT KD_FN_CALL
#else
#define KD_FN_HOT KD_FN
#endif
#define KD_CONST_DATA static __device__ const
#else
#define KD_FN static inline
#define KD_FN_NOINLINE static inline
#define KD_FN_CALL static inline
#ifdef __GNUC__
#define KD_FN_HOT static inline __attribute__((always_inline))
#else
#define KD_FN_HOT static inline
#endif
#define KD_CONST_DATA static const
#endif

#ifdef __GNUC__ /* CUDA loads four words of such structs at once */
#define KD_ALIGNED_16 __attribute__((aligned(16)))
#else
#define KD_ALIGNED_16
#endif

#define KD_NONE 0xffffffffu /* invalid index */
#define KD_PI 3.14159265358979323846f

KD_FN float float_from_bits(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

KD_FN uint32_t float_bits(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

KD_FN float float_min(float a, float b) {
    return a < b ? a : b;
}
KD_FN float float_max(float a, float b) {
    return a > b ? a : b;
}
KD_FN float float_clamp(float x, float low, float high) {
    return float_min(float_max(x, low), high);
}
KD_FN float float_square(float x) {
    return x * x;
}

/* Return the next float above or below a finite x. */
KD_FN float float_up(float x) {
    return nextafterf(x, INFINITY);
}
KD_FN float float_down(float x) {
    return nextafterf(x, -INFINITY);
}

#endif
