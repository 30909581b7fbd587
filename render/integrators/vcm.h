/* Vertex connection and merging: samples of pixels, and light paths with their splats and photons.
   Source: Georgiev, Krivanek, Davidovic and Slusallek 2012, "Light transport simulation with vertex
           connection and merging"; Hachisuka, Pantaleoni and Jensen 2012, "A path space
           extension for robust light transport simulation".
   Idea: eye paths are those of shaders/path.h, light paths those of light.h; vcm_weights.h says which
         techniques find light, and weighs them. A pass traces as many light paths as there are
         pixels, then one eye path per pixel.
   Wavelengths: all paths of a pass have the same one behind dispersive glass, so that paths that
         merge agree.
   Invariants: a light path is a pure function of (seed, pass, path), a sample one of (seed, pixel,
               pass) and of the pass's photons and splats. */
#ifndef KD_RENDER_INTEGRATORS_VCM_H
#define KD_RENDER_INTEGRATORS_VCM_H
#include "photon/density/flux_sum.h"
#include "render/integrators/light.h"
#include "render/integrators/vcm_camera.h"
#include "render/integrators/vcm_grid.h"
#include "render/integrators/vcm_weights.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { VCM_ROULETTE_DEPTH = 4, VCM_DRAW_CAMERA = 8 };

/* Everything that a pass's paths depend on. */
typedef struct vcm_view {
    pixel_view pixels; /* without its scene */
    light_eye limits;  /* limits of light paths; without its camera */
    path_options path; /* without its clamp */
    float clamp;       /* applied to weighed light */
    photon_emission emission;
    bool eye, lamps, splat, merge; /* techniques */
    bool needs_light;              /* some technique needs light paths */
    uint32_t paths;                /* light paths per pass */
    float merges;                  /* pi radius^2 paths: merging paths per density; 0: no merging */
    float radius;
    float wavelength; /* micrometres, of dispersive glass; 0: there is none */
    vec3 tint;        /* colour of the wavelength */
    int64_t *sums;    /* splats, 3 per pixel of the full image, in units */
    float unit;       /* W/(sr m^2) */
    vcm_grid grid;    /* the photons */
    float scale;      /* flux_scale */
} vcm_view;

KD_FN vec3 vcm_tinted(const vcm_view *view, bool disperses, vec3 radiance) {
    return disperses ? vec3_mul(radiance, view->tint) : radiance;
}

/* --- light paths ------------------------------------------------------------------------------ */

typedef struct vcm_light_path {
    light_path base;
    vcm_chain chain;
    float emitted; /* vcm_emission_density */
    vec3 from;     /* the vertex before */
    bool disperses;
} vcm_light_path;

KD_FN vcm_light_path vcm_light_begin(const vcm_view *view, const scene_view *scene,
                                     uint64_t number) {
    vcm_light_path path;
    memset(&path, 0, sizeof path);
    path.base = light_path_begin(scene, &view->emission, number);
    if (path.base.over) return path;
    emitted_photon *flying = &path.base.photon_state.flying;
    flying->wavelength = view->wavelength;
    path.emitted = vcm_emission_density(scene, &view->emission, flying->light, flying->ray.origin,
                                        flying->ray.direction);
    path.base.over = !(path.emitted > 0);
    path.from = flying->ray.origin;
    return path;
}

/* At the first vertex: its light is sampled from there, which depends on the place. */
KD_FN void vcm_light_start(const vcm_view *view, const scene_view *scene, vcm_light_path *path,
                           vec3 place, vec3 normal) {
    const emitted_photon *flying = &path->base.photon_state.flying;
    const light *lamp = scene->lights + flying->light;
    const vec3 direction = flying->ray.direction;
    float inverse = 0, others = 0;
    if (view->lamps)
        inverse = vcm_lamp_density(scene, flying->light, place, normal, vec3_negate(direction)) /
                  path->emitted;
    if (view->eye && !vcm_lamp_is_delta(lamp))
        others = vcm_lamp_cosine(lamp, direction) / path->emitted;
    path->chain = vcm_chain_begin(inverse, others);
}

