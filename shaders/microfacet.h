/* Fresnel reflectance and the isotropic GGX microfacet distribution, in the frame whose +z is the
   shading normal.
   Source: Walter, Marschner, Li, Torrance 2007, "Microfacet models for refraction through rough
   surfaces", section 5; visible normals: Heitz 2018, "Sampling the GGX distribution of visible
   normals" (JCGT 7(4)). */
#ifndef KD_SHADERS_MICROFACET_H
#define KD_SHADERS_MICROFACET_H
#include "core/math/elementary.h"
#include "core/math/geometry.h"

/* Light at a smooth boundary between two media. */

/* Returns the reflectance for unpolarised light. `eta`: index beyond / index before the boundary;
   `cosine` in [0, 1] between the incoming direction and the normal on its side. 1 for total
   internal reflection. */
KD_FN_HOT float fresnel_dielectric(float cosine, float eta) {
    const float sine2_beyond = (1 - cosine * cosine) / (eta * eta);
    if (sine2_beyond >= 1) return 1;
    const float cosine_beyond = sqrtf(1 - sine2_beyond);
    const float parallel = (eta * cosine - cosine_beyond) / (eta * cosine + cosine_beyond);
    const float across = (cosine - eta * cosine_beyond) / (cosine + eta * cosine_beyond);
    return 0.5f * (parallel * parallel + across * across);
}

/* Returns the mean of fresnel_dielectric over the hemisphere, weighted by the cosine, for eta in
   [1, 3]: a rational fit of the integral with an error of at most 0.0011. */
KD_FN_CALL float fresnel_dielectric_average(float eta) {
    const float x = eta - 1;
    return x * (0.29430f + 0.97561f * x) / (1 + x * (6.17146f + 0.72596f * x));
}

/* Source: Schlick 1994, "An inexpensive BRDF model for physically-based rendering". */
KD_FN vec3 fresnel_schlick(vec3 normal_reflectance, float cosine) {
    const float m = float_clamp(1 - cosine, 0, 1), m2 = m * m;
    return vec3_along(normal_reflectance, m2 * m2 * m, vec3_sub(vec3_all(1), normal_reflectance));
}

/* Refracts `wo`, a unit vector away from the boundary, at unit normal `n` on wo's side. Returns
   false for total internal reflection. `eta` as above, seen from wo. */
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

/* D(m), 1/sr, normalised to a projected area of 1. Walter 2007, eq. 33, in the form sin^2 + alpha^2
   cos^2, which is accurate for small alpha. */
KD_FN float ggx_density(float alpha, vec3 m) {
    if (!(m.z > 0)) return 0;
    const float t = m.x * m.x + m.y * m.y + alpha * alpha * m.z * m.z;
    return alpha * alpha / (KD_PI * t * t);
}

/* Smith's Lambda for a direction with |cos| = `cosine`. */
KD_FN_HOT float ggx_lambda(float alpha, float cosine) {
    const float c2 = cosine * cosine;
    if (!(c2 > 0)) return INFINITY;
    const float tangent2 = float_max(0, 1 - c2) / c2;
    return 0.5f * (sqrtf(1 + alpha * alpha * tangent2) - 1);
}
/* Returns the fraction of facing microfacets that the direction sees. */
KD_FN float ggx_masking(float alpha, float cosine) {
    return 1 / (1 + ggx_lambda(alpha, cosine));
}
/* Returns the fraction visible from two directions on the same side (height-correlated, Heitz 2014,
   eq. 99). */
KD_FN float ggx_shadowing(float alpha, float cosine_a, float cosine_b) {
    return 1 / (1 + ggx_lambda(alpha, cosine_a) + ggx_lambda(alpha, cosine_b));
}

