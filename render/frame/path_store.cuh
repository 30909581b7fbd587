/* Storage of paths and samples between wavefronts.
   Idea: the state of a path between two surfaces is 96 bytes in arrays of 16-byte elements, so that
         a warp reads and writes whole cache lines. There are two such stores: a wavefront reads one
         and writes the continuing paths contiguously into the other. A sample has a fixed slot,
         with its radiance so far and the first surface for the film.
         Slots: the first sample of every pixel, then the other samples, pixel by pixel; pixels are
         in tiles of 8 x 4. Paths are started in this order, so that each pixel has the first of its
         samples whenever the launch is interrupted.
         Counts: a wavefront's record holds its numbers of paths and rays. Kernels read and write
         them on the device; the host does not need them. The records of the current, the previous
         and the next wavefront form a ring.
   Memory: 283 bytes per path in flight (315 in the general form), 48 per slot. */
#ifndef KD_RENDER_FRAME_PATH_STORE_CUH
#define KD_RENDER_FRAME_PATH_STORE_CUH
#include "core/device/wave_parts.cuh"
#include "render/frame/frame.h"

enum { WAVE_RING = 4, WAVE_LISTS = MATERIAL_KINDS };

struct wave_record {
    uint32_t rays;       /* number of paths, and so of rays, of this wavefront */
    uint32_t kept;       /* number of paths that continue from the previous wavefront */
    uint32_t begin, end; /* slots whose paths start in this wavefront */
    uint32_t shadows;    /* number of shadow rays */
    uint32_t fresh;      /* not 0: an earlier wavefront has started paths that were not empty */
    uint32_t left_out;   /* empty paths: no rays */
    uint32_t ray_cursor[4], shadow_cursor[4]; /* cursors of the ray tracing kernels */
    kind_counts<WAVE_LISTS> kinds;            /* counts of the kinds of surfaces hit */
};

struct path_store {
    float4 *rays;       /* 2 each: origin, tmin; direction, tmax */
    float4 *throughput; /* throughput, and pdf */
    float4 *from;       /* from, and eta_scale */
    float4 *normal;     /* from_normal, and wavelength */
    /* x: slot
       y: step | layers << 16 | specular << 31
       z: depth | scattered << 24
       w: medium */
    uint4 *ids;
};

/* Arguments of wavefront kernels besides the scene. */
struct path_waves {
    pixel_view view; /* `scene` is set by each thread */
    sample_range range;
    path_options options;
    film_pixel *pixels;
    sample_counts *counts;
    wave_record *ring;
    path_store stores[2];
    float4 *hits;
    /* scratch of the ray tracing kernels, for wave_scratch_capacity(capacity) rays */
    void *scratch;
    kind_lists kinds;    /* paths by the kind of material hit */
    float4 *shadow_rays; /* 2 each */
    float4 *shadow_gain; /* contribution if unoccluded, and slot; general form, 3 each: radiance and
                            slot, throughput and weight, medium */
    uint8_t *blocked;
    float4 *radiance;  /* radiance of each slot */
    float4 *first;     /* 2 per slot: depth, normal; albedo, alpha */
    uint32_t across;   /* tiles per row */
    uint32_t tiled;    /* number of pixels of all tiles */
    uint32_t slots;    /* number of samples of this launch */
    uint32_t capacity; /* paths in flight */
};

/* Returns the capacity of scratch memory for deferred rays: at most one ray in eight is deferred,
   except in pathological scenes. */
static inline uint32_t wave_scratch_capacity(uint32_t capacity) {
    return capacity / 8 + 32;
}

__device__ __forceinline__ wave_record *wave_at(const path_waves &w, uint32_t wave) {
    return w.ring + wave % WAVE_RING;
}

/* --- slots ------------------------------------------------------------------------------------ */

/* A sample of a pixel of the film. */
struct slot_place {
    int32_t x, y;
    uint32_t sample;
};

__device__ __forceinline__ slot_place place_of_slot(const path_waves &w, uint32_t slot) {
    slot_place at;
    uint32_t pixel = slot;
    at.sample = w.range.begin;
    if (slot >= w.tiled) {
        const uint32_t further_samples = w.range.count - 1;
        pixel = (slot - w.tiled) / further_samples;
        at.sample += 1 + (slot - w.tiled) - pixel * further_samples;
    }
    const uint32_t tile = pixel / 32, lane = pixel % 32, row = tile / w.across;
    at.x = (int32_t)((tile - row * w.across) * 8 + lane % 8);
    at.y = w.range.top + (int32_t)(row * 4 + lane / 8);
    return at;
}

