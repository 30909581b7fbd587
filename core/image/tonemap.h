/* From radiance to what a display shows: exposure, tone curve, the sRGB transfer curve. NaN and
   negative values become black, infinite ones white. */
#ifndef KD_CORE_IMAGE_TONEMAP_H
#define KD_CORE_IMAGE_TONEMAP_H
#include "core/math/vec3.h"
#include <kandela/render.h>

/* IEC 61966-2-1; x clamped to [0, 1]. */
static inline float srgb_encode(float x) {
    if (!(x > 0)) return 0;
    if (x >= 1) return 1;
    return x <= 0.0031308f ? 12.92f * x : 1.055f * powf(x, 1 / 2.4f) - 0.055f;
}

static inline float srgb_decode(float x) {
    if (!(x > 0)) return 0;
    if (x >= 1) return 1;
    return x <= 0.04045f ? x / 12.92f : powf((x + 0.055f) / 1.055f, 2.4f);
}

/* To 0..255, nearest. */
static inline uint8_t unit_to_byte(float x) {
    if (!(x > 0)) return 0;
    return x >= 1 ? 255 : (uint8_t)(255 * x + 0.5f);
}

/* Narkowicz 2015, "ACES filmic tone mapping curve": the rational fit. It passes 1 at x = 6.5, so
   what lies beyond 1000 may be cut there before it overflows. */
static inline float tonemap_aces(float x) {
    x = x < 1000 ? x : 1000;
    const float y = x * (2.51f * x + 0.03f) / (x * (2.43f * x + 0.59f) + 0.14f);
    return y < 1 ? y : 1;
}

/* Linear colour >= 0 in, linear colour out; what is still above 1 is cut by the encoder. */
static inline vec3 tonemap_apply(vec3 colour, kd_tonemap curve) {
    colour = vec3_make(colour.x > 0 ? float_min(colour.x, FLT_MAX) : 0,
                       colour.y > 0 ? float_min(colour.y, FLT_MAX) : 0,
                       colour.z > 0 ? float_min(colour.z, FLT_MAX) : 0);
    switch (curve) {
    case KD_TONEMAP_REINHARD: { /* Reinhard et al. 2002, eq. 3: L / (1 + L), the hue is kept */
        const float scale = 1 + vec3_luminance(colour);
        return vec3_make(colour.x / scale, colour.y / scale, colour.z / scale);
    }
    case KD_TONEMAP_ACES:
        return vec3_make(tonemap_aces(colour.x), tonemap_aces(colour.y), tonemap_aces(colour.z));
    case KD_TONEMAP_LINEAR: break;
    }
    return colour;
}

#endif
