/* Answers to the lookups of final gather rays (gather_waves.cu).
   Data flow: photon_maps_cuda_irradiance_lookup replaces the places of known ends by irradiance;
              gather_precomputed, one thread per known end, reads it and adds to part or notes, or
              writes requests; place_order.cu orders the requests, and the gathering kernels write
              their sums, radii and integrals. gather_add, one thread per ray, reads these and the
              notes, and writes part, if there are too many notes to wait until the end. */
#ifndef KD_RENDER_PHOTON_MAPPING_GATHER_ANSWERS_CUH
#define KD_RENDER_PHOTON_MAPPING_GATHER_ANSWERS_CUH
#include "photon/maps/place_order.h"
#include "render/frame/path_run.cuh"
#include "render/photon_mapping/gather_store.cuh"

enum {
    PRECOMPUTED_BLOCK = 128,
    GATHER_BLOCK = 256,
    SORTED_MIN = 16 /* fewer lookups are not sorted by their places */
};

/* Adds the irradiance found; points without one become requests. */
static __global__ __launch_bounds__(PRECOMPUTED_BLOCK) void gather_precomputed(
    const __grid_constant__ eye_slots slots) {
    const uint32_t count = slots.ends.tally->precomputed;
    for (uint32_t i = blockIdx.x * PRECOMPUTED_BLOCK + threadIdx.x; i < count;
         i += gridDim.x * PRECOMPUTED_BLOCK) {
        const precomputed_end end = load_precomputed(slots, i);
        if (end.at.triangle != KD_NONE) {
            add_request(slots, &end.at, end.wo, end.throughput, end.slot, true);
            continue;
        }
        const vec3 irradiance = end.at.position;
        const vec3 seen = vec3_scale(vec3_mul(end.at.diffuse, irradiance), 1 / KD_PI);
        add_term(slots, end.slot, vec3_mul(end.throughput, seen));
    }
}

/* Completes the sums of all rays. */
static __global__ __launch_bounds__(GATHER_BLOCK) void gather_add(
    const __grid_constant__ photon_view photons, const __grid_constant__ eye_slots slots,
    const __grid_constant__ lookup_results results, uint32_t rays) {
    for (uint32_t ray = blockIdx.x * GATHER_BLOCK + threadIdx.x; ray < rays;
         ray += gridDim.x * GATHER_BLOCK) {
        if (__float_as_uint(slots.waves.radiance[ray].w) == 0) continue;
        slots.waves.radiance[ray] = with_fourth(sum_of_terms(photons, slots, results, ray), 0);
    }
}

/* Memory for sorting; no shadow rays are stored meanwhile. */
static inline place_order order_of(const wave_run *run, uint32_t count) {
    const path_waves *w = &run->work;
    return {count, run->frame->scene->box, w->shadow_rays, 32ull * w->capacity, NULL};
}

/* Adds the precomputed irradiance of `count` ends, or turns them into requests. */
static inline kd_status lookup_precomputed(const wave_run *run, const photon_maps_cuda *maps,
                                           const eye_slots *slots, uint32_t count) {
    const gather_ends *ends = &slots->ends;
    photon_irradiance_cuda lookup = {ends->precomputed,
                                     ends->precomputed + slots->waves.capacity,
                                     &ends->tally->precomputed,
                                     NULL,
                                     ends->more,
                                     &ends->tally->more};
    place_order order = order_of(run, count);
    unsigned blocks = 0;
    if (count == 0) return KD_OK;
    if (count >= SORTED_MIN) KD_TRY(place_order_points(&order, ends->precomputed));
    lookup.order = order.order;
    KD_TRY(photon_maps_cuda_irradiance_lookup(maps, &lookup));
    KD_TRY(cuda_resident_blocks(&blocks, gather_precomputed, PRECOMPUTED_BLOCK));
    gather_precomputed<<<blocks, PRECOMPUTED_BLOCK>>>(*slots);
    KD_CUDA_LAUNCHED("gather_precomputed");
    return KD_OK;
}

/* Answers requests from one map; other results do not change. */
static inline kd_status lookup_map(const photon_maps_cuda *maps, int which,
                                   const photon_view *photons, const photon_gather_cuda *gather,
                                   float *integrals) {
    const photon_map_view *map = which ? &photons->caustic : &photons->global;
    KD_TRY(photon_maps_cuda_gather(maps, which, map->gather, map->radius, gather));
    KD_TRY(photon_maps_cuda_measure(maps, gather, integrals));
    return photon_maps_cuda_hide(maps, which, map->gather, map->radius, gather, integrals);
}

/* Answers all requests of the tally. */
static inline kd_status answer_requests(const wave_run *run, const photon_maps_cuda *maps,
                                        const photon_view *photons, const eye_slots *slots,
                                        const gather_tally *tally, lookup_results *out) {
    const gather_ends *ends = &slots->ends;
    photon_gather_cuda gather;
    place_order order = order_of(run, tally->requests);
    memset(out, 0, sizeof *out);
    out->requests = ends->requests;
    for (int m = 0; m < 2; ++m) {
        out->sums[m] = ends->sums[m];
        out->radii[m] = ends->radii[m];
        out->integrals[m] = ends->integrals[m];
    }
    if (tally->requests == 0) return KD_OK;
    if (tally->requests >= SORTED_MIN) KD_TRY(place_order_requests(&order, ends->requests));
    KD_CUDA(cudaMemsetAsync(ends->radii[0], 0, tally->requests * sizeof(float)));
    for (int m = 0; m < 2; ++m) {
        memset(&gather, 0, sizeof gather);
        gather.requests = ends->requests;
        gather.count = tally->requests;
        gather.order = order.order;
        gather.alone = ends->alone;
        gather.sums = ends->sums[m];
        gather.radii = ends->radii[m];
        if (m == 0 && tally->far == 0) continue;
        if (m == 0 && order.order) { /* those for both maps come last */
            gather.count = tally->far;
            gather.order = order.order + (tally->requests - tally->far);
        }
        KD_TRY(lookup_map(maps, m, photons, &gather, ends->integrals[m]));
    }
    return KD_OK;
}

/* Answers the requests and completes the sums of the first `rays` rays, which are those begun. */
static inline kd_status complete(const wave_run *run, const photon_maps_cuda *maps,
                                 const photon_view *photons, const eye_slots *slots,
                                 gather_tally *tally, uint32_t rays) {
    lookup_results results;
    unsigned blocks = 0;
    KD_TRY(answer_requests(run, maps, photons, slots, tally, &results));
    KD_TRY(cuda_resident_blocks(&blocks, gather_add, GATHER_BLOCK));
    gather_add<<<blocks, GATHER_BLOCK>>>(*photons, *slots, results, rays);
    KD_CUDA_LAUNCHED("gather_add");
    tally->requests = tally->far = tally->notes = 0;
    KD_CUDA(cudaMemsetAsync(&slots->ends.tally->requests, 0, 3 * sizeof(uint32_t)));
    return KD_OK;
}

#endif