/* Samples the direction in which the path leaves its vertex; returns false if it ends. */
KD_FN bool vcm_light_turn(const vcm_view *view, const scene_view *scene, vcm_light_path *path) {
    photon_path *state = &path->base.photon_state;
    emitted_photon *flying = &state->flying;
    const surface *at = &path->base.at;
    const vec3 before = flying->ray.direction, wo = vec3_negate(before), carried = flying->power;
    photon_ledger discarded;
    memset(&discarded, 0, sizeof discarded);
    ++state->bounce;
    vcm_turn turn = {0, 0, 1, false, false, 0};
    if (path->base.turn == PHOTON_SCATTERS_IN_VOLUME) {
        const float g = medium_of(scene, flying->medium)->g;
        path->from = flying->ray.origin;
        ++state->scattered;
        photon_scatter(scene, flying, state->key, state->step);
        turn.pdf = turn.back = medium_phase(g, vec3_dot(before, flying->ray.direction));
    } else {
        const rng_block random = rng_draw(state->key, state->step, PHOTON_DRAW_SCATTER);
        const bsdf_sample next = bsdf_draw(at, wo, random, BSDF_FLUX);
        flying->power = vec3_mul(carried, next.weight);
        if (!(vec3_largest(flying->power) > 0)) return false;
        path->from = at->position;
        turn.specular = next.specular;
        turn.lens = vcm_is_lens(at, next.specular);
        turn.cosine = fabsf(vec3_dot(next.direction, at->geometric));
        turn.pdf = next.pdf;
        if (!next.specular) {
            turn.back = vcm_pdf_radiance(at, next.direction, wo);
            if (path->chain.from_lens && surface_holds_photons(at)) turn.merges = view->merges;
            ++state->scattered;
        }
        if (next.transmitted && at->beyond != MEDIUM_SAME) flying->medium = at->beyond;
        flying->ray = surface_leave(at, next.direction, INFINITY);
    }
    vcm_chain_turn(&path->chain, &turn, false);
    if (path->base.landed < VCM_ROULETTE_DEPTH) return vec3_largest(flying->power) > 0;
    const float lot = rng_draw(state->key, state->step, PHOTON_DRAW_ROULETTE).value[0];
    flying->power = photon_roulette(carried, flying->power, lot, &discarded);
    return !vec3_is_zero(flying->power);
}

/* Advances the weights to the vertex that the path has reached. */
KD_FN void vcm_light_land(const vcm_view *view, const scene_view *scene, vcm_light_path *path) {
    const emitted_photon *flying = &path->base.photon_state.flying;
    const surface *at = &path->base.at;
    const bool first = path->base.landed == 1;
    const bool in_volume = path->base.turn == PHOTON_SCATTERS_IN_VOLUME;
    const vec3 place = in_volume ? flying->ray.origin : at->position;
    const vec3 direction = flying->ray.direction;
    if (first)
        vcm_light_start(view, scene, path, place,
                        in_volume ? vec3_all(0) : vcm_light_normal(at, vec3_negate(direction)));
    const bool parallel = first && light_is_far(scene->lights + flying->light);
    vcm_chain_land(&path->chain, parallel ? 1 : vec3_length2(vec3_sub(place, path->from)),
                   in_volume ? 1 : fabsf(vec3_dot(direction, at->geometric)));
    if (!in_volume && at->disperses) path->disperses = true;
}

/* Leaves the vertex; returns false if the path ends. */
KD_FN bool vcm_light_go_on(const vcm_view *view, const scene_view *scene, vcm_light_path *path) {
    return !light_path_is_over(&view->limits, &path->base) && vcm_light_turn(view, scene, path);
}

/* Advances to the next vertex; returns false if there is none. */
KD_FN bool vcm_light_next(const vcm_view *view, const scene_view *scene, vcm_light_path *path) {
    if (!light_path_land(scene, &path->base)) return false;
    vcm_light_land(view, scene, path);
    return true;
}

/* Returns what the vertex scatters towards `wo`, 1/sr times flux, with |cosine|, and the density
 *back with which an eye path from there samples the path's direction. */
KD_FN vec3 vcm_light_scattered(const scene_view *scene, const vcm_light_path *path, vec3 wo,
                               float *back) {
    const emitted_photon *flying = &path->base.photon_state.flying;
    const surface *at = &path->base.at;
    const vec3 wi = vec3_negate(flying->ray.direction);
    if (path->base.turn == PHOTON_SCATTERS_IN_VOLUME) {
        *back =
            medium_phase(medium_of(scene, flying->medium)->g, vec3_dot(flying->ray.direction, wo));
        return vec3_scale(flying->power, *back);
    }
    /* without a call where the shading normal is the geometric one */
    const vec3 flux = surface_is_tilted(at) ? bsdf_flux(at, wi, wo)
                                            : vec3_scale(bsdf_evaluate(at, wo, wi, BSDF_RADIANCE),
                                                         fabsf(vec3_dot(wo, at->geometric)));
    const vec3 sent = vec3_mul(flux, flying->power);
    if (!vec3_is_zero(sent)) *back = vcm_pdf_radiance(at, wo, wi);
    return sent;
}

