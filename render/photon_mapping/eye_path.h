/* Radiance along a camera ray, estimated from photon maps.
   Source: Jensen 2001, "Realistic Image Synthesis Using Photon Mapping", chapters 8 and 9; direct
           light by multiple importance sampling of two techniques after Veach 1997, section 9.2.
   Idea: light that leaves a diffuse or glossy surface is the sum of four disjoint parts:
           emitted
           direct     from shadow rays
           caustic    from the caustic map: light that has met only specular surfaces
           indirect   from the global map, or from final gather rays
         A gather ray ends at the next surface that stores photons and takes the four parts there,
         except for emission that it sees through specular surfaces. If it ends nearby, as in a
         corner, a photon map lookup there would be as visibly blurred as a direct one, so the ray
         continues as a path instead. At specular surfaces (mirror, glass, metal; "lenses") paths
         continue with one sampled ray.
         Media attenuate what is seen through them. The light that they scatter into a ray is the
         sum of direct light and the media map (media_estimate.h), at points sampled on each
         segment of the path. */
#ifndef KD_RENDER_PHOTON_MAPPING_EYE_PATH_H
#define KD_RENDER_PHOTON_MAPPING_EYE_PATH_H
#include "accel/rays/batch.h"
#include "photon/density/beam_radiance.h"
#include "photon/density/estimate_radius.h"
#include "photon/density/media_estimate.h"
#include "photon/emission/photon_trace.h"
#include "render/photon_mapping/eye_requests.h"
#include "render/photon_mapping/light_parts.h"
#include "shaders/path.h"

/* Dimensions of sobol_draw beyond those of path.h: gather rays; points in media, first for sampling
   lights, then (plus EYE_VOLUME_SEEN) for phase function rays. */
enum { EYE_DRAW_GATHER = 4, EYE_DRAW_VOLUME = 8 };
/* Points sampled in media on each segment of a camera path and of a gather ray. */
enum { EYE_VOLUME_SEEN = 4, EYE_VOLUME_GATHERED = 1 };

/* Execution of photon map lookups.
     LOOKUP_INLINE    lookups in media and in final gather run inline, and so do lookups at
                      surfaces that the camera sees, unless photon_view.later has a list
     LOOKUP_DEFERRED  on devices: surfaces are only recorded in photon_view.later, for a batched
                      kernel
   Every caller in a translation unit passes the same constant, so that the compiler removes the
   other branch, and with it the stack memory for photon lists, from functions that are not inlined
   (KD_FN_NOINLINE). */
typedef enum lookup_mode { LOOKUP_INLINE, LOOKUP_DEFERRED } lookup_mode;

typedef struct photon_view {
    photon_map_view global, caustic, media;
    /* replace the photons of `media` if media store beams; otherwise node_count is 0 */
    beam_view beams;
    eye_requests later; /* deferred lookups: on devices, and on a CPU if photons are distributed
                           over ranks */
    tile_view tiles;
    path_options path;        /* path.scatterings is ignored */
    uint32_t final_gather;    /* number of gather rays, at most FINAL_GATHER_MAX; 0: look up the
                                 global map directly */
    float near;               /* gather rays shorter than this, in scene units, continue as paths */
    const light_parts *parts; /* host only, without final gather and media; NULL: none */
} photon_view;

/* State of a camera path. */
typedef struct eye_path {
    rng_key key;
    path_state state;
    path_result result;
    int32_t depth;   /* number of surface intersections */
    bool emission;   /* emission of the next surface or of the sky is added */
    uint32_t volume; /* points to sample in media on each segment */
    vec3 gathered; /* radiance of inline lookups at surfaces the camera sees; not in found.radiance,
                      since it is added last, in the same order as in batches */
    /* chain of deferred lookups, indices into the request list; KD_NONE: none */
    uint32_t first_request, last_request;
} eye_path;

KD_FN void eye_add(eye_path *path, vec3 radiance) {
    path->result.radiance =
        vec3_add(path->result.radiance, vec3_mul(path->state.throughput, radiance));
}

KD_FN rng_block eye_draw(const eye_path *path, uint32_t dimension) {
    return sobol_draw(path->key, path->state.step, dimension);
}

/* Adds direct light from one sampled light; with `mis`, weighted by multiple importance sampling
   against the ray that the caller traces next. */
