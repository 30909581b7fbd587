/* What the eye sees by photon maps.
   Source: Jensen 2001, "Realistic Image Synthesis Using Photon Mapping", chapters 8 and 9; direct
           light by two techniques after Veach 1997, section 9.2.
   Idea: light that leaves a diffuse or glossy surface is the sum of four parts that no path has two
         of: emitted, direct (shadow rays), caustic (the caustic map: only lenses between lamp and
         here), indirect (the global map, or final gather rays that stop at the next such surface
         and take its four parts, but not what it emits through lenses). Lenses (mirror, glass,
         metal) are followed by drawn rays.
   Media weaken what is seen through them; what they scatter into a ray is direct light and the map
   of the media (media_estimate.h), at places that are drawn on each of its flights. Near corners a
   gather ray's end is as blurred as a direct look: there it goes on as a path. */
#ifndef KD_RENDER_PHOTON_MAPPING_EYE_PATH_H
#define KD_RENDER_PHOTON_MAPPING_EYE_PATH_H
#include "accel/rays/batch.h"
#include "photon/density/beam_radiance.h"
#include "photon/density/estimate.h"
#include "photon/density/estimate_radius.h"
#include "photon/density/media_estimate.h"
#include "photon/emission/photon_trace.h"
#include "shaders/path.h"
#include <stddef.h>

/* dimension of sobol_draw for gather rays, and the first one for places in media: their lights,
   then their rays; the others are path.h's */
enum { EYE_DRAW_GATHER = 4, EYE_DRAW_HAZE = 8 };
/* places looked at on a flight: of a path from the eye, of a gather ray */
enum { EYE_HAZE_SEEN = 4, EYE_HAZE_GATHERED = 1 };

/* How a path comes to what maps hold: it looks into them, in media too, and gathers; or, on
   devices, it only notes in `later` where it would. A constant wherever it is handed over, and one
   in all of a file: then functions that are kept apart (KD_FN_APART) lack the other way's code and
   its room for lists of photons. */
typedef enum eye_way { EYE_LOOKS, EYE_ASKS } eye_way;

typedef struct eye_requests {
    eye_request *list; /* NULL: maps are looked into at once */
    eye_packet *packets;
    eye_asked *asked;
    uint32_t room; /* of both */
} eye_requests;

typedef struct photon_view {
    photon_map_view global, caustic, media;
    beam_view beams;    /* of the media, in place of their map's photons */
    eye_requests later; /* of devices; on a CPU where photons lie apart */
    tile_view tiles;
    path_options path;     /* its scatterings are not looked at */
    uint32_t final_gather; /* rays, at most FINAL_GATHER_MOST; 0: the global map is seen directly */
    float near;            /* gather rays shorter than this go on, scene units */
} photon_view;

/* A path from the eye while it runs. */
typedef struct eye_path {
    rng_key key;
    path_state state;
    path_result found;
    int32_t depth; /* surfaces met */
    bool emission; /* what the next surface, or the sky, emits counts */
    uint32_t haze; /* places looked at in media on each flight */
    vec3 gathered; /* apart from found.radiance: what maps showed at the first surfaces */
    uint32_t first_request, last_request; /* KD_NONE: none */
} eye_path;

KD_FN void eye_add(eye_path *path, vec3 radiance) {
    path->found.radiance =
        vec3_add(path->found.radiance, vec3_mul(path->state.throughput, radiance));
}

KD_FN rng_block eye_draw(const eye_path *path, uint32_t dimension) {
    return sobol_draw(path->key, path->state.step, dimension);
}

/* Direct light by one light drawn and, with `both`, a half left to the ray drawn next. */
KD_FN_APART void eye_add_direct(const scene_view *world, const photon_view *photons, eye_path *path,
                                const surface *at, vec3 wo, bool both) {
    const rng_block random = eye_draw(path, PATH_DRAW_LIGHT);
    const path_options *options = &photons->path;
    const uint32_t where = path->state.where;
    uint32_t *rays = &path->found.rays;
    eye_add(path, both ? path_light(world, SCENE_TREE, options, at, wo, where, random, rays)
                       : path_light_alone(world, SCENE_TREE, options->cutouts, at, wo, where,
                                          random, rays));
}