/* Samples a visible facet normal for `wo` (z > 0), with density ggx_visible_pdf. */
KD_FN_CALL vec3 ggx_draw_visible(float alpha, vec3 wo, float u, float v) {
    /* Heitz 2018, section 3: stretch, sample the projected hemisphere, unstretch. */
    const vec3 stretched = vec3_normalize(vec3_make(alpha * wo.x, alpha * wo.y, wo.z));
    /* The tangent of this frame is horizontal, so that facets seen from the side stay in their
       half. */
    const float tilt2 = stretched.x * stretched.x + stretched.y * stretched.y;
    vec3 tangent = vec3_make(1, 0, 0);
    if (tilt2 > 0) tangent = vec3_scale(vec3_make(-stretched.y, stretched.x, 0), 1 / sqrtf(tilt2));
    const vec3 bitangent = vec3_cross(stretched, tangent);
    const float radius = sqrtf(u), angle = 2 * KD_PI * v;
    const float share = 0.5f * (1 + stretched.z);
    const float x = radius * float_cos(angle);
    const float straight = radius * float_sin(angle);
    const float y = (1 - share) * sqrtf(float_max(0, 1 - x * x)) + share * straight;
    const float z = sqrtf(float_max(0, 1 - x * x - y * y));
    const vec3 normal = vec3_along(vec3_along(vec3_scale(tangent, x), y, bitangent), z, stretched);
    return vec3_normalize(
        vec3_make(alpha * normal.x, alpha * normal.y, float_max(1e-6f, normal.z)));
}
/* Density in 1/sr over facet normals m. */
KD_FN float ggx_visible_pdf(float alpha, vec3 wo, vec3 m) {
    const float facing = vec3_dot(wo, m);
    if (!(facing > 0) || !(wo.z > 0)) return 0;
    return ggx_masking(alpha, wo.z) * facing * ggx_density(alpha, m) / wo.z;
}

/* --- Anisotropic GGX: alpha along x and along y (Heitz 2014, eqs. 85 to 87) --- */

typedef struct ggx_ellipse {
    float x, y;
} ggx_ellipse;

/* Returns the alpha of an isotropic distribution that loses about as much energy. */
KD_FN float ggx_ellipse_mean(ggx_ellipse alpha) {
    return alpha.x == alpha.y ? alpha.x : sqrtf(0.5f * (alpha.x * alpha.x + alpha.y * alpha.y));
}

KD_FN float ggx_ellipse_density(ggx_ellipse alpha, vec3 m) {
    if (!(m.z > 0)) return 0;
    const float x = m.x * alpha.y, y = m.y * alpha.x, alpha_product = alpha.x * alpha.y,
                z = m.z * alpha_product;
    const float t = x * x + y * y + z * z;
    return alpha_product * alpha_product * alpha_product / (KD_PI * t * t);
}

KD_FN float ggx_ellipse_lambda(ggx_ellipse alpha, vec3 w) {
    const float c2 = w.z * w.z;
    if (!(c2 > 0)) return INFINITY;
    const float slope2 = (float_square(alpha.x * w.x) + float_square(alpha.y * w.y)) / c2;
    return 0.5f * (sqrtf(1 + slope2) - 1);
}
KD_FN float ggx_ellipse_shadowing(ggx_ellipse alpha, vec3 a, vec3 b) {
    return 1 / (1 + ggx_ellipse_lambda(alpha, a) + ggx_ellipse_lambda(alpha, b));
}

/* As ggx_draw_visible, with different stretches of x and y. */
KD_FN vec3 ggx_ellipse_draw_visible(ggx_ellipse alpha, vec3 wo, float u, float v) {
    const vec3 stretched = vec3_normalize(vec3_make(alpha.x * wo.x, alpha.y * wo.y, wo.z));
    const vec3 m = ggx_draw_visible(1, stretched, u, v);
    return vec3_normalize(vec3_make(alpha.x * m.x, alpha.y * m.y, m.z));
}
KD_FN float ggx_ellipse_visible_pdf(ggx_ellipse alpha, vec3 wo, vec3 m) {
    const float facing = vec3_dot(wo, m);
    if (!(facing > 0) || !(wo.z > 0)) return 0;
    return facing * ggx_ellipse_density(alpha, m) / ((1 + ggx_ellipse_lambda(alpha, wo)) * wo.z);
}

#endif
