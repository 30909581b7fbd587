/* Camera paths with deferred lookups, traced as wavefronts.
   Idea: the wavefronts of `path` (render/frame), with one sample of each pixel. At a surface that
         stores photons, a path records a lookup request and samples a light. It continues for one
         more ray, to the next surface: the half of direct light that samples the BSDF. The requests
         of a warp form a packet, since its paths are neighbours in an image tile and their
         materials have the same kind. If a smooth coat over such a surface also mirrors, all light
         of that surface must be added before the path continues, so its thread evaluates this light
         at once, as photon_eye_path does.
   Memory: that of wavefronts for all slots of a launch.
   Invariants: the terms added to a slot, and their order, are those of photon_eye_path: emission or
               sky, then the contribution of the shadow ray, then, one wavefront later, the BSDF
               half. */
#include "accel/rays/lane_closest.cuh"
#include "core/device/wave_parts.cuh"
#include "render/photon_mapping/eye_store.cuh"

namespace {

/* Purpose of a ray: the camera path itself, or the half of direct light that samples the BSDF. */
enum eye_part { EYE_MAIN, EYE_DRAWN_HALF };

/* Data flow: reads slots; writes paths, and radiance 0. A slot without a path gets an empty
         path. */
__global__ __launch_bounds__(BEGIN_BLOCK,
                             4) void eye_begin_all(const __grid_constant__ eye_slots slots) {
    const path_waves &w = slots.waves;
    wave_record *now = wave_at(w, 0);
    uint32_t left_out = 0;
    for (uint32_t slot = blockIdx.x * BEGIN_BLOCK + threadIdx.x; slot < w.slots;
         slot += gridDim.x * BEGIN_BLOCK) {
        ray ray = ray_make(vec3_all(0), vec3_all(0), 0, -1);
        const bool begins = slot_begins(slots, slot, &ray);
        wave_path p;
        p.slot = begins ? slot : KD_NONE;
        p.depth = 1;
        p.state = path_begin(ray);
        slots.first_request[slot] = KD_NONE;
        if (begins) w.radiance[slot] = make_float4(0, 0, 0, 0);
        left_out += !begins;
        store_eye_path(w.stores[0], slot, p, EYE_MAIN, KD_NONE);
    }
    left_out = __reduce_add_sync(0xffffffffu, left_out);
    if (threadIdx.x % 32 == 0 && left_out) atomicAdd(&now->left_out, left_out);
}

/* --- at surfaces ------------------------------------------------------------------------------ */

/* A path during the steps of a wavefront. */
struct eye_shaded {
    wave_path path;
    uint32_t part; /* eye_part */
    uint32_t last_request;
    rng_key key;
    surface at;
    bool is_valid;  /* a path of the kind EYE_MAIN has hit the surface `at` */
    bool lands;     /* the surface stores photons */
    bool continues; /* the next ray is already set */
};

__device__ __forceinline__ vec3 eye_of(const eye_shaded &shaded) {
    return vec3_negate(shaded.path.state.ray.direction);
}

/* Reaches what the ray has hit. `kind`: as for surface_of_hit. */
__device__ __forceinline__ void eye_reach(const scene_view &scene, const path_waves &w,
                                          const ray_hit &hit, int32_t kind, eye_shaded &shaded) {
    path_state &state = shaded.path.state;
    shaded.is_valid = shaded.lands = shaded.continues = false;
    if (scene.nested.count) __builtin_unreachable(); /* such scenes have media */
    ++state.step;
    shaded.at.triangle = KD_NONE;
    if (hit.triangle == KD_NONE) {
        if (shaded.path.depth == 1) store_first(scene, w, shaded.path.slot, &state.ray, &shaded.at);
        add_radiance(w, shaded.path.slot,
                     path_sky_seen(&scene, &state, (int32_t)shaded.path.depth));
        return;
    }
    shaded.at = path_surface(&scene, &state, hit, shaded.key, kind);
    if (shaded.path.depth == 1) store_first(scene, w, shaded.path.slot, &state.ray, &shaded.at);
    add_radiance(w, shaded.path.slot, path_emission(&scene, &state, &shaded.at));
    shaded.is_valid = shaded.part == EYE_MAIN;
    shaded.lands = surface_holds_photons(&shaded.at);
}

/* Loads path i; returns false if it is empty. */
__device__ __forceinline__ bool eye_load(const path_waves &w, const path_store &store, uint32_t i,
                                         eye_shaded &shaded) {
    shaded.path = load_eye_path(store, i, &shaded.part, &shaded.last_request);
    if (shaded.path.slot == KD_NONE) return false;
    shaded.key = key_of_slot(w, place_of_slot(w, shaded.path.slot));
    return true;
}

template <bool diffuse>
__device__ __forceinline__ void eye_arrive(const scene_view &scene, const path_waves &w,
                                           const path_store &store, uint32_t i,
                                           eye_shaded &shaded) {
    shaded.is_valid = shaded.lands = shaded.continues = false;
    shaded.path.depth = 0;
    if (i != KD_NONE && eye_load(w, store, i, shaded))
        eye_reach(scene, w, load_stored_hit(w.hits, i),
                  kind_of_kernel(diffuse ? SHADE_DIFFUSE : SHADE_OTHERS), shaded);
}

/* Evaluates all light of a surface that also mirrors, and continues with the reflection. */
__device__ __noinline__ void eye_lookup_and_mirror(const scene_view *scene,
                                                   const photon_view *photons,
                                                   const eye_slots *slots, eye_shaded *shaded) {
    const path_waves &w = slots->waves;
    const uint32_t slot = shaded->path.slot;
    eye_path path = eye_begin(shaded->path.state.ray, shaded->key);
    path.state = shaded->path.state;
    path.depth = (int32_t)shaded->path.depth;
    path.result.radiance = first_three(w.radiance[slot]);
    path.last_request = shaded->last_request;
    path.first_request = slots->first_request[slot];
    eye_lookup(scene, photons, LOOKUP_DEFERRED, &path, &shaded->at, eye_of(*shaded));
    shaded->continues = eye_mirrored(&path, &shaded->at, eye_of(*shaded));
    shaded->path.state = path.state;
    shaded->last_request = path.last_request;
    w.radiance[slot] = with_fourth(path.result.radiance, 0);
    slots->first_request[slot] = path.first_request;
    atomicAdd((unsigned long long *)&w.counts->rays, (unsigned long long)path.result.rays);
    shaded->is_valid = false;
}

/* Records the request, and samples a light source; returns false if there is none. */
template <bool diffuse>
__device__ __forceinline__ bool eye_sample_light(const scene_view &scene,
                                                 const photon_view &photons, const eye_slots &slots,
                                                 eye_shaded &shaded, shadow_request *request) {
    if (!shaded.is_valid) return false;
    const path_waves &w = slots.waves;
    const path_state &state = shaded.path.state;
    if (!diffuse && shaded.lands && surface_mirrors(&shaded.at)) {
        eye_lookup_and_mirror(&scene, &photons, &slots, &shaded);
        return false;
    }
    if (shaded.lands) {
        const uint32_t last = shaded.last_request;
        shaded.last_request =
            eye_request_append(&photons.later, &shaded.at, eye_of(shaded), state.throughput, last);
        if (last == KD_NONE) slots.first_request[shaded.path.slot] = shaded.last_request;
    } else if (surface_is_specular(&shaded.at)) {
        return false;
    }
    as_listed<diffuse ? SHADE_DIFFUSE : SHADE_OTHERS>(shaded.at);
    const bool mis =
        !shaded.lands || !path_depth_is_over(&photons.path, &state, (int32_t)shaded.path.depth);
    const bool has_light =
        path_sample_light_at(&scene, &shaded.at, eye_of(shaded), state.medium, mis,
                             sobol_draw(shaded.key, state.step, PATH_DRAW_LIGHT), request);
    /* add the contribution of an occluded light: NaN, not 0, if a factor is not finite */
    add_radiance(w, shaded.path.slot,
                 vec3_mul(state.throughput, shadow_request_light(request, vec3_all(0))));
    return has_light;
}

/* Returns true if the path has another ray. */
template <bool diffuse>
__device__ __forceinline__ bool eye_continues(const photon_view &photons, const eye_slots &slots,
                                              eye_shaded &shaded) {
    path_state &state = shaded.path.state;
    if (shaded.is_valid && shaded.lands &&
        photons.final_gather) { /* gather rays start here later */
        store_eye_path(slots.landed, shaded.path.slot, shaded.path, 0, 0);
        return false;
    }
    const int32_t depth = (int32_t)shaded.path.depth++;
    if (shaded.is_valid) {
        const rng_block random =
            sobol_draw(shaded.key, state.step, shaded.lands ? EYE_DRAW_GATHER : PATH_DRAW_SCATTER);
        as_listed<diffuse ? SHADE_DIFFUSE : SHADE_OTHERS>(shaded.at);
        shaded.continues = path_scatter(&state, &shaded.at, eye_of(shaded), depth, random) &&
                           !(shaded.lands && state.specular);
        if (shaded.lands) shaded.part = EYE_DRAWN_HALF;
    }
    return shaded.continues && !path_depth_is_over(&photons.path, &state, depth);
}

/* Data flow: as wave_shade; reads the paths of the lists and their hits; writes radiance, first
              surfaces, requests, shadow rays, and, contiguously, the paths of the next
              wavefront. */
template <bool diffuse>
__global__
__launch_bounds__(SHADE_BLOCK, diffuse ? SHADE_DIFFUSE_EACH : SHADE_OTHER_EACH) void eye_shade(
    const __grid_constant__ scene_view scene, const __grid_constant__ photon_view photons,
    const __grid_constant__ eye_slots slots, uint32_t wave) {
    const path_waves &w = slots.waves;
    wave_record *now = wave_at(w, wave), *next = wave_at(w, wave + 1);
    const path_store &from = w.stores[wave % 2], &to = w.stores[1 - wave % 2];
    uint32_t *cursor = now->kinds.chunk + (diffuse ? 0 : 1);
    const auto fetch = [&](uint32_t i) {
        fetch_path_ahead(from, i);
        fetch_ahead(w.hits + i);
    };
    const auto shade = [&](uint32_t i) {
        eye_shaded shaded;
        eye_arrive<diffuse>(scene, w, from, i, shaded);
        __syncthreads();
        shadow_request request;
        if (eye_sample_light<diffuse>(scene, photons, slots, shaded, &request))
            store_shadow<false>(w, take_place(&now->shadows), shaded.path, request);
        __syncthreads();
        const bool has_next = eye_continues<diffuse>(photons, slots, shaded);
        __syncthreads();
        if (has_next)
            store_eye_path(to, take_place(&next->rays), shaded.path, shaded.part,
                           shaded.last_request);
    };
    shade_chunks(w.kinds, &now->kinds, cursor, diffuse ? 0 : 1, diffuse ? 1 : (uint32_t)WAVE_LISTS,
                 fetch, shade);
}

/* --- one thread per path ---------------------------------------------------------------------- */

/* Traces the last few paths of the wavefronts to their ends.
   Data flow: reads paths of the wavefront; writes radiance, first surfaces, requests, counts. */
__global__ __launch_bounds__(EYE_FINISH_BLOCK, EYE_FINISH_EACH) void eye_finish(
    const __grid_constant__ scene_view scene, const __grid_constant__ photon_view photons,
    const __grid_constant__ eye_slots slots, uint32_t wave) {
    const path_waves &w = slots.waves;
    const ray none = ray_make(vec3_all(0), vec3_all(0), 0, -1);
    const uint32_t count = wave_at(w, wave)->rays;
    uint32_t i = spread_first(count), rays = 0;
    bool flies = false;
    eye_shaded on;
    for (;;) {
        while (!flies && i < count) {
            flies = eye_load(w, w.stores[wave % 2], i, on);
            i += gridDim.x * EYE_FINISH_BLOCK;
        }
        if (!__any_sync(~0u, flies)) break;
        const ray_hit hit = lane_closest(scene.tree, flies ? on.path.state.ray : none, flies);
        shadow_request request;
        request.ray = none;
        bool has_light = false;
        rays += flies;
        if (flies) {
            eye_reach(scene, w, hit, SURFACE_ANY, on);
            has_light = eye_sample_light<false>(scene, photons, slots, on, &request);
        }
        __syncwarp();
        const ray_hit blocked = lane_closest(scene.tree, request.ray, has_light);
        rays += has_light;
        if (has_light && blocked.triangle == KD_NONE)
            add_radiance(w, on.path.slot, light_gain(w, on.path.state, request));
        if (flies) flies = eye_continues<false>(photons, slots, on);
        __syncwarp();
    }
    take_counts(w.counts, rays, 0);
}

/* Traces all paths from the camera, for scenes that are not traced as wavefronts.
   Data flow: reads slots; writes radiance, first surfaces, requests, counts. */
__global__ __launch_bounds__(EYE_ALL_BLOCK, EYE_ALL_EACH) void eye_follow_all(
    const __grid_constant__ scene_view scene, const __grid_constant__ photon_view photons,
    const __grid_constant__ eye_slots slots) {
    const path_waves &w = slots.waves;
    const uint32_t slot = blockIdx.x * EYE_ALL_BLOCK + threadIdx.x;
    uint32_t rays = 0;
    ray first;
    if (slot < w.slots) slots.first_request[slot] = KD_NONE;
    if (slot < w.slots && slot_begins(slots, slot, &first)) {
        eye_path path = eye_begin_in(&scene, first, key_of_slot(w, place_of_slot(w, slot)));
        eye_follow(&scene, &photons, LOOKUP_DEFERRED, &path);
        w.radiance[slot] = with_fourth(path.result.radiance, 0);
        slots.first_request[slot] = path.first_request;
        store_first(scene, w, slot, &first, &path.result.first);
        rays = path.result.rays;
    }
    take_counts(w.counts, rays, 0);
}

/* --- host code -------------------------------------------------------------------------------- */

kd_status eye_begin_paths(const eye_slots *slots) {
    unsigned blocks = 0;
    KD_TRY(cuda_resident_blocks(&blocks, eye_begin_all, BEGIN_BLOCK));
    eye_begin_all<<<blocks, BEGIN_BLOCK>>>(*slots);
    KD_CUDA_LAUNCHED("eye_begin_all");
    return KD_OK;
}

kd_status run_eye_wave(const wave_run *run, const photon_view *photons, const eye_slots *slots) {
    KD_TRY(cast_paths(run, run->wave == 0));
    KD_TRY(start(run, wave_list, KIND_BLOCK, "wave_list"));
    KD_TRY(start_eye(run, photons, slots, eye_shade<false>, SHADE_BLOCK, "eye_shade of others"));
    KD_TRY(start_eye(run, photons, slots, eye_shade<true>, SHADE_BLOCK, "eye_shade of diffuse"));
    KD_TRY(cast_shadows(run));
    return add_unblocked(run);
}

/* Traces all paths as wavefronts, except for the last few; `run->wave` becomes the wavefront
   with these. */
kd_status go_by_waves(wave_run *run, const photon_view *photons, const eye_slots *slots) {
    KD_CUDA(cudaMemsetAsync(run->work.ring, 0, WAVE_RING * sizeof(wave_record)));
    for (;; ++run->wave) {
        KD_TRY(plan_wave(run, true));
        if (run->wave == 0) KD_TRY(eye_begin_paths(slots));
        if (run->wave >= EYE_POLL_FIRST && run->wave % EYE_POLL_EVERY == 0) {
            wave_record seen;
            KD_TRY(device_memory_download(&seen, record_of(run), sizeof seen));
            if (seen.rays <= min((uint32_t)EYE_FEW, run->work.capacity / 8)) return KD_OK;
        }
        KD_TRY(run_eye_wave(run, photons, slots));
    }
}

void lay_out_slots(eye_slots *eye_slots, cuda_arena *arena) {
    path_waves *w = &eye_slots->waves;
    const uint64_t slots = w->slots;
    if (eye_slots->by_waves) lay_out_waves(w, arena, false);
    if (!eye_slots->by_waves) lay_out_samples(w, arena);
    w->counts = (sample_counts *)cuda_arena_take(arena, 1, sizeof(sample_counts));
    eye_slots->first_request = (uint32_t *)cuda_arena_take(arena, slots, sizeof(uint32_t));
    if (!eye_slots->together) return;
    lay_out_store(&eye_slots->landed, arena, slots);
    eye_slots->part = (float4 *)cuda_arena_take(arena, w->capacity, sizeof(float4));
    eye_slots->gathered = (float4 *)cuda_arena_take(arena, slots, sizeof(float4));
    lay_out_gather_ends(&eye_slots->ends, arena, w->capacity);
}

} // namespace

