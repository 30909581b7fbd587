/* Vertex connection and merging: paths from the camera (vcm.h). */
#ifndef KD_RENDER_INTEGRATORS_VCM_EYE_H
#define KD_RENDER_INTEGRATORS_VCM_EYE_H
#include "photon/density/estimate.h"
#include "render/integrators/vcm.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vcm_eye_path {
    path_state state;
    vcm_chain chain;
    vec3 from_normal; /* vcm_light_normal where the ray starts */
    bool disperses;
} vcm_eye_path;

KD_FN vcm_eye_path vcm_eye_begin(const vcm_view *view, const scene_view *scene, ray ray, float time,
                                 uint32_t *rays) {
    vcm_eye_path path;
    path.state = path_begin_in(scene, SCENE_TREE, ray, rays);
    path.state.wavelength = view->wavelength;
    path.chain = vcm_chain_begin(0, 0);
    if (view->splat)
        path.chain = vcm_chain_begin(
            (float)view->paths * vcm_camera_spread(&view->viewer, time, ray.direction), 0);
    path.from_normal = vec3_all(0);
    path.disperses = false;
    return path;
}

/* Weight of the light `which`, or of the emission of a surface that is no light, which a ray meets
   at `place`. */
KD_FN float vcm_eye_hit_weight(const vcm_view *view, const scene_view *scene,
                               const vcm_eye_path *path, uint32_t which, vec3 place) {
    const path_state *state = &path->state;
    if (state->scattered == 0 || which == KD_NONE) return 1; /* no other technique */
    if (!view->eye) return 0;
    const vec3 towards = state->ray.direction;
    float drawn = 0;
    if (view->lamps)
        drawn = vcm_lamp_density(scene, which, state->from, path->from_normal, towards);
    const float emitted =
        vcm_emission_density(scene, &view->emission, which, place, vec3_negate(towards));
    return vcm_weight(emitted * path->chain.others, drawn * path->chain.inverse);
}

/* What the sky and the discs in it bring, weighed, to a ray that leaves the scene; each is a light
   of its own. */
KD_FN_NOINLINE vec3 vcm_eye_sky(const vcm_view *view, const scene_view *scene,
                                const vcm_eye_path *path) {
    const environment_view *sky = &scene->environment;
    const ray *out = &path->state.ray;
    vec3 sum = vec3_all(0);
    if (sky->light != KD_NONE)
        sum = vec3_scale(environment_radiance(scene, out->direction),
                         vcm_eye_hit_weight(view, scene, path, sky->light, out->origin));
    for (uint32_t i = sky->sun_first; i < sky->sun_first + sky->sun_count; ++i)
        if (light_disc_meets(scene->lights + i, out->direction))
            sum = vec3_along(sum, vcm_eye_hit_weight(view, scene, path, i, out->origin),
                             light_disc_radiance(scene->lights + i));
    return vec3_mul(path->state.throughput, sum);
}

/* Weighs *sent: the emission or the sky where a ray ends. */
KD_FN void vcm_eye_weigh_hit(const vcm_view *view, const scene_view *scene,
                             const vcm_eye_path *path, const surface *at, vec3 *sent) {
    const bool sky = at->triangle == KD_NONE;
    const uint32_t which = sky                      ? scene->environment.light
                           : scene->triangle_lights ? scene->triangle_lights[at->triangle]
                                                    : KD_NONE;
    if (sky && scene->environment.sun_count && path->state.scattered > 0) {
        const vcm_eye_path seen = *path; /* called functions get copies, so that a kernel keeps
                                            paths and surfaces in registers */
        *sent = vcm_eye_sky(view, scene, &seen);
    } else
        *sent = vec3_scale(*sent, vcm_eye_hit_weight(view, scene, path, which,
                                                     sky ? path->state.ray.origin : at->position));
}

/* Densities of other techniques relative to sampling the light `drawn` at the path's vertex: of
   hitting it, and of light paths. `forward`, `back`: densities with which the vertex samples the
   light's direction, and the path's from there. */
