/* Paths of `vcm` as wavefronts: code that its light paths and its eye paths share.
   Idea: the wavefronts of `path` (render/frame/path_run.cuh), whose stores keep the weights of
         vcm_weights.h in the place of what `vcm` does not use: the pdf and the wavelength, which is
         the same for all paths of a pass.
   Memory: that of `path`; light paths 267 bytes, and their photons 48. */
#ifndef KD_RENDER_INTEGRATORS_VCM_WAVES_CUH
#define KD_RENDER_INTEGRATORS_VCM_WAVES_CUH
#include "render/frame/path_run.cuh"
#include "render/frame/take_samples.cuh"
#include "render/integrators/vcm_device.h"
#include "render/integrators/vcm_eye.h"

enum {
    VCM_POLL_EVERY = 4, /* wavefronts between two checks by the host */
    VCM_FEW = 1 << 14,  /* wavefronts of fewer paths are not worth a launch */
    VCM_FINISH_BLOCK = 32,
    VCM_FINISH_EACH = 8,
    VCM_ADD_BLOCK = 128
};
enum { VCM_STEP_MAX = 0xffff, VCM_LAYER_BITS = 9 };

/* Reserves the memory that lay_out(work, arena) lays out, with fewer paths in flight if the device
   is short of it, and sets run->work to empty wavefronts there. run->frame and run->work.capacity
   are set. */
template <class LAY_OUT> kd_status vcm_reserve(wave_run *run, const LAY_OUT &lay_out) {
    device_buffer *memory = &run->frame->device_frame->work;
    for (;;) {
        cuda_arena arena = {NULL, 0};
        lay_out(&run->work, &arena);
        const kd_status status = device_buffer_reserve(memory, arena.used);
        if (status == KD_OK) break;
        if (status != KD_ERROR_MEMORY || run->work.capacity <= WAVE_PATHS_MIN)
            return status_pass(status, __FILE__, __LINE__, "device_buffer_reserve");
        run->work.capacity /= 2;
    }
    cuda_arena arena = {(char *)memory->memory, 0};
    lay_out(&run->work, &arena);
    KD_TRY(tritree_cuda_pack(&run->frame->device_frame->tree, NULL));
    KD_CUDA(cudaMemsetAsync(run->work.ring, 0, WAVE_RING * sizeof(wave_record)));
    return KD_OK;
}

/* Runs wavefronts by step() until all paths have been started and few are left: those of the
   wavefront run->wave. */
template <class STEP> kd_status vcm_run_waves(wave_run *run, const STEP &step) {
    const uint32_t few = min((uint32_t)VCM_FEW, run->work.capacity / 8);
    for (;; ++run->wave) {
        KD_TRY(plan_wave(run, true));
        if (run->wave % VCM_POLL_EVERY == VCM_POLL_EVERY - 1) {
            wave_record seen;
            KD_TRY(device_memory_download(&seen, record_of(run), sizeof seen));
            if (seen.end == run->work.slots && seen.begin == seen.end && seen.rays <= few)
                return KD_OK;
        }
        KD_TRY(step());
    }
}

/* Launches KERNEL(scene, view, work, more..., wave) with as many blocks as the device can hold. */
template <class KERNEL, class... MORE>
kd_status vcm_start(const wave_run *run, const vcm_view *view, KERNEL kernel, int block,
                    const char *name, const MORE &...more) {
    unsigned blocks = 0;
    KD_TRY(cuda_resident_blocks(&blocks, kernel, block));
    kernel<<<blocks, block>>>(run->frame->device_frame->scene.view, *view, run->work, more...,
                              run->wave);
    KD_CUDA_LAUNCHED(name);
    return KD_OK;
}

#endif
