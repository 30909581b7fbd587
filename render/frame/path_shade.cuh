/* Kernels of path tracing that shade surfaces of one kind, in scenes without media and cut-outs.
   Idea: as wave_shade (path_store.cuh), with few registers. At four blocks per multiprocessor a
         thread has 64, and what they do not hold is spilled to L2 and further, because the local
         memory of all threads exceeds L1. Therefore little is kept between the steps: each one
         loads what it needs of the path from its place in the store, where only a wavelength is
         written. What is spilled nevertheless is kept in shared memory.
   Invariants: those of wave_shade. */
#ifndef KD_RENDER_FRAME_PATH_SHADE_CUH
#define KD_RENDER_FRAME_PATH_SHADE_CUH
#include "render/frame/path_store.cuh"

#if defined(__CUDACC_VER_MAJOR__) && __CUDACC_VER_MAJOR__ >= 13 && !defined(KD_CUDA_EMULATED)
/* In a kernel: registers are spilled to shared memory. */
#define SPILL_TO_SHARED() asm volatile(".pragma \"enable_smem_spilling\";")
#else
#define SPILL_TO_SHARED() (void)0
#endif

/* A path at a surface, between the steps. */
struct path_at_surface {
    rng_key key;
    surface at;
    bool scatters;
};

/* Loads the numbers of a path that takes its next step. */
__device__ __forceinline__ void load_step(const path_store &store, uint32_t i, wave_path *p) {
    load_ids(store, i, p);
    ++p->state.step;
}

__device__ __forceinline__ vec3 load_direction(const path_store &store, uint32_t i) {
    return first_three(store.rays[2 * (uint64_t)i + 1]);
}

/* Adds what a path that leaves the scene sees there. */
__device__ __forceinline__ void shade_miss(const scene_view &scene, const path_waves &w,
                                           const path_store &store, uint32_t i) {
    wave_path p;
    load_step(store, i, &p);
    if (p.slot == KD_NONE) return;
    p.state.ray.direction = load_direction(store, i);
    load_carried(store, i, &p.state);
    const vec3 sent = path_clamped(&w.options, p.state.scattered > 1,
                                   path_sky_seen(&scene, &p.state, (int32_t)p.depth));
    if (p.depth == 1) {
        surface none;
        none.triangle = KD_NONE;
        store_first(scene, w, p.slot, &p.state.ray, &none);
    }
    add_radiance(w, p.slot, sent);
}

/* Returns what a surface emits. Applies the path's wavelength and regularisation to it. */
__device__ __forceinline__ vec3 shade_emission(const scene_view &scene, const path_waves &w,
                                               const path_store &store, uint32_t i,
                                               path_at_surface *path) {
    wave_path p;
    load_step(store, i, &p);
    load_carried(store, i, &p.state);
    if (path->at.disperses) {
        path_disperse(&scene, &p.state, path->key, &path->at);
        store.throughput[i] = with_fourth(p.state.throughput, p.state.pdf);
        store.normal[i].w = p.state.wavelength;
    }
    path_regularise(&w.options, &p.state, &path->at);
    return path_clamped(&w.options, p.state.scattered > 1,
                        path_emission(&scene, &p.state, &path->at));
}

template <bool textured, shade_kernel kernel>
__device__ __forceinline__ void shade_surface(const scene_view &scene, const path_waves &w,
                                              const path_store &store, uint32_t i,
                                              path_at_surface *path) {
    path->scatters = false;
    if (scene.nested.count) __builtin_unreachable(); /* waves_are_general */
    if (i == KD_NONE) return;
    const ray_hit hit = load_stored_hit(w.hits, i);
    if (hit.triangle == KD_NONE) {
        if (kernel == SHADE_DIFFUSE) shade_miss(scene, w, store, i);
        return;
    }
    wave_path p;
    p.state.ray.direction = load_direction(store, i);
    scene_view seen = scene;
    if (!textured) {
        seen.textures = NULL;
        seen.mesh.texcoord_indices = NULL;
        seen.mesh.colours = NULL;
    }
    surface_of_hit(textured ? &scene : &seen, &p.state.ray, hit, KD_NONE, kind_of_kernel(kernel),
                   &path->at);
    load_step(store, i, &p);
    path->key = key_of_slot(w, place_of_slot(w, p.slot));
    path->scatters = !path_depth_is_over(&w.options, &p.state, (int32_t)p.depth) &&
                     p.state.scattered < w.options.scatterings;
    vec3 sent = vec3_all(0);
    if (path->at.disperses || w.options.least_alpha > 0 || !vec3_is_zero(path->at.emission))
        sent = shade_emission(scene, w, store, i, path);
    as_listed<kernel>(path->at);
    if (p.depth == 1) store_first(scene, w, p.slot, &p.state.ray, &path->at);
    add_radiance(w, p.slot, sent);
}

