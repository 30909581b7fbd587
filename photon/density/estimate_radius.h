/* The adaptive estimator: chooses the number of photons of each estimate.
   Source: Schregle 2003, "Bias compensation for photon maps": over a range of k, a deviation from
           the estimates of fewer photons that noise does not explain is bias. The criterion is the
           intersection of confidence intervals of Katkovnik 1999, "A new method for varying
           adaptive bandwidth selection".
   Idea: many photons give little noise, few give little bias. Discs grow from ADAPT_MIN photons;
         each estimate has an interval of ADAPT_CONFIDENCE standard deviations. As long as all
         intervals so far intersect, the estimates are consistent, and the larger disc has less
         noise. The first interval that does not intersect indicates that the disc has crossed an
         edge of the illumination; the disc before it is used.
   Work: one k-nearest query; a pass over the photons and a traversal of the tiles for each disc:
         three times the work of one estimate in total.
   Differs from the sources in: no random numbers (Schregle decides at random whether to continue),
         so an estimate is a function of the photons and the query point. */
#ifndef KD_PHOTON_DENSITY_ESTIMATE_RADIUS_H
#define KD_PHOTON_DENSITY_ESTIMATE_RADIUS_H
#include "photon/density/estimate.h"
#include "shaders/bsdf.h"

#define ADAPT_MIN 8u
#define ADAPT_GROWTH 1.5f
#define ADAPT_CONFIDENCE 2.0f

/* Mean of the channels of an estimate, W/m^2, and its standard deviation for independent
   photons. */
typedef struct adapt_estimate {
    float mean, deviation;
    uint32_t counted; /* accepted photons */
} adapt_estimate;

KD_FN adapt_estimate adapt_estimate_of(const photon_map_view *map, const tile_view *tiles,
                                       const estimate_point *at, const photon_gathering *gathered,
                                       uint32_t count, float radius) {
    adapt_estimate made = {0, 0, 0};
    float squares = 0;
    const float per_radius2 = 1 / (radius * radius);
    for (uint32_t i = 0; i < count; ++i) {
        const photon *landed = &map->photons[gathered->neighbours[i].node];
        if (!estimate_accepts(landed, at)) continue;
        const float watts = (landed->power.x + landed->power.y + landed->power.z) / 3;
        const float weighted =
            watts * photon_kernel_at(map->kernel, gathered->neighbours[i].dist2 * per_radius2);
        made.mean += weighted;
        squares += weighted * weighted;
        ++made.counted;
    }
    if (gathered->self_node !=
        KD_NONE) { /* otherwise small discs would appear darker than large ones */
        const vec3 power = map->photons[gathered->self_node].power;
        const float weighted =
            (power.x + power.y + power.z) / 3 * photon_self_weight(map->kernel, count);
        made.mean += weighted;
        squares += weighted * weighted;
    }
    const float scale = per_radius2 / estimate_integral(tiles, at, radius, map->kernel);
    made.mean *= scale;
    made.deviation = sqrtf(squares) * scale;
    return made;
}

/* Reduces the photons and the radius to those chosen by the criterion above. `gathered` must be
   sorted by distance. */
KD_FN void photon_gathering_adapt(const photon_map_view *map, const tile_view *tiles,
                                  const estimate_point *at, photon_gathering *gathered) {
    uint32_t taken = gathered->count;
    float taken_radius = gathered->radius, low = 0, high = INFINITY;
    bool begun = false;
    for (float target = ADAPT_MIN;; target *= ADAPT_GROWTH) {
        const bool last = target >= (float)gathered->count;
        const uint32_t count = last ? gathered->count : (uint32_t)target;
        const float radius = last ? gathered->radius : sqrtf(gathered->neighbours[count].dist2);
        if (radius > 0) {
            const adapt_estimate now = adapt_estimate_of(map, tiles, at, gathered, count, radius);
            if (now.counted >= ADAPT_MIN) { /* fewer photons do not allow a noise estimate */
                low = float_max(low, now.mean - ADAPT_CONFIDENCE * now.deviation);
                high = float_min(high, now.mean + ADAPT_CONFIDENCE * now.deviation);
                if (begun && low > high) break;
                begun = true;
                taken = count;
                taken_radius = radius;
            }
        }
        if (last) break;
    }
    if (!begun) return;
    gathered->count = taken;
    gathered->radius = taken_radius;
}

/* Gathers the photons of an estimate. */
KD_FN void photon_gather_at(const photon_map_view *map, const tile_view *tiles,
                            const estimate_point *at, photon_gathering *out) {
    photon_gather(map, at->position, out);
    if (map->adaptive) photon_gathering_adapt(map, tiles, at, out);
}

/* Irradiance, W/m^2, by the estimator of the map. */
KD_FN vec3 photon_irradiance(const photon_map_view *map, const tile_view *tiles,
                             const estimate_point *at) {
    uint32_t accepted;
    if (map->gather == 0) return photon_fixed_irradiance(map, tiles, at, KD_NONE, &accepted);
    photon_gathering gathered;
    photon_gather_at(map, tiles, at, &gathered);
    return photon_gathering_irradiance(map, tiles, at, &gathered, &accepted);
}

