/* Vectors over the children of a wide node, for the instruction set that the including file is
   compiled for: sixteen lanes with AVX-512, else eight; and pushing the children that a ray hits on
   its stack. Nothing here branches. */
#ifndef KD_ACCEL_WIDE_WIDE_LANES_H
#define KD_ACCEL_WIDE_WIDE_LANES_H
#include "accel/tree/vectors.h"
#include "core/math/bits.h"

/* Eight ray-triangle pairs at once: triangle_intersect (accel/tree/triangle.h), operation by
   operation, so that every decision is the same, bit for bit.
   Idea: the caller transforms the corners to the rays' sheared spaces. Lanes outside the safe range
   of float, and those that see the triangle edge-on, are left to triangle_intersect. */

typedef struct triangle8 {
    float8 x[3], y[3], z[3]; /* in: corners relative to the origin, sheared (z not scaled) */
    float8 wa, wb, wc;       /* edge functions */
    int8 safe;               /* the edge functions are in the safe range of float */
    float8 t, u, v;
    int8 good; /* t, u and v equal those of triangle_intersect */
} triangle8;

/* Returns the lanes that certainly miss; computes the edge functions. */
VECTOR8_FN int8 triangle8_missed(triangle8 *triangle) {
    const float8 *x = triangle->x, *y = triangle->y;
    triangle->wa = x[2] * y[1] - y[2] * x[1];
    triangle->wb = x[0] * y[2] - y[0] * x[2];
    triangle->wc = x[1] * y[0] - y[1] * x[0];
    const float8 sa = float8_abs(triangle->wa), sb = float8_abs(triangle->wb),
                 sc = float8_abs(triangle->wc);
    const float8 smallest = float8_min(sa, float8_min(sb, sc)),
                 largest = float8_max(sa, float8_max(sb, sc));
    triangle->safe = (smallest > 0x1p-80f) & (largest < 0x1p80f);
    const int8 signs =
        (((int8)triangle->wa ^ (int8)triangle->wb) | ((int8)triangle->wa ^ (int8)triangle->wc)) >>
        31;
    return triangle->safe & signs;
}

/* After triangle8_missed: computes where the other lanes hit the triangle's plane. `scale`: 1 / the
   direction's largest component. */
VECTOR8_FN void triangle8_intersect(triangle8 *triangle, float8 scale) {
    const float8 *x = triangle->x, *y = triangle->y, *z = triangle->z;
    const float8 sum = triangle->wa + triangle->wb + triangle->wc, inverse = 1 / sum;
    triangle->u = triangle->wb * inverse;
    triangle->v = triangle->wc * inverse;
    triangle->t = (triangle->wa * inverse * z[0] + triangle->u * z[1] + triangle->v * z[2]) * scale;
    const float8 wide =
        float8_max(float8_abs(x[0]), float8_max(float8_abs(x[1]), float8_abs(x[2])));
    const float8 high =
        float8_max(float8_abs(y[0]), float8_max(float8_abs(y[1]), float8_abs(y[2])));
    triangle->good = triangle->safe & (float8_abs(sum) > 0.125f * wide * high);
}

#if defined(__AVX512F__) && defined(__AVX512VL__) && defined(__AVX512DQ__)
enum { WIDE_LANES = 16 };
typedef __m512 lanes;
typedef __mmask16 lanes_mask;

