/* Unidirectional path tracing: radiance along a camera ray from one path.
   Source: Kajiya 1986, "The rendering equation"; Veach 1997, "Robust Monte Carlo methods for light
   transport simulation", sections 8.3 (next-event estimation), 9.2 (multiple importance sampling,
   power heuristic) and 10.4 (Russian roulette).
   Idea: at each surface, direct light is estimated by sampling a light and by sampling the BSDF,
   combined by multiple importance sampling. At mirrors and smooth glass only the BSDF is sampled.
   Work: two rays per surface.
   Memory: none beyond the stack of one ray.
   Invariants: a pure function of (scene, options, ray, key); unbiased up to max_depth.
   Media: a free-flight distance is sampled before each surface (material.h). Where a medium
   scatters, its phase function replaces the BSDF, with its own random dimensions.
   Wavelengths: at dispersive glass a path samples one wavelength and is monochromatic from then on
   (material.h).
   Differs from the books in: random numbers are Owen-scrambled Sobol points (sobol.h); a surface
   with opacity below 1 is skipped at random along the path, and attenuates shadow rays by its
   opacity. */
#ifndef KD_SHADERS_PATH_H
#define KD_SHADERS_PATH_H
#include "core/math/sobol.h"
#include "shaders/bsdf.h"
#include "shaders/light_sampling.h"
#include "shaders/material.h"
#include "shaders/path_state.h"
#include "shaders/transmittance.h"

/* Returns the normal for light_draw: on the side of wo, or zero if the surface transmits light. */
KD_FN vec3 path_light_normal(const surface *at, vec3 wo) {
    if (surface_is_clear(at)) return vec3_all(0);
    return vec3_dot(wo, at->geometric) < 0 ? vec3_negate(at->normal) : at->normal;
}

/* A pending contribution of one light: it counts unless its shadow ray is blocked. */
typedef struct shadow_request {
    struct ray ray;  /* the shadow ray */
    uint32_t medium; /* the medium where it starts */
    vec3 sent;       /* f L, or in a medium p L w / pdf */
    float weight;    /* |cos| w / pdf, or 1 in a medium */
} shadow_request;

KD_FN bool shadow_request_clear(shadow_request *request) {
    memset(request, 0, sizeof *request);
    return false;
}

/* Sets *request to the light of a sample at a surface. `mis`: the caller also samples the BSDF, so
   the weight is that of multiple importance sampling. `medium`: the medium on wo's side. Returns
   false if it is zero. */
KD_FN bool path_light_request_at(const surface *at, vec3 wo, uint32_t medium, bool mis,
                                 const light_sample *drawn, shadow_request *request) {
    if (!(drawn->pdf_solid_angle > 0) || vec3_is_zero(drawn->radiance))
        return shadow_request_clear(request);
    bsdf_pair pair;
    bsdf_pair_make(&pair, at, wo, drawn->direction, BSDF_RADIANCE);
    const vec3 f = bsdf_pair_evaluate(&pair, at, BSDF_RADIANCE);
    if (vec3_is_zero(f)) return shadow_request_clear(request);
    request->ray = light_shadow_ray(at, drawn);
    request->medium = medium_beyond_surface(at, wo, drawn->direction, medium);
    request->sent = vec3_mul(f, drawn->radiance);
    request->weight = fabsf(vec3_dot(drawn->direction, at->normal)) / drawn->pdf_solid_angle;
    if (mis && !drawn->delta)
        request->weight *= mis_power(drawn->pdf_solid_angle, bsdf_pair_pdf(&pair, at));
    return true;
}

/* Samples a light for a surface. Returns false if the contribution is zero. */
KD_FN bool path_sample_light_at(const scene_view *scene, const surface *at, vec3 wo,
                                uint32_t medium, bool mis, rng_block random,
                                shadow_request *request) {
    const light_sample drawn = light_draw(scene, at->position, path_light_normal(at, wo), random);
    return path_light_request_at(at, wo, medium, mis, &drawn, request);
}

/* As path_light_request_at, at a point in a medium. `phase`: the phase function for the light's
   direction. The scattering coefficient is not included. */
