/* Vertex connection and merging on a CUDA device (vcm.cu). */
#ifndef KD_RENDER_INTEGRATORS_VCM_DEVICE_H
#define KD_RENDER_INTEGRATORS_VCM_DEVICE_H
#include "core/device/device_memory.h"
#include "points/tree/pointtree.h"
#include "render/integrators/vcm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A photon, where it landed, and its light path. */
typedef struct vcm_landing {
    vec3 place;
    vcm_photon photon;
    uint32_t path;
} vcm_landing;

/* Counts of a pass's light paths. */
typedef struct vcm_counts {
    uint64_t photons, rays, cut; /* cut: splats that were clamped */
} vcm_counts;

/* Device memory of the integrator. */
typedef struct vcm_cuda {
    int64_t *sums;
    vcm_counts *counts;
    device_buffer landings, points, axes, photons;
} vcm_cuda;

/* `sums`: number of sums of splats. */
KD_DEVICE_CALL(vcm_cuda_open, (vcm_cuda * out, uint64_t sums));
KD_DEVICE_ANSWER(void, vcm_cuda_close, (vcm_cuda * owned), ); /* `owned` may be zeroed */
/* Sets t[i] to the distance of the surface behind pixel i of a grid of side x side pixels over the
   picture; INFINITY: none. `scene` has device pointers, here and below. */
KD_DEVICE_CALL(vcm_cuda_footprints,
               (float *t, int32_t side, const vcm_view *view, const scene_view *scene));
/* Traces light paths: adds their splats to the sums, which are cleared first, and sets *counts. The
   photons are in device memory, in no order. */
KD_DEVICE_CALL(vcm_cuda_trace, (vcm_cuda * device, const vcm_view *view, const scene_view *scene,
                                uint32_t first, uint32_t share, vcm_counts *counts));
/* Copies the photons to the host. */
KD_DEVICE_CALL(vcm_cuda_fetch, (const vcm_cuda *device, vcm_landing *landings, uint64_t count));
/* Copies tree and photons to the device, and sets the view's pointers to them. */
KD_DEVICE_CALL(vcm_cuda_upload, (vcm_cuda * device, const pointtree *tree,
                                 const vcm_photon *photons, vcm_view *view));

#ifdef __cplusplus
}
#endif

#endif
