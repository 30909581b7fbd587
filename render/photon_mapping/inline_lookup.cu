/* Camera paths with inline lookups, one thread per path: for the adaptive estimator, final gather
   that cannot be traced as wavefronts, and points in media that scatter light. Lookups at surfaces
   that the camera sees are deferred where possible.
   Data flow: one thread per slot reads the scene and the maps, and writes radiance, first surface,
              requests and counts. */
#include "render/photon_mapping/eye_store.cuh"

namespace {

enum { WALK_BLOCK = 128, WALK_EACH = 6 };

__global__ __launch_bounds__(WALK_BLOCK, WALK_EACH) void inline_lookup(
    const __grid_constant__ scene_view scene, const __grid_constant__ photon_view photons,
    const __grid_constant__ eye_slots slots) {
    const path_waves &w = slots.waves;
    const uint32_t slot = blockIdx.x * WALK_BLOCK + threadIdx.x;
    uint32_t rays = 0;
    ray ray;
    if (slot < w.slots && slot_begins(slots, slot, &ray)) {
        const rng_key key = key_of_slot(w, place_of_slot(w, slot));
        const eye_path path = photon_eye_path(&scene, &photons, LOOKUP_INLINE, ray, key);
        const vec3 radiance = path.result.radiance;
        w.radiance[slot] =
            with_fourth(photons.later.list ? radiance : vec3_add(radiance, path.gathered), 0);
        slots.first_request[slot] = path.first_request;
        store_first(scene, w, slot, &ray, &path.result.first);
        rays = path.result.rays;
    }
    take_counts(w.counts, rays, 0);
}

} // namespace

kd_status inline_lookup_slots(const frame *frame, const photon_view *photons,
                              const eye_slots *slots) {
    KD_CUDA(cudaMemsetAsync(slots->waves.counts, 0, sizeof *slots->waves.counts));
    inline_lookup<<<(slots->waves.slots + WALK_BLOCK - 1) / WALK_BLOCK, WALK_BLOCK>>>(
        frame->device_frame->scene.view, *photons, *slots);
    KD_CUDA_LAUNCHED("inline_lookup");
    return KD_OK;
}