/* As photon_irradiance, at a photon of the map, for the points nearest to it
   (photon_self_weight). */
KD_FN irradiance_record photon_irradiance_at_photon(const photon_map_view *map,
                                                    const tile_view *tiles,
                                                    const estimate_point *at, uint32_t node) {
    irradiance_record made;
    uint32_t accepted;
    if (map->gather == 0) {
        made.irradiance = photon_fixed_irradiance(map, tiles, at, node, &accepted);
        made.reach2 = irradiance_reach2(map->radius, accepted, map->radius);
        return made;
    }
    photon_gathering gathered;
    photon_gather_others(map, node, &gathered);
    if (map->adaptive) photon_gathering_adapt(map, tiles, at, &gathered);
    made.irradiance = photon_gathering_irradiance(map, tiles, at, &gathered, &accepted);
    made.reach2 = irradiance_reach2(gathered.radius, accepted, map->radius);
    return made;
}

/* --- irradiance of both maps at a photon, for a final gather that uses the nearest photon only ---
   Source: Christensen 1999, "Faster photon map global illumination", Journal of Graphics Tools
           4(3).
   Differs from the source in: the irradiance is computed at every photon; the photon's own power is
         weighted by photon_self_weight, so that the mean over points equals that of estimates made
         at the points; caustics are included. */

KD_FN estimate_point photon_place(const photon *landed) {
    estimate_point at;
    at.position = landed->position;
    at.normal = landed->normal;
    at.triangle = landed->triangle;
    at.occluders = NULL;
    at.horizon = NULL;
    return at;
}

KD_FN irradiance_record photon_irradiance_at(const photon_map_view *map,
                                             const photon_map_view *caustic, const tile_view *tiles,
                                             uint32_t node) {
    estimate_point at = photon_place(&map->photons[node]);
    const uint32_t flags =
        tile_place_flags(tiles, at.position, at.normal, at.triangle, tiles->span);
    if (flags & TILE_DIVIDED) at.occluders = tiles->scene;
    irradiance_record made = photon_irradiance_at_photon(map, tiles, &at, node);
    made.irradiance = vec3_add(made.irradiance, photon_irradiance(caustic, tiles, &at));
    if (flags & TILE_HIDDEN) made.reach2 = -made.reach2;
    return made;
}

/* --- fixed radius --------------------------------------------------------------------------------
   Radiance from the photons within a fixed radius, and the sequence of radii of progressive
   methods.
   Source: Knaus and Zwicker 2011, "Progressive photon mapping: a probabilistic approach", section
           4 (the radii), without statistics per pixel; Hachisuka, Ogaki and Jensen 2008 (alpha).
   Idea: each pass has independent photons and one radius for all pixels. If its square decreases
         like pass^(alpha - 1), both the variance of the mean over passes and its bias converge to
         0.
   Memory: none.
   Invariants: the sum is a function of the photons and the query point, whatever the order of
         photons. */

/* Returns the radius of pass `pass` relative to that of pass 0. Knaus and Zwicker 2011, eq. 15:
   r(i+1)^2 / r(i)^2 = (i + alpha) / (i + 1), where i counts from 1. */
KD_FN double progressive_radius_share(uint32_t pass, double alpha) {
    double square = 1;
    for (uint32_t i = 1; i <= pass; ++i) square *= (i + alpha) / (i + 1.0);
    return sqrt(square);
}

/* photon_scattered for the most frequent case, diffuse surfaces, with the same bits. */
KD_FN vec3 photon_scattered_evenly(const surface *at, vec3 wo, const photon *landed) {
    const vec3 wi = vec3_negate(landed->direction);
    const float side = vec3_dot(wo, at->geometric) < 0 ? -1.0f : 1.0f;
    const float true_cosine = vec3_dot(wi, at->geometric), cosine = vec3_dot(wi, at->normal);
    if (!(true_cosine * side > 0 && cosine * side > 0)) return vec3_all(0);
    const vec3 sent = vec3_mul(vec3_scale(at->diffuse, 1 / KD_PI), landed->power);
    if (cosine == true_cosine) return sent;
    return vec3_scale(sent, float_min(cosine / true_cosine, 8));
}

/* Radiance towards `wo` due to one photon with kernel weight 1, times area. */
KD_FN vec3 photon_scattered(const surface *at, vec3 wo, const photon *landed) {
    if (at->kind == MATERIAL_DIFFUSE) return photon_scattered_evenly(at, wo, landed);
    const vec3 wi = vec3_negate(landed->direction);
    if (at->smooth_height > 0 && vec3_dot(wi, at->geometric) * vec3_dot(wo, at->geometric) <= 0)
        return vec3_all(0);
    /* Photons carry flux across the geometric surface; shading needs flux across the shading
       surface. */
    const float true_cosine = fabsf(vec3_dot(wi, at->geometric));
    const float cosine = fabsf(vec3_dot(wi, at->normal));
    const float ratio = true_cosine > 0 ? float_min(cosine / true_cosine, 8) : 0;
    return vec3_scale(vec3_mul(bsdf_evaluate(at, wo, wi, BSDF_RADIANCE), landed->power), ratio);
}

