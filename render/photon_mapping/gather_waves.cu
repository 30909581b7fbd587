/* Final gather rays, traced as wavefronts.
   Idea: the camera's wavefronts (eye_waves.cu) leave at most one surface per slot from which to
         gather: the request holds the surface, `landed` the state of the path at it. Then several
         gather rays of every slot are traced together: each wavefront advances them by one surface,
         as in `path`. If few are left, one thread each traces them to their ends, which would need
         dozens of wavefronts. The results of the rays of a slot are added in order.
         Only some lanes of a warp have a lookup at a time; an inline lookup, which takes long,
         would make the others wait. So ray ends only record what they need: the precomputed
         irradiance of the nearest photon (diffuse surfaces far away), or a request. The few points
         to which no nearby photon applies make requests, too. A kernel of lookups takes as long for
         few as for many thousands, so those of all wavefronts are answered together, in the order
         of their places: rays do not wait for them, but note their further terms
         (gather_store.cuh).
   Work: the traversal kernels for batches trace the rays, and the gathering kernels answer the
         lookups, once per sample, unless there are more notes than rays.
   Memory: 164 bytes per slot, 719 per ray: of these 84 for precomputed irradiance, 336 for
         requests, 16 for notes.
   Invariants: the terms added to a gather ray, and their order, are those of eye_gather_ray:
               emission or sky, then the contribution of the shadow ray, then the maps:
               photon_far_radiance or, nearby, photon_map_radiance of the caustic map, bit for bit.
   Data flow: for a range of ray numbers: gather_begin, one thread per slot, reads requests and
              landed, and writes paths; in each wavefront gather_shade, for diffuse and for other
              surfaces, reads paths and hits, and writes part, notes, shadow rays, ends and the next
              paths; gather_add_lights adds to part or notes; gather_last, one thread per ray, does
              all of this for the last rays. Then photon_maps_cuda_irradiance_lookup answers the
              known ends; gather_precomputed, one thread per known end, adds to part or notes, or
              writes requests; the gathering kernels answer all requests; gather_sum, one thread per
              slot, adds part and the noted terms to the sum, and after the last number to the
              radiance. */
#include "accel/rays/lane_closest.cuh"
#include "render/photon_mapping/gather_answers.cuh"

