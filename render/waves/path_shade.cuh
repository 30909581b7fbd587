/* What paths do at the surfaces that their rays have met.
   Idea: two kernels of some 200 KB; the warps of a block wait for each other after each of three
         steps (arrive, ask for light, go on), and their paths are listed by the kind of material
         that they met (core/device/wave_parts.cuh).
   Work: about a third of a picture's time.
   Invariants: what is added to a slot, and in which order, is path_follow's (shaders/path.h): in
               one wave sky or emission here, then what the shadow ray brings (path_waves.cu).
               A path has one slot, and one thread a kernel. */
#ifndef KD_RENDER_WAVES_PATH_SHADE_CUH
#define KD_RENDER_WAVES_PATH_SHADE_CUH
#include "render/waves/path_store.cuh"

/* Data flow: hits -> lists by kind. */
static __global__
__launch_bounds__(KIND_BLOCK) void wave_list(const __grid_constant__ scene_view scene,
                                             const __grid_constant__ path_waves w, uint32_t wave) {
    wave_record *now = wave_at(w, wave);
    list_by_kind(w.kinds, now->rays, &now->kinds,
                 [&](uint32_t i) { return surface_kind_of(&scene, __float_as_uint(w.hits[i].w)); });
}

/* --- steps ------------------------------------------------------------------------------------ */

/* What the film takes of a path's first surface. */
__device__ __forceinline__ void store_first(const scene_view &scene, const path_waves &w,
                                            uint32_t slot, const ray *cast, const surface *at) {
    pixel_view view = w.view;
    view.scene = &scene;
    const pixel_sample seen = pixel_of(&view, cast, at, vec3_all(0), 0);
    w.first[2 * (uint64_t)slot] =
        make_float4(seen.depth, seen.normal.x, seen.normal.y, seen.normal.z);
    w.first[2 * (uint64_t)slot + 1] = with_fourth(seen.albedo, seen.alpha);
}

/* What a list says of its surfaces, said anew before their light or way is reckoned: over barriers,
   atomic operations and calls the compiler does not keep it, and without it the kernel of diffuse
   surfaces has the code of all others, too. */
template <bool diffuse> __device__ __forceinline__ void as_listed(surface &at) {
    if (diffuse) at.kind = MATERIAL_DIFFUSE;
}

/* A path on its way through the steps. */
struct shaded_path {
    wave_path path;
    rng_key key;
    surface at;
    path_turn turn;
};

template <bool general, bool diffuse>
__device__ __forceinline__ void shade_arrive(const scene_view &scene, const path_waves &w,
                                             const path_store &from, uint32_t i, shaded_path &on) {
    on.turn = PATH_ENDS;
    if (i == KD_NONE) return;
    on.path = load_path(from, i);
    if (on.path.slot == KD_NONE) return;
    path_state &state = on.path.state;
    ray_hit hit = load_stored_hit(w.hits, i);
    on.key = key_of_slot(w, place_of_slot(w, on.path.slot));
    state.flies = general && scene.medium_count != 0;
    ++state.step;
    if (general && path_passes(&scene, &w.options, &state, on.key, &hit)) {
        on.turn = PATH_PASSES;
        return;
    }
    vec3 sent;
    const path_turn turn =
        path_arrive(&scene, &w.options, &state, (int32_t)on.path.depth, hit, on.key, &on.at, &sent);
    on.turn = general || turn != PATH_STRAYS ? turn : PATH_ENDS; /* the last: for the compiler */
    as_listed<diffuse>(on.at);
    if (on.path.depth == 1) store_first(scene, w, on.path.slot, &state.cast, &on.at);
    add_radiance(w, on.path.slot, sent);
}

/* The light that was asked for, as path_waves.cu adds it. */
template <bool general>
__device__ __forceinline__ void store_shadow(const path_waves &w, uint32_t at,
                                             const wave_path &path, const path_asked &asked) {
    store_ray(w.shadow_rays, at, asked.cast);
    if (general) {
        float4 *to = w.shadow_gain + 3 * (uint64_t)at;
        to[0] = with_fourth(asked.sent, __uint_as_float(path.slot));
        to[1] = with_fourth(path.state.throughput, asked.weight);
        to[2] =
            make_float4(__uint_as_float(asked.where), path.state.scattered > 0 ? 1.0f : 0.0f, 0, 0);
        return;
    }
    const vec3 gain =
        path_clamped(&w.options, path.state.scattered > 0,
                     vec3_mul(path.state.throughput, path_asked_light(&asked, vec3_all(1))));
    w.shadow_gain[at] = with_fourth(gain, __uint_as_float(path.slot));
}

/* What is sure to be added is 0, or no number at all. */
template <bool general, bool diffuse>
__device__ __forceinline__ void shade_ask(const scene_view &scene, const path_waves &w,
                                          uint32_t *shadows, shaded_path &on) {
    if (on.turn != PATH_SCATTERS && !(general && on.turn == PATH_STRAYS)) return;
    const path_turn turn = general ? on.turn : PATH_SCATTERS;
    as_listed<diffuse>(on.at);
    if (!path_seeks_light(turn, &on.at)) return;
    path_asked asked;
    const bool asks = path_ask(&scene, &on.path.state, turn, &on.at, on.key, &asked);
    if (!general || !asks)
        add_radiance(w, on.path.slot,
                     vec3_mul(on.path.state.throughput, path_asked_light(&asked, vec3_all(0))));
    if (asks) store_shadow<general>(w, take_place(shadows), on.path, asked);
}

/* Whether the path has another ray. */
template <bool general, bool diffuse>
__device__ __forceinline__ bool shade_go_on(const scene_view &scene, shaded_path &on) {
    if (general && on.turn == PATH_PASSES) return true;
    if (on.turn != PATH_SCATTERS && !(general && on.turn == PATH_STRAYS)) return false;
    const path_turn turn = general ? on.turn : PATH_SCATTERS;
    const int32_t depth = (int32_t)on.path.depth++;
    as_listed<diffuse>(on.at);
    return path_go_on(&scene, &on.path.state, turn, &on.at, depth, on.key);
}

/* Data flow: paths of the lists, hits -> radiance, first surfaces, shadow rays, the next wave's
   paths behind each other. */
template <bool general, bool diffuse>
__global__
__launch_bounds__(SHADE_BLOCK, diffuse ? SHADE_DIFFUSE_EACH : SHADE_OTHER_EACH) void wave_shade(
    const __grid_constant__ scene_view scene, const __grid_constant__ path_waves w, uint32_t wave) {
    wave_record *now = wave_at(w, wave), *next = wave_at(w, wave + 1);
    const path_store &from = w.stores[wave % 2], &to = w.stores[1 - wave % 2];
    uint32_t *cursor = diffuse ? &now->kinds.diffuse_chunk : &now->kinds.other_chunk;
    const auto fetch = [&](uint32_t i) {
        fetch_path_ahead(from, i);
        fetch_ahead(w.hits + i);
    };
    const auto shade = [&](uint32_t i) {
        shaded_path on;
        shade_arrive<general, diffuse>(scene, w, from, i, on);
        __syncthreads();
        shade_ask<general, diffuse>(scene, w, &now->shadows, on);
        __syncthreads();
        const bool goes_on = shade_go_on<general, diffuse>(scene, on);
        __syncthreads();
        if (goes_on) store_path(to, take_place(&next->rays), on.path);
    };
    shade_chunks(w.kinds, &now->kinds, cursor, diffuse ? 0 : 1, diffuse ? 1 : (uint32_t)WAVE_LISTS,
                 fetch, shade);
}

#endif
