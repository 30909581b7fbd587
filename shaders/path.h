/* Radiance along a camera ray by following one path.
   Source: Kajiya 1986, "The rendering equation"; Veach 1997, "Robust Monte Carlo methods for light
   transport simulation", sections 8.3 (next-event estimation), 9.2 (multiple importance sampling,
   power heuristic) and 10.4 (Russian roulette).
   Idea: at each surface light is looked for twice, by drawing a light and by drawing where the
   surface scatters to; the two answers are weighted by how likely each technique was to find what
   it found. Mirrors and smooth glass are followed without looking for lights.
   Work: two rays a surface. Memory: none beyond the stack of one ray.
   Invariants: a pure function of (scene, options, ray, key); unbiased up to max_depth.
   Media: a flight's length is drawn before each surface (medium.h); where light is scattered there,
          the phase function takes the part of a surface's, and draws are its own.
   Wavelengths: dispersive glass turns a path into one of a drawn wavelength (spectrum.h).
   Differs from the books in: numbers are Owen-scrambled Sobol points (sobol.h); a surface of
   opacity below 1 is skipped by chance along the path and weakens shadow rays by its share. */
#ifndef KD_SHADERS_PATH_H
#define KD_SHADERS_PATH_H
#include "accel/rays/cast.h"
#include "core/math/sobol.h"
#include "shaders/bsdf.h"
#include "shaders/light_sampling.h"
#include "shaders/passage.h"
#include "shaders/spectrum.h"

enum { PATH_ROULETTE_DEPTH = 5 };
/* dimensions of sobol_draw; the camera's is at bounce 0, 4 is eye_path.h's */
enum {
    PATH_DRAW_CAMERA = 0,
    PATH_DRAW_SCATTER = 1,
    PATH_DRAW_LIGHT = 2,
    PATH_DRAW_OPACITY = 3,
    PATH_DRAW_MEDIUM = 5,
    PATH_DRAW_WAVELENGTH = 6
};

typedef struct path_options {
    int32_t max_depth;   /* surfaces that a path may meet, the emitting one included, and
                            scatterings in media */
    int32_t scatterings; /* how often it may be scattered other than by mirrors and smooth glass;
                            1: direct light only */
    bool cutouts;        /* some material has opacity below 1 */
} path_options;

typedef struct path_result {
    vec3 radiance; /* W/(sr m^2) */
    surface first; /* that is met, through media; first.triangle is KD_NONE if there is none */
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
    uint32_t step;    /* surfaces met, skipped ones included: the bounce of random numbers */
    float wavelength; /* micrometres; 0: white */
    bool flies;       /* through media; else they are not looked at */
    bool strayed;     /* a medium scattered what path_advance followed, at `place` */
    uint32_t where;   /* the medium that it is in */
    vec3 place;
} path_state;

/* Side of the surface that light is looked for on, as light_draw takes it. */
KD_FN vec3 path_light_normal(const surface *at, vec3 wo) {
    if (at->kind == MATERIAL_GLASS) return vec3_all(0);
    return vec3_dot(wo, at->geometric) < 0 ? vec3_negate(at->normal) : at->normal;
}

/* Reflected or refracted light of one light: f |cos| L V w / pdf. `where`: the medium on wo's side.
 */
KD_FN vec3 path_light(const scene_view *scene, const path_options *options, const surface *at,
                      vec3 wo, uint32_t where, rng_block random, uint32_t *rays) {
    const light_sample drawn = light_draw(scene, at->position, path_light_normal(at, wo), random);
    if (!(drawn.pdf_solid_angle > 0) || vec3_is_zero(drawn.radiance)) return vec3_all(0);
    const vec3 f = bsdf_evaluate(at, wo, drawn.direction, BSDF_RADIANCE);
    if (vec3_is_zero(f)) return f;
    float weight = fabsf(vec3_dot(drawn.direction, at->normal)) / drawn.pdf_solid_angle;
    if (!drawn.delta) weight *= mis_power(drawn.pdf_solid_angle, bsdf_pdf(at, wo, drawn.direction));
    const vec3 visible =
        path_passage(scene, light_shadow_ray(at, &drawn),
                     passage_from(at, wo, drawn.direction, where), options->cutouts, rays);
    return vec3_mul(vec3_mul(f, drawn.radiance), vec3_scale(visible, weight));
}

