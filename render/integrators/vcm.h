/* Vertex connection and merging: samples of pixels, and light paths with their splats and photons.
   Source: Georgiev, Krivanek, Davidovic and Slusallek 2012, "Light transport simulation with vertex
           connection and merging"; Hachisuka, Pantaleoni and Jensen 2012, "A path space
           extension for robust light transport simulation".
           The integrator `light` is the technique splat alone: Dutre, Lafortune and Willems 1993,
           "Monte Carlo light tracing with direct computation of pixel intensities".
   Idea: eye paths are those of shaders/path.h, light paths those of light_path.h; vcm_weights.h says
         which techniques find light, and weighs them. A pass traces its light paths, then one eye
         path per pixel.
   Wavelengths: behind dispersive glass all paths of a pass have the same one, so that paths that
         merge agree; if none merge, each light path has its own.
   Invariants: a light path is a pure function of (seed, pass, path), a sample one of (seed, pixel,
               pass) and of the pass's photons and splats. */
#ifndef KD_RENDER_INTEGRATORS_VCM_H
#define KD_RENDER_INTEGRATORS_VCM_H
#include "photon/density/estimate_radius.h"
#include "photon/density/flux_sum.h"
#include "photon/density/tiles.h"
#include "render/integrators/light_path.h"
#include "render/integrators/vcm_camera.h"
#include "render/integrators/vcm_grid.h"
#include "render/integrators/vcm_guide.h"
#include "render/integrators/vcm_weights.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { VCM_ROULETTE_DEPTH = 4, VCM_DRAW_CAMERA = 8, VCM_DRAW_WAVELENGTH = 9, VCM_DRAW_GUIDE = 10 };

/* Everything that a pass's paths depend on. */
typedef struct vcm_view {
    vcm_viewer viewer;
    light_limits limits;
    path_options path; /* without its clamp */
    float clamp;       /* applied to weighed light */
    photon_emission emission;
    bool eye, lamps, splat, merge; /* techniques that weights account for */
    /* techniques whose weighted shares make up the picture */
    bool shows_eye, shows_lamps, shows_splat, shows_merge;
    bool needs_light;  /* some technique needs light paths */
    bool traces_light; /* some technique that is shown needs them */
    bool weighs;       /* some other technique than splat is on */
    bool apart;        /* each light path has a wavelength of its own */
    uint32_t paths;    /* light paths per pass */
    float merges;      /* pi radius^2 paths: merging paths per density; 0: no merging */
    float merges_in;   /* 4/3 pi radius^3 paths: the same in media */
    float radius;
    float wavelength; /* micrometres, of dispersive glass; 0: there is none */
    vec3 tint;        /* colour of the wavelength */
    int64_t *sums;    /* splats, 3 per pixel of the full image, in units */
    float unit;       /* W/(sr m^2) */
    vcm_grid grid;    /* the photons */
    float scale;      /* flux_scale */
    vcm_guide guide;
} vcm_view;

/* Number of sums of splats. */
KD_FN uint64_t vcm_sums(const vcm_view *view) {
    return view->shows_splat
               ? 3 * (uint64_t)view->viewer.pixels.width * (uint64_t)view->viewer.pixels.height
               : 0;
}

/* Merging paths per density in a medium, where a path collides again: the mean of the channels,
   since densities of a vertex may not depend on the path's colour. */
KD_FN float vcm_merges_in(const vcm_view *view, const medium *in) {
    return view->merges_in * (in->scattering.x + in->scattering.y + in->scattering.z) / 3;
}

KD_FN vec3 vcm_tinted(const vcm_view *view, bool disperses, vec3 radiance) {
    return disperses ? vec3_mul(radiance, view->tint) : radiance;
}

/* --- light paths ------------------------------------------------------------------------------ */

/* Returns the wavelength of a pass. One sequence spreads the passes over the tents (spectrum_draw)
   and over the positions in each, so that the colours of consecutive passes add up to white soon.
 */