/* Slot of sample number `sample` of a pixel in the range. */
__device__ __forceinline__ uint32_t slot_of_pixel(const path_waves &w, uint32_t pixel,
                                                  uint32_t sample) {
    return sample == 0 ? pixel : w.tiled + pixel * (w.range.count - 1) + (sample - 1);
}

__device__ __forceinline__ bool slot_is_inside(const path_waves &w, const slot_place &at) {
    return at.x < w.range.width && at.y < w.range.bottom;
}

__device__ __forceinline__ rng_key key_of_slot(const path_waves &w, const slot_place &at) {
    return pixel_key(&w.view, w.range.x0 + at.x, w.range.y0 + at.y, at.sample);
}

__device__ __forceinline__ void add_radiance(const path_waves &w, uint32_t slot, vec3 more) {
    if (vec3_is_zero(more)) return;
    const float4 before = w.radiance[slot];
    const vec3 sum = vec3_add(vec3_make(before.x, before.y, before.z), more);
    w.radiance[slot] = make_float4(sum.x, sum.y, sum.z, 0);
}

/* Result of the path of a slot. */
__device__ __forceinline__ pixel_sample sample_of_slot(const path_waves &w, uint32_t slot) {
    const float4 depth = w.first[2 * (uint64_t)slot], albedo = w.first[2 * (uint64_t)slot + 1];
    pixel_sample made;
    made.radiance = first_three(w.radiance[slot]);
    made.depth = depth.x;
    made.normal = vec3_make(depth.y, depth.z, depth.w);
    made.albedo = first_three(albedo);
    made.alpha = albedo.w;
    made.rays = 0;
    return made;
}

/* --- paths ------------------------------------------------------------------------------------ */

enum { DEPTH_MAX = (1 << 24) - 1 };

struct wave_path {
    path_state state;
    uint32_t slot;  /* KD_NONE: empty path */
    uint32_t depth; /* surfaces, including the one that its ray will hit */
};

__device__ __forceinline__ void store_path(const path_store &store, uint32_t at,
                                           const wave_path &p) {
    const path_state &s = p.state;
    const uint32_t scattered =
        s.scattered < PATH_SCATTERED_MAX ? (uint32_t)s.scattered : PATH_SCATTERED_MAX;
    store_ray(store.rays, at, s.ray);
    store.throughput[at] = with_fourth(s.throughput, s.pdf);
    store.from[at] = with_fourth(s.from, s.eta_scale);
    store.normal[at] = with_fourth(s.from_normal, s.wavelength);
    store.ids[at] =
        make_uint4(p.slot, (s.step & 0xffffu) | s.layers << 16 | (uint32_t)s.specular << 31,
                   p.depth | scattered << 24, s.medium);
}

__device__ __forceinline__ void load_ids(const path_store &store, uint32_t at, wave_path *p) {
    const uint4 ids = store.ids[at];
    p->state.step = ids.y & 0xffffu;
    p->state.layers = ids.y >> 16 & 0x7fffu;
    p->state.specular = ids.y >> 31;
    p->state.scattered = (int32_t)(ids.z >> 24);
    p->state.medium = ids.w;
    p->slot = ids.x;
    p->depth = ids.z & DEPTH_MAX;
}

__device__ __forceinline__ void load_carried(const path_store &store, uint32_t at,
                                             path_state *state) {
    const float4 a = store.throughput[at], b = store.from[at], n = store.normal[at];
    state->throughput = first_three(a), state->pdf = a.w;
    state->from = first_three(b), state->eta_scale = b.w;
    state->from_normal = first_three(n), state->wavelength = n.w;
}

__device__ __forceinline__ wave_path load_path(const path_store &store, uint32_t at) {
    wave_path p;
    p.state = path_begin(load_stored_ray(store.rays, at));
    load_carried(store, at, &p.state);
    load_ids(store, at, &p);
    return p;
}

/* Prefetches a path. */
__device__ __forceinline__ void fetch_path_ahead(const path_store &store, uint32_t at) {
    fetch_ahead(store.rays + 2 * (uint64_t)at);
    fetch_ahead(store.throughput + at);
    fetch_ahead(store.from + at);
    fetch_ahead(store.normal + at);
    fetch_ahead(store.ids + at);
}

/* --- shading ----------------------------------------------------------------------------------
   Idea: a kernel for diffuse surfaces, one for plastic and one for other kinds, with 100 to 200 KB
         of code; the first two are for scenes with media or cut-outs, other scenes have those of
         path_shade.cuh. The warps of a block synchronise after each of three steps (arrive, sample
         a light, continue), and paths are listed by the kind of material that they hit
         (core/device/wave_parts.cuh), so that warps execute the same code.
   Work: about a third of the rendering time.
   Invariants: the terms added to a slot, and their order, are those of path_follow
               (shaders/path.h): in each wavefront the sky or emission here, then the contribution
               of the shadow ray (path_waves.cu). A path has one slot, and one thread per kernel. */

