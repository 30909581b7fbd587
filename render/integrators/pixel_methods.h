/* What the integrators that need no photon map do for one sample of one pixel: each a pure function
   of its arguments. */
#ifndef KD_RENDER_INTEGRATORS_PIXEL_METHODS_H
#define KD_RENDER_INTEGRATORS_PIXEL_METHODS_H
#include "render/frame/pixel.h"
#include "render/integrators/whitted.h"

KD_FN pixel_sample path_pixel(const pixel_view *of, scene_extent extent,
                              const path_options *options, int32_t x, int32_t y, uint32_t sample) {
    const rng_key key = pixel_key(of, x, y, sample);
    const ray cast = pixel_ray(of, x, y, key);
    const path_result found = path_radiance(of->scene, extent, options, cast, key);
    return pixel_of(of, &cast, &found.first, found.radiance, found.rays);
}

typedef struct whitted_options {
    path_options path;
    float reach; /* of occlusion, scene units */
} whitted_options;

KD_FN pixel_sample whitted_pixel(const pixel_view *of, scene_extent extent,
                                 const whitted_options *options, int32_t x, int32_t y,
                                 uint32_t sample) {
    const rng_key key = pixel_key(of, x, y, sample);
    const ray cast = pixel_ray(of, x, y, key);
    const path_result found = whitted_radiance(of->scene, extent, &options->path, cast, key);
    return pixel_of(of, &cast, &found.first, found.radiance, found.rays);
}

KD_FN pixel_sample ambient_pixel(const pixel_view *of, scene_extent extent,
                                 const whitted_options *options, int32_t x, int32_t y,
                                 uint32_t sample) {
    const rng_key key = pixel_key(of, x, y, sample);
    const ray cast = pixel_ray(of, x, y, key);
    const path_result found =
        ambient_radiance(of->scene, extent, &options->path, cast, key, options->reach);
    return pixel_of(of, &cast, &found.first, found.radiance, found.rays);
}

/* Light tracing: what lamps send straight to the eye, and the pixel's splats. */
typedef struct light_pixels {
    path_options straight; /* from the eye to the lamps */
    const int64_t *sums;   /* 3 per pixel of the whole picture, in units */
    double weight;         /* W/(sr m^2) of a unit */
} light_pixels;

KD_FN pixel_sample light_pixel(const pixel_view *of, const light_pixels *splats, int32_t x,
                               int32_t y, uint32_t sample) {
    const rng_key key = pixel_key(of, x, y, sample);
    const ray cast = pixel_ray(of, x, y, key);
    const path_result found = path_radiance(of->scene, SCENE_TREE, &splats->straight, cast, key);
    const int64_t *sums = splats->sums + 3 * ((int64_t)y * of->width + x);
    const vec3 sum = vec3_make((float)((double)sums[0] * splats->weight),
                               (float)((double)sums[1] * splats->weight),
                               (float)((double)sums[2] * splats->weight));
    return pixel_of(of, &cast, &found.first, vec3_add(found.radiance, sum), found.rays);
}

#endif