KD_FN float vcm_pass_wavelength(uint64_t seed, uint32_t pass) {
    const float begins[] = {0, SPECTRUM_VIOLET_SHARE / 3.0f, 1 / 3.0f, 2 / 3.0f, 1};
    const rng_block start = rng_draw(rng_key_make(seed, PIXEL_PASS, UINT64_MAX), 0, 0);
    const double sum = (double)start.value[0] + pass * 0.6180339887498949;
    const float at = (float)((sum - floor(sum)) * 0x1.fffffep-1);
    int tent = 0;
    while (tent < 3 && at >= begins[tent + 1]) ++tent;
    const float inside = (at - begins[tent]) / (begins[tent + 1] - begins[tent]);
    return spectrum_draw(vec3_all(1), at, float_min(inside, 0x1.fffffep-1f));
}

/* Wavelength of the light path with this key behind dispersive glass; 0: there is none. */
KD_FN float vcm_light_wavelength(const vcm_view *view, rng_key key) {
    if (!view->apart) return view->wavelength;
    const rng_block random = rng_draw(key, 0, VCM_DRAW_WAVELENGTH);
    return spectrum_draw(vec3_all(1), random.value[0], random.value[1]);
}

/* Densities with which eye paths and light paths sample `to` at a surface, coming from `from`. */
KD_FN float vcm_density_eye(const vcm_view *view, const surface *at, vec3 from, vec3 to) {
    return guide_pdf(&view->guide, GUIDE_EYE, at, from, to, vcm_pdf_radiance(at, from, to));
}

KD_FN float vcm_density_light(const vcm_view *view, const surface *at, vec3 from, vec3 to) {
    return guide_pdf(&view->guide, GUIDE_LIGHT, at, from, to, vcm_pdf_flux(at, from, to));
}

typedef struct vcm_light_path {
    light_path base;
    vcm_chain chain;
    float emitted; /* vcm_emission_density */
    vec3 from;     /* the vertex before */
    uint8_t slope; /* |cosine| with which the path left it, if a surface, in units of 1/255 */
    bool disperses;
} vcm_light_path;