/* The same in a medium, towards where a ray of `direction` comes from: p sigma_s L T w / pdf but
   for sigma_s. `both`: the other half is left to the ray drawn next. */
KD_FN vec3 path_light_in(const scene_view *scene, const path_options *options, vec3 place,
                         uint32_t where, vec3 direction, bool both, rng_block random,
                         uint32_t *rays) {
    const light_sample drawn = light_draw(scene, place, vec3_all(0), random);
    if (!(drawn.pdf_solid_angle > 0) || vec3_is_zero(drawn.radiance)) return vec3_all(0);
    const float phase =
        medium_phase(medium_of(scene, where)->g, vec3_dot(direction, drawn.direction));
    float weight = phase / drawn.pdf_solid_angle;
    if (both && !drawn.delta) weight *= mis_power(drawn.pdf_solid_angle, phase);
    const ray cast = drawn.distance < INFINITY ? ray_make(place, vec3_sub(drawn.point, place), 0, 1)
                                               : ray_make(place, drawn.direction, 0, INFINITY);
    const vec3 passing = path_passage(scene, cast, where, options->cutouts, rays);
    return vec3_mul(vec3_scale(drawn.radiance, weight), passing);
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

/* Roulette over what is left of the path; false if it ends. */
KD_FN bool path_survives(path_state *state, int32_t depth, float random) {
    if (depth < PATH_ROULETTE_DEPTH) return true;
    const float survival = float_min(vec3_largest(state->throughput) * state->squeeze, 1);
    if (!(random < survival)) return false;
    state->throughput = vec3_scale(state->throughput, 1 / survival);
    return true;
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
        if (at->beyond != MEDIUM_SAME) state->where = at->beyond;
    }
    if (!path_survives(state, depth, random.value[3])) return false;
    state->cast = surface_leave(at, drawn.direction, INFINITY);
    return true;
}

/* Draws how far the path flies before a medium scatters it, if one does before t = end. */
KD_FN bool path_fly(const scene_view *scene, path_state *state, float end, rng_key key) {
    const medium *in = medium_of(scene, state->where);
    if (!in) return false;
    const medium_span span = passage_span(scene, &state->cast, end);
    const float length = span.end - span.begin; /* directions are unit vectors */
    if (!(length > 0)) return false;
    const rng_block random = sobol_draw(key, state->step, PATH_DRAW_MEDIUM);
    const medium_flight flight =
        medium_fly(in, length, state->throughput, random.value[0], random.value[1]);
    state->throughput = vec3_mul(state->throughput, vec3_mul(flight.kept, flight.drawn));
    state->place = ray_at(&state->cast, span.begin + flight.length);
    return flight.scattered;
}

/* The next surface that does not let the path pass; hit.triangle is KD_NONE if there is none. If
   state->strayed the path does not get there: a medium scatters it on the way. */
KD_FN ray_hit path_advance(const scene_view *scene, const path_options *options, path_state *state,
                           rng_key key, path_result *result) {
    state->strayed = false;
    for (int layer = 0;; ++layer) {
        ++result->rays;
        ++state->step;
        ray_hit hit = tritree_closest(&scene->tree, state->cast);
        if (state->flies)
            state->strayed =
                path_fly(scene, state, hit.triangle == KD_NONE ? INFINITY : hit.t, key);
        if (state->strayed || hit.triangle == KD_NONE || !options->cutouts) return hit;
        const float passes = surface_passes(scene, hit);
        if (!(passes > 0)) return hit;
        const rng_block random = sobol_draw(key, state->step, PATH_DRAW_OPACITY);
        if (random.value[0] >= passes) return hit;
        if (state->flies)
            state->where = passage_beyond(scene, hit.triangle, state->cast.direction, state->where);
        state->cast.tmin = hit.t;
        hit.triangle = KD_NONE;
        if (layer == PATH_LAYERS) return hit;
    }
}