/* Radiance towards `wo` by the photons of a map. */
KD_FN_APART vec3 photon_map_radiance(const photon_map_view *map, const tile_view *tiles,
                                     const surface *at, vec3 wo) {
    if (map->gather == 0) return photon_fixed_radiance(map, tiles, at, wo);
    photon_gathering gathered;
    const estimate_point here = estimate_point_of(at);
    photon_gather_at(map, tiles, &here, &gathered);
    if (gathered.count == 0 || !(gathered.radius > 0)) return vec3_all(0);
    const flux_sum sum =
        photon_found_sum(map, at, wo, gathered.found, gathered.count, gathered.radius);
    return photon_sum_radiance(map, tiles, &here, gathered.radius, &sum);
}

/* The light of both maps at the end of a gather ray, where it is seen from afar: a diffuse surface
   takes what the nearest photon knows. */
KD_FN vec3 photon_far_radiance(const photon_view *photons, const surface *at, vec3 wo) {
    const estimate_point here = estimate_point_of(at);
    vec3 irradiance;
    if (at->kind == MATERIAL_DIFFUSE &&
        photon_known_irradiance(&photons->global, &here, &irradiance))
        return vec3_scale(vec3_mul(at->diffuse, irradiance), 1 / KD_PI);
    return vec3_add(photon_map_radiance(&photons->caustic, &photons->tiles, at, wo),
                    photon_map_radiance(&photons->global, &photons->tiles, at, wo));
}

/* Whether a ray can meet light: some lamp has a size. */
KD_FN bool eye_rays_meet_light(const scene_view *world) {
    return world->triangle_lights || world->environment.light != KD_NONE;
}

/* path_passes in media without a draw. */
KD_FN bool eye_passes(const scene_view *world, const path_options *options, path_state *state,
                      rng_key key, ray_hit *hit) {
    const uint32_t met = hit->triangle, layers = state->layers;
    const bool goes_on = path_passes(world, options, state, key, hit);
    if (state->layers > layers)
        state->where = passage_beyond(world, met, state->cast.direction, state->where);
    return goes_on;
}

/* The drawn half of direct light in a medium: what lamps and sky send along a ray that the phase
   function draws. Close to a lamp it is bounded, where the light of the lamp's own points is not.
 */
KD_FN_APART vec3 eye_strayed_light(const scene_view *world, const photon_view *photons,
                                   eye_path *path, const haze_point *at, rng_block random) {
    path_state state = path->state;
    state.place = at->position;
    state.throughput = vec3_all(1);
    (void)path_scatter_in(world, &state, 1, random); /* too early for roulette */
    ray_hit hit;
    do {
        ++path->found.rays;
        ++state.step;
        hit = tritree_closest(&world->tree, state.cast);
        const float end = hit.triangle == KD_NONE ? INFINITY : hit.t;
        state.throughput = passage_weaken(world, &state.cast, end, state.where, state.throughput);
    } while (eye_passes(world, &photons->path, &state, path->key, &hit));
    if (state.layers > PATH_LAYERS) return vec3_all(0);
    if (hit.triangle == KD_NONE) return path_sky(world, &state);
    const material *made = world->materials + world->mesh.triangle_materials[hit.triangle];
    if (vec3_is_zero(made->emission)) return vec3_all(0);
    const surface met = path_surface(world, &state, hit, path->key);
    return path_emission(world, &state, &met);
}

/* What a medium scatters into the first `length` of a ray, at drawn places. */
KD_FN void eye_add_haze(const scene_view *world, const photon_view *photons, eye_path *path,
                        const medium *in, float begin, float length) {
    const path_state *state = &path->state;
    haze_point at;
    at.direction = state->cast.direction;
    at.where = state->where == MEDIUM_FOG ? world->fog : state->where;
    at.g = in->g;
    if (vec3_is_zero(in->scattering)) return;
    const rng_block spread = eye_draw(path, PATH_DRAW_MEDIUM);
    const bool both = eye_rays_meet_light(world);
    vec3 sum = vec3_all(0);
    for (uint32_t i = 0; i < path->haze; ++i) {
        const float u = ((float)i + spread.value[0]) / (float)path->haze;
        const medium_place place = medium_draw_place(in, length, float_min(u, 0x1.fffffep-1f));
        if (!(place.pdf > 0)) continue;
        at.position = ray_at(&state->cast, begin + place.length);
        vec3 direct =
            path_light_in(world, SCENE_TREE, &photons->path, at.position, at.where, at.direction,
                          both, eye_draw(path, EYE_DRAW_HAZE + i), &path->found.rays);
        if (both)
            direct = vec3_add(direct,
                              eye_strayed_light(world, photons, path, &at,
                                                eye_draw(path, EYE_DRAW_HAZE + EYE_HAZE_SEEN + i)));
        const vec3 strayed = photon_haze(world, &photons->media, &at, &path->found.rays);
        const vec3 all = vec3_add(vec3_mul(direct, in->scattering), strayed);
        sum = vec3_along(sum, 1 / place.pdf, vec3_mul(place.reaching, all));
    }
    eye_add(path, vec3_scale(sum, 1 / (float)path->haze));
}

