#include "render/frame/lens.h"
#include "shaders/path.h"

/* Returns what the camera ray sees, without the light that surfaces and media scatter. */
static pixel_sample see(const pixel_view *view, bool cutouts, int32_t x, int32_t y,
                        uint32_t number) {
    const scene_view *scene = view->scene;
    const rng_key key = pixel_key(view, x, y, number);
    const ray ray = pixel_ray(view, x, y, key);
    path_options options;
    path_result result;
    surface at;
    vec3 seen = vec3_all(0);
    memset(&options, 0, sizeof options);
    memset(&result, 0, sizeof result);
    options.cutouts = cutouts;
    at.triangle = KD_NONE;
    path_state state = path_begin_in(scene, SCENE_INSTANCED, ray, &result.rays);
    const ray_hit hit = path_advance(scene, SCENE_INSTANCED, &options, &state, key, &result);
    if (hit.triangle != KD_NONE) path_interact(scene, &state, hit, key, SURFACE_ANY, &at);
    if (!state.in_volume)
        seen = hit.triangle == KD_NONE ? path_sky_seen(scene, &state, 1)
                                       : path_emission(scene, &state, &at);
    pixel_sample sample = pixel_of(view, &ray, &at, seen, result.rays);
    pixel_weigh(view, x, y, number, &sample);
    return sample;
}

void lens_take(const pixel_view *view, int32_t count, bool cutouts, int32_t x, int32_t y,
               uint32_t number, pixel_sample *sample) {
    const pixel_sample own = see(view, cutouts, x, y, number);
    pixel_view others = *view;
    others.seed = ~view->seed; /* a sequence that no sample of the pixel uses */
    pixel_sample sum;
    int32_t hits = 0;
    memset(&sum, 0, sizeof sum);
    for (int32_t i = 0; i < count; ++i) {
        const pixel_sample one =
            see(&others, cutouts, x, y, number * (uint32_t)count + (uint32_t)i);
        sum.radiance = vec3_add(sum.radiance, one.radiance);
        sum.alpha += one.alpha;
        sum.rays += one.rays;
        if (!isfinite(one.depth)) continue;
        ++hits;
        sum.depth += one.depth;
        sum.normal = vec3_add(sum.normal, one.normal);
        sum.albedo = vec3_add(sum.albedo, one.albedo);
    }
    const float share = 1 / (float)count;
    const vec3 scattered = vec3_sub(sample->radiance, own.radiance);
    sample->radiance = vec3_along(scattered, share, sum.radiance);
    sample->alpha += share * sum.alpha - own.alpha;
    sample->rays += own.rays + sum.rays;
    sample->depth = hits ? sum.depth / (float)hits : INFINITY;
    sample->normal = hits ? vec3_scale(sum.normal, 1 / (float)hits) : vec3_all(0);
    sample->albedo = hits ? vec3_scale(sum.albedo, 1 / (float)hits) : vec3_all(0);
}