/* Kernels that shade surfaces: of one kind of material each, or of all others. */
enum shade_kernel { SHADE_DIFFUSE, SHADE_PLASTIC, SHADE_OTHERS };

/* List of a material kind. The first two have their own kernels. */
__host__ __device__ __forceinline__ uint32_t list_of_kind(int32_t kind) {
    static_assert(MATERIAL_DIFFUSE == 0 && MATERIAL_PLASTIC == 4, "order of the lists");
    return kind == MATERIAL_PLASTIC                             ? 1
           : kind > MATERIAL_DIFFUSE && kind < MATERIAL_PLASTIC ? (uint32_t)kind + 1
                                                                : (uint32_t)kind;
}

static inline shade_kernel shade_kernel_of(uint32_t list) {
    return list < SHADE_OTHERS ? (shade_kernel)list : SHADE_OTHERS;
}

/* Data flow: reads hits; writes lists by kind. */
static __global__
__launch_bounds__(KIND_BLOCK) void wave_list(const __grid_constant__ scene_view scene,
                                             const __grid_constant__ path_waves w, uint32_t wave) {
    wave_record *now = wave_at(w, wave);
    list_by_kind(w.kinds, now->rays, &now->kinds, [&](uint32_t i) {
        return list_of_kind(surface_kind_of(&scene, __float_as_uint(w.hits[i].w)));
    });
}

/* --- steps ------------------------------------------------------------------------------------ */

/* Stores the first surface of a path for the film. */
__device__ __forceinline__ void store_first(const scene_view &scene, const path_waves &w,
                                            uint32_t slot, const ray *ray, const surface *at) {
    pixel_view view = w.view;
    view.scene = &scene;
    const pixel_sample seen = pixel_of(&view, ray, at, vec3_all(0), 0);
    w.first[2 * (uint64_t)slot] =
        make_float4(seen.depth, seen.normal.x, seen.normal.y, seen.normal.z);
    w.first[2 * (uint64_t)slot + 1] = with_fourth(seen.albedo, seen.alpha);
}

/* Blocks per multiprocessor: 4 (64 registers) are faster if little is spilled. */
constexpr int shade_blocks(bool general, shade_kernel kernel) {
    if (kernel == SHADE_OTHERS || (general && kernel == SHADE_PLASTIC)) return SHADE_OTHER_EACH;
    return general ? SHADE_DIFFUSE_EACH : 4;
}

__device__ __forceinline__ constexpr int32_t kind_of_kernel(shade_kernel kernel) {
    return kernel == SHADE_DIFFUSE   ? (int32_t)MATERIAL_DIFFUSE
           : kernel == SHADE_PLASTIC ? (int32_t)MATERIAL_PLASTIC
                                     : (int32_t)SURFACE_ANY;
}

/* Asserts the kind of a listed surface, before each use: the compiler does not retain it across
   barriers, atomics and calls, so the kernel for diffuse surfaces would contain the code for all
   others, too. */
template <shade_kernel kernel> __device__ __forceinline__ void as_listed(surface &at) {
    if (kernel != SHADE_OTHERS) at.kind = kind_of_kernel(kernel);
}

/* A path during the steps of a wavefront. */
struct shaded_path {
    wave_path path;
    rng_key key;
    surface at;
    path_turn turn;
};

template <bool general, shade_kernel kernel>
__device__ __forceinline__ void shade_arrive(const scene_view &scene, const path_waves &w,
                                             const path_store &store, uint32_t i,
                                             shaded_path &path) {
    path.turn = PATH_ENDS;
    if (!general && scene.nested.count) __builtin_unreachable(); /* waves_are_general */
    if (i == KD_NONE) return;
    path.path = load_path(store, i);
    if (path.path.slot == KD_NONE) return;
    path_state &state = path.path.state;
    ray_hit hit = load_stored_hit(w.hits, i);
    path.key = key_of_slot(w, place_of_slot(w, path.path.slot));
    state.flies = general && scene.medium_count != 0;
    ++state.step;
    if (general && path_passes(&scene, &w.options, &state, path.key, &hit)) {
        path.turn = PATH_PASSES;
        return;
    }
    vec3 sent;
    const path_turn turn = path_arrive(&scene, &w.options, &state, (int32_t)path.path.depth, hit,
                                       path.key, kind_of_kernel(kernel), &path.at, &sent);
    /* the last condition only helps the optimiser */
    path.turn = general || turn != PATH_SCATTERS_IN_VOLUME ? turn : PATH_ENDS;
    as_listed<kernel>(path.at);
    if (path.path.depth == 1) store_first(scene, w, path.path.slot, &state.ray, &path.at);
    add_radiance(w, path.path.slot, sent);
}

