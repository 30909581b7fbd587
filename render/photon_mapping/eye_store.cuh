/* Paths of `photon`, `ppm` and `sppm` from the eye on a CUDA device, one sample of each pixel of a
   range at a time: with deferred lookups (eye_waves.cu, gather_waves.cu) or inline (eye_walk.cu).
   What the host asks of these, and what their kernels share: how paths lie between two waves, how
   a kernel of them starts, and what maps have shown of requests. */
#ifndef KD_RENDER_PHOTON_MAPPING_EYE_STORE_CUH
#define KD_RENDER_PHOTON_MAPPING_EYE_STORE_CUH
#include "render/frame/take_samples.cuh"
#include "render/photon_mapping/photon.h"
#include "render/waves/path_run.cuh"
#include "render/waves/path_store.cuh"

enum {
    EYE_FEW = 1 << 15, /* paths that are not worth a wave */
    EYE_LOOK_FIRST = 4,
    EYE_LOOK_EVERY = 2, /* waves between two looks of the host */
    EYE_FINISH_BLOCK = 32,
    EYE_FINISH_EACH = 8,
    EYE_ALL_BLOCK = 128,
    EYE_ALL_EACH = 4
};

/* How many ends of a wave's gather rays ask for what. */
struct gather_tally {
    uint32_t known, more;
    uint32_t requests, packets, far_packets;
};

/* Where gather rays of a wave end, and want to know what maps show (gather_waves.cu). */
struct gather_ends {
    gather_tally *tally;
    float4 *known;  /* what the nearest photon knows is wanted there: KNOWN_PARTS arrays */
    uint32_t *more; /* of these, those that want another photon's */
    eye_request *requests;
    eye_packet *packets, *far_packets; /* of all requests; of those that want both maps' light */
    uint32_t *alone;
    flux_sum *sums[2]; /* global, caustic */
    float *radii[2], *integrals[2];
};

/* What the paths of a launch have brought, a slot each: radiance and first surface, but for the
   maps, in `waves`. */
struct eye_slots {
    path_waves waves;
    uint32_t *first_request; /* of each slot; KD_NONE: none */
    uint32_t camera_sample;  /* whose camera ray the sample takes */
    bool by_waves;           /* else a thread follows each path: only the samples have memory */
    /* Of a final gather, else not there (gather_waves.cu): */
    path_store landed; /* of each slot: the path at its first request's surface */
    float4 *part;      /* of each gather ray of a slot that is on its way: what it brings */
    float4 *gathered;  /* of each slot: the sum of the rays before */
    gather_ends ends;
    uint32_t together;      /* gather rays of a slot at a time */
    uint32_t gather_number; /* the first of them */
};

/* Memory of the device for the range's slots, one sample a pixel, by waves or not, and for their
   final gather, so many rays of each `together`; 0: there is none. Which sample, and whose camera
   ray it takes, is for the caller to set: waves.range.begin, camera_sample. */
kd_status eye_slots_open(eye_slots *out, const frame *of, const sample_range *range, bool by_waves,
                         uint32_t together);
/* The paths of all slots, as photon_eye_path takes them with EYE_ASKS: `photons->later` gets the
   requests. What it counts is in waves.counts, which is cleared first. */
kd_status eye_ask_slots(const frame *of, const photon_view *photons, const eye_slots *slots);
/* The same with EYE_LOOKS; what surfaces that the eye sees ask the maps is a request, too, if
   `photons->later` has a list. */
kd_status eye_walk_slots(const frame *of, const photon_view *photons, const eye_slots *slots);
/* Adds their final gather, once all requests are there. */
kd_status eye_gather_slots(const frame *of, const photon_maps_cuda *maps,
                           const photon_view *photons, const eye_slots *slots);
/* Places what is kept of the ends of so many gather rays. */
void lay_out_gather_ends(gather_ends *to, cuda_arena *arena, uint64_t rays);

/* A path in no medium and with no cut-outs to pass has no use for `layers` and `where`: there lie a
   small number and a word of whoever keeps it. */
__device__ __forceinline__ void store_eye_path(const path_store &to, uint32_t at, wave_path p,
                                               uint32_t number, uint32_t word) {
    p.state.layers = number;
    p.state.where = word;
    store_path(to, at, p);
}

__device__ __forceinline__ wave_path load_eye_path(const path_store &from, uint32_t at,
                                                   uint32_t *number, uint32_t *word) {
    wave_path p = load_path(from, at);
    *number = p.state.layers;
    *word = p.state.where;
    p.state.layers = 0;
    p.state.where = MEDIUM_FOG;
    p.state.flies = false;
    return p;
}

/* Whether a slot has a path, and its first ray: not outside of the picture, and not where the film
   has the sample already. */
__device__ __forceinline__ bool slot_begins(const eye_slots &slots, uint32_t slot, ray *cast) {
    const path_waves &w = slots.waves;
    const slot_place at = place_of_slot(w, slot);
    if (!slot_is_inside(w, at) ||
        at.sample < w.pixels[(int64_t)at.y * w.range.width + at.x].samples)
        return false;
    const int32_t x = w.range.x0 + at.x, y = w.range.y0 + at.y;
    *cast = pixel_ray(&w.view, x, y, pixel_key(&w.view, x, y, slots.camera_sample));
    return true;
}

/* KERNEL(scene, photons, slots, wave). */
template <class KERNEL>
kd_status start_eye(const wave_run *run, const photon_view *photons, const eye_slots *slots,
                    KERNEL kernel, int block, const char *name) {
    unsigned blocks = 0;
    KD_TRY(cuda_resident_blocks(&blocks, kernel, block));
    kernel<<<blocks, block>>>(run->of->there->scene.view, *photons, *slots, run->wave);
    KD_CUDA_LAUNCHED(name);
    return KD_OK;
}

/* --- what maps have shown of requests, once the gathering kernels are done ------------------- */

struct shown_requests {
    const eye_request *requests;
    const flux_sum *sums[2]; /* global, caustic */
    const float *radii[2];
    const float *integrals[2]; /* over tiles */
};

__device__ __forceinline__ vec3 shown_by(const photon_map_view &map, const shown_requests &of,
                                         int which, uint32_t request) {
    const flux_sum sum = of.sums[which][request];
    const float radius = of.radii[which][request];
    if (!(radius > 0) || flux_sum_is_zero(&sum)) return vec3_all(0);
    return photon_sum_over(&map, &sum, of.integrals[which][request], radius);
}

/* Radiance of a request's surface towards its `wo`. */
__device__ __forceinline__ vec3 shown_by_global(const photon_view &photons,
                                                const shown_requests &of, uint32_t request) {
    return shown_by(photons.global, of, 0, request);
}
__device__ __forceinline__ vec3 shown_by_caustic(const photon_view &photons,
                                                 const shown_requests &of, uint32_t request) {
    return shown_by(photons.caustic, of, 1, request);
}

#endif
