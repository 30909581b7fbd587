/* A triangle as a CPU's vector unit takes it: the corners of one axis side by side.
   Idea: the three edge functions of triangle_meet at once, with the same operations on the same
   numbers, so what they rule out triangle_meet would rule out too; it decides on the rest, which
   are few. One record a triangle, not one a reference: leaves stay small enough for the caches. */
#ifndef KD_ACCEL_GEOMETRY_TRIANGLE_ROWS_H
#define KD_ACCEL_GEOMETRY_TRIANGLE_ROWS_H
#include "accel/geometry/triangle.h"

typedef struct triangle_rows {
    float axis[3][4]; /* x, y, z of the three corners; the last one is 0 */
} triangle_rows;

KD_FN triangle_rows triangle_rows_make(vec3 a, vec3 b, vec3 c) {
    triangle_rows rows;
    for (int axis = 0; axis < 3; ++axis) {
        rows.axis[axis][0] = vec3_axis(a, axis);
        rows.axis[axis][1] = vec3_axis(b, axis);
        rows.axis[axis][2] = vec3_axis(c, axis);
        rows.axis[axis][3] = 0;
    }
    return rows;
}
KD_FN vec3 triangle_rows_corner(const triangle_rows *rows, int corner) {
    return vec3_make(rows->axis[0][corner], rows->axis[1][corner], rows->axis[2][corner]);
}

#if defined(__GNUC__) && !defined(__CUDACC__)
typedef float float4v __attribute__((vector_size(16)));
typedef int32_t int4v __attribute__((vector_size(16)));

KD_FN float4v float4v_load(const float *from) {
    float4v v;
    memcpy(&v, from, sizeof v);
    return v;
}
/* Bit i: component i is negative, i < 3. */
KD_FN unsigned int4v_signs(int4v v) {
#ifdef __SSE__
    return (unsigned)__builtin_ia32_movmskps((float4v)v) & 7u;
#else
    return (v[0] < 0 ? 1u : 0u) | (v[1] < 0 ? 2u : 0u) | (v[2] < 0 ? 4u : 0u);
#endif
}

/* True if the ray surely misses the triangle. */
KD_FN bool triangle_rows_missed(const triangle_rows *rows, const triangle_caster *caster) {
    const int kx = caster->kx, ky = caster->ky, kz = caster->kz;
    const float4v z = float4v_load(rows->axis[kz]) - vec3_axis(caster->origin, kz);
    const float4v x = float4v_load(rows->axis[kx]) - vec3_axis(caster->origin, kx) - caster->sx * z;
    const float4v y = float4v_load(rows->axis[ky]) - vec3_axis(caster->origin, ky) - caster->sy * z;
    const float4v x_cab = __builtin_shufflevector(x, x, 2, 0, 1, 3);
    const float4v y_cab = __builtin_shufflevector(y, y, 2, 0, 1, 3);
    const float4v x_bca = __builtin_shufflevector(x, x, 1, 2, 0, 3);
    const float4v y_bca = __builtin_shufflevector(y, y, 1, 2, 0, 3);
    const float4v edge = x_cab * y_bca - y_cab * x_bca;
    const int4v positive = {0x7fffffff, 0x7fffffff, 0x7fffffff, 0x7fffffff};
    const float4v least = {0x1p-80f, 0x1p-80f, 0x1p-80f, 0x1p-80f};
    const float4v most = {0x1p80f, 0x1p80f, 0x1p80f, 0x1p80f};
    const float4v size = (float4v)((int4v)edge & positive);
    const unsigned negative = int4v_signs((int4v)edge);
    return int4v_signs((size > least) & (size < most)) == 7 && negative != 0 && negative != 7;
}
#else
KD_FN bool triangle_rows_missed(const triangle_rows *rows, const triangle_caster *caster) {
    (void)rows;
    (void)caster;
    return false;
}
#endif

#endif
