/* What kernels of the eye's waves share (eye_waves.cu, gather_waves.cu): how paths lie between two
   waves, and how a kernel of them starts. */
#ifndef KD_RENDER_PHOTON_MAPPING_EYE_STORE_CUH
#define KD_RENDER_PHOTON_MAPPING_EYE_STORE_CUH
#include "render/frame/take_samples.cuh"
#include "render/photon_mapping/eye_waves.h"
#include "render/photon_mapping/photons_device.h"
#include "render/waves/path_run.cuh"
#include "render/waves/path_shade.cuh"

enum {
    EYE_FEW = 1 << 15, /* paths that are not worth a wave */
    EYE_LOOK_FIRST = 4,
    EYE_LOOK_EVERY = 2, /* waves between two looks of the host */
    EYE_FINISH_BLOCK = 32,
    EYE_FINISH_EACH = 8
};

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

#endif