/* shade_sample_light of such a path. */
template <shade_kernel kernel>
__device__ __forceinline__ void shade_light(const scene_view &scene, const path_waves &w,
                                            const path_store &store, uint32_t i, uint32_t *shadows,
                                            path_at_surface *path) {
    if (!path->scatters) return;
    as_listed<kernel>(path->at);
    if (!path_seeks_light(PATH_SCATTERS, &path->at)) return;
    wave_path p;
    load_step(store, i, &p);
    p.state.ray.direction = load_direction(store, i);
    shadow_request request;
    const bool has_light =
        path_sample_light(&scene, &p.state, PATH_SCATTERS, &path->at, path->key, &request);
    p.state.throughput = first_three(store.throughput[i]);
    add_radiance(w, p.slot,
                 vec3_mul(p.state.throughput, shadow_request_light(&request, vec3_all(0))));
    if (has_light) store_shadow<false>(w, take_place(shadows), p, request);
}

/* Returns true if the path has another ray; *next is the path with it. */
template <shade_kernel kernel>
__device__ __forceinline__ bool shade_scatter(const path_store &store, uint32_t i,
                                              path_at_surface *path, wave_path *next) {
    if (!path->scatters) return false;
    as_listed<kernel>(path->at);
    const vec3 wo = vec3_negate(load_direction(store, i));
    load_step(store, i, next);
    const rng_block random = sobol_draw(path->key, next->state.step, PATH_DRAW_SCATTER);
    const bsdf_sample drawn = bsdf_draw(&path->at, wo, random, BSDF_RADIANCE);
    if (vec3_is_zero(drawn.weight)) return false;
    load_step(store, i, next);
    load_carried(store, i, &next->state);
    const int32_t depth = (int32_t)next->depth++;
    as_listed<kernel>(path->at);
    return path_scatter_drawn(&next->state, &path->at, wo, depth, &drawn, random.value[3]);
}

/* Data flow: that of wave_shade. `textured`: materials may have textures, or triangles colours. */
template <bool textured, shade_kernel kernel>
__global__ __launch_bounds__(SHADE_BLOCK, shade_blocks(false, kernel)) void wave_shade_kind(
    const __grid_constant__ scene_view scene, const __grid_constant__ path_waves w, uint32_t wave) {
    SPILL_TO_SHARED();
    wave_record *now = wave_at(w, wave), *next = wave_at(w, wave + 1);
    const path_store &from = w.stores[wave % 2], &to = w.stores[1 - wave % 2];
    const auto fetch = [&](uint32_t i) {
        fetch_path_ahead(from, i);
        fetch_ahead(w.hits + i);
    };
    const auto shade = [&](uint32_t i) {
        path_at_surface path;
        wave_path continued;
        shade_surface<textured, kernel>(scene, w, from, i, &path);
        __syncthreads();
        shade_light<kernel>(scene, w, from, i, &now->shadows, &path);
        __syncthreads();
        if (shade_scatter<kernel>(from, i, &path, &continued))
            store_path(to, take_place(&next->rays), continued);
    };
    shade_chunks(w.kinds, &now->kinds, now->kinds.chunk + kernel, kernel, kernel + 1, fetch, shade);
}

#endif