KD_FN vcm_light_path vcm_light_begin(const vcm_view *view, const scene_view *scene,
                                     uint64_t number) {
    vcm_light_path path;
    memset(&path, 0, sizeof path);
    path.base = light_path_begin(scene, &view->emission, number);
    if (path.base.over) return path;
    emitted_photon *flying = &path.base.photon_state.flying;
    flying->wavelength = vcm_light_wavelength(view, path.base.photon_state.key);
    path.emitted = !view->weighs ? 1
                                 : vcm_emission_density(scene, &view->emission, flying->light,
                                                        flying->ray.origin, flying->ray.direction);
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
    bool guided = false;
    if (path->base.turn == PHOTON_SCATTERS_IN_VOLUME) {
        const medium *in = medium_of(scene, flying->medium);
        path->from = flying->ray.origin;
        ++state->scattered;
        photon_scatter(scene, flying, state->key, state->step);
        turn.pdf = turn.back = medium_phase(in->g, vec3_dot(before, flying->ray.direction));
        if (path->chain.from_lens) turn.merges = vcm_merges_in(view, in);
    } else {
        const rng_block random = rng_draw(state->key, state->step, PHOTON_DRAW_SCATTER);
        bsdf_sample next;
        /* functions that are called get copies, so that a kernel keeps the surface in registers */
        if (surface_is_tilted(at)) {
            const surface shown = *at;
            next = bsdf_draw_flux(&shown, wo, random);
        } else {
            next = bsdf_draw_at(at, wo, random, BSDF_FLUX);
        }
        if (view->guide.count) {
            const surface shown = *at;
            bsdf_sample mixed = next;
            guided = guide_draw(&view->guide, GUIDE_LIGHT, &shown, wo,
                                rng_draw(state->key, state->step, VCM_DRAW_GUIDE), &mixed);
            next = mixed;
        }
        flying->power = vec3_mul(carried, next.weight);
        if (!(vec3_largest(flying->power) > 0)) return false;
        path->from = at->position;
        turn.specular = next.specular;
        turn.lens = vcm_is_lens(at, next.specular);
        turn.cosine = fabsf(vec3_dot(next.direction, at->geometric));
        path->slope = (uint8_t)rintf(float_min(255 * turn.cosine, 255));
        turn.pdf = next.pdf;
        if (!next.specular) {
            if (view->weighs) turn.back = vcm_density_eye(view, at, next.direction, wo);
            if (path->chain.from_lens && surface_holds_photons(at)) turn.merges = view->merges;
            ++state->scattered;
        }
        if (next.transmitted && at->beyond != MEDIUM_SAME) flying->medium = at->beyond;
        flying->ray = surface_leave(at, next.direction, INFINITY);
    }
    vcm_chain_turn(&path->chain, &turn, false);
    /* densities leave out roulette, so that weights would trust light paths too much */
    if (guided || (view->weighs && path->base.landed < VCM_ROULETTE_DEPTH))
        return vec3_largest(flying->power) > 0;
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

/* Returns what the vertex scatters towards `wo`, 1/sr times flux, with |cosine|, and, if the view
   weighs, the density *back with which an eye path from there samples the path's direction. */
KD_FN vec3 vcm_light_scattered(const vcm_view *view, const scene_view *scene,
                               const vcm_light_path *path, vec3 wo, float *back) {
    const emitted_photon *flying = &path->base.photon_state.flying;
    const surface *at = &path->base.at;
    const vec3 wi = vec3_negate(flying->ray.direction);
    if (path->base.turn == PHOTON_SCATTERS_IN_VOLUME) {
        *back =
            medium_phase(medium_of(scene, flying->medium)->g, vec3_dot(flying->ray.direction, wo));
        return vec3_scale(flying->power, *back);
    }
    vec3 sent;
    if (surface_is_tilted(at)) {
        const surface shown = *at; /* a copy for the called function */
        sent = vec3_mul(bsdf_flux(&shown, wi, wo), flying->power);
    } else { /* without a call where the shading normal is the geometric one */
        photon like;
        memset(&like, 0, sizeof like);
        like.power = flying->power;
        like.direction = flying->ray.direction;
        sent = vec3_scale(photon_scattered(at, wo, &like), fabsf(vec3_dot(wo, at->geometric)));
    }
    if (view->weighs && !vec3_is_zero(sent)) *back = vcm_density_eye(view, at, wo, wi);
    return sent;
}

/* Merging paths per density at the vertex; 0: paths do not merge there. */
KD_FN float vcm_light_merges(const vcm_view *view, const scene_view *scene,
                             const vcm_light_path *path) {
    if (!path->chain.from_lens) return 0;
    if (path->base.turn == PHOTON_SCATTERS_IN_VOLUME)
        return vcm_merges_in(view, medium_of(scene, path->base.photon_state.flying.medium));
    return surface_holds_photons(&path->base.at) ? view->merges : 0;
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
    rng_block random;
    float back = 0;
    memset(&seen, 0, sizeof seen);
    memset(&random, 0, sizeof random);
    if (!in_volume && (surface_is_specular(at) || (scene->materials[at->material].flags &
                                                   (MATERIAL_HIDDEN | MATERIAL_CATCHER))))
        return false;
    if (view->viewer.samples) random = rng_draw(state->key, state->step, VCM_DRAW_CAMERA);
    if (!vcm_project(&view->viewer, place, random, &seen)) return false;
    const vec3 wo = vec3_normalize(vec3_sub(seen.eye, place));
    const vec3 sent = vcm_light_scattered(view, scene, path, wo, &back);
    if (vec3_is_zero(sent)) return false;
    out->medium = in_volume ? flying->medium
                            : medium_beyond_surface(at, vec3_negate(flying->ray.direction), wo,
                                                    flying->medium);
    out->shadow = in_volume ? ray_make(place, vec3_sub(seen.eye, place), 0, 1)
                            : surface_connect(at, seen.eye);
    const float cosine = in_volume ? 1 : fabsf(vec3_dot(wo, at->geometric));
    out->weight = seen.per_area * seen.filter;
    if (view->weighs) {
        const float merges = vcm_light_merges(view, scene, path);
        const float camera = seen.per_area * cosine / (float)view->paths;
        out->weight *= vcm_weight(
            camera * (merges + vcm_chain_join(&path->chain) + path->chain.others * back), 0);
    }
    out->sent = sent;
    if (path->disperses)
        out->sent = vec3_mul(sent, view->apart ? spectrum_colour(flying->wavelength, vec3_all(1))
                                               : view->tint);
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

/* A light path of the pilot that finds openings (vcm_guide.c): its first segment to a place that is
   connected to the camera. */
typedef struct vcm_trial {
    vec3 from, to;
    bool seen;   /* there is one */
    bool direct; /* it is the path's first */
    bool landed; /* the path meets anything */
} vcm_trial;

KD_FN vcm_trial vcm_try(const vcm_view *view, const scene_view *scene, uint64_t number) {
    vcm_trial trial = {vec3_all(0), vec3_all(0), false, false, false};
    vcm_light_path path = vcm_light_begin(view, scene, number);
    vcm_splat splat;
    bool goes_on = !light_path_is_over(&view->limits, &path.base);
    uint32_t rays = 0;
    while (goes_on) {
        trial.from = path.base.photon_state.flying.ray.origin;
        if (!vcm_light_next(view, scene, &path)) break;
        const bool in_volume = path.base.turn == PHOTON_SCATTERS_IN_VOLUME;
        trial.to = in_volume ? path.base.photon_state.flying.ray.origin : path.base.at.position;
        trial.seen = vcm_light_connect(view, scene, &path, &splat) &&
                     !vec3_is_zero(vcm_splat_visible(scene, &splat, view->path.cutouts, &rays));
        trial.direct = trial.seen && !trial.landed;
        trial.landed = true;
        goes_on = !trial.seen && vcm_light_go_on(view, scene, &path);
    }
    return trial;
}

/* Part of the ball around a vertex in a medium that is on its side of the lens from which the path
   comes. Most lenses bound the medium, so a photon spreads its power over this part. */
KD_FN float vcm_ball_inside(const vcm_view *view, const vcm_light_path *path) {
    const vec3 way = vec3_sub(path->base.photon_state.flying.ray.origin, path->from);
    const float deep = vec3_length(way) * ((float)path->slope / 255) / view->radius;
    return deep < 1 ? 0.5f + deep * (0.75f - 0.25f * deep * deep) : 1;
}

/* Returns true if eye paths merge with the path at its vertex; *landed then describes
   it. */
KD_FN bool vcm_light_photon(const vcm_view *view, const scene_view *scene,
                            const vcm_light_path *path, vcm_photon *landed) {
    const surface *at = &path->base.at;
    const emitted_photon *flying = &path->base.photon_state.flying;
    if (!view->shows_merge || !(vcm_light_merges(view, scene, path) > 0)) return false;
    landed->power = flying->power;
    landed->direction = flying->ray.direction;
    landed->others = path->chain.others;
    landed->landed = (uint8_t)path->base.landed;
    landed->disperses = path->disperses;
    if (path->base.turn == PHOTON_SCATTERS_IN_VOLUME) {
        landed->place = flying->ray.origin;
        landed->power = vec3_scale(flying->power, 1 / vcm_ball_inside(view, path));
        vcm_photon_set_normal(landed, vec3_all(0));
        landed->path = medium_index(scene, flying->medium) & VCM_PATH_MASK;
        return true;
    }
    landed->place = at->position;
    vcm_photon_set_normal(landed, at->front ? at->geometric : vec3_negate(at->geometric));
    landed->path = (uint32_t)path->base.photon_state.key.path & VCM_PATH_MASK;
    return true;
}

/* Returns true if the photon's side of its triangle faces the way of a surface's. */
KD_FN bool vcm_photon_faces(const vcm_photon *photon, vec3 normal) {
    return vec3_dot(vcm_photon_normal(photon), normal) >= 127 * TILE_COSINE;
}

#ifdef __cplusplus
}
#endif

#endif
