/* Where in and around its pixel a sample looks. A filter is drawn from, instead of weighing samples
   of a film that pixels share: pixels stay independent, and a sample counts 1.
   Source: Ernst, Stamminger, Greiner 2006, "Filter importance sampling"; the window is Harris's of
           1978 with four terms, without side lobes above -92 dB; Mitchell, Netravali 1988,
           "Reconstruction filters in computer graphics", B = C = 1/3.
   Idea: Blackman-Harris separably, by bisection of its integral, which is a sum of sines; a Gaussian
         by its radius, cut at PIXEL_FILTER_RADIUS. Mitchell's has negative lobes: its magnitude is
         drawn from, separably, and a sample counts by its sign and the integral of the magnitude,
         +-1.145. That is right in the mean, but even light has noise then, which more samples end.
   */
#ifndef KD_RENDER_FRAME_PIXEL_FILTER_H
#define KD_RENDER_FRAME_PIXEL_FILTER_H
#include "core/math/elementary.h"
#include "core/math/geometry.h"
#include "render/options/names.h"

#define PIXEL_FILTER_RADIUS 1.5f   /* pixels */
#define PIXEL_FILTER_SIGMA 0.5f    /* of the Gaussian */
#define MITCHELL_ZERO (8.0f / 7)   /* where the lobes begin; they end at 2 */
#define MITCHELL_BELOW 0.01749271f /* minus the integral of one of them */

#define PIXEL_FILTER_ID(id, name) PIXEL_FILTER_##id,
typedef enum pixel_filter { PIXEL_FILTER_NAMES(PIXEL_FILTER_ID) PIXEL_FILTERS } pixel_filter;
#undef PIXEL_FILTER_ID

/* The share of the window before t, 0 to 1. */
KD_FN float blackman_harris_share(float t) {
    const float angle = 2 * KD_PI * t;
    const float s = float_sin(angle), c = float_cos(angle);
    const float s2 = 2 * s * c, s3 = s * (4 * c * c - 1); /* of twice and three times the angle */
    const float sines = 0.48829f * s - 0.5f * 0.14128f * s2 + 0.01168f / 3 * s3;
    return t - sines * (1 / (2 * KD_PI * 0.35875f));
}

KD_FN float blackman_harris_draw(float u) {
    enum { STEPS = 20 };
    float low = 0, high = 1;
    for (int i = 0; i < STEPS; ++i) {
        const float middle = 0.5f * (low + high);
        if (blackman_harris_share(middle) <= u)
            low = middle;
        else
            high = middle;
    }
    return (low + high - 1) * PIXEL_FILTER_RADIUS;
}

/* The integral of Mitchell's magnitude from 0 to x, at most 2. */
KD_FN float mitchell_share(float x) {
    const float middle = x * (16.0f / 3 + x * x * (-4 + 1.75f * x)) / 6;
    if (x <= 1) return middle;
    const float y = 2 - x, past = 7.0f / 18 * y * y * y * (y * 0.25f - 2.0f / 7);
    return x <= MITCHELL_ZERO ? 0.5f - past : 0.5f + 2 * MITCHELL_BELOW + past;
}

KD_FN float mitchell_draw(float u) {
    enum { STEPS = 20 };
    const float side = u < 0.5f ? -1.0f : 1.0f;
    const float share = fabsf(2 * u - 1) * (0.5f + 2 * MITCHELL_BELOW);
    float low = 0, high = 2;
    for (int i = 0; i < STEPS; ++i) {
        const float middle = 0.5f * (low + high);
        if (mitchell_share(middle) <= share)
            low = middle;
        else
            high = middle;
    }
    return side * 0.5f * (low + high);
}

/* From the pixel's corner, in pixels; u, v in [0, 1). */
KD_FN_CALL vec2 pixel_filter_draw(int32_t filter, float u, float v) {
    if (filter == PIXEL_FILTER_BLACKMAN_HARRIS)
        return vec2_make(0.5f + blackman_harris_draw(u), 0.5f + blackman_harris_draw(v));
    if (filter == PIXEL_FILTER_GAUSSIAN) {
        const float cut = 0.98889100f; /* 1 - exp(-radius^2 / (2 sigma^2)) */
        const float far = sqrtf(-2 * float_log(1 - cut * u)) * PIXEL_FILTER_SIGMA;
        const float turn = 2 * KD_PI * v;
        return vec2_make(0.5f + far * float_cos(turn), 0.5f + far * float_sin(turn));
    }
    if (filter == PIXEL_FILTER_MITCHELL)
        return vec2_make(0.5f + mitchell_draw(u), 0.5f + mitchell_draw(v));
    return vec2_make(u, v);
}

/* What a sample at that place counts. */
KD_FN float pixel_filter_weight(int32_t filter, vec2 place) {
    if (filter != PIXEL_FILTER_MITCHELL) return 1;
    const bool below =
        (fabsf(place.x - 0.5f) > MITCHELL_ZERO) != (fabsf(place.y - 0.5f) > MITCHELL_ZERO);
    const float all = 1 + 4 * MITCHELL_BELOW; /* in one axis */
    return below ? -all * all : all * all;
}

#endif
