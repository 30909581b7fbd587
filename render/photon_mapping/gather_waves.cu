/* Final gather rays, traced as wavefronts.
   Idea: the camera's wavefronts (eye_waves.cu) leave at most one surface per slot from which to
         gather: the request holds the surface, `landed` the state of the path at it. Then several
         gather rays of every slot are traced together: each wavefront advances them by one surface,
         as in `path`, until none is left. If few are left, one thread each takes them through glass
         and past mirrors, which would need dozens of wavefronts. The results of the rays of a slot
         are added in order.
         Only some lanes of a warp have a lookup at a time; an inline lookup, which takes long,
         would make the others wait. So ray ends only record what they need: the precomputed
         irradiance of the nearest photon (diffuse surfaces far away), or a request, which is
         answered like those of camera paths, by packets and by a warp each. The few points to which
         no nearby photon applies make requests, too. Precomputed irradiance is the last term of its
         ray, so it is looked up for the ends of all wavefronts together.
   Work: the traversal kernels for batches trace the rays, and the gathering kernels answer the
         lookups.
   Memory: 164 bytes per slot, 719 per ray: of these 84 for precomputed irradiance, 336 for
         requests.
   Invariants: the terms added to a gather ray, and their order, are those of eye_gather_ray:
               emission or sky, then the contribution of the shadow ray, then the maps:
               photon_far_radiance or, nearby, photon_map_radiance of the caustic map, bit for bit.
   Data flow: for a range of ray numbers: gather_begin, one thread per ray, reads requests and
              landed, and writes paths; in each wavefront gather_shade, for diffuse and for other
              surfaces, reads paths and hits, and writes part, shadow rays, ends and the next paths;
              wave_add adds to part; the gathering kernels answer requests; gather_add, one thread
              per request, adds to part. After the last one photon_maps_cuda_irradiance_lookup
              answers the known ends; gather_precomputed, one thread per known end, adds to part or
              writes requests, which are answered in the same way;
              gather_sum, one thread per slot, adds part to the sum, and after the last number to
              the radiance. */
#include "photon/maps/irradiance_lookup.h"
#include "render/photon_mapping/gather_store.cuh"