kd_status eye_slots_open(eye_slots *out, const frame *frame, const sample_range *range,
                         bool by_waves, uint32_t group_size) {
    path_waves *w = &out->waves;
    memset(out, 0, sizeof *out);
    w->view = integrator_view(frame);
    w->view.scene = NULL;
    w->range = *range;
    w->range.count = 1;
    w->pixels = frame->device_frame->pixels;
    w->across = (uint32_t)(range->width + 7) / 8;
    w->tiled = (uint32_t)frame_cuda_tiled_pixels(range->width, range->bottom - range->top);
    w->slots = w->tiled;
    w->capacity = w->slots * (group_size ? group_size : 1);
    out->by_waves = by_waves;
    out->together = group_size;
    cuda_arena arena = {NULL, 0};
    lay_out_slots(out, &arena);
    KD_TRY(device_buffer_reserve(&frame->device_frame->work, arena.used));
    arena.base = (char *)frame->device_frame->work.memory;
    arena.used = 0;
    lay_out_slots(out, &arena);
    return frame_cuda_pack(frame->device_frame);
}

kd_status eye_request_slots(const frame *frame, const photon_view *photons,
                            const eye_slots *slots) {
    wave_run run;
    run.frame = frame;
    run.work = slots->waves;
    run.general = false;
    run.wave = 0;
    KD_CUDA(cudaMemsetAsync(run.work.counts, 0, sizeof *run.work.counts));
    if (!slots->by_waves) {
        const unsigned blocks = (run.work.slots + EYE_ALL_BLOCK - 1) / EYE_ALL_BLOCK;
        eye_follow_all<<<blocks, EYE_ALL_BLOCK>>>(frame->device_frame->scene.view, *photons,
                                                  *slots);
        KD_CUDA_LAUNCHED("eye_follow_all");
        return KD_OK;
    }
    KD_TRY(go_by_waves(&run, photons, slots));
    return start_eye(&run, photons, slots, eye_finish, EYE_FINISH_BLOCK, "eye_finish");
}