/* What it scatters there from beams. */
KD_FN void eye_add_beams(const scene_view *world, const photon_view *photons, eye_path *path,
                         const medium *in, float begin, float length) {
    const path_state *state = &path->state;
    beam_flight on;
    on.origin = ray_at(&state->cast, begin);
    on.direction = state->cast.direction;
    on.length = length;
    on.where = state->where == MEDIUM_FOG ? world->fog : state->where;
    on.in = in;
    eye_add(path, beams_radiance(world, &photons->beams, &on, &path->found.rays));
}

/* The part of a ray up to t = end: what media scatter into it, and how they weaken it. */
KD_FN void eye_fly(const scene_view *world, const photon_view *photons, eye_way way, eye_path *path,
                   float end) {
    path_state *state = &path->state;
    const medium *in = medium_of(world, state->where);
    if (!in) return;
    const medium_span span = passage_span(world, &state->cast, end);
    const float length = span.end - span.begin; /* directions are unit vectors */
    if (!(length > 0)) return;
    if (way == EYE_LOOKS && path->haze > 0) {
        eye_add_haze(world, photons, path, in, span.begin, length);
        if (photons->beams.node_count) eye_add_beams(world, photons, path, in, span.begin, length);
    }
    state->throughput = vec3_mul(state->throughput, medium_transmittance(in, length));
}

/* path_advance, through media without a draw. */
KD_FN ray_hit eye_advance(const scene_view *world, const photon_view *photons, eye_way way,
                          eye_path *path) {
    path_state *state = &path->state;
    if (world->medium_count == 0)
        return path_advance(world, SCENE_TREE, &photons->path, state, path->key, &path->found);
    ray_hit hit;
    do {
        ++path->found.rays;
        ++state->step;
        hit = tritree_closest(&world->tree, state->cast);
        eye_fly(world, photons, way, path, hit.triangle == KD_NONE ? INFINITY : hit.t);
    } while (eye_passes(world, &photons->path, state, path->key, &hit));
    return hit;
}

/* The next surface; false: the ray left the scene, or has met as many surfaces as it may. The sky
   and what the surface emits are added if they count. */
KD_FN_APART bool eye_next(const scene_view *world, const photon_view *photons, eye_way way,
                          eye_path *path, surface *at, float *travelled) {
    if (path->depth >= photons->path.max_depth) return false;
    ++path->depth;
    const ray_hit hit = eye_advance(world, photons, way, path);
    if (hit.triangle == KD_NONE) {
        if (path->emission)
            path->found.radiance = vec3_add(path->found.radiance, path_sky(world, &path->state));
        return false;
    }
    *at = path_surface(world, &path->state, hit, path->key);
    *travelled += hit.t; /* directions are unit vectors */
    if (path->emission)
        path->found.radiance =
            vec3_add(path->found.radiance, path_emission(world, &path->state, at));
    return true;
}

/* Sends the path on as the surface scatters it; false if it ends here. */
KD_FN_APART bool eye_scatter(eye_path *path, const surface *at, vec3 wo, rng_block random) {
    return path_scatter(&path->state, at, wo, path->depth, random);
}

/* A smooth coat over a diffuse ground both holds photons and mirrors: whether the path goes on by
   the mirror. */
KD_FN bool eye_mirrored(eye_path *path, const surface *at, vec3 wo) {
    if (!surface_mirrors(at)) return false;
    return eye_scatter(path, at, wo, eye_draw(path, PATH_DRAW_SCATTER)) && path->state.specular;
}

/* On through lenses to the next surface that holds photons. What lenses show of the lamps is a
   caustic where the path began: it does not count. */