namespace {

enum {
    PRECOMPUTED_BLOCK = 128,
    GATHER_BLOCK = 256,
    SORTED_MIN = 16,      /* so many ends are looked up in the order of their places */
    GATHER_FEW = 1 << 15, /* so few rays pass glass and mirrors one thread each */
    PASS_BLOCK = 32,
    PASS_EACH = 8
};

/* --- answers ---------------------------------------------------------------------------------- */

/* Adds the irradiance found; points without one become requests. */
__global__ __launch_bounds__(PRECOMPUTED_BLOCK) void gather_precomputed(
    const __grid_constant__ eye_slots slots) {
    const uint32_t count = slots.ends.tally->precomputed;
    for (uint32_t i = blockIdx.x * PRECOMPUTED_BLOCK + threadIdx.x; i < count;
         i += gridDim.x * PRECOMPUTED_BLOCK) {
        const precomputed_end end = load_precomputed(slots, i);
        if (end.at.triangle != KD_NONE) {
            gather_request_maps<true>(slots.ends, &end.at, end.wo, end.throughput, end.slot);
            continue;
        }
        const vec3 irradiance = end.at.position;
        const vec3 seen = vec3_scale(vec3_mul(end.at.diffuse, irradiance), 1 / KD_PI);
        add_radiance(slots.waves, end.slot, vec3_mul(end.throughput, seen));
    }
}

__global__ __launch_bounds__(GATHER_BLOCK) void gather_add(
    const __grid_constant__ photon_view photons, const __grid_constant__ eye_slots slots,
    const __grid_constant__ lookup_results results, uint32_t count) {
    for (uint32_t i = blockIdx.x * GATHER_BLOCK + threadIdx.x; i < count;
         i += gridDim.x * GATHER_BLOCK) {
        const uint32_t slot = results.requests[i].next >> 1;
        const bool far = results.requests[i].next & 1;
        vec3 seen = shown_by_caustic(photons, results, i);
        if (far) seen = vec3_add(seen, shown_by_global(photons, results, i));
        add_radiance(slots.waves, slot, vec3_mul(results.requests[i].throughput, seen));
    }
}

/* --- rays ------------------------------------------------------------------------------------- */

__global__ __launch_bounds__(BEGIN_BLOCK,
                             4) void gather_begin(const __grid_constant__ photon_view photons,
                                                  const __grid_constant__ eye_slots slots,
                                                  uint32_t wave, uint32_t rays) {
    const path_waves &w = slots.waves;
    wave_record *now = wave_at(w, wave);
    for (uint32_t ray = blockIdx.x * BEGIN_BLOCK + threadIdx.x; ray < rays;
         ray += gridDim.x * BEGIN_BLOCK) {
        const uint32_t slot = slot_of_ray(slots, ray);
        w.radiance[ray] = make_float4(0, 0, 0, 0);
        const uint32_t request = slots.first_request[slot];
        if (request == KD_NONE) continue;
        const eye_request &lookup = photons.later.list[request];
        uint32_t number, word;
        wave_path p = load_eye_path(slots.landed, slot, &number, &word);
        const int32_t depth = (int32_t)p.depth++;
        if (path_depth_is_over(&photons.path, &p.state, depth)) continue;
        const rng_block random =
            sobol_draw(gather_key(slots, photons, ray), p.state.step, EYE_DRAW_GATHER);
        if (!path_scatter(&p.state, &lookup.at, lookup.wo, depth, random) || p.state.specular)
            continue;
        p.slot = ray;
        store_eye_path(w.stores[wave % 2], take_place(&now->rays), p, 1, 0);
    }
}

/* --- at surfaces ------------------------------------------------------------------------------ */

template <bool diffuse>
__device__ __forceinline__ void gather_arrive(const scene_view &scene, const photon_view &photons,
                                              const eye_slots &slots, const path_store &store,
                                              uint32_t i, gather_shaded &shaded) {
    const path_waves &w = slots.waves;
    if (scene.nested.count) __builtin_unreachable(); /* such scenes have media */
    shaded.is_valid = shaded.lands = shaded.near = false;
    shaded.path.depth = 0;
    if (i == KD_NONE) return;
    load_gather_path(slots, photons, store, i, shaded);
    path_state &state = shaded.path.state;
    const ray_hit hit = load_stored_hit(w.hits, i);
    ++state.step;
    if (hit.triangle == KD_NONE) {
        if (shaded.emission) add_radiance(w, shaded.path.slot, path_sky(&scene, &state));
        return;
    }
    shaded.at = path_surface(&scene, &state, hit, shaded.key,
                             kind_of_kernel(diffuse ? SHADE_DIFFUSE : SHADE_OTHERS));
    shaded.travelled += hit.t;
    if (shaded.emission)
        add_radiance(w, shaded.path.slot, path_emission(&scene, &state, &shaded.at));
    shaded.is_valid = true;
    shaded.lands = surface_holds_photons(&shaded.at);
    shaded.near = shaded.lands && shaded.travelled < photons.near &&
                  !path_depth_is_over(&photons.path, &state, (int32_t)shaded.path.depth);
}

/* Samples a light for direct light. */
template <bool diffuse>
__device__ __forceinline__ void gather_sample_light(const scene_view &scene, const eye_slots &slots,
                                                    uint32_t *shadows, gather_shaded &shaded) {
    if (!shaded.lands) return;
    const path_waves &w = slots.waves;
    const path_state &state = shaded.path.state;
    shadow_request request;
    as_listed<diffuse ? SHADE_DIFFUSE : SHADE_OTHERS>(shaded.at);
    const bool has_light =
        path_sample_light_at(&scene, &shaded.at, gather_eye(shaded), state.medium, shaded.near,
                             sobol_draw(shaded.key, state.step, PATH_DRAW_LIGHT), &request);
    add_radiance(w, shaded.path.slot,
                 vec3_mul(state.throughput, shadow_request_light(&request, vec3_all(0))));
    if (has_light) store_shadow<false>(w, take_place(shadows), shaded.path, request);
}

/* Records the lookup to be added after the shadow ray. Lanes with different kinds of lookups take
   turns, so that packets contain one kind only. */
template <bool diffuse>
__device__ __forceinline__ void gather_lookup(const photon_view &photons, const eye_slots &slots,
                                              gather_shaded &shaded) {
    as_listed<diffuse ? SHADE_DIFFUSE : SHADE_OTHERS>(shaded.at);
    const uint32_t slot = shaded.path.slot;
    const vec3 throughput = shaded.path.state.throughput;
    const bool far = shaded.lands && !shaded.near;
    const bool precomputed = far && photons.global.irradiance && shaded.at.kind == MATERIAL_DIFFUSE;
    if (precomputed) {
        const precomputed_end end = {shaded.at, gather_eye(shaded), throughput, slot};
        store_precomputed(slots, take_place(&slots.ends.tally->precomputed), end);
    }
    __syncthreads();
    if (shaded.near)
        gather_request_maps<false>(slots.ends, &shaded.at, gather_eye(shaded), throughput, slot);
    __syncthreads();
    if (far && !precomputed)
        gather_request_maps<true>(slots.ends, &shaded.at, gather_eye(shaded), throughput, slot);
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
        gather_sample_light<diffuse>(scene, slots, &now->shadows, shaded);
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

/* --- few rays --------------------------------------------------------------------------------- */

/* Follows a ray through surfaces that store no photons. Returns false if it ends there; else
 *shaded is the path before its last ray, which ends at another surface or nowhere. */
__device__ __forceinline__ bool gather_pass_on(const scene_view &scene, const photon_view &photons,
                                               const path_waves &w, gather_shaded *shaded,
                                               uint32_t *rays) {
    for (;;) {
        gather_shaded next = *shaded;
        path_state &state = next.path.state;
        const ray_hit hit = tritree_closest(&scene.tree, state.ray);
        if (hit.triangle == KD_NONE) return true;
        ++state.step;
        next.at = path_surface(&scene, &state, hit, next.key, SURFACE_ANY);
        if (surface_holds_photons(&next.at)) return true;
        ++*rays;
        next.travelled += hit.t;
        if (next.emission) add_radiance(w, next.path.slot, path_emission(&scene, &state, &next.at));
        if (!gather_continues<false>(photons, next)) return false;
        *shaded = next;
    }
}

/* Takes few rays through glass and past mirrors, one thread each, in place of dozens of wavefronts.
   Data flow: reads the paths of the wavefront; adds to part and counts; writes the paths of the
              next one. */
__global__ __launch_bounds__(PASS_BLOCK, PASS_EACH) void gather_pass(
    const __grid_constant__ scene_view scene, const __grid_constant__ photon_view photons,
    const __grid_constant__ eye_slots slots, uint32_t wave) {
    const path_waves &w = slots.waves;
    wave_record *now = wave_at(w, wave);
    const uint32_t count = now->rays;
    uint32_t rays = 0;
    if (blockIdx.x == 0 && threadIdx.x == 0) now->left_out = count; /* counted here */
    for (uint32_t i = spread_first(count); i < count; i += gridDim.x * PASS_BLOCK) {
        gather_shaded shaded;
        load_gather_path(slots, photons, w.stores[wave % 2], i, shaded);
        shaded.is_valid = true;
        shaded.lands = shaded.near = false;
        if (gather_pass_on(scene, photons, w, &shaded, &rays))
            store_gather_path(w.stores[1 - wave % 2], &wave_at(w, wave + 1)->rays, shaded);
    }
    take_counts(w.counts, rays, 0);
}

/* --- completion of rays ----------------------------------------------------------------------- */

/* Adds up the gather rays of a slot. `radiance`: of camera paths; `count`: number of gather rays
   per slot in this sequence of wavefronts. */
__global__ __launch_bounds__(GATHER_BLOCK) void gather_sum(const __grid_constant__ eye_slots slots,
                                                           float4 *radiance, uint32_t count,
                                                           uint32_t numbers) {
    const path_waves &w = slots.waves;
    for (uint32_t slot = blockIdx.x * GATHER_BLOCK + threadIdx.x; slot < w.slots;
         slot += gridDim.x * GATHER_BLOCK) {
        if (slots.first_request[slot] == KD_NONE) continue;
        vec3 sum = slots.gather_number ? first_three(slots.gathered[slot]) : vec3_all(0);
        for (uint32_t i = 0; i < count; ++i)
            sum = vec3_add(sum, first_three(w.radiance[(uint64_t)i * w.slots + slot]));
        if (slots.gather_number + count < numbers) {
            slots.gathered[slot] = with_fourth(sum, 0);
            continue;
        }
        const vec3 seen = first_three(radiance[slot]);
        radiance[slot] = with_fourth(vec3_along(seen, 1 / (float)numbers, sum), 0);
    }
}

/* --- host code -------------------------------------------------------------------------------- */

/* No requests are stored meanwhile, so their memory serves for sorting. */
kd_status lookup_precomputed(const photon_maps_cuda *maps, const eye_slots *slots, box3 box) {
    const gather_ends *ends = &slots->ends;
    const photon_irradiance_cuda lookup = {
        ends->precomputed, ends->precomputed + slots->waves.capacity, &ends->tally->precomputed,
        ends->more, &ends->tally->more};
    photon_irradiance_sorting sorting = {0, box, ends->requests,
                                         slots->waves.capacity * sizeof *ends->requests};
    unsigned blocks = 0;
    KD_TRY(device_memory_download(&sorting.count, lookup.count, sizeof sorting.count));
    KD_TRY(sorting.count >= SORTED_MIN ? photon_irradiance_look_up_sorted(maps, &lookup, &sorting)
                                       : photon_maps_cuda_irradiance_lookup(maps, &lookup));
    KD_TRY(cuda_resident_blocks(&blocks, gather_precomputed, PRECOMPUTED_BLOCK));
    gather_precomputed<<<blocks, PRECOMPUTED_BLOCK>>>(*slots);
    KD_CUDA_LAUNCHED("gather_precomputed");
    return KD_OK;
}

/* Answers the requests of these packets from one map; other results do not change. */
kd_status lookup_map(const photon_maps_cuda *maps, int which, const photon_view *photons,
                     const photon_gather_cuda *gather, float *integrals) {
    const photon_map_view *map = which ? &photons->caustic : &photons->global;
    KD_TRY(photon_maps_cuda_gather(maps, which, map->gather, map->radius, gather));
    KD_TRY(photon_maps_cuda_measure(maps, gather, integrals));
    return photon_maps_cuda_hide(maps, which, map->gather, map->radius, gather, integrals);
}

kd_status answer_requests(const photon_maps_cuda *maps, const photon_view *photons,
                          const eye_slots *slots, const gather_tally *tally) {
    const gather_ends *ends = &slots->ends;
    const uint32_t count = tally->requests;
    photon_gather_cuda gather;
    lookup_results shown;
    unsigned blocks = 0;
    memset(&shown, 0, sizeof shown);
    gather.requests = shown.requests = ends->requests;
    gather.count = count;
    gather.alone = ends->alone;
    for (int m = 0; m < 2; ++m) {
        const uint32_t packets = m ? tally->packets : tally->far_packets;
        gather.packets = m ? ends->packets : ends->far_packets;
        gather.packet_count = packets;
        shown.sums[m] = gather.sums = ends->sums[m];
        shown.radii[m] = gather.radii = ends->radii[m];
        shown.integrals[m] = ends->integrals[m];
        if (packets == 0) continue;
        if (m == 0) KD_CUDA(cudaMemsetAsync(gather.sums, 0, count * sizeof *gather.sums));
        KD_TRY(lookup_map(maps, m, photons, &gather, ends->integrals[m]));
    }
    KD_TRY(cuda_resident_blocks(&blocks, gather_add, GATHER_BLOCK));
    gather_add<<<blocks, GATHER_BLOCK>>>(*photons, *slots, shown, count);
    KD_CUDA_LAUNCHED("gather_add");
    return KD_OK;
}

kd_status begin_gather(const wave_run *run, const photon_view *photons, const eye_slots *slots,
                       uint32_t rays) {
    unsigned blocks = 0;
    KD_CUDA(cudaMemsetAsync(run->work.ring, 0, WAVE_RING * sizeof(wave_record)));
    KD_TRY(cuda_resident_blocks(&blocks, gather_begin, BEGIN_BLOCK));
    gather_begin<<<blocks, BEGIN_BLOCK>>>(*photons, *slots, run->wave, rays);
    KD_CUDA_LAUNCHED("gather_begin");
    return KD_OK;
}

/* Answers the requests of the device's tally; `left` (may be NULL): rays of the next wavefront. */
kd_status answer_tally(const wave_run *run, const photon_maps_cuda *maps,
                       const photon_view *photons, const eye_slots *slots, uint32_t *left) {
    const wave_record *next = run->work.ring + (run->wave + 1) % WAVE_RING;
    gather_tally tally;
    KD_TRY(device_memory_download(&tally, slots->ends.tally, sizeof tally));
    if (left) KD_TRY(device_memory_download(left, &next->rays, sizeof *left));
    return tally.requests ? answer_requests(maps, photons, slots, &tally) : KD_OK;
}

kd_status clear_requests(const eye_slots *slots) {
    gather_tally *tally = slots->ends.tally;
    KD_CUDA(cudaMemsetAsync(&tally->requests, 0, sizeof *tally - offsetof(gather_tally, requests)));
    return KD_OK;
}

/* Runs one wavefront and answers its requests. Sets *left to the number of rays of the next one. */
kd_status run_gather_wave(const wave_run *run, const photon_maps_cuda *maps,
                          const photon_view *photons, const eye_slots *slots, uint32_t *left) {
    KD_TRY(clear_requests(slots));
    KD_TRY(cast_paths(run, run->wave == 0));
    KD_TRY(start(run, wave_list, KIND_BLOCK, "wave_list"));
    KD_TRY(start_eye(run, photons, slots, gather_shade<false>, SHADE_BLOCK, "gather_shade"));
    KD_TRY(start_eye(run, photons, slots, gather_shade<true>, SHADE_BLOCK, "gather_shade"));
    KD_TRY(cast_shadows(run));
    KD_TRY(add_unblocked(run));
    return answer_tally(run, maps, photons, slots, left);
}

/* Traces `count` rays of each slot. The first wavefront does not have number 0, since its rays are
   not sorted. Precomputed irradiance is the last term of a ray, so all of it is looked up at the
   end: a lookup takes as long for few points as for many thousands. */
kd_status gather_numbers(wave_run *run, const photon_maps_cuda *maps, const photon_view *photons,
                         const eye_slots *slots, uint32_t count) {
    uint32_t left = count * slots->waves.slots;
    run->wave = WAVE_RING;
    KD_CUDA(cudaMemsetAsync(slots->ends.tally, 0, sizeof(gather_tally)));
    KD_TRY(begin_gather(run, photons, slots, left));
    do {
        KD_TRY(plan_wave(run, false));
        if (left <= GATHER_FEW) {
            KD_TRY(start_eye(run, photons, slots, gather_pass, PASS_BLOCK, "gather_pass"));
            ++run->wave;
            KD_TRY(plan_wave(run, false));
        }
        KD_TRY(run_gather_wave(run, maps, photons, slots, &left));
        ++run->wave;
    } while (left);
    KD_TRY(plan_wave(run, false)); /* adds the rays of the last wavefront to the counts */
    KD_TRY(clear_requests(slots));
    KD_TRY(lookup_precomputed(maps, slots, run->frame->scene->box));
    return answer_tally(run, maps, photons, slots, NULL);
}

} // namespace

void lay_out_gather_ends(gather_ends *ends, cuda_arena *arena, uint64_t rays) {
    ends->tally = (gather_tally *)cuda_arena_take(arena, 1, sizeof(gather_tally));
    ends->precomputed = (float4 *)cuda_arena_take(arena, PRECOMPUTED_PARTS * rays, sizeof(float4));
    ends->more = (uint32_t *)cuda_arena_take(arena, rays, sizeof(uint32_t));
    ends->requests = (eye_request *)cuda_arena_take(arena, rays, sizeof(eye_request));
    ends->packets = (eye_packet *)cuda_arena_take(arena, rays, sizeof(eye_packet));
    ends->far_packets = (eye_packet *)cuda_arena_take(arena, rays, sizeof(eye_packet));
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
        KD_TRY(gather_numbers(&run, maps, photons, &rays, count));
        gather_sum<<<blocks, GATHER_BLOCK>>>(rays, slots->waves.radiance, count, numbers);
        KD_CUDA_LAUNCHED("gather_sum");
    }
    return KD_OK;
}
