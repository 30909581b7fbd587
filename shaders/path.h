/* Radiance along a camera ray by following one path.
   Source: Kajiya 1986, "The rendering equation"; Veach 1997, "Robust Monte Carlo methods for light
   transport simulation", sections 8.3 (next-event estimation), 9.2 (multiple importance sampling,
   power heuristic) and 10.4 (Russian roulette).
   Idea: at each surface light is looked for twice, by drawing a light and by drawing where the
   surface scatters to; the two answers are weighted by how likely each technique was to find what
   it found. Mirrors and smooth glass are followed without looking for lights.
   Work: two rays a surface. Memory: none beyond the stack of one ray.
   Invariants: a pure function of (scene, options, ray, key); unbiased up to max_depth.
   Differs from the books in: numbers are Owen-scrambled Sobol points (sobol.h); a surface of
   opacity below 1 is skipped by chance along the path and weakens shadow rays by its share. */
#ifndef KD_SHADERS_PATH_H
#define KD_SHADERS_PATH_H
#include "shaders/bsdf.h"
#include "shaders/light_sampling.h"
#include "shaders/sobol.h"
#include "shaders/tritree_trace.h"

enum { PATH_LAYERS = 256, PATH_ROULETTE_DEPTH = 5 };
/* dimensions of sobol_draw; the camera's is at bounce 0 */
enum { PATH_DRAW_CAMERA = 0, PATH_DRAW_SCATTER = 1, PATH_DRAW_LIGHT = 2, PATH_DRAW_OPACITY = 3 };

typedef struct path_options {
    int32_t max_depth;   /* surfaces that a path may meet, the emitting one included */
    int32_t scatterings; /* how often it may be scattered other than by mirrors and smooth glass;
                            1: direct light only */
    bool cutouts;        /* some material has opacity below 1 */
} path_options;

typedef struct path_result {
    vec3 radiance; /* W/(sr m^2) */
    surface first; /* that was met; first.triangle is KD_NONE if there was none */
    uint32_t rays;
} path_result;

/* Where a path stands between two surfaces. */
typedef struct path_state {
    ray cast;
    vec3 throughput;
    vec3 from, from_normal; /* last surface that scattered, as light_draw was asked there */
    float pdf;              /* 1/sr of having drawn cast.direction there */
    bool specular;          /* the direction could not have been found by drawing a light */
    float squeeze;          /* product of eta^2 of the media entered: radiance is 1/squeeze */
    int32_t scattered;
    uint32_t step; /* surfaces met, skipped ones included: the bounce of random numbers */
} path_state;

/* Share of light that passes along a ray: 0 blocked, 1 free. The ray's own t is followed on through
   skipped surfaces, so no second offset is needed. */
KD_FN float path_visibility(const scene_view *scene, ray cast, bool cutouts, uint32_t *rays) {
    ++*rays;
    if (!cutouts) return tritree_occluded(&scene->tree, cast) ? 0 : 1;
    float share = 1;
    for (int layer = 0; layer < PATH_LAYERS; ++layer) {
        const ray_hit hit = tritree_closest(&scene->tree, cast);
        if (hit.triangle == KD_NONE) return share;
        share *= float_clamp(surface_passes(scene, hit), 0, 1);
        if (!(share > 0)) return 0;
        cast.tmin = hit.t;
        ++*rays;
    }
    return 0;
}

/* Side of the surface that light is looked for on, as light_draw takes it. */
KD_FN vec3 path_light_normal(const surface *at, vec3 wo) {
    if (at->kind == MATERIAL_GLASS) return vec3_all(0);
    return vec3_dot(wo, at->geometric) < 0 ? vec3_negate(at->normal) : at->normal;
}

/* Reflected or refracted light of one light: f |cos| L V w / pdf. */
KD_FN vec3 path_light(const scene_view *scene, const path_options *options, const surface *at,
                      vec3 wo, rng_block random, uint32_t *rays) {
    const light_sample drawn = light_draw(scene, at->position, path_light_normal(at, wo), random);
    if (!(drawn.pdf_solid_angle > 0) || vec3_is_zero(drawn.radiance)) return vec3_all(0);
    const vec3 f = bsdf_evaluate(at, wo, drawn.direction, BSDF_RADIANCE);
    if (vec3_is_zero(f)) return f;
    float weight = fabsf(vec3_dot(drawn.direction, at->normal)) / drawn.pdf_solid_angle;
    if (!drawn.delta) weight *= mis_power(drawn.pdf_solid_angle, bsdf_pdf(at, wo, drawn.direction));
    const float visible =
        path_visibility(scene, light_shadow_ray(at, &drawn), options->cutouts, rays);
    return vec3_scale(vec3_mul(f, drawn.radiance), weight * visible);
}

