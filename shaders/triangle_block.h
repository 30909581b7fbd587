/* Four triangles side by side, as a CPU's vector unit takes them: a leaf's triangles in leaf order.
   Idea: the edge functions of triangle_meet for four triangles at once, with the same operations on
   the same numbers, so what they rule out triangle_meet would rule out too; it decides on the rest,
   which are few. */
#ifndef KD_SHADERS_TRIANGLE_BLOCK_H
#define KD_SHADERS_TRIANGLE_BLOCK_H
#include "shaders/triangle.h"

enum { TRIANGLE_BLOCK = 4 };

typedef struct triangle_block {
    float corner[3][3][TRIANGLE_BLOCK]; /* corner, axis, triangle */
    uint32_t id[TRIANGLE_BLOCK];        /* KD_NONE: no triangle */
} triangle_block;

KD_FN vec3 triangle_block_corner(const triangle_block *block, int corner, int lane) {
    return vec3_make(block->corner[corner][0][lane], block->corner[corner][1][lane],
                     block->corner[corner][2][lane]);
}

#if defined(__GNUC__) && !defined(__CUDACC__)
typedef float float4v __attribute__((vector_size(16)));
typedef int32_t int4v __attribute__((vector_size(16)));

KD_FN float4v float4v_load(const float *from) {
    float4v v;
    memcpy(&v, from, sizeof v);
    return v;
}
KD_FN float4v float4v_abs(float4v v) {
    const int4v mask = {0x7fffffff, 0x7fffffff, 0x7fffffff, 0x7fffffff};
    return (float4v)((int4v)v & mask);
}

/* Bit i: triangle i may be met. */
KD_FN uint32_t triangle_block_candidates(const triangle_block *block,
                                         const triangle_caster *caster) {
    const int kx = caster->kx, ky = caster->ky, kz = caster->kz;
    const float ox = vec3_axis(caster->origin, kx), oy = vec3_axis(caster->origin, ky),
                oz = vec3_axis(caster->origin, kz);
    float4v x[3], y[3];
    for (int i = 0; i < 3; ++i) {
        const float4v z = float4v_load(block->corner[i][kz]) - oz;
        x[i] = float4v_load(block->corner[i][kx]) - ox - caster->sx * z;
        y[i] = float4v_load(block->corner[i][ky]) - oy - caster->sy * z;
    }
    const float4v wa = x[2] * y[1] - y[2] * x[1], wb = x[0] * y[2] - y[0] * x[2],
                  wc = x[1] * y[0] - y[1] * x[0];
    const float4v least = {0x1p-80f, 0x1p-80f, 0x1p-80f, 0x1p-80f};
    const float4v most = {0x1p80f, 0x1p80f, 0x1p80f, 0x1p80f};
    const float4v sa = float4v_abs(wa), sb = float4v_abs(wb), sc = float4v_abs(wc);
    const int4v safe =
        (sa > least) & (sb > least) & (sc > least) & (sa < most) & (sb < most) & (sc < most);
    const int4v signs = ((int4v)wa ^ (int4v)wb) | ((int4v)wa ^ (int4v)wc); /* safe: none is zero */
    const int4v missed = safe & (signs >> 31);
    return (uint32_t)((~missed[0] & 1) | (~missed[1] & 2) | (~missed[2] & 4) | (~missed[3] & 8));
}
#else
KD_FN uint32_t triangle_block_candidates(const triangle_block *block,
                                         const triangle_caster *caster) {
    (void)block;
    (void)caster;
    return (1u << TRIANGLE_BLOCK) - 1;
}
#endif

#endif
