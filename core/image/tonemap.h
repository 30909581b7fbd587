/* Display transforms of linear radiance: tone curves and the sRGB transfer function. NaN and
   negative values become black, infinite values white. */
#ifndef KD_CORE_IMAGE_TONEMAP_H
#define KD_CORE_IMAGE_TONEMAP_H
#include "core/math/geometry.h"
#include <kandela/render.h>

/* The sRGB transfer function of IEC 61966-2-1 and its inverse; x is clamped to [0, 1]. */
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

/* Rounds [0, 1] to 0..255. */
static inline uint8_t unit_to_byte(float x) {
    if (!(x > 0)) return 0;
    return x >= 1 ? 255 : (uint8_t)(255 * x + 0.5f);
}

/* Narkowicz 2015, "ACES filmic tone mapping curve": a rational fit. It exceeds 1 from x = 6.5 on,
   so x can be clamped to 1000, which prevents overflow. */
static inline float tonemap_aces(float x) {
    x = x < 1000 ? x : 1000;
    const float y = x * (2.51f * x + 0.03f) / (x * (2.43f * x + 0.59f) + 0.14f);
    return y < 1 ? y : 1;
}

/* Troy Sobotka's AgX in Wrensch's approximation of 2023 ("Minimal AgX implementation"): the inset
   matrix desaturates, 16.5 stops around middle grey map to [0, 1], a sigmoid of degree 6 applies
   contrast, and the outset matrix restores saturation. The result is for a display of gamma 2.2. */
static inline float tonemap_agx_bend(float x) {
    const float stops = log2f(x > 1e-10f ? x : 1e-10f);
    const float t = float_clamp((stops + 12.47393f) * (1 / (12.47393f + 4.026069f)), 0, 1);
    const float low = 0.4298f * t * t + 0.1191f * t - 0.00232f;
    const float high = ((15.5f * t - 40.14f) * t + 31.96f) * t - 6.868f;
    return high * t * t * t + low;
}

static inline vec3 tonemap_agx(vec3 c) {
    const float r = tonemap_agx_bend(0.842479062f * c.x + 0.0784336f * c.y + 0.0792237451f * c.z);
    const float g =
        tonemap_agx_bend(0.0423282423f * c.x + 0.878468637f * c.y + 0.0791661275f * c.z);
    const float b = tonemap_agx_bend(0.0423756549f * c.x + 0.0784336f * c.y + 0.879142974f * c.z);
    const vec3 shown = vec3_make(1.19687901f * r - 0.0980208811f * g - 0.0990297441f * b,
                                 -0.0528968518f * r + 1.15190313f * g - 0.0989611768f * b,
                                 -0.0529716355f * r - 0.0980434501f * g + 1.15107367f * b);
    return vec3_make(powf(float_clamp(shown.x, 0, 1), 2.2f), powf(float_clamp(shown.y, 0, 1), 2.2f),
                     powf(float_clamp(shown.z, 0, 1), 2.2f));
}

/* Khronos PBR Neutral tone mapper (2024): preserves colours up to 0.8, minus a Fresnel reflectance
   of 4 %, and compresses and desaturates brighter ones towards white. */
static inline vec3 tonemap_neutral(vec3 c) {
    const float minimum = float_min(c.x, float_min(c.y, c.z));
    const float offset = minimum < 0.08f ? minimum - 6.25f * minimum * minimum : 0.04f;
    const vec3 raised = vec3_make(c.x - offset, c.y - offset, c.z - offset);
    const float peak = vec3_largest(raised), start = 0.8f - 0.04f, range = 1 - start;
    if (peak < start) return raised;
    const float lowered = 1 - range * range / (peak + range - start);
    const float white = 1 - 1 / (0.15f * (peak - lowered) + 1), scale = lowered / peak;
    return vec3_make(raised.x * scale + (lowered - raised.x * scale) * white,
                     raised.y * scale + (lowered - raised.y * scale) * white,
                     raised.z * scale + (lowered - raised.z * scale) * white);
}

/* Applies a tone curve to a linear colour; negative values count as 0. The result is linear; the
   encoder clamps values above 1. */
static inline vec3 tonemap_apply(vec3 colour, kd_tonemap curve) {
    colour = vec3_make(colour.x > 0 ? float_min(colour.x, FLT_MAX) : 0,
                       colour.y > 0 ? float_min(colour.y, FLT_MAX) : 0,
                       colour.z > 0 ? float_min(colour.z, FLT_MAX) : 0);
    switch (curve) {
    case KD_TONEMAP_REINHARD: { /* Reinhard et al. 2002, eq. 3: L / (1 + L), preserves hue */
        const float scale = 1 + vec3_luminance(colour);
        return vec3_make(colour.x / scale, colour.y / scale, colour.z / scale);
    }
    case KD_TONEMAP_ACES:
        return vec3_make(tonemap_aces(colour.x), tonemap_aces(colour.y), tonemap_aces(colour.z));
    case KD_TONEMAP_AGX: return tonemap_agx(colour);
    case KD_TONEMAP_NEUTRAL: return tonemap_neutral(colour);
    case KD_TONEMAP_LINEAR: break;
    }
    return colour;
}

/* Returns the names of the curves in the order of kd_tonemap; NULL after the last. */
static inline const char *tonemap_name(int index) {
    static const char *const names[] = {"linear", "reinhard", "aces", "agx", "neutral"};
    return index < 5 ? names[index] : NULL;
}

#endif
