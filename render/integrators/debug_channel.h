/* Quantities that `debug` shows. */
#ifndef KD_RENDER_INTEGRATORS_DEBUG_CHANNEL_H
#define KD_RENDER_INTEGRATORS_DEBUG_CHANNEL_H
#include "render/frame/pixel.h"
#include "render/photon_mapping/eye_path.h"
#include "scenes/describe/render_options.h"

/* Channels. Normals: shading normals facing the camera, mapped from [-1, 1] to [0, 1]. Depth: along
   the view axis, scene units. Ids: a colour per triangle. Density: photons of the global map per
   unit area. Radius: estimation radius in the global map, scene units. Distance: to the k-th
   nearest photon of the global map, however far it is, scene units. */
#define DEBUG_ID(id, name) DEBUG_##id,
typedef enum debug_channel { DEBUG_CHANNEL_NAMES(DEBUG_ID) DEBUG_CHANNELS } debug_channel;
#undef DEBUG_ID

KD_FN vec3 debug_id_colour(uint32_t id) {
    const rng_block drawn = rng_draw(rng_key_make(0, 0, id), 0, 0);
    return vec3_make(0.1f + 0.9f * drawn.value[0], 0.1f + 0.9f * drawn.value[1],
                     0.1f + 0.9f * drawn.value[2]);
}

/* Photons per unit area: the irradiance estimate with unit photon powers. */
KD_FN float debug_density(const photon_map_view *map, const tile_view *tiles, const surface *at) {
    photon_gathering gathered;
    photon_gather(map, at->position, &gathered);
    visibility_horizon horizon;
    const estimate_point point = estimate_point_on(tiles, at, gathered.radius, &horizon);
    if (map->adaptive) photon_gathering_adapt(map, tiles, &point, &gathered);
    const float scale = photon_gathering_scale(map, tiles, &point, &gathered);
    float sum = 0;
    for (uint32_t i = 0; i < gathered.count; ++i) {
        const float s2 = gathered.neighbours[i].dist2 / (gathered.radius * gathered.radius);
        if (estimate_accepts(&map->photons[gathered.neighbours[i].node], &point))
            sum += photon_kernel_at(map->kernel, s2);
    }
    return scale > 0 ? sum * scale : 0;
}

/* Value at the first hit of a camera ray; `depth` is along the view axis. */
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
    const estimate_point point = estimate_point_of(at);
    photon_gather_at(&map, &photons->tiles, &point, &gathered);
    return vec3_all(gathered.radius <= FLT_MAX ? gathered.radius : 0);
}

/* Data of a channel besides the pixel view. */
typedef struct debug_pixels {
    photon_view photons;   /* used by photon channels only */
    path_options straight; /* traces a path to the first surface only */
    int32_t channel;
} debug_pixels;

KD_FN pixel_sample debug_pixel(const pixel_view *view, const debug_pixels *shown, int32_t x,
                               int32_t y, uint32_t sample) {
    const rng_key key = pixel_key(view, x, y, sample);
    const ray ray = pixel_ray(view, x, y, key);
    const path_result outcome = path_radiance(view->scene, SCENE_TREE, &shown->straight, ray, key);
    pixel_sample samples = pixel_of(view, &ray, &outcome.first, vec3_all(0), outcome.rays);
    if (outcome.first.triangle == KD_NONE) return samples;
    samples.radiance = debug_value(&shown->photons, shown->channel, &outcome.first,
                                   vec3_negate(ray.direction), samples.depth);
    return samples;
}

#endif