namespace {

enum {
    GATHER_LAST = 1 << 16, /* largest number of rays traced to their ends by one thread each */
    TERMS_MAX = 4,         /* of a ray at a surface */
    LAST_BLOCK = 32,
    LAST_EACH = 8
};

/* --- rays ------------------------------------------------------------------------------------- */

__global__ __launch_bounds__(BEGIN_BLOCK,
                             4) void gather_begin(const __grid_constant__ photon_view photons,
                                                  const __grid_constant__ eye_slots slots,
                                                  uint32_t wave, uint32_t count) {
    const path_waves &w = slots.waves;
    wave_record *now = wave_at(w, wave);
    for (uint32_t slot = blockIdx.x * BEGIN_BLOCK + threadIdx.x; slot < w.slots;
         slot += gridDim.x * BEGIN_BLOCK) {
        const uint32_t request = slots.first_request[slot];
        for (uint32_t i = 0; i < count; ++i)
            w.radiance[(uint64_t)i * w.slots + slot] = make_float4(0, 0, 0, 0);
        if (request == KD_NONE) continue;
        const eye_request &lookup = photons.later.list[request];
        uint32_t unused, word;
        const wave_path landed = load_eye_path(slots.landed, slot, &unused, &word);
        const int32_t depth = (int32_t)landed.depth;
        if (path_depth_is_over(&photons.path, &landed.state, depth)) continue;
        for (uint32_t i = 0; i < count; ++i) {
            wave_path p = landed;
            p.slot = i * w.slots + slot;
            p.depth = (uint32_t)depth + 1;
            const rng_block random =
                sobol_draw(gather_key(slots, photons, p.slot), p.state.step, EYE_DRAW_GATHER);
            if (path_scatter(&p.state, &lookup.at, lookup.wo, depth, random) && !p.state.specular)
                store_eye_path(w.stores[wave % 2], take_place(&now->rays), p, 1, 0);
        }
    }
}

/* --- at surfaces ------------------------------------------------------------------------------ */

/* Reaches what the ray has hit. `kind`: as for surface_of_hit. */
__device__ __forceinline__ void gather_reach(const scene_view &scene, const photon_view &photons,
                                             const eye_slots &slots, const ray_hit &hit,
                                             int32_t kind, gather_shaded &shaded) {
    path_state &state = shaded.path.state;
    if (scene.nested.count) __builtin_unreachable(); /* such scenes have media */
    shaded.is_valid = shaded.lands = shaded.near = false;
    ++state.step;
    if (hit.triangle == KD_NONE) {
        if (shaded.emission) add_term(slots, shaded.path.slot, path_sky(&scene, &state));
        return;
    }
    shaded.at = path_surface(&scene, &state, hit, shaded.key, kind);
    shaded.travelled += hit.t;
    if (shaded.emission)
        add_term(slots, shaded.path.slot, path_emission(&scene, &state, &shaded.at));
    shaded.is_valid = true;
    shaded.lands = surface_holds_photons(&shaded.at);
    shaded.near = shaded.lands && shaded.travelled < photons.near &&
                  !path_depth_is_over(&photons.path, &state, (int32_t)shaded.path.depth);
}

template <bool diffuse>
__device__ __forceinline__ void gather_arrive(const scene_view &scene, const photon_view &photons,
                                              const eye_slots &slots, const path_store &store,
                                              uint32_t i, gather_shaded &shaded) {
    shaded.is_valid = shaded.lands = shaded.near = false;
    shaded.path.depth = 0;
    if (i == KD_NONE) return;
    load_gather_path(slots, photons, store, i, shaded);
    gather_reach(scene, photons, slots, load_stored_hit(slots.waves.hits, i),
                 kind_of_kernel(diffuse ? SHADE_DIFFUSE : SHADE_OTHERS), shaded);
}

/* Returns true if the end of the ray uses precomputed irradiance. */
__device__ __forceinline__ bool gather_is_known(const photon_view &photons,
                                                const gather_shaded &shaded) {
    return shaded.lands && !shaded.near && photons.global.irradiance &&
           shaded.at.kind == MATERIAL_DIFFUSE;
}

/* Samples a light source; returns false if there is none. */
template <bool diffuse>
__device__ __forceinline__ bool gather_sample_light(const scene_view &scene, const eye_slots &slots,
                                                    gather_shaded &shaded,
                                                    shadow_request *request) {
    if (!shaded.lands) return false;
    const path_state &state = shaded.path.state;
    as_listed<diffuse ? SHADE_DIFFUSE : SHADE_OTHERS>(shaded.at);
    const bool has_light =
        path_sample_light_at(&scene, &shaded.at, gather_eye(shaded), state.medium, shaded.near,
                             sobol_draw(shaded.key, state.step, PATH_DRAW_LIGHT), request);
    add_term(slots, shaded.path.slot,
             vec3_mul(state.throughput, shadow_request_light(request, vec3_all(0))));
    return has_light;
}

/* Records the lookup, to be added after the shadow ray. */
template <bool diffuse>
__device__ __forceinline__ void gather_lookup(const photon_view &photons, const eye_slots &slots,
                                              gather_shaded &shaded) {
    as_listed<diffuse ? SHADE_DIFFUSE : SHADE_OTHERS>(shaded.at);
    const uint32_t slot = shaded.path.slot;
    const vec3 throughput = shaded.path.state.throughput;
    if (gather_is_known(photons, shaded)) {
        const precomputed_end end = {shaded.at, gather_eye(shaded), throughput, slot};
        store_precomputed(slots, take_place(&slots.ends.tally->precomputed), end);
    } else if (shaded.lands) {
        add_request(slots, &shaded.at, gather_eye(shaded), throughput, slot, !shaded.near);
    }
}

/* Returns true if the ray continues, through a specular surface or from a point that is too
   close. */
template <bool diffuse>
__device__ __forceinline__ bool gather_continues(const photon_view &photons,
                                                 gather_shaded &shaded) {
    path_state &state = shaded.path.state;
    if (!shaded.is_valid || (shaded.lands && !shaded.near)) return false;
    const int32_t depth = (int32_t)shaded.path.depth++;
    as_listed<diffuse ? SHADE_DIFFUSE : SHADE_OTHERS>(shaded.at);
    if (!path_scatter(&state, &shaded.at, gather_eye(shaded), depth,
                      sobol_draw(shaded.key, state.step, PATH_DRAW_SCATTER)))
        return false;
    shaded.emission = shaded.lands && !state.specular;
    if (shaded.emission) shaded.travelled = 0;
    return !path_depth_is_over(&photons.path, &state, depth);
}

template <bool diffuse>
__global__
__launch_bounds__(SHADE_BLOCK, diffuse ? SHADE_DIFFUSE_EACH : SHADE_OTHER_EACH) void gather_shade(
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
        gather_shaded shaded;
        gather_arrive<diffuse>(scene, photons, slots, from, i, shaded);
        __syncthreads();
        shadow_request request;
        if (gather_sample_light<diffuse>(scene, slots, shaded, &request)) {
            wave_path from = shaded.path;
            if (!gather_is_known(photons, shaded)) from.slot |= RAY_REQUESTS;
            store_shadow<false>(w, take_place(&now->shadows), from, request);
        }
        __syncthreads();
        gather_lookup<diffuse>(photons, slots, shaded);
        __syncthreads();
        const bool has_next = gather_continues<diffuse>(photons, shaded);
        __syncthreads();
        if (has_next) store_gather_path(to, &next->rays, shaded);
    };
    shade_chunks(w.kinds, &now->kinds, cursor, diffuse ? 0 : 1, diffuse ? 1 : (uint32_t)WAVE_LISTS,
                 fetch, shade);
}