/* What the path's direction brings from the sky. */
KD_FN vec3 path_sky(const scene_view *scene, const path_state *state) {
    const vec3 sky = environment_radiance(scene, state->cast.direction);
    if (vec3_is_zero(sky)) return sky;
    float weight = 1;
    if (!state->specular)
        weight = mis_power(state->pdf,
                           environment_pdf(scene, state->from_normal, state->cast.direction));
    return vec3_scale(vec3_mul(state->throughput, sky), weight);
}

/* What the surface met sends back by itself. */
KD_FN vec3 path_emission(const scene_view *scene, const path_state *state, const surface *at) {
    if (vec3_is_zero(at->emission)) return vec3_all(0);
    float weight = 1;
    if (!state->specular) weight = mis_power(state->pdf, light_pdf_of_hit(scene, state->from, at));
    return vec3_scale(vec3_mul(state->throughput, at->emission), weight);
}

/* Draws where the path goes on; false if it ends here. */
KD_FN bool path_scatter(path_state *state, const surface *at, vec3 wo, int32_t depth,
                        rng_block random) {
    const bsdf_sample drawn = bsdf_draw(at, wo, random, BSDF_RADIANCE);
    if (vec3_is_zero(drawn.weight)) return false;
    state->throughput = vec3_mul(state->throughput, drawn.weight);
    state->specular = drawn.specular;
    state->pdf = drawn.pdf;
    state->from = at->position;
    state->from_normal = path_light_normal(at, wo);
    if (!drawn.specular) ++state->scattered;
    if (drawn.transmitted) {
        const float eta = at->front ? at->ior : 1 / at->ior;
        state->squeeze *= eta * eta;
    }
    if (depth >= PATH_ROULETTE_DEPTH) {
        const float survival = float_min(vec3_largest(state->throughput) * state->squeeze, 1);
        if (!(random.value[3] < survival)) return false;
        state->throughput = vec3_scale(state->throughput, 1 / survival);
    }
    state->cast = surface_leave(at, drawn.direction, INFINITY);
    return true;
}

/* The next surface that does not let the path pass; hit.triangle is KD_NONE if there is none. */
KD_FN ray_hit path_advance(const scene_view *scene, const path_options *options, path_state *state,
                           rng_key key, path_result *result) {
    for (int layer = 0;; ++layer) {
        ++result->rays;
        ++state->step;
        ray_hit hit = tritree_closest(&scene->tree, state->cast);
        if (hit.triangle == KD_NONE || !options->cutouts) return hit;
        const float passes = surface_passes(scene, hit);
        if (!(passes > 0)) return hit;
        const rng_block random = sobol_draw(key, state->step, PATH_DRAW_OPACITY);
        if (random.value[0] >= passes) return hit;
        state->cast.tmin = hit.t;
        hit.triangle = KD_NONE;
        if (layer == PATH_LAYERS) return hit;
    }
}

KD_FN path_state path_begin(ray cast) {
    path_state state;
    state.cast = cast;
    state.throughput = vec3_all(1);
    state.from = cast.origin;
    state.from_normal = vec3_all(0);
    state.pdf = 0;
    state.specular = true; /* what the eye sees is found in one way only */
    state.squeeze = 1;
    state.scattered = 0;
    state.step = 0;
    return state;
}

/* `cast` has a unit direction; key.path is sobol_path(pixel, sample). */
KD_FN path_result path_radiance(const scene_view *scene, const path_options *options, ray cast,
                                rng_key key) {
    path_result result;
    memset(&result, 0, sizeof result);
    result.first.triangle = KD_NONE;
    path_state state = path_begin(cast);
    for (int32_t depth = 1; depth <= options->max_depth; ++depth) {
        const ray_hit hit = path_advance(scene, options, &state, key, &result);
        if (hit.triangle == KD_NONE) {
            result.radiance = vec3_add(result.radiance, path_sky(scene, &state));
            break;
        }
        const surface at = surface_at(scene, &state.cast, hit);
        const vec3 wo = vec3_negate(state.cast.direction);
        if (depth == 1) result.first = at;
        result.radiance = vec3_add(result.radiance, path_emission(scene, &state, &at));
        if (depth == options->max_depth || state.scattered >= options->scatterings) break;
        if (!surface_is_specular(&at)) {
            const rng_block random = sobol_draw(key, state.step, PATH_DRAW_LIGHT);
            const vec3 direct = path_light(scene, options, &at, wo, random, &result.rays);
            result.radiance = vec3_add(result.radiance, vec3_mul(state.throughput, direct));
        }
        const rng_block random = sobol_draw(key, state.step, PATH_DRAW_SCATTER);
        if (!path_scatter(&state, &at, wo, depth, random)) break;
    }
    return result;
}

#endif
