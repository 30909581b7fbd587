/* Light that media scatter towards the camera, estimated from the photons of the media map.
   Source: Jensen and Christensen 1998, "Efficient simulation of light transport in scenes with
           participating media using photon maps"; the shrinking radius in volumes after Knaus and
           Zwicker 2011, section 4.
   Idea: photons are stored where a medium scatters them, so their power in a ball divided by its
         volume is the power scattered per cubic metre; the phase function gives the part that is
         scattered towards the camera. This is evaluated at a few points sampled on each ray.
         Direct light at these points comes from shadow rays and is not in the map.
         Boundaries: a ball that extends beyond its medium or behind a wall is normalised by the
         kernel's integral over the part inside. Short rays in evenly distributed directions,
         shifted at each point by a hash of its position, estimate this integral from their segments
         inside the medium.
   Work: a lookup and 8 short rays per point.
   Invariants: sampling the points is unbiased; the estimate from a ball is biased, but it is
               consistent if the radius shrinks from pass to pass. The k-th photon only sets the
               radius, as on surfaces. */
#ifndef KD_PHOTON_DENSITY_MEDIA_ESTIMATE_H
#define KD_PHOTON_DENSITY_MEDIA_ESTIMATE_H
#include "photon/density/estimate.h"
#include "shaders/transmittance.h"

/* A point on a ray in a medium. */
typedef struct volume_point {
    vec3 position;
    vec3 direction;  /* direction of the ray, away from the camera; the estimate is of light
                        scattered against it */
    uint32_t medium; /* index of the medium */
    uint32_t word;   /* the medium as paths carry it (medium_index) */
    float g;
} volume_point;

KD_FN void volume_add(const photon_map_view *map, const volume_point *at, uint32_t node, float s2,
                      flux_sum *sum) {
    const photon *near = &map->photons[node];
    if (near->triangle != at->medium) return;
    const float phase = medium_phase(at->g, -vec3_dot(near->direction, at->direction));
    flux_sum_add(sum, photon_kernel_at(map->kernel, s2) * phase, near->power, map->scale);
}

/* Number of short rays, and the maximum number of glass walls and cut-outs that each passes. */
enum { VOLUME_DIRECTIONS = 8, VOLUME_LAYERS = 16 };
/* Smallest accepted fraction of the kernel's integral. */
#define VOLUME_MIN 0.05f

/* Returns the fraction of the kernel along one direction that lies in the medium, before the first
   opaque surface. The ray is `radius` long. */
KD_FN float volume_stretches(const scene_view *world, const volume_point *at, photon_kernel kernel,
                             ray ray, uint32_t *rays) {
    const float radius = ray.tmax;
    uint32_t medium = at->word;
    float share = 0;
    for (int layer = 0; layer < VOLUME_LAYERS; ++layer) {
        ++*rays;
        const ray_hit hit = tritree_closest(&world->tree, ray);
        const bool free = hit.triangle == KD_NONE;
        if (medium_index(world, medium) == at->medium) {
            const medium_span span = transmittance_span(world, &ray, free ? radius : hit.t);
            share += photon_kernel_reach(kernel, float_min(span.end / radius, 1)) -
                     photon_kernel_reach(kernel, float_min(span.begin / radius, 1));
        }
        if (free) break;
        const uint32_t made_of = world->mesh.triangle_materials[hit.triangle];
        if (!material_is_glassy(world->materials + made_of) && !(surface_passes(world, hit) > 0))
            break;
        medium = transmittance_beyond(world, hit.triangle, ray.direction, medium);
        ray.tmin = hit.t;
    }
    return share;
}

/* Returns the fraction of the kernel's ball that lies in the medium. The directions are lattice
   points on the sphere, shifted by a hash of the position. */
KD_FN float volume_share(const scene_view *world, const volume_point *at, photon_kernel kernel,
                         float radius, uint32_t *rays) {
    const uint64_t x = float_bits(at->position.x), y = float_bits(at->position.y);
    const rng_block shift =
        rng_draw(rng_key_make(x << 32 | y, float_bits(at->position.z), 0), 0, 0);
    float sum = 0;
    for (int i = 0; i < VOLUME_DIRECTIONS; ++i) {
        const float u = ((float)i + shift.value[0]) / VOLUME_DIRECTIONS;
        const float turned = 0.618034f * (float)i + shift.value[1], v = turned - floorf(turned);
        const vec3 direction = sample_sphere(float_min(u, 0x1.fffffep-1f), v);
        sum +=
            volume_stretches(world, at, kernel, ray_make(at->position, direction, 0, radius), rays);
    }
    return float_max(sum / VOLUME_DIRECTIONS, VOLUME_MIN);
}

KD_FN vec3 volume_sum_density(const scene_view *world, const photon_map_view *map,
                              const volume_point *at, const flux_sum *sum, float radius,
                              uint32_t *rays) {
    if (flux_sum_is_zero(sum)) return vec3_all(0);
    const float share = volume_share(world, at, map->kernel, radius, rays);
    const float volume = photon_kernel_ball(map->kernel) * radius * radius * radius * share;
    return flux_sum_scaled(sum, map->scale, 1 / volume);
}

/* Radiance scattered per length against the ray's direction, W/(sr m^3). `rays` counts the rays
   traced. */
KD_FN vec3 photon_volume_radiance(const scene_view *world, const photon_map_view *map,
                                  const volume_point *at, uint32_t *rays) {
    flux_sum sum = flux_sum_none();
    if (map->tree.count == 0 || !(map->radius > 0)) return vec3_all(0);
    if (map->gather > 0) {
        photon_gathering gathered;
        photon_gather(map, at->position, &gathered);
        if (gathered.count == 0 || !(gathered.radius > 0)) return vec3_all(0);
        const float per_radius2 = 1 / (gathered.radius * gathered.radius);
        for (uint32_t i = 0; i < gathered.count; ++i)
            volume_add(map, at, gathered.neighbours[i].node,
                       gathered.neighbours[i].dist2 * per_radius2, &sum);
        return volume_sum_density(world, map, at, &sum, gathered.radius, rays);
    }
    const float bound2 = pointtree_bound2(map->radius);
    pointtree_walk walk = pointtree_walk_begin();
    while (pointtree_walk_next(&map->tree, at->position, bound2, &walk)) {
        const float dist2 = pointtree_dist2(at->position, map->tree.points[walk.node]);
        if (dist2 <= bound2) volume_add(map, at, walk.node, dist2 / bound2, &sum);
    }
    return volume_sum_density(world, map, at, &sum, map->radius, rays);
}

#endif
