/* Trigonometric functions, exponential and logarithm with bit-identical results from every
   compiler, on CPU and GPU; the C library and CUDA's functions differ in their last bits.
   Source: reductions after Cody and Waite 1980, "Software manual for the elementary functions"; the
           polynomials are minimax fits made for these headers (Remez), each with an approximation
           error below 2^-27.
   Work: one polynomial of degree 3 to 9 per function. Only + - * / and sqrt, which IEEE 754
         rounds correctly, and no fused operation; double precision only for the reduction of
         angles beyond +-16. Errors in units in the last place (tests/core/test_elementary.c):
         sine, cosine 2 for angles up to 2^20, tangent 3.5, arc cosine 2, arc tangent 2.5,
         exponential 1.5, logarithm 1.5. Special values are those of C. */
#ifndef KD_CORE_MATH_ELEMENTARY_H
#define KD_CORE_MATH_ELEMENTARY_H
#include "core/math/platform.h"

/* --- angles ---------------------------------------------------------------------------------- */

/* angle = quadrant * pi/2 + rest, with rest in [-pi/4, pi/4]; the quadrant is modulo 4. */
typedef struct float_angle {
    float rest;
    int32_t quadrant;
} float_angle;

KD_FN float_angle float_angle_of(float angle) {
    float_angle reduced;
    if (fabsf(angle) <= 16) {
        const float turns = rintf(angle * 0x1.45f306p-1f);
        /* pi/2 split into four parts: products with the first three are exact */
        const float near = angle - turns * 0x1.92p+0f - turns * 0x1.fb4p-12f;
        reduced.rest = near - turns * 0x1.4442cp-24f - turns * 0x1.184698p-44f;
        reduced.quadrant = (int32_t)turns & 3;
        return reduced;
    }
    const double turns = rint((double)angle * 0x1.45f306dc9c883p-1);
    const double rest = (double)angle - turns * 0x1.921fb544p+0 - turns * 0x1.0b4611a626331p-34;
    const double quadrant = turns - 4 * floor(turns * 0.25);
    const bool precise = fabs(rest) <= 1; /* false for NaN, infinity and beyond 2^50, where the
                                           angle is less precise than a turn */
    reduced.rest = precise ? (float)rest : (float)(angle - angle);
    reduced.quadrant = precise ? (int32_t)quadrant : 0;
    return reduced;
}

KD_FN float float_sin_small(float x) {
    const float z = x * x;
    return x + x * (z * (-0x1.555546p-3f + z * (0x1.110736p-7f + z * -0x1.994222p-13f)));
}

KD_FN float float_cos_small(float x) {
    const float z = x * x;
    return 1 - (0.5f * z - z * z * (0x1.55554ap-5f + z * (-0x1.6c0c2ep-10f + z * 0x1.99ea04p-16f)));
}

KD_FN_HOT float float_sin(float angle) {
    const float_angle at = float_angle_of(angle);
    const float value = at.quadrant & 1 ? float_cos_small(at.rest) : float_sin_small(at.rest);
    return at.quadrant & 2 ? -value : value;
}

KD_FN_HOT float float_cos(float angle) {
    const float_angle at = float_angle_of(angle);
    const float value = at.quadrant & 1 ? float_sin_small(at.rest) : float_cos_small(at.rest);
    return at.quadrant == 1 || at.quadrant == 2 ? -value : value;
}

KD_FN float float_tan(float angle) {
    const float_angle at = float_angle_of(angle);
    const float sine = float_sin_small(at.rest), cosine = float_cos_small(at.rest);
    return at.quadrant & 1 ? -cosine / sine : sine / cosine;
}

/* --- inverse functions ------------------------------------------------------------------------ */

#define FLOAT_HALF_PI 0x1.921fb6p+0f          /* rounded to float */
#define FLOAT_HALF_PI_REST (-0x1.777a5cp-25f) /* pi/2 - FLOAT_HALF_PI */

/* Arc tangent for |x| <= tan(pi/8). */
KD_FN float float_atan_small(float x) {
    const float z = x * x;
    const float p =
        0x1.99918ep-3f + z * (-0x1.23b48ep-3f + z * (0x1.b1e318p-4f + z * -0x1.f1bd34p-5f));
    return x + x * (z * (-0x1.55554ap-2f + z * p));
}

