/* looks_apart.h by ranks with a CUDA device each. Without CUDA in the build the call is
   KD_ERROR_DEVICE. */
#ifndef KD_RENDER_PHOTON_MAPPING_LOOKS_APART_DEVICE_H
#define KD_RENDER_PHOTON_MAPPING_LOOKS_APART_DEVICE_H
#include "render/photon_mapping/photons_device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* with->sums and with->radii of one's own requests, `asked` of them, by the photons of all ranks
   and the view's fixed radii. All ranks call it together, one that asks nothing, too. */
KD_DEVICE_CALL(looks_apart_there, (photon_cuda * with, struct ranks *among, const photon_view *view,
                                   const struct eye_asked *asked));
/* Device memory for the looks of so many pixels of all ranks, one each. */
uint64_t looks_apart_there_bytes(uint64_t pixels);
/* What a rank sends for the looks of so many pixels, one each. */
uint64_t looks_apart_there_sent(uint64_t pixels, int32_t rank_count);

#ifdef __cplusplus
}
#endif
#endif