KD_FN bool path_light_request_in(vec3 place, uint32_t medium, float phase,
                                 const light_sample *drawn, shadow_request *request) {
    if (!(drawn->pdf_solid_angle > 0) || vec3_is_zero(drawn->radiance))
        return shadow_request_clear(request);
    request->ray = drawn->distance < INFINITY ? ray_make(place, vec3_sub(drawn->point, place), 0, 1)
                                              : ray_make(place, drawn->direction, 0, INFINITY);
    request->medium = medium;
    request->sent = vec3_scale(drawn->radiance, phase / drawn->pdf_solid_angle);
    request->weight = 1;
    return true;
}

/* Samples a light for a point in a medium, where a ray of `direction` arrived. `mis`: as above. */
KD_FN bool path_sample_light_in(const scene_view *scene, vec3 place, uint32_t medium,
                                vec3 direction, bool mis, rng_block random,
                                shadow_request *request) {
    const light_sample drawn = light_draw(scene, place, vec3_all(0), random);
    const float phase =
        medium_phase(medium_of(scene, medium)->g, vec3_dot(direction, drawn.direction));
    if (!path_light_request_in(place, medium, phase, &drawn, request)) return false;
    if (mis && !drawn.delta) {
        const float weight =
            phase / drawn.pdf_solid_angle * mis_power(drawn.pdf_solid_angle, phase);
        request->sent = vec3_scale(drawn.radiance, weight);
    }
    return true;
}

/* Returns the contribution if the fraction `visible` of the light arrives. */
KD_FN vec3 shadow_request_light(const shadow_request *request, vec3 visible) {
    return vec3_mul(request->sent, vec3_scale(visible, request->weight));
}

/* Returns the direct light of one sampled light at a surface: f |cos| L V w / pdf. */
KD_FN vec3 path_light(const scene_view *scene, scene_extent extent, const path_options *options,
                      const surface *at, vec3 wo, uint32_t medium, rng_block random,
                      uint32_t *rays) {
    shadow_request request;
    if (!path_sample_light_at(scene, at, wo, medium, true, random, &request)) return vec3_all(0);
    return shadow_request_light(
        &request,
        path_transmittance(scene, extent, request.ray, request.medium, options->cutouts, rays));
}

/* path_light without BSDF sampling: w is 1. */
KD_FN vec3 path_light_alone(const scene_view *scene, scene_extent extent, bool cutouts,
                            const surface *at, vec3 wo, uint32_t medium, rng_block random,
                            uint32_t *rays) {
    const light_sample drawn = light_draw(scene, at->position, path_light_normal(at, wo), random);
    if (!(drawn.pdf_solid_angle > 0) || vec3_is_zero(drawn.radiance)) return vec3_all(0);
    const vec3 f = bsdf_evaluate(at, wo, drawn.direction, BSDF_RADIANCE);
    if (vec3_is_zero(f)) return f;
    const float cosine = fabsf(vec3_dot(drawn.direction, at->normal));
    const vec3 visible =
        path_transmittance(scene, extent, light_shadow_ray(at, &drawn),
                           medium_beyond_surface(at, wo, drawn.direction, medium), cutouts, rays);
    const vec3 sent = vec3_mul(f, drawn.radiance);
    return vec3_make(sent.x * (cosine * visible.x / drawn.pdf_solid_angle),
                     sent.y * (cosine * visible.y / drawn.pdf_solid_angle),
                     sent.z * (cosine * visible.z / drawn.pdf_solid_angle));
}

/* Returns the direct light of one sampled light at a point in a medium: p L T w / pdf. */
KD_FN vec3 path_light_in(const scene_view *scene, scene_extent extent, const path_options *options,
                         vec3 place, uint32_t medium, vec3 direction, bool mis, rng_block random,
                         uint32_t *rays) {
    shadow_request request;
    if (!path_sample_light_in(scene, place, medium, direction, mis, random, &request))
        return vec3_all(0);
    return shadow_request_light(
        &request,
        path_transmittance(scene, extent, request.ray, request.medium, options->cutouts, rays));
}

/* Scales a contribution down to a limit; 0: none. */
KD_FN vec3 path_limited(float limit, vec3 more) {
    if (!(limit > 0)) return more;
    const float largest = vec3_largest(more);
    return largest > limit ? vec3_scale(more, limit / largest) : more;
}

