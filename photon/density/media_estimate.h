/* What media scatter towards the eye, by the photons that they scattered before.
   Source: Jensen and Christensen 1998, "Efficient simulation of light transport in scenes with
           participating media using photon maps"; the shrinking radius in space after Knaus and
           Zwicker 2011, section 4.
   Idea: photons are stored where a medium scatters them, so their power over a ball's volume is the
         power that a cubic metre scatters; the phase function says how much of it flies to the eye.
         Along a ray this is looked up at a few drawn places, and direct light is found there by
         shadow rays: it is in no map.
   Invariants: the places are unbiased, the ball blurs: with a radius that shrinks from pass to pass
         the estimate is consistent. The k-th photon only sets the radius, as on surfaces.
   Known limit: a ball that reaches beyond its medium finds too little there. */
#ifndef KD_PHOTON_DENSITY_MEDIA_ESTIMATE_H
#define KD_PHOTON_DENSITY_MEDIA_ESTIMATE_H
#include "photon/density/estimate.h"
#include "shaders/medium.h"

/* The kernel's integral over the unit ball. */
KD_FN float photon_kernel_ball(int32_t kernel) {
    float part = 2.0f / 15; /* of Epanechnikov's */
    if (kernel == PHOTON_KERNEL_DISC) part = 1.0f / 3;
    if (kernel == PHOTON_KERNEL_CONE) part = 1.0f / 12;
    if (kernel == PHOTON_KERNEL_GAUSSIAN) part = 0.16846025f;
    return 4 * KD_PI * part;
}

/* A place in a medium, on a ray. */
typedef struct haze_point {
    vec3 position;
    vec3 direction; /* of the ray, away from the eye: light leaves against it */
    uint32_t where; /* index of the medium */
    float g;
} haze_point;

KD_FN void haze_add(const photon_map_view *map, const haze_point *at, uint32_t node, float s2,
                    flux_sum *sum) {
    const photon *strayed = &map->photons[node];
    if (strayed->triangle != at->where) return;
    const float phase = medium_phase(at->g, -vec3_dot(strayed->direction, at->direction));
    flux_sum_add(sum, photon_kernel_at(map->kernel, s2) * phase, strayed->power, map->scale);
}

KD_FN vec3 haze_sum_density(const photon_map_view *map, const flux_sum *sum, float radius) {
    if (flux_sum_is_zero(sum)) return vec3_all(0);
    const float volume = photon_kernel_ball(map->kernel) * radius * radius * radius;
    return flux_sum_scaled(sum, map->scale, 1 / volume);
}

/* Light scattered against the ray's direction, W/(sr m^3). */
KD_FN vec3 photon_haze(const photon_map_view *map, const haze_point *at) {
    flux_sum sum = flux_sum_none();
    if (map->tree.count == 0 || !(map->radius > 0)) return vec3_all(0);
    if (map->gather > 0) {
        photon_gathering gathered;
        photon_gather(map, at->position, &gathered);
        if (gathered.count == 0 || !(gathered.radius > 0)) return vec3_all(0);
        const float per_radius2 = 1 / (gathered.radius * gathered.radius);
        for (uint32_t i = 0; i < gathered.count; ++i)
            haze_add(map, at, gathered.found[i].node, gathered.found[i].dist2 * per_radius2, &sum);
        return haze_sum_density(map, &sum, gathered.radius);
    }
    const float bound2 = pointtree_bound2(map->radius);
    pointtree_walk walk = pointtree_walk_begin();
    while (pointtree_walk_next(&map->tree, at->position, bound2, &walk)) {
        const float dist2 = pointtree_dist2(at->position, map->tree.points[walk.node]);
        if (dist2 <= bound2) haze_add(map, at, walk.node, dist2 / bound2, &sum);
    }
    return haze_sum_density(map, &sum, map->radius);
}

#endif