/* A contribution of a vertex to the camera: it counts as far as light passes along the ray. */
typedef struct vcm_splat {
    int32_t x, y;
    ray shadow;
    uint32_t medium; /* the medium where the ray starts */
    vec3 sent;
    float weight;
    float limit; /* of its radiance; 0: none */
} vcm_splat;

/* Connects the vertex to the camera; returns false if it contributes nothing. */
KD_FN bool vcm_light_connect(const vcm_view *view, const scene_view *scene,
                             const vcm_light_path *path, vcm_splat *out) {
    const photon_path *state = &path->base.photon_state;
    const emitted_photon *flying = &state->flying;
    const surface *at = &path->base.at;
    const bool in_volume = path->base.turn == PHOTON_SCATTERS_IN_VOLUME;
    const vec3 place = in_volume ? flying->ray.origin : at->position;
    vcm_projection seen;
    float back = 0;
    memset(&seen, 0, sizeof seen);
    if (!in_volume && (surface_is_specular(at) || (scene->materials[at->material].flags &
                                                   (MATERIAL_HIDDEN | MATERIAL_CATCHER))))
        return false;
    if (!vcm_project(&view->pixels, place, rng_draw(state->key, state->step, VCM_DRAW_CAMERA),
                     &seen))
        return false;
    const vec3 wo = vec3_normalize(vec3_sub(seen.eye, place));
    const vec3 sent = vcm_light_scattered(scene, path, wo, &back);
    if (vec3_is_zero(sent)) return false;
    out->medium = in_volume ? flying->medium
                            : medium_beyond_surface(at, vec3_negate(flying->ray.direction), wo,
                                                    flying->medium);
    out->shadow = in_volume ? ray_make(place, vec3_sub(seen.eye, place), 0, 1)
                            : surface_connect(at, seen.eye);
    const float cosine = in_volume ? 1 : fabsf(vec3_dot(wo, at->geometric));
    const bool merges = !in_volume && path->chain.from_lens && surface_holds_photons(at);
    const float camera = seen.per_area * cosine / (float)view->paths;
    const float light = camera * ((merges ? view->merges : 0) + vcm_chain_join(&path->chain) +
                                  path->chain.others * back);
    out->weight = seen.per_area * seen.filter * vcm_weight(light, 0);
    out->sent = vcm_tinted(view, path->disperses, sent);
    out->limit = state->scattered > 0 ? view->clamp * (float)view->paths : 0;
    out->x = seen.x;
    out->y = seen.y;
    return true;
}

/* Fraction of the light of a splat that arrives. */
KD_FN vec3 vcm_splat_visible(const scene_view *scene, const vcm_splat *splat, bool cutouts,
                             uint32_t *rays) {
    transmittance_walk walk = transmittance_begin(splat->shadow, splat->medium);
    walk.to_camera = true;
    return transmittance_along(scene, SCENE_TREE, walk, cutouts, rays);
}

/* Radiance of a splat if the fraction `visible` of the light arrives. Returns false if it is zero
   or not finite. */
KD_FN bool vcm_splat_light(const vcm_splat *splat, vec3 visible, vec3 *radiance) {
    *radiance =
        path_limited(splat->limit, vec3_scale(vec3_mul(splat->sent, visible), splat->weight));
    return !vec3_is_zero(*radiance) && vec3_is_finite(*radiance);
}

/* Returns true if eye paths merge with the path at its vertex; *landed then describes
   it. */
KD_FN bool vcm_light_photon(const vcm_view *view, const vcm_light_path *path, vcm_photon *landed) {
    const surface *at = &path->base.at;
    if (!(view->merges > 0) || path->base.turn != PHOTON_SCATTERS || !path->chain.from_lens ||
        !surface_holds_photons(at))
        return false;
    landed->place = at->position;
    landed->power = path->base.photon_state.flying.power;
    landed->direction = path->base.photon_state.flying.ray.direction;
    landed->normal = at->front ? at->geometric : vec3_negate(at->geometric);
    landed->others = path->chain.others;
    landed->landed = path->base.landed;
    landed->disperses = path->disperses;
    landed->path = (uint32_t)path->base.photon_state.key.path;
    return true;
}

#ifdef __cplusplus
}
#endif

#endif