/* Applies options->clamp to a contribution. `indirect`: scattered more than once between the camera
   and the light. */
KD_FN vec3 path_clamped(const path_options *options, bool indirect, vec3 more) {
    return indirect ? path_limited(options->clamp, more) : more;
}

/* Returns the contribution of the environment, without discs, to a ray that leaves the scene. */
KD_FN vec3 path_sky_alone(const scene_view *scene, const path_state *state) {
    const vec3 sky = environment_radiance(scene, state->ray.direction);
    if (vec3_is_zero(sky)) return sky;
    float weight = 1;
    if (!state->specular)
        weight =
            mis_power(state->pdf, environment_pdf(scene, state->from_normal, state->ray.direction));
    return vec3_scale(vec3_mul(state->throughput, sky), weight);
}

/* Returns the contribution of the discs of directional lights to a ray that leaves the scene. */
KD_FN vec3 path_discs(const scene_view *scene, const path_state *state, bool first) {
    const float pdf = state->specular ? INFINITY : state->pdf;
    return vec3_mul(state->throughput, light_discs(scene, state->ray.direction, pdf, first));
}

/* Returns the contribution of everything at infinity to a ray that leaves the scene. */
KD_FN vec3 path_sky(const scene_view *scene, const path_state *state) {
    const vec3 sky = path_sky_alone(scene, state);
    if (scene->environment.sun_count == 0) return sky;
    return vec3_add(sky, path_discs(scene, state, false));
}

/* As path_sky, for ray number `depth` of a path from the camera. */
KD_FN vec3 path_sky_seen(const scene_view *scene, const path_state *state, int32_t depth) {
    if (depth > 1) return path_sky(scene, state);
    if (scene->environment.hidden) return vec3_all(0);
    const vec3 sky = path_sky_alone(scene, state);
    if (scene->environment.sun_count == 0) return sky;
    return vec3_add(sky, path_discs(scene, state, true));
}

/* Returns the contribution of the surface's emission. */
KD_FN vec3 path_emission(const scene_view *scene, const path_state *state, const surface *at) {
    if (vec3_is_zero(at->emission)) return vec3_all(0);
    if (at->unlit && state->scattered > 0) return vec3_all(0);
    float weight = 1;
    if (!state->specular)
        weight =
            mis_power(state->pdf, light_pdf_of_hit(scene, state->from, state->from_normal, at));
    return vec3_scale(vec3_mul(state->throughput, at->emission), weight);
}

/* Russian roulette; returns false if the path ends. */
KD_FN bool path_survives(path_state *state, int32_t depth, float random) {
    if (depth < PATH_ROULETTE_DEPTH) return true;
    const float survival = float_min(vec3_largest(state->throughput) * state->eta_scale, 1);
    if (!(random < survival)) return false;
    state->throughput = vec3_scale(state->throughput, 1 / survival);
    return true;
}

/* Continues the path in the sampled direction; returns false if it ends. `random`: for roulette. */
KD_FN bool path_scatter_drawn(path_state *state, const surface *at, vec3 wo, int32_t depth,
                              const bsdf_sample *drawn, float random) {
    state->throughput = vec3_mul(state->throughput, drawn->weight);
    state->specular = drawn->specular;
    state->pdf = drawn->pdf;
    state->from = at->position;
    state->from_normal = path_light_normal(at, wo);
    if (!drawn->specular) ++state->scattered;
    if (drawn->transmitted) {
        const float eta = surface_eta(at);
        state->eta_scale *= eta * eta;
        if (at->beyond != MEDIUM_SAME) state->medium = at->beyond;
    }
    state->layers = 0;
    if (!path_survives(state, depth, random)) return false;
    state->ray = surface_leave(at, drawn->direction, INFINITY);
    return true;
}

/* Samples the BSDF and continues the path; returns false if it ends. */
KD_FN bool path_scatter(path_state *state, const surface *at, vec3 wo, int32_t depth,
                        rng_block random) {
    const bsdf_sample drawn = bsdf_draw(at, wo, random, BSDF_RADIANCE);
    if (vec3_is_zero(drawn.weight)) return false;
    return path_scatter_drawn(state, at, wo, depth, &drawn, random.value[3]);
}