KD_FN_NOINLINE void eye_add_direct(const scene_view *world, const photon_view *photons,
                                   eye_path *path, const surface *at, vec3 wo, bool mis) {
    const rng_block random = eye_draw(path, PATH_DRAW_LIGHT);
    const path_options *options = &photons->path;
    const uint32_t medium = path->state.medium;
    uint32_t *rays = &path->result.rays;
    const vec3 direct =
        mis ? path_light(world, SCENE_TREE, options, at, wo, medium, random, rays)
            : path_light_alone(world, SCENE_TREE, options->cutouts, at, wo, medium, random, rays);
    eye_add(path, direct);
    light_parts_sampled(photons->parts, at, wo, random, vec3_mul(path->state.throughput, direct));
}

/* Radiance towards `wo` by density estimation in one map. */
KD_FN_NOINLINE vec3 photon_map_radiance(const photon_map_view *map, const tile_view *tiles,
                                        const surface *at, vec3 wo) {
    if (map->gather == 0) return photon_fixed_radiance(map, tiles, at, wo);
    photon_gathering gathered;
    photon_gather(map, at->position, &gathered);
    visibility_horizon horizon;
    const estimate_point point = estimate_point_on(tiles, at, gathered.radius, &horizon);
    if (map->adaptive) photon_gathering_adapt(map, tiles, &point, &gathered);
    if (gathered.count == 0 || !(gathered.radius > 0)) return vec3_all(0);
    const flux_sum sum = photon_gathered_sum(map, at, wo, &point, gathered.neighbours,
                                             gathered.count, gathered.radius);
    return photon_sum_radiance(map, tiles, &point, gathered.radius, &sum);
}

/* Radiance of both maps at the far end of a gather ray; a diffuse surface uses the precomputed
   irradiance of the nearest photon if there is one. */
KD_FN vec3 photon_far_radiance(const photon_view *photons, const surface *at, vec3 wo) {
    const estimate_point point = estimate_point_of(at);
    const scene_view *scene = photons->tiles.scene;
    vec3 irradiance;
    if (at->kind == MATERIAL_DIFFUSE &&
        photon_precomputed_irradiance(&photons->global, scene, &point, &irradiance))
        return vec3_scale(vec3_mul(at->diffuse, irradiance), 1 / KD_PI);
    return vec3_add(photon_map_radiance(&photons->caustic, &photons->tiles, at, wo),
                    photon_map_radiance(&photons->global, &photons->tiles, at, wo));
}

/* path_passes for media that are crossed without sampling a collision. */
KD_FN bool eye_passes(const scene_view *world, const path_options *options, path_state *state,
                      rng_key key, ray_hit *hit) {
    const uint32_t hit_triangle = hit->triangle, layers = state->layers;
    const bool hidden = hit_triangle != KD_NONE && path_overlooks(world, state, hit_triangle);
    const bool has_next = path_passes(world, options, state, key, hit);
    if (state->layers > layers && !hidden && !world->nested.count)
        state->medium =
            transmittance_beyond(world, hit_triangle, state->ray.direction, state->medium);
    return has_next;
}

/* The half of direct light in a medium that samples the phase function: radiance of area lights and
   of the sky along the sampled ray. The multiple importance sampling weight keeps it bounded close
   to a light, where sampling points on that light has unbounded variance. */
KD_FN_NOINLINE vec3 eye_volume_light(const scene_view *world, const photon_view *photons,
                                     eye_path *path, const volume_point *at, rng_block random) {
    path_state state = path->state;
    state.place = at->position;
    state.throughput = vec3_all(1);
    (void)path_scatter_in(world, &state, 1, random); /* too early for roulette */
    ray_hit hit;
    do {
        ++path->result.rays;
        ++state.step;
        hit = tritree_closest(&world->tree, state.ray);
        const float end = hit.triangle == KD_NONE ? INFINITY : hit.t;
        state.throughput =
            transmittance_weaken(world, &state.ray, end, state.medium, state.throughput);
    } while (eye_passes(world, &photons->path, &state, path->key, &hit));
    if (state.layers > PATH_LAYERS) return vec3_all(0);
    if (hit.triangle == KD_NONE) return path_sky(world, &state);
    const material *made = world->materials + world->mesh.triangle_materials[hit.triangle];
    if (vec3_is_zero(made->emission)) return vec3_all(0);
    const surface hit_triangle = path_surface(world, &state, hit, path->key, SURFACE_ANY);
    return path_emission(world, &state, &hit_triangle);
}

