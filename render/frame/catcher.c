#include "render/frame/catcher.h"

bool catcher_exists(const scene_view *scene) {
    for (uint32_t i = 0; i < scene->material_count; ++i)
        if (scene->materials[i].flags & MATERIAL_CATCHER) return true;
    return false;
}

/* Returns the fraction of the direct light that is blocked. */
static float shadow_of(const scene_view *scene, const path_state *state, const surface *at,
                       bool cutouts, rng_key key, uint32_t *rays) {
    const vec3 wo = vec3_negate(state->ray.direction);
    float lit = 0, unlit = 0;
    for (uint32_t i = 0; i < CATCHER_LIGHTS; ++i) {
        /* all light samples of a pixel are points of one low-discrepancy sequence */
        rng_key one = key;
        one.path =
            key.path >> 32 << 32 | (uint32_t)((uint32_t)key.path * (uint32_t)CATCHER_LIGHTS + i);
        shadow_request request;
        const rng_block random = sobol_draw(one, state->step, PATH_DRAW_LIGHT);
        if (!path_sample_light_at(scene, at, wo, state->medium, false, random, &request)) continue;
        const vec3 seen =
            path_transmittance(scene, SCENE_INSTANCED, request.ray, request.medium, cutouts, rays);
        lit += vec3_luminance(shadow_request_light(&request, seen));
        unlit += vec3_luminance(shadow_request_light(&request, vec3_all(1)));
    }
    return unlit > 0 ? float_clamp(1 - lit / unlit, 0, 1) : 0;
}

bool catcher_take(const pixel_view *view, bool cutouts, int32_t x, int32_t y, uint32_t number,
                  pixel_sample *sample) {
    const scene_view *scene = view->scene;
    const rng_key key = pixel_key(view, x, y, number);
    path_options options;
    path_result result;
    memset(&options, 0, sizeof options);
    memset(&result, 0, sizeof result);
    options.cutouts = cutouts;
    path_state state = path_begin(pixel_ray(view, x, y, key));
    const ray_hit hit = path_advance(scene, SCENE_INSTANCED, &options, &state, key, &result);
    sample->rays += result.rays;
    if (hit.triangle == KD_NONE ||
        !(scene->materials[scene->mesh.triangle_materials[hit.triangle]].flags & MATERIAL_CATCHER))
        return false;
    const surface at = path_surface(scene, &state, hit, key, SURFACE_ANY);
    uint32_t rays = 0;
    sample->radiance = vec3_all(0);
    sample->alpha = shadow_of(scene, &state, &at, cutouts, key, &rays);
    sample->rays += rays;
    return true;
}