/* Samples the free-flight distance in the current medium. Returns true if the medium scatters
   before t = end. */
KD_FN bool path_fly(const scene_view *scene, path_state *state, float end, rng_key key) {
    const medium *in = medium_of(scene, state->medium);
    if (!in) return false;
    const medium_span span = transmittance_span(scene, &state->ray, end);
    const float length = span.end - span.begin; /* directions are unit vectors */
    if (!(length > 0)) return false;
    const rng_block random = sobol_draw(key, state->step, PATH_DRAW_MEDIUM);
    const medium_flight flight =
        medium_fly(in, length, state->throughput, random.value[0], random.value[1]);
    state->throughput = vec3_mul(state->throughput, vec3_mul(flight.kept, flight.drawn));
    state->place = ray_at(&state->ray, span.begin + flight.length);
    return flight.scattered;
}

/* Returns true if the ray comes from the camera, which does not see the triangle. */
KD_FN bool path_overlooks(const scene_view *scene, const path_state *state, uint32_t triangle) {
    return state->pdf < 0 && surface_is_hidden(scene, triangle);
}

/* Returns true if the ray, which has found *hit, continues there, through a cut-out. Sets
   hit->triangle to KD_NONE after too many cut-outs. Sets state->in_volume if a medium scatters the
   path before the hit. */
KD_FN bool path_passes(const scene_view *scene, const path_options *options, path_state *state,
                       rng_key key, ray_hit *hit) {
    state->in_volume = false;
    if (state->flies)
        state->in_volume =
            path_fly(scene, state, hit->triangle == KD_NONE ? INFINITY : hit->t, key);
    if (state->in_volume || hit->triangle == KD_NONE || !options->cutouts) return false;
    const bool hidden = path_overlooks(scene, state, hit->triangle);
    const bool nested =
        transmittance_nested(scene, &state->ray, hit->triangle, state->instance_id, state->medium);
    const float passes = hidden || nested ? 1 : surface_passes(scene, *hit);
    if (!(passes > 0)) return false;
    if (sobol_draw(key, state->step, PATH_DRAW_OPACITY).value[0] >= passes) return false;
    if ((state->flies || scene->nested.count) && !hidden)
        state->medium = transmittance_beyond_instance(scene, hit->triangle, state->instance_id,
                                                      state->ray.direction, state->medium);
    state->ray.tmin = hit->t;
    hit->triangle = KD_NONE;
    return state->layers++ < PATH_LAYERS;
}

/* Returns the next surface that the path does not pass; hit.triangle is KD_NONE if there is none.
   If state->in_volume is set, the path does not reach it. */
KD_FN ray_hit path_advance(const scene_view *scene, scene_extent extent,
                           const path_options *options, path_state *state, rng_key key,
                           path_result *result) {
    ray_hit hit;
    do {
        ++result->rays;
        ++state->step;
        hit = scene_closest(scene, extent, state->ray, &state->instance_id);
    } while (path_passes(scene, options, state, key, &hit));
    return hit;
}

/* Draws the wavelength of a path at a dispersing surface, unless it has one, and sets the surface's
   index to that of the wavelength. */
KD_FN void path_disperse(const scene_view *scene, path_state *state, rng_key key, surface *at) {
    if (!(state->wavelength > 0)) {
        const rng_block random = sobol_draw(key, state->step, PATH_DRAW_WAVELENGTH);
        const vec3 carried = state->throughput;
        state->wavelength = spectrum_draw(carried, random.value[0], random.value[1]);
        state->throughput = vec3_mul(carried, spectrum_colour(state->wavelength, carried));
    }
    at->ior = transmittance_spectral_index(scene, at, state->medium, state->wavelength);
}