KD_FN float vcm_eye_lamp_weight(const vcm_view *view, const scene_view *scene,
                                const vcm_eye_path *path, vec3 place, vec3 normal, bool lens,
                                const light_sample *drawn, float cosine, float forward,
                                float back) {
    const light *lamp = scene->lights + drawn->light;
    const vec3 towards = drawn->direction;
    const bool far = light_is_far(lamp);
    const float density = vcm_lamp_density(scene, drawn->light, place, normal, towards);
    const float square = far ? 1 : drawn->distance * drawn->distance;
    const float emitted = vcm_emission_density(scene, &view->emission, drawn->light,
                                               far ? place : drawn->point, vec3_negate(towards));
    const float others = path->chain.others + (lens ? path->chain.pending : 0);
    const float arrives = cosine / (density * square);
    float hit = 0;
    if (view->eye && !drawn->delta)
        hit = forward * vcm_lamp_cosine(lamp, towards) / (density * square);
    const float light =
        view->needs_light ? emitted * arrives * (vcm_chain_join(&path->chain) + others * back) : 0;
    return vcm_weight(vcm_bounded(light), vcm_bounded(hit));
}

/* Samples a light at the path's vertex. Returns false if the contribution is zero. */
KD_FN bool vcm_eye_lamp(const vcm_view *view, const scene_view *scene, const vcm_eye_path *path,
                        path_turn event, const surface *at, rng_key key, shadow_request *request) {
    const path_state *state = &path->state;
    const bool in_volume = event == PATH_SCATTERS_IN_VOLUME;
    const vec3 direction = state->ray.direction, wo = vec3_negate(direction);
    const vec3 place = in_volume ? state->place : at->position;
    const rng_block random = sobol_draw(key, state->step, PATH_DRAW_LIGHT);
    const light_sample drawn =
        light_draw(scene, place, in_volume ? vec3_all(0) : path_light_normal(at, wo), random);
    float weight;
    if (in_volume) {
        const float phase =
            medium_phase(medium_of(scene, state->medium)->g, vec3_dot(direction, drawn.direction));
        if (!path_light_request_in(place, state->medium, phase, &drawn, request)) return false;
        weight = vcm_eye_lamp_weight(view, scene, path, place, vec3_all(0), false, &drawn, 1, phase,
                                     phase);
    } else {
        if (!path_light_request_at(at, wo, state->medium, false, &drawn, request)) return false;
        weight =
            vcm_eye_lamp_weight(view, scene, path, place, vcm_light_normal(at, wo),
                                vcm_is_lens(at, false), &drawn, vcm_cosine(at, wo, drawn.direction),
                                guide_pdf(&view->guide, GUIDE_EYE, at, wo, drawn.direction,
                                          bsdf_pdf(at, wo, drawn.direction)),
                                vcm_density_light(view, at, drawn.direction, wo));
    }
    request->weight *= weight;
    return true;
}

/* Where an eye path merges with light paths: at a surface, or in a medium. */
typedef struct vcm_meeting {
    vec3 place, wo;
    const surface *at;
    vec3 normal;      /* of its triangle, on wo's side */
    const medium *in; /* NULL: at the surface */
    uint32_t index;   /* of the medium */
    float merges;     /* merging paths per density */
} vcm_meeting;

KD_FN vcm_meeting vcm_eye_meeting(const vcm_view *view, const scene_view *scene,
                                  const path_state *state, const surface *at) {
    vcm_meeting met;
    met.wo = vec3_negate(state->ray.direction);
    met.at = at;
    met.in = state->in_volume ? medium_of(scene, state->medium) : NULL;
    met.place = met.in ? state->place : at->position;
    met.normal = met.in ? vec3_all(0) : at->front ? at->geometric : vec3_negate(at->geometric);
    met.index = met.in ? medium_index(scene, state->medium) : 0;
    met.merges = met.in ? vcm_merges_in(view, met.in) : view->merges;
    return met;
}

