/* Paths of `photon`, `ppm` and `sppm` from the eye by waves (render/waves), where they only ask:
   what they take of the host's side. */
#ifndef KD_RENDER_PHOTON_MAPPING_EYE_WAVES_H
#define KD_RENDER_PHOTON_MAPPING_EYE_WAVES_H
#include "photon/maps/maps_device.h"
#include "render/photon_mapping/eye_path.h"
#include "render/waves/path_store.cuh"

/* How many ends of a wave's gather rays ask for what. */
struct gather_tally {
    uint32_t known, more;
    uint32_t requests, packets, far_packets;
};

/* Where gather rays of a wave end, and want to know what maps show (gather_looks.cuh). */
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
    /* Of a final gather, else not there (gather_waves.cu): */
    path_store landed; /* of each slot: the path at its first request's surface */
    float4 *part;      /* of each gather ray of a slot that is on its way: what it brings */
    float4 *gathered;  /* of each slot: the sum of the rays before */
    gather_ends ends;
    uint32_t together;      /* gather rays of a slot at a time */
    uint32_t gather_number; /* the first of them */
};

/* Whether this scene's paths go by waves: those that fly through media, or cut-outs, do not. */
bool eye_goes_by_waves(const frame *of);
/* Memory of the device for the range's slots, one sample a pixel, and for their final gather, so
   many rays of each `together`; 0: there is none. Which sample, and whose camera ray it takes, is
   for the caller to set: waves.range.begin, camera_sample. */
kd_status eye_slots_open(eye_slots *out, const frame *of, const sample_range *range,
                         uint32_t together);
/* The paths of all slots, as photon_eye_path takes them. `photons->later` gets the requests. What
   it counts is in waves.counts, which is cleared first. */
kd_status eye_take_slots(const frame *of, const photon_view *photons, const eye_slots *slots);
/* Adds their final gather, once all requests are there. */
kd_status eye_gather_slots(const frame *of, const photon_maps_cuda *maps,
                           const photon_view *photons, const eye_slots *slots);
/* Places what is kept of the ends of so many gather rays. */
void lay_out_gather_ends(gather_ends *to, cuda_arena *arena, uint64_t rays);

#endif
