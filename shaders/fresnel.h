/* Light at a smooth boundary between two media. */
#ifndef KD_SHADERS_FRESNEL_H
#define KD_SHADERS_FRESNEL_H
#include "core/math/geometry.h"

/* Reflectance of unpolarised light; `eta` is index beyond / index before the boundary, `cosine` in
   [0, 1] between the incoming direction and the normal on its side. 1 for total reflection. */
KD_FN_HOT float fresnel_dielectric(float cosine, float eta) {
    const float sine2_beyond = (1 - cosine * cosine) / (eta * eta);
    if (sine2_beyond >= 1) return 1;
    const float cosine_beyond = sqrtf(1 - sine2_beyond);
    const float parallel = (eta * cosine - cosine_beyond) / (eta * cosine + cosine_beyond);
    const float across = (cosine - eta * cosine_beyond) / (cosine + eta * cosine_beyond);
    return 0.5f * (parallel * parallel + across * across);
}

/* The mean of fresnel_dielectric over light that falls evenly from all sides (weighted by the
   cosine), for eta in [1, 3]: a rational fit of the integral, off by at most 0.0011. */
KD_FN_CALL float fresnel_dielectric_average(float eta) {
    const float x = eta - 1;
    return x * (0.29430f + 0.97561f * x) / (1 + x * (6.17146f + 0.72596f * x));
}

/* Source: Schlick 1994, "An inexpensive BRDF model for physically-based rendering". */
KD_FN vec3 fresnel_schlick(vec3 normal_reflectance, float cosine) {
    const float m = float_clamp(1 - cosine, 0, 1), m2 = m * m;
    return vec3_along(normal_reflectance, m2 * m2 * m, vec3_sub(vec3_all(1), normal_reflectance));
}

/* Refracts `wo` (away from the boundary, unit) at unit normal `n` on wo's side; false for total
   reflection. `eta` as above, seen from wo. */
KD_FN bool fresnel_refract(vec3 wo, vec3 n, float eta, vec3 *wi) {
    const float cosine = vec3_dot(wo, n);
    const float sine2 = float_max(0, 1 - cosine * cosine) / (eta * eta);
    if (sine2 >= 1) return false;
    const float along = cosine / eta - sqrtf(1 - sine2);
    *wi = vec3_normalize(vec3_along(vec3_scale(wo, -1 / eta), along, n));
    return true;
}

KD_FN vec3 fresnel_reflect(vec3 wo, vec3 n) {
    return vec3_along(vec3_negate(wo), 2 * vec3_dot(wo, n), n);
}

#endif