/* Adds the light that a medium scatters into a segment of the ray, estimated at sampled points. */
KD_FN void eye_add_volume(const scene_view *world, const photon_view *photons, eye_path *path,
                          const medium *medium, float begin, float length) {
    const path_state *state = &path->state;
    volume_point at;
    at.direction = state->ray.direction;
    at.medium = medium_index(world, state->medium);
    at.word = state->medium;
    at.g = medium->g;
    if (vec3_is_zero(medium->scattering)) return;
    const rng_block spread = eye_draw(path, PATH_DRAW_MEDIUM);
    const bool mis = light_can_be_hit(world);
    vec3 sum = vec3_all(0);
    for (uint32_t i = 0; i < path->volume; ++i) {
        const float u = ((float)i + spread.value[0]) / (float)path->volume;
        const medium_place place = medium_draw_place(medium, length, float_min(u, 0x1.fffffep-1f));
        if (!(place.pdf > 0)) continue;
        at.position = ray_at(&state->ray, begin + place.length);
        vec3 direct =
            path_light_in(world, SCENE_TREE, &photons->path, at.position, at.word, at.direction,
                          mis, eye_draw(path, EYE_DRAW_VOLUME + i), &path->result.rays);
        if (mis)
            direct = vec3_add(
                direct, eye_volume_light(world, photons, path, &at,
                                         eye_draw(path, EYE_DRAW_VOLUME + EYE_VOLUME_SEEN + i)));
        const vec3 volume_light =
            photon_volume_radiance(world, &photons->media, &at, &path->result.rays);
        const vec3 all = vec3_add(vec3_mul(direct, medium->scattering), volume_light);
        sum = vec3_along(sum, 1 / place.pdf, vec3_mul(place.reaching, all));
    }
    eye_add(path, vec3_scale(sum, 1 / (float)path->volume));
}

/* Adds the light that a medium scatters into a segment of the ray, estimated from photon beams. */
KD_FN void eye_add_beams(const scene_view *world, const photon_view *photons, eye_path *path,
                         const medium *medium, float begin, float length) {
    const path_state *state = &path->state;
    beam_flight flight;
    flight.origin = ray_at(&state->ray, begin);
    flight.direction = state->ray.direction;
    flight.length = length;
    flight.medium_index = medium_index(world, state->medium);
    flight.medium = medium;
    eye_add(path, beams_radiance(world, &photons->beams, &flight, &path->result.rays));
}

/* Handles the segment of the ray up to t = end: adds in-scattered light and attenuates the
   throughput. */
KD_FN void eye_fly(const scene_view *world, const photon_view *photons, lookup_mode mode,
                   eye_path *path, float end) {
    path_state *state = &path->state;
    const medium *in = medium_of(world, state->medium);
    if (!in) return;
    const medium_span span = transmittance_span(world, &state->ray, end);
    const float length = span.end - span.begin; /* ray directions are unit vectors */
    if (!(length > 0)) return;
    if (mode == LOOKUP_INLINE && path->volume > 0) {
        eye_add_volume(world, photons, path, in, span.begin, length);
        if (photons->beams.node_count) eye_add_beams(world, photons, path, in, span.begin, length);
    }
    state->throughput = vec3_mul(state->throughput, medium_transmittance(in, length));
}

/* path_advance for media that are crossed without sampling a collision. */
KD_FN ray_hit eye_advance(const scene_view *world, const photon_view *photons, lookup_mode mode,
                          eye_path *path) {
    path_state *state = &path->state;
    if (world->medium_count == 0)
        return path_advance(world, SCENE_TREE, &photons->path, state, path->key, &path->result);
    ray_hit hit;
    do {
        ++path->result.rays;
        ++state->step;
        hit = tritree_closest(&world->tree, state->ray);
        eye_fly(world, photons, mode, path, hit.triangle == KD_NONE ? INFINITY : hit.t);
    } while (eye_passes(world, &photons->path, state, path->key, &hit));
    return hit;
}

/* Adds the emission of a triangle that the path's ray has met, or of the sky (KD_NONE). */
KD_FN void eye_add_found(const photon_view *photons, eye_path *path, uint32_t triangle,
                         vec3 radiance) {
    path->result.radiance = vec3_add(path->result.radiance, radiance);
    light_parts_found(photons->parts, triangle, radiance);
}

/* Advances to the next surface; returns false if the ray leaves the scene or the path has reached
   its maximum depth. Adds the emission of the surface or the sky if path->emission is set. */
