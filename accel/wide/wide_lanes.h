/* A wide node's cells by one vector of the CPU that the including file is made for: sixteen where
   there is AVX-512, else eight; and what of them a ray meets, put on its stack. Nothing here is
   branched on. */
#ifndef KD_ACCEL_WIDE_WIDE_LANES_H
#define KD_ACCEL_WIDE_WIDE_LANES_H
#include "accel/geometry/vector8.h"
#include "core/math/bits.h"

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
/* a > b ? a : b: b if either is NaN. */
VECTOR8_FN lanes lanes_max(lanes a, lanes b) {
    return _mm512_max_ps(a, b);
}
VECTOR8_FN lanes lanes_min(lanes a, lanes b) {
    return _mm512_min_ps(a, b);
}
VECTOR8_FN lanes lanes_multiply_add(lanes a, lanes b, lanes c) {
    return _mm512_fmadd_ps(a, b, c);
}
/* Bit l: lane l is met. */
VECTOR8_FN uint32_t lanes_met(lanes near, lanes far) {
    return _mm512_cmp_ps_mask(near, far, _CMP_LE_OQ);
}
VECTOR8_FN void lanes_put_any(uint32_t *words, const uint32_t *from, uint32_t met) {
    const __m512i all = _mm512_load_si512((const void *)from);
    _mm512_storeu_si512((void *)words, _mm512_maskz_compress_epi32((__mmask16)met, all));
}
VECTOR8_FN uint32_t lanes_put_in_order(uint32_t *words, float *nears, const uint32_t *from,
                                       const uint32_t *order, lanes near, lanes far) {
    double both; /* the two numbers of an order */
    memcpy(&both, order, sizeof both);
    const __m512i shift =
        _mm512_set_epi32(28, 28, 24, 24, 20, 20, 16, 16, 12, 12, 8, 8, 4, 4, 0, 0);
    const __m512i turn = _mm512_srlv_epi32(_mm512_castpd_si512(_mm512_set1_pd(both)), shift);
    near = _mm512_permutexvar_ps(turn, near);
    far = _mm512_permutexvar_ps(turn, far);
    const __mmask16 met = _mm512_cmp_ps_mask(near, far, _CMP_LE_OQ);
    const __m512i all = _mm512_permutexvar_epi32(turn, _mm512_load_si512((const void *)from));
    _mm512_storeu_si512((void *)words, _mm512_maskz_compress_epi32(met, all));
    _mm512_storeu_ps(nears, _mm512_maskz_compress_ps(met, near));
    return (uint32_t)__builtin_popcount(met);
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
VECTOR8_FN uint32_t lanes_met(lanes near, lanes far) {
    return int8_bits(near <= far);
}

#ifdef __AVX2__
/* Nibbles as eight numbers; only their lowest three bits are told. */
VECTOR8_FN int8 int8_from_nibbles(uint32_t from) {
    const int8 shift = {0, 4, 8, 12, 16, 20, 24, 28};
    return (int8)_mm256_srlv_epi32(_mm256_set1_epi32((int)from), (__m256i)shift);
}
VECTOR8_FN void lanes_put_any(uint32_t *words, const uint32_t *from, uint32_t met) {
    int8 all;
    memcpy(&all, from, sizeof all);
    all = int8_permute(all, int8_from_nibbles(lanes_compress[met]));
    memcpy(words, &all, sizeof all);
}
VECTOR8_FN uint32_t lanes_put_in_order(uint32_t *words, float *nears, const uint32_t *from,
                                       const uint32_t *order, lanes near, lanes far) {
    const int8 turn = int8_from_nibbles(*order);
    const uint32_t met = int8_bits(int8_permute(near <= far, turn));
    const int8 packed = int8_permute(turn, int8_from_nibbles(lanes_compress[met]));
    int8 all;
    memcpy(&all, from, sizeof all);
    all = int8_permute(all, packed);
    const int8 begin = int8_permute((int8)near, packed);
    memcpy(words, &all, sizeof all);
    memcpy(nears, &begin, sizeof begin);
    return (uint32_t)__builtin_popcount(met);
}
#else
VECTOR8_FN void lanes_put_any(uint32_t *words, const uint32_t *from, uint32_t met) {
    for (uint32_t i = 0, count = 0; i < WIDE_LANES; ++i) {
        words[count] = from[i];
        count += met >> i & 1;
    }
}
VECTOR8_FN uint32_t lanes_put_in_order(uint32_t *words, float *nears, const uint32_t *from,
                                       const uint32_t *order, lanes near, lanes far) {
    const uint32_t met = lanes_met(near, far);
    float begin[WIDE_LANES];
    uint32_t count = 0;
    memcpy(begin, &near, sizeof begin);
    for (uint32_t i = 0; i < WIDE_LANES; ++i) {
        const uint32_t lane = *order >> 4 * i & 15;
        words[count] = from[lane];
        nears[count] = begin[lane];
        count += met >> lane & 1;
    }
    return count;
}
#endif
#endif

#endif