/* Stores what a light sample contributes, to be added once it is known how much light passes. */
__device__ __forceinline__ void store_shadow_parts(const path_waves &w, uint32_t at,
                                                   const shadow_request &request, uint32_t slot,
                                                   vec3 throughput, bool indirect) {
    float4 *to = w.shadow_gain + 3 * (uint64_t)at;
    to[0] = with_fourth(request.sent, __uint_as_float(slot));
    to[1] = with_fourth(throughput, request.weight);
    to[2] = make_float4(__uint_as_float(request.medium), indirect ? 1.0f : 0.0f, 0, 0);
}

/* Contribution of a light sample that is not occluded. */
__device__ __forceinline__ vec3 light_gain(const path_waves &w, const path_state &state,
                                           const shadow_request &request) {
    return path_clamped(&w.options, state.scattered > 0,
                        vec3_mul(state.throughput, shadow_request_light(&request, vec3_all(1))));
}

/* Stores the pending light sample, to be added by add_shadows. */
template <bool general>
__device__ __forceinline__ void store_shadow(const path_waves &w, uint32_t at,
                                             const wave_path &path, const shadow_request &request) {
    store_ray(w.shadow_rays, at, request.ray);
    if (general) {
        store_shadow_parts(w, at, request, path.slot, path.state.throughput,
                           path.state.scattered > 0);
        return;
    }
    w.shadow_gain[at] = with_fourth(light_gain(w, path.state, request), __uint_as_float(path.slot));
}

/* Samples a light and records its shadow ray. The contribution of an occluded light is added at
   once, since it is NaN, not 0, if a factor is not finite. */
template <bool general, shade_kernel kernel>
__device__ __forceinline__ void shade_sample_light(const scene_view &scene, const path_waves &w,
                                                   uint32_t *shadows, shaded_path &path) {
    if (path.turn != PATH_SCATTERS && !(general && path.turn == PATH_SCATTERS_IN_VOLUME)) return;
    const path_turn turn = general ? path.turn : PATH_SCATTERS;
    as_listed<kernel>(path.at);
    if (!path_seeks_light(turn, &path.at)) return;
    shadow_request request;
    const bool has_light =
        path_sample_light(&scene, &path.path.state, turn, &path.at, path.key, &request);
    if (!general || !has_light)
        add_radiance(
            w, path.path.slot,
            vec3_mul(path.path.state.throughput, shadow_request_light(&request, vec3_all(0))));
    if (has_light) store_shadow<general>(w, take_place(shadows), path.path, request);
}

/* Returns true if the path has another ray. */
template <bool general, shade_kernel kernel>
__device__ __forceinline__ bool shade_go_on(const scene_view &scene, shaded_path &path) {
    if (general && path.turn == PATH_PASSES) return true;
    if (path.turn != PATH_SCATTERS && !(general && path.turn == PATH_SCATTERS_IN_VOLUME))
        return false;
    const path_turn turn = general ? path.turn : PATH_SCATTERS;
    const int32_t depth = (int32_t)path.path.depth++;
    as_listed<kernel>(path.at);
    return path_go_on(&scene, &path.path.state, turn, &path.at, depth, path.key);
}

/* Data flow: reads the paths of the lists and their hits; writes radiance, first surfaces, shadow
              rays, and, contiguously, the paths of the next wavefront. */
template <bool general, shade_kernel kernel>
__global__ __launch_bounds__(SHADE_BLOCK, shade_blocks(general, kernel)) void wave_shade(
    const __grid_constant__ scene_view scene, const __grid_constant__ path_waves w, uint32_t wave) {
    wave_record *now = wave_at(w, wave), *next = wave_at(w, wave + 1);
    const path_store &from = w.stores[wave % 2], &to = w.stores[1 - wave % 2];
    uint32_t *cursor = now->kinds.chunk + kernel;
    const auto fetch = [&](uint32_t i) {
        fetch_path_ahead(from, i);
        fetch_ahead(w.hits + i);
    };
    const auto shade = [&](uint32_t i) {
        shaded_path path;
        shade_arrive<general, kernel>(scene, w, from, i, path);
        __syncthreads();
        shade_sample_light<general, kernel>(scene, w, &now->shadows, path);
        __syncthreads();
        const bool has_next = shade_go_on<general, kernel>(scene, path);
        __syncthreads();
        if (has_next) store_path(to, take_place(&next->rays), path.path);
    };
    const uint32_t end = kernel == SHADE_OTHERS ? (uint32_t)WAVE_LISTS : kernel + 1;
    shade_chunks(w.kinds, &now->kinds, cursor, kernel, end, fetch, shade);
}

#endif