KD_FN bool eye_through_lenses(const scene_view *world, const photon_view *photons, eye_path *path,
                              surface *at, float *travelled) {
    while (eye_next(world, photons, EYE_LOOKS, path, at, travelled)) {
        if (surface_holds_photons(at)) return true;
        const vec3 wo = vec3_negate(path->state.cast.direction);
        if (!eye_scatter(path, at, wo, eye_draw(path, PATH_DRAW_SCATTER))) return false;
        path->emission = false;
    }
    return false;
}

/* One gather ray, which has left its surface (then what it meets first counts by its emission, and
   it has travelled nothing) or goes on somewhere: what comes back by it, without the light that the
   surface's caustic map holds. */
KD_FN void eye_gather_ray(const scene_view *world, const photon_view *photons, eye_path *path,
                          float travelled) {
    surface at;
    while (eye_through_lenses(world, photons, path, &at, &travelled)) {
        const vec3 wo = vec3_negate(path->state.cast.direction);
        const bool near = travelled < photons->near && path->depth < photons->path.max_depth;
        eye_add_direct(world, photons, path, &at, wo, near);
        if (!near) {
            eye_add(path, photon_far_radiance(photons, &at, wo));
            if (!eye_mirrored(path, &at, wo)) return;
            path->emission = false;
            continue;
        }
        eye_add(path, photon_map_radiance(&photons->caustic, &photons->tiles, &at, wo));
        if (!eye_scatter(path, &at, wo, eye_draw(path, PATH_DRAW_SCATTER))) return;
        path->emission = !path->state.specular;
        if (path->emission) travelled = 0;
    }
}

/* The drawn half of direct light, and with final gather the light that other surfaces send: one
   ray does both. */
KD_FN void eye_gather(const scene_view *world, const photon_view *photons, eye_way way,
                      eye_path *path, const surface *at, vec3 wo) {
    const uint32_t rays = photons->final_gather ? photons->final_gather : 1;
    vec3 sum = vec3_all(0);
    for (uint32_t i = 0; i < rays; ++i) {
        eye_path part = *path;
        part.found.radiance = vec3_all(0);
        part.haze = photons->final_gather ? EYE_HAZE_GATHERED : 0; /* else it is in the map */
        /* the rays of a pixel's samples are points of one evenly spread sequence */
        part.key.path =
            path->key.path >> 32 << 32 | (uint32_t)((uint32_t)path->key.path * rays + i);
        const bool goes_on = eye_scatter(&part, at, wo, eye_draw(&part, EYE_DRAW_GATHER));
        if (goes_on && !part.state.specular) {
            surface met;
            float travelled = 0;
            part.emission = true;
            if (way == EYE_LOOKS && photons->final_gather)
                eye_gather_ray(world, photons, &part, 0);
            else
                eye_next(world, photons, way, &part, &met, &travelled);
        }
        sum = vec3_add(sum, part.found.radiance);
        path->found.rays = part.found.rays;
    }
    path->found.radiance = vec3_along(path->found.radiance, 1 / (float)rays, sum);
}

#ifdef __CUDACC__
/* Layers are a principled surface's alone: of others they are left as they are. */
__device__ inline void eye_request_place(eye_request *made, const surface *at) {
    void *to = &made->at;
    const void *from = at;
    memcpy(__builtin_assume_aligned(to, 4), __builtin_assume_aligned(from, 4),
           offsetof(surface, layers));
    if (at->kind == MATERIAL_PRINCIPLED) made->at.layers = at->layers;
}

/* A request behind the others, in the chain after the path's `last` one, KD_NONE if it has none;
   its place, also if there is no room for it. */
__device__ inline uint32_t eye_ask(const eye_requests *later, const surface *at, vec3 wo,
                                   vec3 throughput, uint32_t last) {
#ifdef __CUDA_ARCH__
    const unsigned lanes = __activemask();
    const int lane = threadIdx.x & 31, leader = __ffs(lanes) - 1;
    uint32_t place = 0;
    if (lane == leader) {
        const eye_packet packet = {atomicAdd(&later->asked->requests, (uint32_t)__popc(lanes)),
                                   (uint32_t)__popc(lanes)};
        const uint32_t number = atomicAdd(&later->asked->packets, 1u);
        if (number < later->room) later->packets[number] = packet;
        place = packet.first;
    }
    place = __shfl_sync(lanes, place, leader) + __popc(lanes & ((1u << lane) - 1));
    if (place >= later->room) return place;
    eye_request *made = later->list + place;
    eye_request_place(made, at);
    made->wo = wo;
    made->throughput = throughput;
    made->next = KD_NONE;
    if (last < later->room) later->list[last].next = place;
    return place;
#else
    (void)later, (void)at, (void)wo, (void)throughput;
    return last;
#endif
}
#endif

