/* Sampling of shapes from uniform random numbers, with their probability densities. The mappings
   are continuous where possible, so that stratified numbers give stratified samples. */
#ifndef KD_CORE_MATH_SAMPLING_H
#define KD_CORE_MATH_SAMPLING_H
#include "core/math/elementary.h"
#include "core/math/geometry.h"

/* Samples the unit disc with density 1/pi. Source: Shirley and Chiu 1997, "A low distortion map
   between disk and square". */
KD_FN vec2 sample_disc(float u, float v) {
    const float a = 2 * u - 1, b = 2 * v - 1;
    if (a == 0 && b == 0) return vec2_make(0, 0);
    float radius, angle;
    if (fabsf(a) > fabsf(b)) {
        radius = a;
        angle = KD_PI / 4 * (b / a);
    } else {
        radius = b;
        angle = KD_PI / 2 - KD_PI / 4 * (a / b);
    }
    return vec2_make(radius * float_cos(angle), radius * float_sin(angle));
}

/* Samples the hemisphere about +z with density z/pi in solid angle. */
KD_FN vec3 sample_cosine_hemisphere(float u, float v) {
    const vec2 disc = sample_disc(u, v);
    const float z2 = 1 - disc.x * disc.x - disc.y * disc.y;
    return vec3_make(disc.x, disc.y, sqrtf(float_max(z2, 0x1p-40f)));
}
KD_FN float pdf_cosine_hemisphere(float cosine) {
    return cosine > 0 ? cosine / KD_PI : 0;
}

/* Samples the unit sphere with density 1/(4 pi) in solid angle. */
KD_FN vec3 sample_sphere(float u, float v) {
    const float z = 1 - 2 * u, radius = sqrtf(float_max(0, 1 - z * z)), angle = 2 * KD_PI * v;
    return vec3_make(radius * float_cos(angle), radius * float_sin(angle), z);
}

/* Samples the cone about +z of half angle acos(cos_outer) with density 1/(2 pi (1 - cos_outer)) in
   solid angle. */
KD_FN vec3 sample_cone(float cos_outer, float u, float v) {
    const float z = 1 - u * (1 - cos_outer), radius = sqrtf(float_max(0, 1 - z * z));
    const float angle = 2 * KD_PI * v;
    return vec3_make(radius * float_cos(angle), radius * float_sin(angle), z);
}

/* Samples a triangle uniformly; returns the barycentric weights of the second and third vertex.
   Source: Heitz 2019, "A low-distortion map between triangle and square". */
KD_FN vec2 sample_triangle(float u, float v) {
    if (v > u) {
        const float half = u * 0.5f;
        return vec2_make(half, v - half);
    }
    const float half = v * 0.5f;
    return vec2_make(u - half, half);
}

/* Returns the interval that contains u in a tabulated cumulative distribution (`count` + 1 values
   from 0 to 1). Never returns an empty interval if u is in [0, 1) and the distribution is not
   empty. */
KD_FN uint32_t cdf_search(const float *cdf, uint32_t count, float u) {
    uint32_t low = 0, high = count; /* invariant: cdf[low] <= u < cdf[high] */
    while (high - low > 1) {
        const uint32_t middle = low + (high - low) / 2;
        if (cdf[middle] <= u)
            low = middle;
        else
            high = middle;
    }
    return low;
}
/* Returns the relative position of u in the interval, in [0, 1), which can be reused as a random
   number. */
KD_FN float cdf_rest(const float *cdf, uint32_t index, float u) {
    const float width = cdf[index + 1] - cdf[index];
    return width > 0 ? float_clamp((u - cdf[index]) / width, 0, 0x1.fffffep-1f) : 0;
}

/* Returns the weight of a sample in multiple importance sampling with two techniques (Veach 1997,
   section 9.2.4: power heuristic, exponent 2). */
KD_FN float mis_power(float pdf, float other_pdf) {
    if (!(pdf > 0)) return 0;
    const float ratio = other_pdf / pdf;
    return 1 / (1 + ratio * ratio);
}

#endif
