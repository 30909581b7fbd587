/* Four floats at once, as vector8.h has eight; three of them may be a vec3. */
#ifndef KD_ACCEL_GEOMETRY_VECTOR4_H
#define KD_ACCEL_GEOMETRY_VECTOR4_H
#include "accel/geometry/triangle_rows.h"
#include "accel/geometry/vector8.h"
#ifdef __SSE__
#include <immintrin.h>
#endif

VECTOR8_FN float4v float4v_all(float x) {
    const float4v v = {x, x, x, x};
    return v;
}
/* The fourth number is 0. */
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
VECTOR8_FN float4v float4v_select(int4v mask, float4v yes, float4v no) {
    return (float4v)((mask & (int4v)yes) | (~mask & (int4v)no));
}
/* a < b ? a : b, as float_min: b if either is NaN. */
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
VECTOR8_FN float4v float4v_permute(float4v v, int4v order) {
#ifdef __AVX__
    return (float4v)_mm_permutevar_ps((__m128)v, (__m128i)order);
#else
    const float4v permuted = {v[order[0]], v[order[1]], v[order[2]], v[order[3]]};
    return permuted;
#endif
}

#endif
