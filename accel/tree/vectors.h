/* Vectors of eight and four floats, by the vector extension of GCC and Clang. Eight floats are one
   AVX register, or two of SSE or NEON. Every function is inlined, so the calling convention for
   wide vectors (-Wpsabi) does not matter. Files that include this header belong to
   core/isa_functions.inc and are also compiled for AVX2. */
#ifndef KD_ACCEL_TREE_VECTORS_H
#define KD_ACCEL_TREE_VECTORS_H
#include "accel/tree/layout.h"
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#ifdef __AVX2__
#include <immintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#endif

#pragma GCC diagnostic ignored "-Wpsabi"

enum { VECTOR8_LANES = 8 };
typedef float float8 __attribute__((vector_size(4 * VECTOR8_LANES)));
typedef int32_t int8 __attribute__((vector_size(4 * VECTOR8_LANES)));
typedef int64_t int8_halves __attribute__((vector_size(4 * VECTOR8_LANES)));

#define VECTOR8_FN static inline __attribute__((always_inline))

VECTOR8_FN float8 float8_all(float x) {
    const float8 v = {x, x, x, x, x, x, x, x};
    return v;
}
VECTOR8_FN float8 float8_load(const float *from) {
    float8 v;
    memcpy(&v, from, sizeof v);
    return v;
}
/* memcpy would be a call: _FORTIFY_SOURCE checks positions in arrays of known size. */
VECTOR8_FN void float8_store(float *to, float8 v) {
    __builtin_memcpy(to, &v, sizeof v);
}
VECTOR8_FN int8 int8_load(const int32_t *from) {
    int8 v;
    memcpy(&v, from, sizeof v);
    return v;
}
VECTOR8_FN float8 float8_select(int8 mask, float8 if_set, float8 if_clear) {
    return (float8)((mask & (int8)if_set) | (~mask & (int8)if_clear));
}
VECTOR8_FN int8 int8_select(int8 mask, int8 if_set, int8 if_clear) {
    return (mask & if_set) | (~mask & if_clear);
}
/* a < b ? a : b as float_min, which is b if either is NaN. */
VECTOR8_FN float8 float8_min(float8 a, float8 b) {
#ifdef __AVX__
    return __builtin_ia32_minps256(a, b);
#else
    return float8_select(a < b, a, b);
#endif
}
VECTOR8_FN float8 float8_max(float8 a, float8 b) {
#ifdef __AVX__
    return __builtin_ia32_maxps256(a, b);
#else
    return float8_select(a > b, a, b);
#endif
}
/* a b + c, fused where the CPU supports it. */
VECTOR8_FN float8 float8_multiply_add(float8 a, float8 b, float8 c) {
#ifdef __FMA__
    return __builtin_ia32_vfmaddps256(a, b, c);
#elif defined(__ARM_NEON)
    float32x4_t x[2], y[2], z[2];
    float8 made;
    memcpy(x, &a, sizeof x);
    memcpy(y, &b, sizeof y);
    memcpy(z, &c, sizeof z);
    for (int half = 0; half < 2; ++half) z[half] = vfmaq_f32(z[half], x[half], y[half]);
    memcpy(&made, z, sizeof made);
    return made;
#else
    return a * b + c;
#endif
}
/* Lane l of the result is lane from[l] of v; from[l] is 0 ... 7. */
VECTOR8_FN int8 int8_permute(int8 v, int8 from) {
#ifdef __AVX2__
    return (int8)__builtin_ia32_permvarsi256(v, from);
#else
    int8 to;
    for (int lane = 0; lane < VECTOR8_LANES; ++lane) to[lane] = v[from[lane]];
    return to;
#endif
}
VECTOR8_FN float float8_of_min(float8 v) {
    v = float8_min(v, __builtin_shufflevector(v, v, 4, 5, 6, 7, 0, 1, 2, 3));
    v = float8_min(v, __builtin_shufflevector(v, v, 2, 3, 0, 1, 6, 7, 4, 5));
    v = float8_min(v, __builtin_shufflevector(v, v, 1, 0, 3, 2, 5, 4, 7, 6));
    return v[0];
}
VECTOR8_FN float8 float8_abs(float8 v) {
    return (float8)((int8)v & 0x7fffffff);
}
/* Bit l of the result is the sign of lane l. */
VECTOR8_FN uint32_t int8_bits(int8 mask) {
#ifdef __AVX__
    return (uint32_t)__builtin_ia32_movmskps256((float8)mask);
#elif defined(__SSE__)
    typedef float float4 __attribute__((vector_size(16)));
    const float4 low = (float4)__builtin_shufflevector(mask, mask, 0, 1, 2, 3);
    const float4 high = (float4)__builtin_shufflevector(mask, mask, 4, 5, 6, 7);
    return (uint32_t)(__builtin_ia32_movmskps(low) | __builtin_ia32_movmskps(high) << 4);
#elif defined(__ARM_NEON)
    const int8 bit_values = {1, 2, 4, 8, 16, 32, 64, 128}, set = mask >> 31 & bit_values;
    int32x4_t half[2];
    memcpy(half, &set, sizeof half);
    return (uint32_t)vaddvq_s32(vorrq_s32(half[0], half[1]));
#else
    uint32_t bits = 0;
    for (int lane = 0; lane < VECTOR8_LANES; ++lane) bits |= (uint32_t)mask[lane] >> 31 << lane;
    return bits;
#endif
}
VECTOR8_FN bool int8_any(int8 mask) {
    const int8_halves h = (int8_halves)mask;
    return ((h[0] | h[1]) | (h[2] | h[3])) != 0;
}

/* Vectors of four floats, three of which may be a vec3. */

#ifdef __SSE__
#include <immintrin.h>
#endif

VECTOR8_FN float4v float4v_all(float x) {
    const float4v v = {x, x, x, x};
    return v;
}
/* The fourth component is 0. */
VECTOR8_FN float4v float4v_of(vec3 from) {
    const float4v v = {from.x, from.y, from.z, 0};
    return v;
}
VECTOR8_FN vec3 float4v_vec3(float4v v) {
    return vec3_make(v[0], v[1], v[2]);
}
VECTOR8_FN float4v float4v_abs(float4v v) {
    return (float4v)((int4v)v & 0x7fffffff);
}
VECTOR8_FN float4v float4v_select(int4v mask, float4v if_set, float4v if_clear) {
    return (float4v)((mask & (int4v)if_set) | (~mask & (int4v)if_clear));
}
/* a < b ? a : b as float_min, which is b if either is NaN. */
VECTOR8_FN float4v float4v_min(float4v a, float4v b) {
#ifdef __SSE__
    return (float4v)_mm_min_ps((__m128)a, (__m128)b);
#else
    return float4v_select(a < b, a, b);
#endif
}
VECTOR8_FN float4v float4v_max(float4v a, float4v b) {
#ifdef __SSE__
    return (float4v)_mm_max_ps((__m128)a, (__m128)b);
#else
    return float4v_select(a > b, a, b);
#endif
}
/* Returns the largest of the first three components. */
VECTOR8_FN float float4v_largest(float4v v) {
    return float_max(v[0], float_max(v[1], v[2]));
}
VECTOR8_FN float4v float4v_permute(float4v v, int4v order) {
#ifdef __AVX__
    return (float4v)_mm_permutevar_ps((__m128)v, (__m128i)order);
#else
    const float4v permuted = {v[order[0]], v[order[1]], v[order[2]], v[order[3]]};
    return permuted;
#endif
}

#endif