/* Adds what a photon within the radius sends along the eye path. */
KD_FN void vcm_eye_merge_photon(const vcm_view *view, const vcm_eye_path *path,
                                const vcm_meeting *met, const vcm_photon *landed, flux_sum *sum) {
    const vec3 wi = vec3_negate(landed->direction);
    float forward, back; /* densities of sampling the photon's direction, and the eye path's */
    vec3 sent;
    if (met->in) {
        forward = back = medium_phase(met->in->g, vec3_dot(landed->direction, met->wo));
        sent = vec3_scale(landed->power, forward);
    } else {
        photon like;
        memset(&like, 0, sizeof like);
        like.power = landed->power;
        like.direction = landed->direction;
        sent = photon_scattered(met->at, met->wo, &like);
        if (vec3_is_zero(sent)) return;
        forward = guide_pdf(&view->guide, GUIDE_EYE, met->at, met->wo, wi,
                            bsdf_pdf(met->at, met->wo, wi));
        back = vcm_density_light(view, met->at, wi, met->wo);
    }
    const float light = landed->others * forward;
    const float eye = vcm_chain_join(&path->chain) + path->chain.others * back;
    flux_sum_add(sum, vcm_weight(light / met->merges, eye / met->merges),
                 vcm_tinted(view, landed->disperses && !path->disperses, sent), view->scale);
}

/* Returns true if a photon of the range merges with an eye path of `depth` rays. Reads the first 16
   bytes of the photon alone if the path is at a surface. */
KD_FN bool vcm_eye_meets(const vcm_view *view, const vcm_meeting *met, int32_t depth,
                         const vcm_grid_range *range, const vcm_photon *landed) {
    if (!(pointtree_dist2(met->place, landed->place) <= pointtree_bound2(view->radius)))
        return false;
    if (depth + (int32_t)landed->landed > view->path.max_depth) return false;
    if (met->in ? !vcm_photon_is_in(landed, met->index) : !vcm_photon_faces(landed, met->normal))
        return false;
    return vcm_grid_holds(&view->grid, range, landed->place);
}

/* Flux of the light paths that merge with the eye path; of each range of photons, from number
   `offset` on in steps of `stride`. */
KD_FN flux_sum vcm_eye_merge_part(const vcm_view *view, const vcm_eye_path *path,
                                  const vcm_meeting *met, int32_t depth, uint32_t offset,
                                  uint32_t stride) {
    vcm_grid_walk walk = vcm_grid_begin(&view->grid, met->place, view->radius);
    vcm_grid_range range;
    flux_sum sum = flux_sum_none();
    while (vcm_grid_next(&view->grid, &walk, &range))
        for (uint32_t i = range.begin + offset; i < range.end; i += stride) {
            const vcm_photon *landed = &view->grid.photons[i];
            if (vcm_eye_meets(view, met, depth, &range, landed))
                vcm_eye_merge_photon(view, path, met, landed, &sum);
        }
    return sum;
}

/* Returns true if paths merge at the vertex. */
KD_FN bool vcm_eye_merges(const vcm_view *view, path_turn event, const surface *at) {
    return view->merges > 0 && view->grid.count > 0 && pointtree_bound2(view->radius) > 0 &&
           (event == PATH_SCATTERS_IN_VOLUME ||
            (event == PATH_SCATTERS && surface_holds_photons(at)));
}

/* Radiance of the light paths that merge; in a medium, without its scattering coefficient. */
KD_FN vec3 vcm_eye_merged(const vcm_view *view, const vcm_meeting *met, const flux_sum *sum) {
    if (!met->in) return flux_sum_scaled(sum, view->scale, 1 / view->merges);
    const vec3 light = flux_sum_scaled(sum, view->scale, 1 / view->merges_in);
    const vec3 s = met->in->scattering;
    return vec3_make(s.x > 0 ? light.x / s.x : 0, s.y > 0 ? light.y / s.y : 0,
                     s.z > 0 ? light.z / s.z : 0);
}

/* As path_go_on at a surface from which paths are guided towards the openings `ahead`. Roulette
   does not count that a guided direction carries little. */
