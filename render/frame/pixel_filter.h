/* Where in and around its pixel a sample looks. A filter is drawn from, instead of weighing samples
   of a film that pixels share: pixels stay independent, and a sample counts 1.
   Source: Ernst, Stamminger, Greiner 2006, "Filter importance sampling"; the window is Harris's of
           1978 with four terms, without side lobes above -92 dB.
   Idea: Blackman-Harris separably, by bisection of its integral, which is a sum of sines; a Gaussian
         by its radius, cut at PIXEL_FILTER_RADIUS. Filters with negative lobes cannot be drawn from
         so. */
#ifndef KD_RENDER_FRAME_PIXEL_FILTER_H
#define KD_RENDER_FRAME_PIXEL_FILTER_H
#include "core/math/elementary.h"
#include "core/math/vec3.h"

#define PIXEL_FILTER_RADIUS 1.5f /* pixels */
#define PIXEL_FILTER_SIGMA 0.5f  /* of the Gaussian */

typedef enum pixel_filter {
    PIXEL_FILTER_BOX,
    PIXEL_FILTER_BLACKMAN_HARRIS,
    PIXEL_FILTER_GAUSSIAN
} pixel_filter;

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
    return vec2_make(u, v);
}

/* The names, in their order; NULL after the last. */
static inline const char *pixel_filter_name(int index) {
    static const char *const names[] = {"box", "blackman-harris", "gaussian"};
    return index >= 0 && index < 3 ? names[index] : NULL;
}

#endif
