/* What can be shown of a surface instead of its light. */
#ifndef KD_RENDER_INTEGRATORS_DEBUG_CHANNEL_H
#define KD_RENDER_INTEGRATORS_DEBUG_CHANNEL_H
#include "render/frame/pixel.h"
#include "render/options/render_options.h"
#include "render/photon_mapping/eye_path.h"

/* Normals: shading normals towards the eye, -1..1 as 0..1; depth: along the view axis, scene units;
   ids: a colour for each triangle; density: photons of the global map per square unit; radius: of
   the estimate in the global map, scene units; distance: to the k-th photon of the global map at
   any distance, scene units. */
#define DEBUG_ID(id, name) DEBUG_##id,
typedef enum debug_channel { DEBUG_CHANNEL_NAMES(DEBUG_ID) DEBUG_CHANNELS } debug_channel;
#undef DEBUG_ID

KD_FN vec3 debug_id_colour(uint32_t id) {
    const rng_block drawn = rng_draw(rng_key_make(0, 0, id), 0, 0);
    return vec3_make(0.1f + 0.9f * drawn.value[0], 0.1f + 0.9f * drawn.value[1],
                     0.1f + 0.9f * drawn.value[2]);
}

/* Photons per area: the estimate of irradiance with every photon's power 1. */
KD_FN float debug_density(const photon_map_view *map, const tile_view *tiles, const surface *at) {
    photon_gathering gathered;
    const estimate_point here = estimate_point_of(at);
    photon_gather_at(map, tiles, &here, &gathered);
    const float scale = photon_gathering_scale(map, tiles, &here, &gathered);
    float sum = 0;
    for (uint32_t i = 0; i < gathered.count; ++i) {
        const float s2 = gathered.found[i].dist2 / (gathered.radius * gathered.radius);
        if (estimate_accepts(&map->photons[gathered.found[i].node], &here))
            sum += photon_kernel_at(map->kernel, s2);
    }
    return scale > 0 ? sum * scale : 0;
}

/* Of the first surface that a camera ray meets; `depth` along the view axis. */
KD_FN vec3 debug_value(const photon_view *photons, int32_t channel, const surface *at, vec3 wo,
                       float depth) {
    photon_map_view map = photons->global;
    if (channel == DEBUG_NORMALS) {
        const vec3 normal = vec3_dot(at->geometric, wo) < 0 ? vec3_negate(at->normal) : at->normal;
        return vec3_along(vec3_all(0.5f), 0.5f, normal);
    }
    if (channel == DEBUG_DEPTH) return vec3_all(depth);
    if (channel == DEBUG_IDS) return debug_id_colour(at->triangle);
    if (channel == DEBUG_DENSITY) return vec3_all(debug_density(&map, &photons->tiles, at));
    if (channel == DEBUG_DISTANCE) {
        map.radius = INFINITY;
        map.adaptive = false;
    }
    photon_gathering gathered;
    const estimate_point here = estimate_point_of(at);
    photon_gather_at(&map, &photons->tiles, &here, &gathered);
    return vec3_all(gathered.radius <= FLT_MAX ? gathered.radius : 0);
}

/* What a sample of a pixel needs beside the picture. */
typedef struct debug_pixels {
    photon_view photons;   /* only for channels of photons */
    path_options straight; /* to the first surface */
    int32_t channel;
} debug_pixels;

KD_FN pixel_sample debug_pixel(const pixel_view *of, const debug_pixels *shown, int32_t x,
                               int32_t y, uint32_t sample) {
    const rng_key key = pixel_key(of, x, y, sample);
    const ray cast = pixel_ray(of, x, y, key);
    const path_result met = path_radiance(of->scene, SCENE_TREE, &shown->straight, cast, key);
    pixel_sample found = pixel_of(of, &cast, &met.first, vec3_all(0), met.rays);
    if (met.first.triangle == KD_NONE) return found;
    found.radiance = debug_value(&shown->photons, shown->channel, &met.first,
                                 vec3_negate(cast.direction), found.depth);
    return found;
}

#endif