KD_FN_NOINLINE bool vcm_eye_guided(const vcm_view *view, const scene_view *scene, path_state *state,
                                   const surface *at, uint32_t ahead, int32_t depth, rng_key key) {
    const vec3 wo = vec3_negate(state->ray.direction);
    const rng_block random = sobol_draw(key, state->step, VCM_DRAW_GUIDE);
    const float share = guide_share(at), scale = state->eta_scale;
    bsdf_sample drawn;
    memset(&drawn, 0, sizeof drawn);
    if (random.value[0] >= share) {
        state->eta_scale = scale / (1 - share);
        if (!path_go_on(scene, state, PATH_SCATTERS, at, depth, key)) return false;
        const float mixed = guide_mixed(&view->guide, ahead, at, state->ray.direction, state->pdf);
        state->throughput = vec3_scale(state->throughput, state->pdf / mixed);
        state->eta_scale = scale;
        state->pdf = mixed;
        return true;
    }
    if (!guide_draw(&view->guide, GUIDE_EYE, at, wo, random, &drawn)) return false;
    if (vec3_is_zero(drawn.weight)) return false;
    state->throughput = vec3_mul(state->throughput, drawn.weight);
    state->eta_scale = scale / vec3_largest(drawn.weight);
    state->pdf = drawn.pdf;
    state->from = at->position;
    state->from_normal = path_light_normal(at, wo);
    state->specular = false;
    state->layers = 0;
    ++state->scattered;
    state->ray = surface_leave(at, drawn.direction, INFINITY);
    return true;
}

/* Continues the path from its vertex; returns false if it ends. */
KD_FN bool vcm_eye_turn(const vcm_view *view, const scene_view *scene, vcm_eye_path *path,
                        path_turn event, const surface *at, int32_t depth, rng_key key) {
    path_state *state = &path->state;
    const vec3 wo = vec3_negate(state->ray.direction);
    const uint32_t ahead =
        event == PATH_SCATTERS ? guide_ahead(&view->guide, GUIDE_EYE, at, wo) : 0;
    if (ahead) {
        const surface shown = *at; /* a copy, as for vcm_eye_sky */
        path_state guided = *state;
        if (!vcm_eye_guided(view, scene, &guided, &shown, ahead, depth, key)) return false;
        *state = guided;
    } else if (!path_go_on(scene, state, event, at, depth, key)) {
        return false;
    }
    /* nothing else finds light behind a surface that scatters */
    if (!view->weighs && !state->specular) return false;
    vcm_turn turn = {state->pdf, state->pdf, 1, state->specular, false, 0};
    path->from_normal = vec3_all(0);
    if (event == PATH_SCATTERS_IN_VOLUME) {
        turn.merges = vcm_merges_in(view, medium_of(scene, state->medium));
    } else {
        const vec3 wi = state->ray.direction;
        path->from_normal = vcm_light_normal(at, wo);
        turn.lens = vcm_is_lens(at, state->specular);
        turn.cosine = state->specular ? fabsf(vec3_dot(wi, at->geometric)) : vcm_cosine(at, wo, wi);
        if (!state->specular) {
            turn.back = vcm_density_light(view, at, wi, wo);
            if (surface_holds_photons(at)) turn.merges = view->merges;
        }
    }
    vcm_chain_turn(&path->chain, &turn, true);
    state->specular = true; /* path_emission and path_sky return unweighted light */
    return true;
}

/* Processes the end of the path's ray number `depth`, as path_arrive does, and advances the weights
   to the path's vertex. *sent is weighed. */
KD_FN path_turn vcm_eye_arrive(const vcm_view *view, const scene_view *scene, vcm_eye_path *path,
                               int32_t depth, ray_hit hit, rng_key key, int32_t kind, surface *at,
                               vec3 *sent) {
    path_state *state = &path->state;
    const path_turn event = path_arrive(scene, &view->path, state, depth, hit, key, kind, at, sent);
    const bool in_volume = state->in_volume, hits = !in_volume && at->triangle != KD_NONE;
    if (hits && at->disperses) path->disperses = true;
    if (in_volume || hits)
        vcm_chain_land(&path->chain,
                       depth == 1 && view->viewer.pixels.eye.tall > 0
                           ? 1
                           : vec3_length2(vec3_sub(in_volume ? state->place : at->position,
                                                   state->ray.origin)),
                       in_volume ? 1 : fabsf(vec3_dot(state->ray.direction, at->geometric)));
    if (vec3_is_zero(*sent)) return event;
    if (!view->shows_eye) {
        *sent = vec3_all(0);
        return event;
    }
    vcm_eye_weigh_hit(view, scene, path, at, sent);
    if (state->scattered > 1) *sent = path_limited(view->clamp, *sent);
    return event;
}

/* Radiance that the path brings to its pixel from its vertex: from lamps or merges, `more` being
   what arrives there. */