/* Computes the surface at a hit, for the path's wavelength. `kind`: as for surface_of_hit. */
KD_FN void path_interact(const scene_view *scene, path_state *state, ray_hit hit, rng_key key,
                         int32_t kind, surface *at) {
    surface_of_hit(scene, &state->ray, hit, state->instance_id, kind, at);
    if (scene->nested.count) nested_apply(scene, state->medium, at);
    if (at->disperses) path_disperse(scene, state, key, at);
}
KD_FN surface path_surface(const scene_view *scene, path_state *state, ray_hit hit, rng_key key,
                           int32_t kind) {
    surface at;
    path_interact(scene, state, hit, key, kind, &at);
    return at;
}

/* Raises the roughness of a surface after the path has scattered, in proportion to the spread of
   that scattering: light that is found by chance only becomes light that light sampling finds.
   Source: Kaplanyan and Dachsbacher 2013, "Path space regularization for holistic and robust light
   transport"; the roughness follows the density of the direction, as in Jendersie and Grosch 2019,
   "Microfacet model regularization for robust light transport". */
KD_FN void path_regularise(const path_options *options, const path_state *state, surface *at) {
    if (!(options->least_alpha > 0) || state->scattered == 0) return;
    /* 1 for a diffuse surface, twice the GGX alpha in the middle of a lobe */
    const float narrow = KD_PI * state->pdf;
    surface_roughen(at, options->least_alpha * (narrow > 1 ? 1 / sqrtf(narrow) : 1));
}

/* Starts a path in the scene's media. */
KD_FN path_state path_begin_in(const scene_view *scene, scene_extent extent, ray ray,
                               uint32_t *rays) {
    path_state state = path_begin(ray);
    if (scene->medium_count == 0) return state;
    state.flies = true;
    state.medium = transmittance_around(scene, extent, ray, rays);
    return state;
}

/* --- The steps of a path ---
   path_radiance performs them one after another; render/frame performs each for many paths at
   once. */

/* The event at the end of a path's ray. */
typedef enum path_turn {
    PATH_ENDS,
    PATH_PASSES,            /* a cut-out: the ray continues (path_passes) */
    PATH_SCATTERS,          /* scatters at a surface */
    PATH_SCATTERS_IN_VOLUME /* scatters in a medium, at state->place */
} path_turn;

/* Returns true if the surface at the end of the path's ray number `depth` is the last one. */
KD_FN bool path_depth_is_over(const path_options *options, const path_state *state, int32_t depth) {
    const int32_t scattered = state->scattered < PATH_SCATTERED_MAX ? state->scattered : depth;
    return depth >= options->max_depth ||
           (options->max_specular && depth - 2 * scattered >= options->max_specular);
}

/* Processes the end of the path's ray number `depth`: a hit that path_passes did not skip, a miss,
   or state->in_volume. Sets *at to the surface; its triangle is KD_NONE if there is none, and after
   the first hit it is defined only if the path scatters there. Sets *sent to the contribution of
   the environment or of the surface's emission. `kind`: as for surface_of_hit. */
KD_FN path_turn path_arrive(const scene_view *scene, const path_options *options, path_state *state,
                            int32_t depth, ray_hit hit, rng_key key, int32_t kind, surface *at,
                            vec3 *sent) {
    const bool last =
        path_depth_is_over(options, state, depth) || state->scattered >= options->scatterings;
    *sent = vec3_all(0);
    at->triangle = KD_NONE;
    if (state->in_volume) {
        if (depth == 1 && hit.triangle != KD_NONE)
            surface_of_hit(scene, &state->ray, hit, state->instance_id, SURFACE_ANY, at);
        return last ? PATH_ENDS : PATH_SCATTERS_IN_VOLUME;
    }
    if (hit.triangle == KD_NONE) {
        *sent = path_clamped(options, state->scattered > 1, path_sky_seen(scene, state, depth));
        return PATH_ENDS;
    }
    path_interact(scene, state, hit, key, kind, at);
    path_regularise(options, state, at);
    *sent = path_clamped(options, state->scattered > 1, path_emission(scene, state, at));
    return last ? PATH_ENDS : PATH_SCATTERS;
}

/* Returns true if this event samples lights. */
KD_FN bool path_seeks_light(path_turn turn, const surface *at) {
    return turn == PATH_SCATTERS_IN_VOLUME || (turn == PATH_SCATTERS && !surface_is_specular(at));
}

/* Samples a light with `random` (dimension PATH_DRAW_LIGHT). Returns false if the contribution is
   zero. */