/* Adds the contributions of unoccluded shadow rays.
   Data flow: reads blocked and gain; adds to part or notes; writes the number of rays left. */
__global__
__launch_bounds__(ADD_BLOCK) void gather_add_lights(const __grid_constant__ eye_slots slots,
                                                    uint32_t wave) {
    const path_waves &w = slots.waves;
    const uint32_t count = wave_at(w, wave)->shadows;
    if (blockIdx.x == 0 && threadIdx.x == 0) slots.ends.tally->left = wave_at(w, wave + 1)->rays;
    for (uint32_t i = blockIdx.x * ADD_BLOCK + threadIdx.x; i < count; i += gridDim.x * ADD_BLOCK) {
        if (w.blocked[i]) continue;
        const float4 gain = w.shadow_gain[i];
        const uint32_t ray = __float_as_uint(gain.w);
        if (ray & RAY_REQUESTS)
            add_term_before(slots, ray & ~RAY_REQUESTS, first_three(gain));
        else
            add_term(slots, ray, first_three(gain));
    }
}

/* --- the last rays ---------------------------------------------------------------------------- */

/* Returns false if the notes of so many rays at their next surfaces may not fit. */
__device__ __forceinline__ bool notes_fit(const eye_slots &slots, uint32_t rays) {
    const uint32_t used = *(volatile uint32_t *)&slots.ends.tally->notes;
    return (uint64_t)used + (uint64_t)TERMS_MAX * rays <= slots.waves.capacity;
}

/* Traces the last rays to their ends, one thread per ray, in place of dozens of wavefronts, as long
   as there is room for notes.
   Data flow: reads the paths of the wavefront; adds to part, ends and counts; writes the paths that
              are left as those of the next wavefront. */
__global__ __launch_bounds__(LAST_BLOCK, LAST_EACH) void gather_last(
    const __grid_constant__ scene_view scene, const __grid_constant__ photon_view photons,
    const __grid_constant__ eye_slots slots, uint32_t wave) {
    const path_waves &w = slots.waves;
    wave_record *now = wave_at(w, wave);
    const uint32_t count = now->rays, threads = gridDim.x * LAST_BLOCK;
    uint32_t i = spread_first(count), rays = 0;
    bool flies = false;
    gather_shaded on;
    if (blockIdx.x == 0 && threadIdx.x == 0) now->left_out = count; /* counted here */
    for (;;) {
        while (!flies && i < count) {
            load_gather_path(slots, photons, w.stores[wave % 2], i, on);
            flies = true;
            i += threads;
        }
        if (flies && !notes_fit(slots, min(count, threads))) {
            store_gather_path(w.stores[1 - wave % 2], &wave_at(w, wave + 1)->rays, on);
            flies = false;
        }
        if (!__any_sync(~0u, flies || i < count)) break;
        const ray none = ray_make(vec3_all(0), vec3_all(0), 0, -1);
        const ray_hit hit = lane_closest(scene.tree, flies ? on.path.state.ray : none, flies);
        shadow_request request;
        request.ray = none;
        bool has_light = false;
        rays += flies;
        if (flies) {
            gather_reach(scene, photons, slots, hit, SURFACE_ANY, on);
            has_light = gather_sample_light<false>(scene, slots, on, &request);
        }
        __syncwarp();
        const ray_hit blocked = lane_closest(scene.tree, request.ray, has_light);
        rays += has_light;
        if (has_light && blocked.triangle == KD_NONE)
            add_term(slots, on.path.slot, light_gain(w, on.path.state, request));
        if (flies) {
            gather_lookup<false>(photons, slots, on);
            flies = gather_continues<false>(photons, on);
        }
        __syncwarp();
    }
    take_counts(w.counts, rays, 0);
}

