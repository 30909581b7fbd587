/* Vertex connection and merging on a CUDA device (vcm.cu). */
#ifndef KD_RENDER_INTEGRATORS_VCM_DEVICE_H
#define KD_RENDER_INTEGRATORS_VCM_DEVICE_H
#include "core/device/device_memory.h"
#include "render/frame/waves.h"
#include "render/integrators/vcm.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    VCM_WAVE_PATHS = 1 << 21, /* paths in flight, unless fewer are requested */
    VCM_LIGHT_BYTES = 267     /* bytes of each light path, as laid out by vcm_light_waves.cu */
};

/* Returns the number of paths in flight of a launch with many paths. */
static inline uint64_t vcm_wave_paths(const kd_render_options *options) {
    const uint64_t requested = waves_paths(options);
    return requested < VCM_WAVE_PATHS ? requested : (uint64_t)VCM_WAVE_PATHS;
}

/* Counts of a pass's light paths. */
typedef struct vcm_counts {
    sample_counts samples; /* rays */
    uint64_t photons, cut; /* cut: splats that were clamped */
    uint32_t strongest;    /* bits of the largest channel of a photon's power */
} vcm_counts;

/* Device memory of the integrator. */
typedef struct vcm_cuda {
    int64_t *sums;
    vcm_counts *counts;
    vcm_photon *photons; /* in no order, in the memory of wavefronts until the next ones */
    uint64_t capacity;   /* maximum number of photons */
    device_buffer joined, sorted, ends, scratch; /* of all ranks; memory of their grid */
} vcm_cuda;

/* `sums`: number of sums of splats. */
KD_DEVICE_CALL(vcm_cuda_open, (vcm_cuda * out, uint64_t sums));
KD_DEVICE_ANSWER(void, vcm_cuda_close, (vcm_cuda * owned), ); /* `owned` may be zeroed */
/* Sets t[i] to the distance of the surface behind pixel i of a grid of side x side pixels over the
   picture; INFINITY: none. `scene` has device pointers. */
KD_DEVICE_CALL(vcm_cuda_footprints,
               (float *t, int32_t side, const vcm_view *view, const scene_view *scene));
/* Traces `count` light paths of the pilot, from number `first` on (vcm_try). */
KD_DEVICE_CALL(vcm_cuda_try, (vcm_trial * trials, uint64_t first, uint32_t count,
                              const vcm_view *view, const scene_view *scene));
/* Traces light paths: adds their splats to the sums, which are cleared first, and sets *counts. The
   photons are in device memory. */
KD_DEVICE_CALL(vcm_cuda_trace, (vcm_cuda * device, const frame *frame, const vcm_view *view,
                                uint32_t first, uint32_t share, vcm_counts *counts));
/* Copies the photons to the host. */
KD_DEVICE_CALL(vcm_cuda_fetch, (const vcm_cuda *device, vcm_photon *photons, uint64_t count));
/* Sorts the photons into the view's grid on the device. `photons`: those of
   all ranks, on the host; NULL: those on the device. */
KD_DEVICE_CALL(vcm_cuda_build,
               (vcm_cuda * device, const vcm_photon *photons, uint64_t count, vcm_view *view));

#ifdef __cplusplus
}
#endif

#endif