/* The surface that the path has met, as light of its wavelength sees it. */
KD_FN surface path_surface(const scene_view *scene, path_state *state, ray_hit hit, rng_key key) {
    surface at = surface_at(scene, &state->cast, hit);
    if (!at.disperses) return at;
    if (!(state->wavelength > 0)) {
        const rng_block random = sobol_draw(key, state->step, PATH_DRAW_WAVELENGTH);
        const vec3 carried = state->throughput;
        state->wavelength = spectrum_draw(carried, random.value[0], random.value[1]);
        state->throughput = vec3_mul(carried, spectrum_colour(state->wavelength, carried));
    }
    at.ior = spectrum_index(scene->materials + at.material, state->wavelength);
    return at;
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
    state.wavelength = 0;
    state.flies = state.strayed = false;
    state.where = MEDIUM_FOG;
    state.place = cast.origin;
    return state;
}

/* The same, to be followed through the scene's media. */
KD_FN path_state path_begin_in(const scene_view *scene, ray cast, uint32_t *rays) {
    path_state state = path_begin(cast);
    if (scene->medium_count == 0) return state;
    state.flies = true;
    state.where = passage_around(scene, cast, rays);
    return state;
}

/* Scattering in a medium, where path_advance left the path: light that is found there, and where
   the path goes on. False: it ends. */
KD_FN bool path_stray(const scene_view *scene, const path_options *options, path_state *state,
                      int32_t depth, rng_key key, path_result *result) {
    const vec3 before = state->cast.direction;
    const vec3 direct = path_light_in(scene, options, state->place, state->where, before, true,
                                      sobol_draw(key, state->step, PATH_DRAW_LIGHT), &result->rays);
    result->radiance = vec3_add(result->radiance, vec3_mul(state->throughput, direct));
    const rng_block random = sobol_draw(key, state->step, PATH_DRAW_SCATTER);
    const float g = medium_of(scene, state->where)->g;
    const vec3 after = medium_phase_draw(g, before, random.value[0], random.value[1]);
    state->pdf = medium_phase(g, vec3_dot(before, after));
    state->from = state->place;
    state->from_normal = vec3_all(0);
    state->specular = false;
    ++state->scattered;
    state->cast = ray_make(state->place, after, 0, INFINITY);
    return path_survives(state, depth, random.value[3]);
}

/* `cast` has a unit direction; key.path is sobol_path(pixel, sample). */
KD_FN path_result path_radiance(const scene_view *scene, const path_options *options, ray cast,
                                rng_key key) {
    path_result result;
    memset(&result, 0, sizeof result);
    result.first.triangle = KD_NONE;
    path_state state = path_begin_in(scene, cast, &result.rays);
    for (int32_t depth = 1; depth <= options->max_depth; ++depth) {
        const ray_hit hit = path_advance(scene, options, &state, key, &result);
        if (state.strayed) {
            if (depth == 1 && hit.triangle != KD_NONE)
                result.first = surface_at(scene, &state.cast, hit);
            if (depth == options->max_depth || state.scattered >= options->scatterings) break;
            if (!path_stray(scene, options, &state, depth, key, &result)) break;
            continue;
        }
        if (hit.triangle == KD_NONE) {
            result.radiance = vec3_add(result.radiance, path_sky(scene, &state));
            break;
        }
        const surface at = path_surface(scene, &state, hit, key);
        const vec3 wo = vec3_negate(state.cast.direction);
        if (depth == 1) result.first = at;
        result.radiance = vec3_add(result.radiance, path_emission(scene, &state, &at));
        if (depth == options->max_depth || state.scattered >= options->scatterings) break;
        if (!surface_is_specular(&at)) {
            const rng_block random = sobol_draw(key, state.step, PATH_DRAW_LIGHT);
            const vec3 direct =
                path_light(scene, options, &at, wo, state.where, random, &result.rays);
            result.radiance = vec3_add(result.radiance, vec3_mul(state.throughput, direct));
        }
        const rng_block random = sobol_draw(key, state.step, PATH_DRAW_SCATTER);
        if (!path_scatter(&state, &at, wo, depth, random)) break;
    }
    return result;
}

#endif