/* --- completion of rays ----------------------------------------------------------------------- */

/* Adds up the gather rays of a slot. `radiance`: of camera paths; `count`: number of gather rays
   per slot in this sequence of wavefronts. */
__global__ __launch_bounds__(GATHER_BLOCK) void gather_sum(
    const __grid_constant__ photon_view photons, const __grid_constant__ eye_slots slots,
    const __grid_constant__ lookup_results results, float4 *radiance, uint32_t count,
    uint32_t numbers) {
    const path_waves &w = slots.waves;
    for (uint32_t slot = blockIdx.x * GATHER_BLOCK + threadIdx.x; slot < w.slots;
         slot += gridDim.x * GATHER_BLOCK) {
        if (slots.first_request[slot] == KD_NONE) continue;
        vec3 sum = slots.gather_number ? first_three(slots.gathered[slot]) : vec3_all(0);
        for (uint32_t i = 0; i < count; ++i)
            sum = vec3_add(sum, sum_of_terms(photons, slots, results, i * w.slots + slot));
        if (slots.gather_number + count < numbers) {
            slots.gathered[slot] = with_fourth(sum, 0);
            continue;
        }
        const vec3 seen = first_three(radiance[slot]);
        radiance[slot] = with_fourth(vec3_along(seen, 1 / (float)numbers, sum), 0);
    }
}

/* --- host code -------------------------------------------------------------------------------- */

kd_status begin_gather(const wave_run *run, const photon_view *photons, const eye_slots *slots,
                       uint32_t count) {
    unsigned blocks = 0;
    KD_CUDA(cudaMemsetAsync(run->work.ring, 0, WAVE_RING * sizeof(wave_record)));
    KD_CUDA(cudaMemsetAsync(slots->ends.tally, 0, sizeof(gather_tally)));
    KD_TRY(cuda_resident_blocks(&blocks, gather_begin, BEGIN_BLOCK));
    gather_begin<<<blocks, BEGIN_BLOCK>>>(*photons, *slots, run->wave, count);
    KD_CUDA_LAUNCHED("gather_begin");
    return KD_OK;
}

/* Runs one wavefront. */
kd_status run_gather_wave(const wave_run *run, const photon_view *photons, const eye_slots *slots) {
    unsigned blocks = 0;
    KD_TRY(cast_paths(run, run->wave == 0));
    KD_TRY(start(run, wave_list, KIND_BLOCK, "wave_list"));
    KD_TRY(start_eye(run, photons, slots, gather_shade<false>, SHADE_BLOCK, "gather_shade"));
    KD_TRY(start_eye(run, photons, slots, gather_shade<true>, SHADE_BLOCK, "gather_shade"));
    KD_TRY(cast_shadows(run));
    KD_TRY(cuda_resident_blocks(&blocks, gather_add_lights, ADD_BLOCK));
    gather_add_lights<<<blocks, ADD_BLOCK>>>(*slots, run->wave);
    KD_CUDA_LAUNCHED("gather_add_lights");
    return KD_OK;
}

/* Traces the last rays, as far as there is room for their notes. */
kd_status run_last_rays(const wave_run *run, const photon_view *photons, const eye_slots *slots) {
    return start_eye(run, photons, slots, gather_last, LAST_BLOCK, "gather_last");
}

