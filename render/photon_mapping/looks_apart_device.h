/* looks_apart.h by ranks with a CUDA device each. Without CUDA in the build the call is
   KD_ERROR_DEVICE. */
#ifndef KD_RENDER_PHOTON_MAPPING_LOOKS_APART_DEVICE_H
#define KD_RENDER_PHOTON_MAPPING_LOOKS_APART_DEVICE_H
#include "render/photon_mapping/photons_device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The global and the caustic map become those of all photons within the view's fixed radii of one's
   own requests, `asked` of them, and of some others. All ranks call it together, one that asks
   nothing, too. */
KD_DEVICE_CALL(looks_apart_there, (photon_cuda * with, struct ranks *among, const photon_view *view,
                                   const struct eye_asked *asked));
/* Device memory for that, where both maps have so many photons, beside the maps; 0 without CUDA. */
KD_DEVICE_ANSWER(uint64_t, looks_apart_there_bytes, (uint64_t photons, int32_t rank_count), 0);
/* What a rank sends for it, if no photon is looked for by two; 0 without CUDA. */
KD_DEVICE_ANSWER(uint64_t, looks_apart_there_sent, (uint64_t photons, int32_t rank_count), 0);

#ifdef __cplusplus
}
#endif
#endif