KD_FN_NOINLINE bool eye_next(const scene_view *world, const photon_view *photons, lookup_mode mode,
                             eye_path *path, surface *at, float *travelled) {
    if (path_depth_is_over(&photons->path, &path->state, path->depth)) return false;
    ++path->depth;
    const ray_hit hit = eye_advance(world, photons, mode, path);
    if (hit.triangle == KD_NONE) {
        if (path->emission)
            eye_add_found(photons, path, KD_NONE, path_sky_seen(world, &path->state, path->depth));
        return false;
    }
    *at = path_surface(world, &path->state, hit, path->key, SURFACE_ANY);
    *travelled += hit.t; /* ray directions are unit vectors */
    if (path->emission)
        eye_add_found(photons, path, hit.triangle, path_emission(world, &path->state, at));
    return true;
}

/* Samples the BSDF and continues the path in that direction; returns false if the path ends. */
KD_FN_NOINLINE bool eye_scatter(eye_path *path, const surface *at, vec3 wo, rng_block random) {
    return path_scatter(&path->state, at, wo, path->depth, random);
}

/* Returns true if the path continues with a mirror reflection: a smooth coat over a diffuse base
   both stores photons and mirrors. */
KD_FN bool eye_mirrored(eye_path *path, const surface *at, vec3 wo) {
    if (!surface_mirrors(at)) return false;
    return eye_scatter(path, at, wo, eye_draw(path, PATH_DRAW_SCATTER)) && path->state.specular;
}

/* Continues through specular surfaces to the next surface that stores photons. Light sources seen
   through specular surfaces are not added: that light is a caustic at the surface where the gather
   ray started. */
KD_FN bool eye_through_lenses(const scene_view *world, const photon_view *photons, eye_path *path,
                              surface *at, float *travelled) {
    while (eye_next(world, photons, LOOKUP_INLINE, path, at, travelled)) {
        if (surface_holds_photons(at)) return true;
        const vec3 wo = vec3_negate(path->state.ray.direction);
        if (!eye_scatter(path, at, wo, eye_draw(path, PATH_DRAW_SCATTER))) return false;
        path->emission = false;
    }
    return false;
}

/* Adds the radiance of a gather ray, without light that the caustic map of its first surface holds.
   `travelled` is the length of the path so far; it is 0 for a new gather ray, whose first
   intersection contributes emission. */