KD_FN bool path_sample_light_by(const scene_view *scene, const path_state *state, path_turn turn,
                                const surface *at, rng_block random, shadow_request *request) {
    const vec3 direction = state->ray.direction;
    if (turn == PATH_SCATTERS_IN_VOLUME)
        return path_sample_light_in(scene, state->place, state->medium, direction, true, random,
                                    request);
    return path_sample_light_at(scene, at, vec3_negate(direction), state->medium, true, random,
                                request);
}
KD_FN bool path_sample_light(const scene_view *scene, const path_state *state, path_turn turn,
                             const surface *at, rng_key key, shadow_request *request) {
    const rng_block random = sobol_draw(key, state->step, PATH_DRAW_LIGHT);
    return path_sample_light_by(scene, state, turn, at, random, request);
}

/* Samples the phase function; returns false if the path ends. */
KD_FN bool path_scatter_in(const scene_view *scene, path_state *state, int32_t depth,
                           rng_block random) {
    const vec3 before = state->ray.direction;
    const float g = medium_of(scene, state->medium)->g;
    const vec3 after = medium_phase_draw(g, before, random.value[0], random.value[1]);
    state->pdf = medium_phase(g, vec3_dot(before, after));
    state->from = state->place;
    state->from_normal = vec3_all(0);
    state->specular = false;
    ++state->scattered;
    state->layers = 0;
    state->ray = ray_make(state->place, after, 0, INFINITY);
    return path_survives(state, depth, random.value[3]);
}

/* Continues a path that scatters at a surface or in a medium, with `random` (dimension
   PATH_DRAW_SCATTER). Returns false if it ends. */
KD_FN bool path_go_on_by(const scene_view *scene, path_state *state, path_turn turn,
                         const surface *at, int32_t depth, rng_block random) {
    if (turn == PATH_SCATTERS_IN_VOLUME) return path_scatter_in(scene, state, depth, random);
    return path_scatter(state, at, vec3_negate(state->ray.direction), depth, random);
}
KD_FN bool path_go_on(const scene_view *scene, path_state *state, path_turn turn, const surface *at,
                      int32_t depth, rng_key key) {
    const rng_block random = sobol_draw(key, state->step, PATH_DRAW_SCATTER);
    return path_go_on_by(scene, state, turn, at, depth, random);
}

/* Follows a path to its end, from its ray number `depth` on, and adds to *result. */
KD_FN void path_follow(const scene_view *scene, scene_extent extent, const path_options *options,
                       path_state *state, int32_t depth, rng_key key, path_result *result) {
    for (; depth <= options->max_depth; ++depth) {
        surface at;
        vec3 sent;
        const ray_hit hit = path_advance(scene, extent, options, state, key, result);
        const path_turn turn =
            path_arrive(scene, options, state, depth, hit, key, SURFACE_ANY, &at, &sent);
        if (depth == 1 && at.triangle != KD_NONE) result->first = at;
        result->radiance = vec3_add(result->radiance, sent);
        if (path_seeks_light(turn, &at)) {
            shadow_request request;
            vec3 visible = vec3_all(0);
            if (path_sample_light(scene, state, turn, &at, key, &request))
                visible = path_transmittance(scene, extent, request.ray, request.medium,
                                             options->cutouts, &result->rays);
            const vec3 direct =
                vec3_mul(state->throughput, shadow_request_light(&request, visible));
            result->radiance =
                vec3_add(result->radiance, path_clamped(options, state->scattered > 0, direct));
        }
        if (turn == PATH_ENDS || !path_go_on(scene, state, turn, &at, depth, key)) return;
    }
}

/* Returns the radiance along `ray`, whose direction is a unit vector; key.path is
   sobol_path(pixel, sample). */
KD_FN path_result path_radiance(const scene_view *scene, scene_extent extent,
                                const path_options *options, ray ray, rng_key key) {
    path_result result;
    memset(&result, 0, sizeof result);
    result.first.triangle = KD_NONE;
    path_state state = path_begin_in(scene, extent, ray, &result.rays);
    path_follow(scene, extent, options, &state, 1, key, &result);
    return result;
}

#endif
