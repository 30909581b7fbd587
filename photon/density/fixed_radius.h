/* Radiance by the photons within a fixed radius, and how that radius shrinks from pass to pass.
   Source: Knaus and Zwicker 2011, "Progressive photon mapping: a probabilistic approach", section
           4 (the radius), which needs no statistics per pixel; Hachisuka, Ogaki and Jensen 2008
           (alpha).
   Idea: each pass has photons of its own and a radius for all pixels. While its square shrinks like
         pass^(alpha - 1), the variance of the mean over passes and its bias both go to 0.
   Memory: none.
   Invariants: the sum is a function of the photons and the place, in whatever order they come. */
#ifndef KD_PHOTON_DENSITY_FIXED_RADIUS_H
#define KD_PHOTON_DENSITY_FIXED_RADIUS_H
#include "photon/density/estimate.h"
#include "shaders/bsdf.h"

/* The radius of pass 0, 1, 2, ... over that of pass 0. Knaus and Zwicker 2011, eq. 15:
   r(i+1)^2 / r(i)^2 = (i + alpha) / (i + 1), their i counting from 1. */
KD_FN double progressive_radius_share(uint32_t pass, double alpha) {
    double square = 1;
    for (uint32_t i = 1; i <= pass; ++i) square *= (i + alpha) / (i + 1.0);
    return sqrt(square);
}

/* The same of a diffuse surface, by far the usual one: bit for bit what the other says. */
KD_FN vec3 photon_scattered_evenly(const surface *at, vec3 wo, const photon *landed) {
    const vec3 wi = vec3_negate(landed->direction);
    const float side = vec3_dot(wo, at->geometric) < 0 ? -1.0f : 1.0f;
    const float true_cosine = vec3_dot(wi, at->geometric), cosine = vec3_dot(wi, at->normal);
    if (!(true_cosine * side > 0 && cosine * side > 0)) return vec3_all(0);
    const vec3 sent = vec3_mul(vec3_scale(at->diffuse, 1 / KD_PI), landed->power);
    if (cosine == true_cosine) return sent;
    return vec3_scale(sent, float_min(cosine / true_cosine, 8));
}

/* What one photon of weight 1 adds to the radiance towards `wo`, times square metres. */
KD_FN vec3 photon_scattered(const surface *at, vec3 wo, const photon *landed) {
    if (at->kind == MATERIAL_DIFFUSE) return photon_scattered_evenly(at, wo, landed);
    const vec3 wi = vec3_negate(landed->direction);
    /* photons carry flux across the true surface, shading wants it across the smooth one */
    const float true_cosine = fabsf(vec3_dot(wi, at->geometric));
    const float cosine = fabsf(vec3_dot(wi, at->normal));
    const float ratio = true_cosine > 0 ? float_min(cosine / true_cosine, 8) : 0;
    return vec3_scale(vec3_mul(bsdf_evaluate(at, wo, wi, BSDF_RADIANCE), landed->power), ratio);
}

KD_FN estimate_point estimate_point_of(const surface *at) {
    estimate_point here;
    here.position = at->position;
    here.normal = at->front ? at->geometric : vec3_negate(at->geometric);
    here.triangle = at->triangle;
    return here;
}

/* Radiance by what photons within a radius scattered in all, and the kernel's integral there. */
KD_FN vec3 photon_sum_over(const photon_map_view *map, const flux_sum *sum, float integral,
                           float radius) {
    return flux_sum_scaled(sum, map->scale, 1 / (integral * radius * radius));
}

/* The radiance that photons within a radius make, by what they scattered in all. */
KD_FN vec3 photon_sum_radiance(const photon_map_view *map, const tile_view *tiles,
                               const estimate_point *here, float radius, const flux_sum *sum) {
    if (flux_sum_is_zero(sum)) return vec3_all(0);
    const float integral = estimate_integral(tiles, here, radius, map->kernel);
    return photon_sum_over(map, sum, integral, radius);
}

/* What all photons within map->radius of a surface scatter towards `wo`. */
KD_FN flux_sum photon_fixed_sum(const photon_map_view *map, const surface *at, vec3 wo) {
    const float bound2 = pointtree_bound2(map->radius);
    flux_sum sum = flux_sum_none();
    if (map->tree.count == 0 || !(bound2 > 0)) return sum;
    const float per_bound2 = 1 / bound2;
    const estimate_point here = estimate_point_of(at);
    pointtree_walk walk = pointtree_walk_begin();
    while (pointtree_walk_next(&map->tree, here.position, bound2, &walk)) {
        const float dist2 = pointtree_dist2(here.position, map->tree.points[walk.node]);
        if (!(dist2 <= bound2)) continue;
        const photon *landed = &map->photons[walk.node];
        if (!estimate_accepts(landed, &here)) continue;
        const float kernel = photon_kernel_at(map->kernel, dist2 * per_bound2);
        flux_sum_add(&sum, kernel, photon_scattered(at, wo, landed), map->scale);
    }
    return sum;
}

/* Radiance towards `wo` by them. */
KD_FN vec3 photon_fixed_radiance(const photon_map_view *map, const tile_view *tiles,
                                 const surface *at, vec3 wo) {
    const flux_sum sum = photon_fixed_sum(map, at, wo);
    const estimate_point here = estimate_point_of(at);
    return photon_sum_radiance(map, tiles, &here, map->radius, &sum);
}

/* What some photons that were found scatter, where the farthest lies at `radius`. */
KD_FN flux_sum photon_found_sum(const photon_map_view *map, const surface *at, vec3 wo,
                                const neighbour *found, uint32_t count, float radius) {
    flux_sum sum = flux_sum_none();
    const estimate_point here = estimate_point_of(at);
    const float per_radius2 = 1 / (radius * radius);
    for (uint32_t i = 0; i < count; ++i) {
        const photon *landed = &map->photons[found[i].node];
        if (!estimate_accepts(landed, &here)) continue;
        const float kernel = photon_kernel_at(map->kernel, found[i].dist2 * per_radius2);
        flux_sum_add(&sum, kernel, photon_scattered(at, wo, landed), map->scale);
    }
    return sum;
}

#endif