KD_FN void eye_gather_ray(const scene_view *world, const photon_view *photons, eye_path *path,
                          float travelled) {
    surface at;
    while (eye_through_lenses(world, photons, path, &at, &travelled)) {
        const vec3 wo = vec3_negate(path->state.ray.direction);
        const bool near = travelled < photons->near &&
                          !path_depth_is_over(&photons->path, &path->state, path->depth);
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

/* Samples the BSDF once for both estimates: the half of direct light that samples the BSDF and,
   with final gather, the indirect light from other surfaces. */
KD_FN void eye_gather(const scene_view *world, const photon_view *photons, lookup_mode mode,
                      eye_path *path, const surface *at, vec3 wo) {
    const uint32_t rays = photons->final_gather ? photons->final_gather : 1;
    vec3 sum = vec3_all(0);
    for (uint32_t i = 0; i < rays; ++i) {
        eye_path part = *path;
        part.result.radiance = vec3_all(0);
        /* without final gather, the maps hold the light scattered in media */
        part.volume = photons->final_gather ? EYE_VOLUME_GATHERED : 0;
        /* The gather rays of all samples of a pixel are points of one low-discrepancy sequence. */
        part.key.path =
            path->key.path >> 32 << 32 | (uint32_t)((uint32_t)path->key.path * rays + i);
        const bool has_next = eye_scatter(&part, at, wo, eye_draw(&part, EYE_DRAW_GATHER));
        if (has_next && !part.state.specular) {
            surface hit_triangle;
            float travelled = 0;
            part.emission = true;
            if (mode == LOOKUP_INLINE && photons->final_gather)
                eye_gather_ray(world, photons, &part, 0);
            else
                eye_next(world, photons, mode, &part, &hit_triangle, &travelled);
        }
        sum = vec3_add(sum, part.result.radiance);
        path->result.rays = part.result.rays;
    }
    path->result.radiance = vec3_along(path->result.radiance, 1 / (float)rays, sum);
}

/* Radiance of a map at a surface that the camera sees. */
KD_FN vec3 eye_look_up(const eye_path *path, const photon_view *photons, const photon_map_view *map,
                       const surface *at, vec3 wo) {
#ifndef __CUDA_ARCH__
    if (photons->parts)
        return light_parts_look_up(photons->parts, map, &photons->tiles, at, wo,
                                   path->state.throughput);
#endif
    (void)path;
    return photon_map_radiance(map, &photons->tiles, at, wo);
}

/* Adds the map lookups at a surface that the camera sees, or records them for later. */
KD_FN void eye_add_maps(eye_path *path, const photon_view *photons, lookup_mode mode,
                        const surface *at, vec3 wo) {
#ifdef __CUDA_ARCH__
    if (photons->later.list) {
        const uint32_t last = path->last_request;
        path->last_request =
            eye_request_append(&photons->later, at, wo, path->state.throughput, last);
        if (last == KD_NONE) path->first_request = path->last_request;
        return;
    }
#else
    if (photons->later.list) {
        eye_note(&photons->later, at, wo, path->state.throughput);
        return;
    }
#endif
    if (mode == LOOKUP_DEFERRED) return;
    vec3 sum = eye_look_up(path, photons, &photons->caustic, at, wo);
    if (!photons->final_gather)
        sum = vec3_add(sum, eye_look_up(path, photons, &photons->global, at, wo));
    path->gathered = vec3_add(path->gathered, vec3_mul(path->state.throughput, sum));
}

/* Adds all light that a surface with photons sends towards `wo`, except for the mirror reflection
   of a smooth coat. */
KD_FN void eye_lookup(const scene_view *world, const photon_view *photons, lookup_mode mode,
                      eye_path *path, const surface *at, vec3 wo) {
    eye_add_direct(world, photons, path, at, wo,
                   !path_depth_is_over(&photons->path, &path->state, path->depth));
    eye_add_maps(path, photons, mode, at, wo);
    /* gather_waves.cu traces the gather rays */
    if (mode == LOOKUP_DEFERRED && photons->final_gather) return;
    eye_gather(world, photons, mode, path, at, wo);
}

/* Traces the path to its end. */
KD_FN void eye_follow(const scene_view *world, const photon_view *photons, lookup_mode mode,
                      eye_path *path) {
    surface at;
    float travelled = 0;
    while (eye_next(world, photons, mode, path, &at, &travelled)) {
        if (path->depth == 1) path->result.first = at;
        const vec3 wo = vec3_negate(path->state.ray.direction);
        if (surface_holds_photons(&at)) {
            eye_lookup(world, photons, mode, path, &at, wo);
            if (!eye_mirrored(path, &at, wo)) break;
            continue;
        }
        if (!surface_is_specular(&at)) eye_add_direct(world, photons, path, &at, wo, true);
        if (!eye_scatter(path, &at, wo, eye_draw(path, PATH_DRAW_SCATTER))) break;
    }
}

/* Starts a path outside all media. */
KD_FN eye_path eye_begin(ray ray, rng_key key) {
    eye_path path;
    memset(&path, 0, sizeof path);
    path.key = key;
    path.state = path_begin(ray);
    path.volume = EYE_VOLUME_SEEN;
    path.result.first.triangle = KD_NONE;
    path.first_request = path.last_request = KD_NONE;
    path.emission = true;
    return path;
}

/* Starts a path in the medium that contains the camera. */
KD_FN eye_path eye_begin_in(const scene_view *world, ray ray, rng_key key) {
    eye_path path = eye_begin(ray, key);
    if (world->medium_count > 0)
        path.state.medium = transmittance_around(world, SCENE_TREE, ray, &path.result.rays);
    return path;
}

/* Traces the path of a camera ray with a unit direction. Radiance from map lookups is kept in
   `gathered` or deferred. */
KD_FN eye_path photon_eye_path(const scene_view *world, const photon_view *photons,
                               lookup_mode mode, ray ray, rng_key key) {
    eye_path path = eye_begin_in(world, ray, key);
    eye_follow(world, photons, mode, &path);
    return path;
}

/* Radiance along a camera ray with a unit direction, with inline lookups. */
KD_FN path_result photon_eye_radiance(const scene_view *world, const photon_view *photons, ray ray,
                                      rng_key key) {
    eye_path path = photon_eye_path(world, photons, LOOKUP_INLINE, ray, key);
    path.result.radiance = vec3_add(path.result.radiance, path.gathered);
    return path.result;
}

#endif