/* Returns the angle of (x, y) in [-pi, pi]. */
KD_FN_CALL float float_atan2(float y, float x) {
    float ax = fabsf(x), ay = fabsf(y);
    if (!(ax <= INFINITY && ay <= INFINITY)) return x + y; /* NaN */
    const bool steep = ay > ax;
    float high = steep ? ay : ax, low = steep ? ax : ay;
    if (high > FLT_MAX) {
        low = low > FLT_MAX ? 1 : 0;
        high = 1;
    } else if (high > 0x1p100f) { /* keeps the sum finite */
        low *= 0.25f;
        high *= 0.25f;
    }
    float angle = 0;
    if (low > 0.41421356f * high)
        angle = 0.5f * FLOAT_HALF_PI +
                (float_atan_small((low - high) / (low + high)) + 0.5f * FLOAT_HALF_PI_REST);
    else if (low > 0)
        angle = float_atan_small(low / high);
    if (steep) angle = FLOAT_HALF_PI - (angle - FLOAT_HALF_PI_REST);
    if (copysignf(1, x) < 0) angle = 2 * FLOAT_HALF_PI - (angle - 2 * FLOAT_HALF_PI_REST);
    return copysignf(angle, y);
}

/* Returns (asin(x) - x) / x as a function of z = x^2 <= 1/4. */
KD_FN float float_asin_excess(float z) {
    const float p = 0x1.7480e0p-5f + z * (0x1.8c0cb6p-6f + z * 0x1.598628p-5f);
    return z * (0x1.5555c8p-3f + z * (0x1.3301ccp-4f + z * p));
}

/* Returns an angle in [0, pi]; NaN outside [-1, 1]. */
KD_FN_CALL float float_acos(float x) {
    if (fabsf(x) <= 0.5f)
        return FLOAT_HALF_PI - (x - (FLOAT_HALF_PI_REST - x * float_asin_excess(x * x)));
    const float z = 0.5f * (1 - fabsf(x)), s = sqrtf(z);
    const float half = s + s * float_asin_excess(z); /* half of acos(|x|) */
    return x > 0 ? 2 * half : 2 * (FLOAT_HALF_PI - (half - FLOAT_HALF_PI_REST));
}

/* --- exponential, logarithm ------------------------------------------------------------------- */

/* Returns 2^power for power in [-126, 127]. */
KD_FN float float_power_of_two(int32_t power) {
    return float_from_bits((uint32_t)(power + 127) << 23);
}

KD_FN_CALL float float_exp(float x) {
    if (!(x <= 88.8f)) return x > 0 ? INFINITY : x; /* or NaN */
    if (x < -104) return 0;
    const float whole = rintf(x * 0x1.715476p+0f);
    const float r = x - whole * 0x1.62e4p-1f - whole * 0x1.7f7d1cp-20f;
    const float p =
        0x1.555490p-3f + r * (0x1.5558f4p-5f + r * (0x1.123a6cp-7f + r * 0x1.6a2354p-10f));
    const float value = 1 + (r + r * r * (0x1.fffffcp-2f + r * p));
    const int32_t power = (int32_t)whole, half = power / 2; /* 2^128, denormals */
    return value * float_power_of_two(half) * float_power_of_two(power - half);
}

KD_FN_CALL float float_log(float x) {
    if (!(x > 0)) return x == 0 ? -INFINITY : NAN;
    if (!(x <= FLT_MAX)) return x;
    const bool tiny = x < FLT_MIN;
    const uint32_t bits = float_bits(tiny ? x * 0x1p23f : x);
    /* x = 2^power (1 + f), with 1 + f in [sqrt(1/2), sqrt(2)] */
    const uint32_t shifted = bits - 0x3f3504f3u;
    const int32_t power = (int32_t)shifted >> 23;
    const float f = float_from_bits((shifted & 0x7fffffu) + 0x3f3504f3u) - 1;
    const float whole = (float)(power - (tiny ? 23 : 0));
    float p = 0x1.e6f066p-4f + f * (-0x1.de3c1ep-4f + f * 0x1.1457bcp-4f);
    p = 0x1.99a4b6p-3f +
        f * (-0x1.555c4ep-3f + f * (0x1.233768p-3f + f * (-0x1.fc2206p-4f + f * p)));
    p = 0x1.555548p-2f + f * (-0x1.000006p-2f + f * p);
    const float excess = f * f * (f * p) + whole * 0x1.7f7d1cp-20f;
    return whole * 0x1.62e4p-1f + (f - (0.5f * f * f - excess));
}

#endif