KD_FN vec3 vcm_eye_brings(const vcm_view *view, const vcm_eye_path *path, vec3 more) {
    const vec3 throughput = vcm_tinted(view, path->disperses, path->state.throughput);
    return path_limited(path->state.scattered > 0 ? view->clamp : 0, vec3_mul(throughput, more));
}

/* Adds to *result the light at the end of the path's ray number `depth`; returns false if the path
   ends. */
KD_FN bool vcm_eye_next(const vcm_view *view, const scene_view *scene, vcm_eye_path *path,
                        int32_t depth, rng_key key, path_result *result) {
    surface at;
    shadow_request request;
    vec3 sent;
    path_state *state = &path->state;
    const ray_hit hit = path_advance(scene, SCENE_TREE, &view->path, state, key, result);
    const path_turn event =
        vcm_eye_arrive(view, scene, path, depth, hit, key, SURFACE_ANY, &at, &sent);
    if (depth == 1 && at.triangle != KD_NONE) result->first = at;
    sent = vcm_tinted(view, path->disperses, sent);
    if (vcm_eye_merges(view, event, &at)) {
        const vcm_meeting met = vcm_eye_meeting(view, scene, state, &at);
        const flux_sum sum = vcm_eye_merge_part(view, path, &met, depth, 0, 1);
        sent = vec3_add(sent, vcm_eye_brings(view, path, vcm_eye_merged(view, &met, &sum)));
    }
    result->radiance = vec3_add(result->radiance, sent);
    if (view->shows_lamps && path_seeks_light(event, &at) &&
        vcm_eye_lamp(view, scene, path, event, &at, key, &request)) {
        const vec3 visible = path_transmittance(scene, SCENE_TREE, request.ray, request.medium,
                                                view->path.cutouts, &result->rays);
        result->radiance = vec3_add(
            result->radiance, vcm_eye_brings(view, path, shadow_request_light(&request, visible)));
    }
    return event != PATH_ENDS && vcm_eye_turn(view, scene, path, event, &at, depth, key);
}

/* Radiance of a pixel's splats, for the sample whose random numbers are those of `key`. */
KD_FN vec3 vcm_splats_of(const vcm_view *view, const pixel_view *pixels, int32_t x, int32_t y,
                         rng_key key) {
    if (!view->shows_splat) return vec3_all(0);
    const int64_t *sums = view->sums + 3 * ((int64_t)y * pixels->width + x);
    const rng_block random = sobol_draw(key, 0, PATH_DRAW_CAMERA);
    const vec2 place = pixel_filter_draw(pixels->filter, random.value[0], random.value[1]);
    /* pixel_weigh multiplies the sample by the filter's weight, which splats have already */
    const double unit =
        (double)view->unit / view->paths / (double)pixel_filter_weight(pixels->filter, place);
    return vec3_make((float)((double)sums[0] * unit), (float)((double)sums[1] * unit),
                     (float)((double)sums[2] * unit));
}

/* The time at which a sample's camera ray starts. */
KD_FN float vcm_eye_time(const pixel_view *pixels, rng_key key) {
    return pixels->moves ? sobol_draw(key, 0, PATH_DRAW_TIME).value[0] : 0;
}

/* Sample `sample` of a pixel: an eye path, and the pixel's splats. `pixels`: view->viewer.pixels
   with the scene. */
KD_FN pixel_sample vcm_pixel(const vcm_view *view, const pixel_view *pixels, int32_t x, int32_t y,
                             uint32_t sample) {
    const scene_view *scene = pixels->scene;
    const rng_key key = pixel_key(pixels, x, y, sample);
    const ray ray = pixel_ray(pixels, x, y, key);
    path_result result;
    memset(&result, 0, sizeof result);
    result.first.triangle = KD_NONE;
    vcm_eye_path path = vcm_eye_begin(view, scene, ray, vcm_eye_time(pixels, key), &result.rays);
    for (int32_t depth = 1; depth <= view->path.max_depth; ++depth)
        if (!vcm_eye_next(view, scene, &path, depth, key, &result)) break;
    result.radiance = vec3_add(result.radiance, vcm_splats_of(view, pixels, x, y, key));
    return pixel_of(pixels, &ray, &result.first, result.radiance, result.rays);
}

#ifdef __cplusplus
}
#endif

#endif