KD_FN estimate_point estimate_point_of(const surface *at) {
    estimate_point point;
    point.position = at->position;
    point.normal = at->front ? at->geometric : vec3_negate(at->geometric);
    point.triangle = at->triangle;
    point.occluders = NULL;
    point.horizon = NULL;
    return point;
}

/* Returns true if walls may hide lit parts of the surface within the span of the tiles. */
KD_FN bool estimate_point_is_divided(const tile_view *tiles, const estimate_point *at) {
    if (!tiles->patches || !(tiles->patches[at->triangle] & TILE_PATCH_DIVIDED)) return false;
    return (tile_place_flags(tiles, at->position, at->normal, at->triangle, tiles->span) &
            TILE_DIVIDED) != 0;
}

/* As estimate_point_of, for an estimate within `radius`; photons behind walls are hidden.
   `horizon`: memory to which the point refers; it must outlive the point. */
KD_FN estimate_point estimate_point_on(const tile_view *tiles, const surface *at, float radius,
                                       visibility_horizon *horizon) {
    estimate_point point = estimate_point_of(at);
    if (!estimate_point_is_divided(tiles, &point)) return point;
    const openness_place place =
        openness_place_make(&tiles->scene->mesh, point.position, point.normal, point.triangle);
    if (visibility_horizon_find(horizon, tiles->scene, &place, HORIZON_REACH * radius)) {
        point.occluders = tiles->scene;
        point.horizon = horizon;
    }
    return point;
}

/* Radiance from the sum of scattered power within `radius` and the kernel's integral. */
KD_FN vec3 photon_sum_over(const photon_map_view *map, const flux_sum *sum, float integral,
                           float radius) {
    return flux_sum_scaled(sum, map->scale, 1 / (integral * radius * radius));
}

/* Radiance from the sum of scattered power within `radius`. */
KD_FN vec3 photon_sum_radiance(const photon_map_view *map, const tile_view *tiles,
                               const estimate_point *point, float radius, const flux_sum *sum) {
    if (flux_sum_is_zero(sum)) return vec3_all(0);
    const float integral = estimate_integral(tiles, point, radius, map->kernel);
    return photon_sum_over(map, sum, integral, radius);
}

/* Sum of the power that all photons within map->radius scatter towards `wo`. */
KD_FN flux_sum photon_fixed_sum(const photon_map_view *map, const surface *at, vec3 wo,
                                const estimate_point *where) {
    const float bound2 = pointtree_bound2(map->radius);
    flux_sum sum = flux_sum_none();
    if (map->tree.count == 0 || !(bound2 > 0)) return sum;
    const float per_bound2 = 1 / bound2;
    const estimate_point point = *where;
    pointtree_walk walk = pointtree_walk_begin();
    while (pointtree_walk_next(&map->tree, point.position, bound2, &walk)) {
        const float dist2 = pointtree_dist2(point.position, map->tree.points[walk.node]);
        if (!(dist2 <= bound2)) continue;
        const photon *landed = &map->photons[walk.node];
        if (!estimate_accepts(landed, &point)) continue;
        const float kernel = photon_kernel_at(map->kernel, dist2 * per_bound2);
        flux_sum_add(&sum, kernel, photon_scattered(at, wo, landed), map->scale);
    }
    return sum;
}

/* Radiance towards `wo` of all photons within map->radius. */
KD_FN vec3 photon_fixed_radiance(const photon_map_view *map, const tile_view *tiles,
                                 const surface *at, vec3 wo) {
    visibility_horizon horizon;
    const estimate_point point = estimate_point_on(tiles, at, map->radius, &horizon);
    const flux_sum sum = photon_fixed_sum(map, at, wo, &point);
    return photon_sum_radiance(map, tiles, &point, map->radius, &sum);
}

/* Sum of the power that the photons `neighbours` scatter towards `wo`, for an estimate within
   `radius`. */
KD_FN flux_sum photon_gathered_sum(const photon_map_view *map, const surface *at, vec3 wo,
                                   const estimate_point *where, const neighbour *neighbours,
                                   uint32_t count, float radius) {
    flux_sum sum = flux_sum_none();
    const estimate_point point = *where;
    const float per_radius2 = 1 / (radius * radius);
    for (uint32_t i = 0; i < count; ++i) {
        const photon *landed = &map->photons[neighbours[i].node];
        if (!estimate_accepts(landed, &point)) continue;
        const float kernel = photon_kernel_at(map->kernel, neighbours[i].dist2 * per_radius2);
        flux_sum_add(&sum, kernel, photon_scattered(at, wo, landed), map->scale);
    }
    return sum;
}

#endif
