/* Camera paths of `photon` and `sppm` on a CUDA device: the interface for the host, and the
   code that the kernels share (storage of paths between two wavefronts, kernel launches, results of
   lookups). The kernels take one sample of each pixel of a range at a time, with deferred lookups
   (eye_waves.cu, gather_waves.cu) or inline ones (inline_lookup.cu). */
#ifndef KD_RENDER_PHOTON_MAPPING_EYE_STORE_CUH
#define KD_RENDER_PHOTON_MAPPING_EYE_STORE_CUH
#include "render/frame/path_run.cuh"
#include "render/frame/path_store.cuh"
#include "render/frame/take_samples.cuh"
#include "render/photon_mapping/photon.h"

enum {
    EYE_FEW = 1 << 15, /* wavefronts of fewer paths are not worth a launch */
    EYE_POLL_FIRST = 4,
    EYE_POLL_EVERY = 2, /* wavefronts between two checks by the host */
    EYE_FINISH_BLOCK = 32,
    EYE_FINISH_EACH = 8,
    EYE_ALL_BLOCK = 128,
    EYE_ALL_EACH = 4
};

/* Counts of what gather rays wait for. */
struct gather_tally {
    uint32_t precomputed, more;
    uint32_t requests, far; /* far: those that need both maps */
    uint32_t notes;
    uint32_t left; /* rays of the next wavefront */
};

/* Lookups for which gather rays wait (gather_waves.cu). */
struct gather_ends {
    gather_tally *tally;
    float4 *precomputed; /* points that use precomputed irradiance: PRECOMPUTED_PARTS arrays */
    uint32_t *more;      /* indices of points that are searched by one warp each */
    eye_request *requests;
    float4 *notes; /* terms of rays that wait (gather_store.cuh) */
    uint32_t *alone;
    flux_sum *sums[2]; /* global, caustic */
    float *radii[2], *integrals[2];
};

/* Results of the paths of a launch, one slot per path. `waves` holds radiance without map lookups,
   and first surfaces. */
struct eye_slots {
    path_waves waves;
    uint32_t *first_request; /* first request of each slot; KD_NONE: none */
    bool by_waves; /* paths are traced as wavefronts; otherwise by one thread each, and only samples
                      are stored */
    /* For final gather, otherwise NULL (gather_waves.cu): */
    path_store landed; /* per slot: the path at the surface of its first request */
    float4 *part;      /* per active gather ray: its radiance */
    float4 *gathered;  /* per slot: sum over the completed rays */
    gather_ends ends;
    uint32_t together;      /* number of gather rays per slot in a wavefront */
    uint32_t gather_number; /* number of the first of them */
};

/* Reserves device memory for the slots of `range`, one sample per pixel, with or without
   wavefronts, and for `group_size` final gather rays per slot; 0: no final gather. The caller sets
   the sample number (waves.range.begin). */
kd_status eye_slots_open(eye_slots *out, const frame *frame, const sample_range *range,
                         bool by_waves, uint32_t group_size);
/* Traces the paths of all slots as photon_eye_path does with LOOKUP_DEFERRED; requests go to
   `photons->later`. Clears slots->waves.counts and counts in it. */
kd_status eye_request_slots(const frame *frame, const photon_view *photons, const eye_slots *slots);
/* As eye_request_slots, with LOOKUP_INLINE; lookups at surfaces that the camera sees are requests
   if `photons->later` has a list. */
kd_status inline_lookup_slots(const frame *frame, const photon_view *photons,
                              const eye_slots *slots);
/* Adds the final gather, once all requests are complete. */
kd_status eye_gather_slots(const frame *frame, const photon_maps_cuda *maps,
                           const photon_view *photons, const eye_slots *slots);
/* Lays out the arrays for the ends of `rays` gather rays. */
void lay_out_gather_ends(gather_ends *ends, cuda_arena *arena, uint64_t rays);

/* Paths without media and cut-outs do not use `layers` and `where`, so these fields store `number`,
   which must be small, and `word`. */
__device__ __forceinline__ void store_eye_path(const path_store &store, uint32_t at, wave_path p,
                                               uint32_t number, uint32_t word) {
    p.state.layers = number;
    p.state.medium = word;
    store_path(store, at, p);
}

__device__ __forceinline__ wave_path load_eye_path(const path_store &store, uint32_t at,
                                                   uint32_t *number, uint32_t *word) {
    wave_path p = load_path(store, at);
    *number = p.state.layers;
    *word = p.state.medium;
    p.state.layers = 0;
    p.state.medium = MEDIUM_FOG;
    p.state.flies = false;
    return p;
}

/* Returns true, and the camera ray, if the slot has a path: its pixel is inside the image, and the
   film lacks the sample. */
__device__ __forceinline__ bool slot_begins(const eye_slots &slots, uint32_t slot, ray *ray) {
    const path_waves &w = slots.waves;
    const slot_place at = place_of_slot(w, slot);
    if (!slot_is_inside(w, at) ||
        at.sample < w.pixels[(int64_t)at.y * w.range.width + at.x].samples)
        return false;
    const int32_t x = w.range.x0 + at.x, y = w.range.y0 + at.y;
    *ray = pixel_ray(&w.view, x, y, pixel_key(&w.view, x, y, slots.waves.range.begin));
    return true;
}

/* Launches KERNEL(scene, photons, slots, wave). */
template <class KERNEL>
kd_status start_eye(const wave_run *run, const photon_view *photons, const eye_slots *slots,
                    KERNEL kernel, int block, const char *name) {
    unsigned blocks = 0;
    KD_TRY(cuda_resident_blocks(&blocks, kernel, block));
    kernel<<<blocks, block>>>(run->frame->device_frame->scene.view, *photons, *slots, run->wave);
    KD_CUDA_LAUNCHED(name);
    return KD_OK;
}

/* --- results of requests, once the gathering kernels are complete ----------------------------- */

struct lookup_results {
    const eye_request *requests;
    const flux_sum *sums[2]; /* global, caustic */
    const float *radii[2];
    const float *integrals[2]; /* over tiles */
};

__device__ __forceinline__ vec3 shown_by(const photon_map_view &map, const lookup_results &results,
                                         int which, uint32_t request) {
    const flux_sum sum = results.sums[which][request];
    const float radius = results.radii[which][request];
    if (!(radius > 0) || flux_sum_is_zero(&sum)) return vec3_all(0);
    return photon_sum_over(&map, &sum, results.integrals[which][request], radius);
}

/* Radiance of a request's surface towards its `wo`. */
__device__ __forceinline__ vec3 shown_by_global(const photon_view &photons,
                                                const lookup_results &results, uint32_t request) {
    return shown_by(photons.global, results, 0, request);
}
__device__ __forceinline__ vec3 shown_by_caustic(const photon_view &photons,
                                                 const lookup_results &results, uint32_t request) {
    return shown_by(photons.caustic, results, 1, request);
}

#endif
