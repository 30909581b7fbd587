/* Parts of a sample of photon mapping that come from each light, which are added to films of light
   groups (render/frame/light_groups.h). Host code only; `parts` may be NULL: nothing is added. */
#ifndef KD_RENDER_PHOTON_MAPPING_LIGHT_PARTS_H
#define KD_RENDER_PHOTON_MAPPING_LIGHT_PARTS_H
#include "photon/density/estimate_radius.h"
#include "shaders/path.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct light_parts {
    const struct light_groups *groups;
    const scene_view *scene;
    int32_t x, y; /* pixel of the sample, in the full image */
} light_parts;

void light_parts_add_found(const light_parts *parts, uint32_t triangle, vec3 radiance);
void light_parts_add_sampled(const light_parts *parts, const surface *at, vec3 wo, rng_block random,
                             vec3 radiance);
/* Returns the radiance of photon_map_radiance, to the bit, and adds the parts of its photons'
   lights, times `throughput`. */
vec3 light_parts_look_up(const light_parts *parts, const photon_map_view *map,
                         const tile_view *tiles, const surface *at, vec3 wo, vec3 throughput);

#ifdef __cplusplus
}
#endif

/* Adds the emission of a triangle, or of the sky (KD_NONE). */
KD_FN void light_parts_found(const light_parts *parts, uint32_t triangle, vec3 radiance) {
#ifndef __CUDA_ARCH__
    if (parts) light_parts_add_found(parts, triangle, radiance);
#else
    (void)parts, (void)triangle, (void)radiance;
#endif
}

/* Adds direct light of the light that `random` has chosen for a surface (path_light). */
KD_FN void light_parts_sampled(const light_parts *parts, const surface *at, vec3 wo,
                               rng_block random, vec3 radiance) {
#ifndef __CUDA_ARCH__
    if (parts) light_parts_add_sampled(parts, at, wo, random, radiance);
#else
    (void)parts, (void)at, (void)wo, (void)random, (void)radiance;
#endif
}

#endif
