/* Pairs of halves, as far as kernels use them: each operation in double, then rounded to half by
   IEEE 754. */
#ifndef KD_TESTS_EMULATED_CUDA_FP16_H
#define KD_TESTS_EMULATED_CUDA_FP16_H
#include <initializer_list>
#include <math.h>
#include <stdint.h>
#include <string.h>

#ifdef __F16C__
#include <immintrin.h>
#endif

namespace emulated {
#ifdef __F16C__
/* Converts by way of a float rounded to odd, so that rounding twice equals rounding once. */
inline uint16_t half_of(double x) {
    float odd = (float)x;
    uint32_t bits;
    memcpy(&bits, &odd, sizeof bits);
    if (x == x && (double)odd != x && (bits & 0x7f800000) != 0x7f800000) {
        if (fabs((double)odd) > fabs(x)) --bits;
        bits |= 1;
        memcpy(&odd, &bits, sizeof bits);
    }
    return (uint16_t)_cvtss_sh(odd, 0);
}
inline double half_value(uint16_t half) {
    return (double)_cvtsh_ss(half);
}
#else
inline uint16_t half_of(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    const uint16_t sign = (uint16_t)(bits >> 63 << 15);
    if (x != x) return 0x7fff;
    const double size = fabs(x);
    if (size >= 65520) return sign | 0x7c00;
    if (size == 0) return sign;
    int power = 0;
    frexp(size, &power); /* size < 2^power */
    const int unit = power < -13 ? -24 : power - 11;
    const double count = nearbyint(ldexp(size, -unit)); /* up to 2048 units */
    if (unit == -24)
        return (uint16_t)(sign | (uint16_t)count); /* a subnormal, or the first normal number */
    return (uint16_t)(sign | ((uint16_t)(power + 14) << 10) + ((uint16_t)count - 1024));
}
inline double half_value(uint16_t half) {
    const int power = half >> 10 & 31, rest = half & 1023;
    const double size = power == 31 ? (rest ? (double)NAN : (double)INFINITY)
                        : power     ? ldexp(1024 + rest, power - 25)
                                    : ldexp(rest, -24);
    return half & 0x8000 ? -size : size;
}
#endif
template <class OPERATION> uint32_t on_halves(OPERATION operation) {
    return (uint32_t)(uint16_t)operation(0) | (uint32_t)(uint16_t)operation(16) << 16;
}
} // namespace emulated

struct __half2 {
    uint32_t bits;
};

inline __half2 __float2half2_rn(float x) {
    const uint32_t half = emulated::half_of(x);
    return {half << 16 | half};
}
inline float __low2float(__half2 a) {
    return (float)emulated::half_value((uint16_t)a.bits);
}
inline __half2 __hfma2(__half2 a, __half2 b, __half2 c) {
    return {emulated::on_halves([&](int at) {
        return emulated::half_of(fma(emulated::half_value((uint16_t)(a.bits >> at)),
                                     emulated::half_value((uint16_t)(b.bits >> at)),
                                     emulated::half_value((uint16_t)(c.bits >> at))));
    })};
}
inline uint32_t __hle2_mask(__half2 a, __half2 b) {
    return emulated::on_halves([&](int at) {
        return emulated::half_value((uint16_t)(a.bits >> at)) <=
                       emulated::half_value((uint16_t)(b.bits >> at))
                   ? 0xffff
                   : 0;
    });
}
inline uint32_t __vmins2(uint32_t a, uint32_t b) {
    return emulated::on_halves([&](int at) {
        const int16_t x = (int16_t)(a >> at), y = (int16_t)(b >> at);
        return x < y ? x : y;
    });
}
inline uint32_t __vimin3_s16x2(uint32_t a, uint32_t b, uint32_t c) {
    return __vmins2(__vmins2(a, b), c);
}
inline uint32_t __vimax3_s16x2_relu(uint32_t a, uint32_t b, uint32_t c) {
    return emulated::on_halves([&](int at) {
        int16_t maximum = 0;
        for (const uint32_t from : {a, b, c})
            if ((int16_t)(from >> at) > maximum) maximum = (int16_t)(from >> at);
        return maximum;
    });
}
#endif