VECTOR8_FN lanes lanes_all(float x) {
    return _mm512_set1_ps(x);
}
VECTOR8_FN lanes lanes_load(const float *from) {
    return _mm512_load_ps(from);
}
/* a > b ? a : b, which is b if either is NaN. */
VECTOR8_FN lanes lanes_max(lanes a, lanes b) {
    return _mm512_max_ps(a, b);
}
VECTOR8_FN lanes lanes_min(lanes a, lanes b) {
    return _mm512_min_ps(a, b);
}
VECTOR8_FN lanes lanes_multiply_add(lanes a, lanes b, lanes c) {
    return _mm512_fmadd_ps(a, b, c);
}
/* Returns a mask of the lanes whose interval is not empty. */
VECTOR8_FN uint32_t lanes_hit(lanes near, lanes far) {
    return _mm512_cmp_ps_mask(near, far, _CMP_LE_OQ);
}
VECTOR8_FN void lanes_put_any(uint32_t *words, const uint32_t *from, uint32_t hit) {
    const __m512i all = _mm512_load_si512((const void *)from);
    _mm512_storeu_si512((void *)words, _mm512_maskz_compress_epi32((__mmask16)hit, all));
}
VECTOR8_FN uint32_t lanes_put_in_order(uint32_t *words, float *nears, const uint32_t *from,
                                       const uint32_t *order, lanes near, lanes far) {
    double pair; /* both numbers of an order */
    memcpy(&pair, order, sizeof pair);
    const __m512i shift =
        _mm512_set_epi32(28, 28, 24, 24, 20, 20, 16, 16, 12, 12, 8, 8, 4, 4, 0, 0);
    const __m512i turn = _mm512_srlv_epi32(_mm512_castpd_si512(_mm512_set1_pd(pair)), shift);
    near = _mm512_permutexvar_ps(turn, near);
    far = _mm512_permutexvar_ps(turn, far);
    const __mmask16 hit = _mm512_cmp_ps_mask(near, far, _CMP_LE_OQ);
    const __m512i all = _mm512_permutexvar_epi32(turn, _mm512_load_si512((const void *)from));
    _mm512_storeu_si512((void *)words, _mm512_maskz_compress_epi32(hit, all));
    _mm512_storeu_ps(nears, _mm512_maskz_compress_ps(hit, near));
    return (uint32_t)__builtin_popcount(hit);
}
#else
enum { WIDE_LANES = VECTOR8_LANES };
typedef float8 lanes;

VECTOR8_FN lanes lanes_all(float x) {
    return float8_all(x);
}
VECTOR8_FN lanes lanes_load(const float *from) {
    return float8_load(from);
}
VECTOR8_FN lanes lanes_max(lanes a, lanes b) {
    return float8_max(a, b);
}
VECTOR8_FN lanes lanes_min(lanes a, lanes b) {
    return float8_min(a, b);
}
VECTOR8_FN lanes lanes_multiply_add(lanes a, lanes b, lanes c) {
    return float8_multiply_add(a, b, c);
}
VECTOR8_FN uint32_t lanes_hit(lanes near, lanes far) {
    return int8_bits(near <= far);
}

#ifdef __AVX2__
/* Unpacks nibbles to eight numbers, of which only the lowest three bits are defined. */
VECTOR8_FN int8 int8_from_nibbles(uint32_t from) {
    const int8 shift = {0, 4, 8, 12, 16, 20, 24, 28};
    return (int8)_mm256_srlv_epi32(_mm256_set1_epi32((int)from), (__m256i)shift);
}
VECTOR8_FN void lanes_put_any(uint32_t *words, const uint32_t *from, uint32_t hit) {
    int8 all;
    memcpy(&all, from, sizeof all);
    all = int8_permute(all, int8_from_nibbles(lanes_compress[hit]));
    __builtin_memcpy(words, &all, sizeof all);
}
VECTOR8_FN uint32_t lanes_put_in_order(uint32_t *words, float *nears, const uint32_t *from,
                                       const uint32_t *order, lanes near, lanes far) {
    const int8 turn = int8_from_nibbles(*order);
    const uint32_t hit = int8_bits(int8_permute(near <= far, turn));
    const int8 packed = int8_permute(turn, int8_from_nibbles(lanes_compress[hit]));
    int8 all;
    memcpy(&all, from, sizeof all);
    all = int8_permute(all, packed);
    const int8 begin = int8_permute((int8)near, packed);
    __builtin_memcpy(words, &all, sizeof all); /* see float8_store */
    float8_store(nears, (float8)begin);
    return (uint32_t)__builtin_popcount(hit);
}
#else
VECTOR8_FN void lanes_put_any(uint32_t *words, const uint32_t *from, uint32_t hit) {
    for (uint32_t i = 0, count = 0; i < WIDE_LANES; ++i) {
        words[count] = from[i];
        count += hit >> i & 1;
    }
}
VECTOR8_FN uint32_t lanes_put_in_order(uint32_t *words, float *nears, const uint32_t *from,
                                       const uint32_t *order, lanes near, lanes far) {
    const uint32_t hit = lanes_hit(near, far);
    float begin[WIDE_LANES];
    uint32_t count = 0;
    memcpy(begin, &near, sizeof begin);
    for (uint32_t i = 0; i < WIDE_LANES; ++i) {
        const uint32_t lane = *order >> 4 * i & 15;
        words[count] = from[lane];
        nears[count] = begin[lane];
        count += hit >> lane & 1;
    }
    return count;
}
#endif
#endif

#endif