/* Traces `count` rays of each slot, and answers their requests. The first wavefront does not have
   number 0, since its rays are not sorted. Requests of all wavefronts are answered together, unless
   the notes need too much memory: a lookup takes as long for few points as for many thousands. */
kd_status gather_numbers(wave_run *run, const photon_maps_cuda *maps, const photon_view *photons,
                         const eye_slots *slots, uint32_t count, lookup_results *results) {
    const uint32_t capacity = slots->waves.capacity, few = min((uint32_t)GATHER_LAST, capacity / 8);
    const uint32_t rays = count * slots->waves.slots;
    gather_tally tally = {0, 0, 0, 0, 0, rays};
    run->wave = WAVE_RING;
    KD_TRY(begin_gather(run, photons, slots, count));
    for (; tally.left; ++run->wave) {
        /* a ray that does not wait notes a request at most */
        const uint64_t notes = tally.notes ? TERMS_MAX * (uint64_t)tally.left : tally.left;
        if (tally.notes + notes > capacity)
            KD_TRY(complete(run, maps, photons, slots, &tally, rays));
        KD_TRY(plan_wave(run, false));
        const bool last = tally.left <= few;
        KD_TRY((last ? run_last_rays : run_gather_wave)(run, photons, slots));
        KD_TRY(device_memory_download(&tally, slots->ends.tally, sizeof tally));
        const wave_record *next = run->work.ring + (run->wave + 1) % WAVE_RING;
        if (last) KD_TRY(device_memory_download(&tally.left, &next->rays, sizeof next->rays));
    }
    KD_TRY(plan_wave(run, false)); /* adds the rays of the last wavefront to the counts */
    if (tally.notes + (uint64_t)tally.precomputed > capacity)
        KD_TRY(complete(run, maps, photons, slots, &tally, rays));
    KD_TRY(lookup_precomputed(run, maps, slots, tally.precomputed));
    KD_TRY(device_memory_download(&tally, slots->ends.tally, sizeof tally));
    return answer_requests(run, maps, photons, slots, &tally, results);
}

} // namespace

void lay_out_gather_ends(gather_ends *ends, cuda_arena *arena, uint64_t rays) {
    ends->tally = (gather_tally *)cuda_arena_take(arena, 1, sizeof(gather_tally));
    ends->precomputed = (float4 *)cuda_arena_take(arena, PRECOMPUTED_PARTS * rays, sizeof(float4));
    ends->more = (uint32_t *)cuda_arena_take(arena, rays, sizeof(uint32_t));
    ends->requests = (eye_request *)cuda_arena_take(arena, rays, sizeof(eye_request));
    ends->notes = (float4 *)cuda_arena_take(arena, rays, sizeof(float4));
    ends->alone = (uint32_t *)cuda_arena_take(arena, rays + 2, sizeof(uint32_t));
    for (int m = 0; m < 2; ++m) {
        ends->sums[m] = (flux_sum *)cuda_arena_take(arena, rays, sizeof(flux_sum));
        ends->radii[m] = (float *)cuda_arena_take(arena, rays, sizeof(float));
        ends->integrals[m] = (float *)cuda_arena_take(arena, rays, sizeof(float));
    }
}

kd_status eye_gather_slots(const frame *frame, const photon_maps_cuda *maps,
                           const photon_view *photons, const eye_slots *slots) {
    eye_slots rays = *slots; /* results are added to each ray's own sum */
    lookup_results results;
    unsigned blocks = 0;
    wave_run run;
    rays.waves.radiance = slots->part;
    run.frame = frame;
    run.general = false;
    KD_TRY(cuda_resident_blocks(&blocks, gather_sum, GATHER_BLOCK));
    const uint32_t numbers = photons->final_gather;
    for (uint32_t number = 0; number < numbers; number += slots->together) {
        const uint32_t count = min(slots->together, numbers - number);
        rays.gather_number = number;
        run.work = rays.waves;
        KD_TRY(gather_numbers(&run, maps, photons, &rays, count, &results));
        gather_sum<<<blocks, GATHER_BLOCK>>>(*photons, rays, results, slots->waves.radiance, count,
                                             numbers);
        KD_CUDA_LAUNCHED("gather_sum");
    }
    return KD_OK;
}
