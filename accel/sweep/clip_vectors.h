/* Four doubles at once, for clip_halves.h: by the compilers' vector extension, and by name where
   that would take more instructions than there need be. */
#ifndef KD_ACCEL_SWEEP_CLIP_VECTORS_H
#define KD_ACCEL_SWEEP_CLIP_VECTORS_H
#include "accel/geometry/vector4.h"

typedef double double4 __attribute__((vector_size(32)));
typedef int64_t long4 __attribute__((vector_size(32)));

/* v < than ? v : than, so `than` where v is NaN. */
VECTOR8_FN double4 double4_min(double4 v, double4 than) {
#ifdef __AVX__
    return (double4)_mm256_min_pd((__m256d)v, (__m256d)than);
#else
    const long4 less = v < than;
    return (double4)((less & (long4)v) | (~less & (long4)than));
#endif
}
VECTOR8_FN double4 double4_max(double4 v, double4 than) {
#ifdef __AVX__
    return (double4)_mm256_max_pd((__m256d)v, (__m256d)than);
#else
    const long4 more = v > than;
    return (double4)((more & (long4)v) | (~more & (long4)than));
#endif
}
VECTOR8_FN double4 double4_all(double x) {
    const double4 v = {x, x, x, x};
    return v;
}
VECTOR8_FN double4 double4_select(long4 mask, double4 yes, double4 no) {
    return (double4)((mask & (long4)yes) | (~mask & (long4)no));
}
/* Bit l: lane l is set. */
VECTOR8_FN uint32_t long4_bits(long4 mask) {
#ifdef __AVX__
    return (uint32_t)_mm256_movemask_pd((__m256d)mask);
#else
    return (uint32_t)((mask[0] & 1) | (mask[1] & 2) | (mask[2] & 4) | (mask[3] & 8));
#endif
}
/* `v`, or NaN where the mask is set (and not a choice, which takes longer). */
VECTOR8_FN double4 double4_or_nan(double4 v, long4 mask) {
#ifdef __AVX__
    return (double4)_mm256_or_pd((__m256d)v, (__m256d)mask);
#else
    return (double4)((long4)v | mask);
#endif
}
VECTOR8_FN double4 double4_of(float4v v) {
#ifdef __AVX__
    return (double4)_mm256_cvtps_pd((__m128)v);
#else
    return __builtin_convertvector(v, double4);
#endif
}
VECTOR8_FN float4v double4_rounded(double4 v) {
#ifdef __AVX__
    return (float4v)_mm256_cvtpd_ps((__m256d)v);
#else
    return __builtin_convertvector(v, float4v);
#endif
}
/* The next float that is not above, or not below; x is 0 or no smaller than a float can be with all
   of its precision. */
VECTOR8_FN float4v clip_float_down(double4 x) {
    const long4 bits = (long4)x, rest = {0x1fffffff, 0x1fffffff, 0x1fffffff, 0x1fffffff};
    return double4_rounded((double4)((bits + ((bits < 0) & rest)) & ~rest));
}
VECTOR8_FN float4v clip_float_up(double4 x) {
    const long4 bits = (long4)x, rest = {0x1fffffff, 0x1fffffff, 0x1fffffff, 0x1fffffff};
    return double4_rounded((double4)((bits + (~(bits < 0) & rest)) & ~rest));
}

#endif
