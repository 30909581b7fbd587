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
    VCM_FEW = 1 << 15,  /* wavefronts of fewer paths are not worth a launch */
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

/* --- merges of eye paths at diffuse surfaces ----------------------------------------------------
 */

/* A lookup of photons, which takes the place of its path in the store of the wavefront.
   ids: x: slot; KD_NONE: nothing to look up
        y: depth | front << 24 | disperses << 25 | indirect << 26 | sends << 27 */
struct merge_request {
    float4 place;      /* and vcm_chain_join */
    float4 direction;  /* of the ray, and chain.others */
    float4 throughput; /* and diffuse.x */
    float4 geometric;  /* normal, and diffuse.y */
    float4 normal;     /* for shading, and diffuse.z */
    uint4 ids;
};

enum merge_bits {
    MERGE_FRONT = 1 << 24,
    MERGE_DISPERSES = 1 << 25,
    MERGE_INDIRECT = 1 << 26,
    MERGE_SENDS = 1 << 27
};

/* `sent`: what else the slot's radiance gains, before; in the place of the path's hit. */
__device__ __forceinline__ void store_merge(const path_store &store, float4 *hits, uint32_t i,
                                            const vcm_eye_path &path, const surface &at,
                                            uint32_t slot, uint32_t depth, vec3 sent) {
    const path_state &s = path.state;
    const bool sends = !vec3_is_zero(sent);
    store.rays[2 * (uint64_t)i] = with_fourth(at.position, vcm_chain_join(&path.chain));
    store.rays[2 * (uint64_t)i + 1] = with_fourth(s.ray.direction, path.chain.others);
    store.throughput[i] = with_fourth(s.throughput, at.diffuse.x);
    store.from[i] = with_fourth(at.geometric, at.diffuse.y);
    store.normal[i] = with_fourth(at.normal, at.diffuse.z);
    store.ids[i] =
        make_uint4(slot,
                   depth | (at.front ? MERGE_FRONT : 0) | (path.disperses ? MERGE_DISPERSES : 0) |
                       (s.scattered > 0 ? MERGE_INDIRECT : 0) | (sends ? MERGE_SENDS : 0),
                   0, 0);
    if (sends) hits[i] = with_fourth(sent, 0);
}

/* Returns false if there is nothing to look up. */
__device__ __forceinline__ bool load_merge(const path_store &store, uint32_t i,
                                           merge_request *request) {
    request->ids = store.ids[i];
    if (request->ids.x == KD_NONE) return false;
    request->place = store.rays[2 * (uint64_t)i];
    request->direction = store.rays[2 * (uint64_t)i + 1];
    request->throughput = store.throughput[i];
    request->geometric = store.from[i];
    request->normal = store.normal[i];
    return true;
}

/* Sets what vcm_eye_merge_photon and vcm_eye_brings read of a path and of a diffuse surface. */
__device__ __forceinline__ void merging_path(const merge_request &request, vcm_eye_path *path,
                                             surface *at) {
    memset(path, 0, sizeof *path);
    memset(at, 0, sizeof *at);
    path->state.ray.direction = first_three(request.direction);
    path->state.throughput = first_three(request.throughput);
    path->state.scattered = request.ids.y & MERGE_INDIRECT ? 1 : 0;
    path->disperses = request.ids.y & MERGE_DISPERSES;
    path->chain.vertices = 1;
    path->chain.inverse = request.place.w;
    path->chain.others = request.direction.w;
    at->kind = MATERIAL_DIFFUSE;
    at->front = request.ids.y & MERGE_FRONT;
    at->position = first_three(request.place);
    at->geometric = first_three(request.geometric);
    at->normal = at->mapped = first_three(request.normal);
    at->diffuse = vec3_make(request.throughput.w, request.geometric.w, request.normal.w);
}

/* Looks up the photons of the requests of wavefront run->wave, and adds what they bring (vcm.cu).
 */
kd_status vcm_merge_wave(const wave_run *run, const vcm_view *view);

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