#ifndef __CUDA_ARCH__
/* The same on a CPU, by one thread: those of a path lie one behind the other. */
static inline void eye_note(const eye_requests *later, const surface *at, vec3 wo,
                            vec3 throughput) {
    const uint32_t place = later->asked->requests++;
    if (place >= later->room) return;
    eye_request *made = later->list + place;
    made->at = *at;
    made->wo = wo;
    made->throughput = throughput;
    made->next = KD_NONE;
}
#endif

/* What the maps show of a surface that the eye sees. */
KD_FN void eye_add_maps(eye_path *path, const photon_view *photons, eye_way way, const surface *at,
                        vec3 wo) {
#ifdef __CUDA_ARCH__
    if (photons->later.list) {
        const uint32_t last = path->last_request;
        path->last_request = eye_ask(&photons->later, at, wo, path->state.throughput, last);
        if (last == KD_NONE) path->first_request = path->last_request;
        return;
    }
#else
    if (photons->later.list) {
        eye_note(&photons->later, at, wo, path->state.throughput);
        return;
    }
#endif
    if (way == EYE_ASKS) return;
    vec3 sum = photon_map_radiance(&photons->caustic, &photons->tiles, at, wo);
    if (!photons->final_gather)
        sum = vec3_add(sum, photon_map_radiance(&photons->global, &photons->tiles, at, wo));
    path->gathered = vec3_add(path->gathered, vec3_mul(path->state.throughput, sum));
}

/* All light that a surface with photons sends towards wo, but for what a smooth coat mirrors. */
KD_FN void eye_look_up(const scene_view *world, const photon_view *photons, eye_way way,
                       eye_path *path, const surface *at, vec3 wo) {
    eye_add_direct(world, photons, path, at, wo, path->depth < photons->path.max_depth);
    eye_add_maps(path, photons, way, at, wo);
    if (way == EYE_ASKS && photons->final_gather) return; /* gather_waves.cu does it */
    eye_gather(world, photons, way, path, at, wo);
}

/* Follows a path to its end. */
KD_FN void eye_follow(const scene_view *world, const photon_view *photons, eye_way way,
                      eye_path *path) {
    surface at;
    float travelled = 0;
    while (eye_next(world, photons, way, path, &at, &travelled)) {
        if (path->depth == 1) path->found.first = at;
        const vec3 wo = vec3_negate(path->state.cast.direction);
        if (surface_holds_photons(&at)) {
            eye_look_up(world, photons, way, path, &at, wo);
            if (!eye_mirrored(path, &at, wo)) break;
            continue;
        }
        if (!surface_is_specular(&at)) eye_add_direct(world, photons, path, &at, wo, true);
        if (!eye_scatter(path, &at, wo, eye_draw(path, PATH_DRAW_SCATTER))) break;
    }
}

KD_FN eye_path eye_begin(ray cast, rng_key key) {
    eye_path path;
    memset(&path, 0, sizeof path);
    path.key = key;
    path.state = path_begin(cast);
    path.haze = EYE_HAZE_SEEN;
    path.found.first.triangle = KD_NONE;
    path.first_request = path.last_request = KD_NONE;
    path.emission = true;
    return path;
}

/* In whatever medium the eye is. */
KD_FN eye_path eye_begin_in(const scene_view *world, ray cast, rng_key key) {
    eye_path path = eye_begin(cast, key);
    if (world->medium_count > 0)
        path.state.where = passage_around(world, SCENE_TREE, cast, &path.found.rays);
    return path;
}

/* The path of a camera ray of unit direction; what maps show is apart or still to come. */
KD_FN eye_path photon_eye_path(const scene_view *world, const photon_view *photons, eye_way way,
                               ray cast, rng_key key) {
    eye_path path = eye_begin_in(world, cast, key);
    eye_follow(world, photons, way, &path);
    return path;
}

/* Radiance along a camera ray of unit direction. */
KD_FN path_result photon_eye_radiance(const scene_view *world, const photon_view *photons, ray cast,
                                      rng_key key) {
    eye_path path = photon_eye_path(world, photons, EYE_LOOKS, cast, key);
    path.found.radiance = vec3_add(path.found.radiance, path.gathered);
    return path.found;
}

#endif
