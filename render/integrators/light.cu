/* `light` on a CUDA device: one thread per path. Integer splats give the same sums as on the CPU.
   Data flow: trace_light, one thread per path, reads the scene, adds splats to `sums` and counts to
              `device_counts` by atomics; the host waits; then take_samples, one thread per pixel,
   adds sums to the film. */
#include "core/device/device_memory.h"
#include "render/frame/take_samples.cuh"
#include "render/integrators/integrators.h"
#include "render/integrators/light.h"

namespace {

enum { TRACE_BLOCK = 128 };

struct light_method {
    light_pixels pixels;
    __device__ __forceinline__ pixel_sample operator()(const pixel_view *view, int32_t x, int32_t y,
                                                       uint32_t sample) const {
        return light_pixel(view, &pixels, x, y, sample);
    }
};

__device__ void add_splat(const light_state &state, const light_splat &splat, uint32_t *cut) {
    const int64_t pixel = (int64_t)splat.y * state.eye.width + splat.x;
    const float value[3] = {splat.radiance.x, splat.radiance.y, splat.radiance.z};
    for (int c = 0; c < 3; ++c)
        atomicAdd((unsigned long long *)(state.sums + 3 * pixel + c),
                  (unsigned long long)light_splat_units(value[c], state.unit, cut));
}

__global__ __launch_bounds__(TRACE_BLOCK, TAKE_EACH) void trace_light(
    const __grid_constant__ scene_view scene, const __grid_constant__ light_state state) {
    const uint32_t i = blockIdx.x * TRACE_BLOCK + threadIdx.x;
    uint32_t rays = 0, cut = 0;
    if (i < state.share) {
        light_path path = light_path_begin(&scene, &state.emission, state.first + i);
        light_splat splat;
        while (light_path_next(&scene, &state.eye, &path))
            if (light_path_splat(&scene, &state.eye, &path, &splat)) add_splat(state, splat, &cut);
        rays = path.rays;
    }
    rays = __reduce_add_sync(0xffffffffu, rays);
    cut = __reduce_add_sync(0xffffffffu, cut);
    if (threadIdx.x % 32 != 0) return;
    atomicAdd((unsigned long long *)&state.device_counts->rays, (unsigned long long)rays);
    if (cut) atomicAdd((unsigned long long *)&state.device_counts->cut, (unsigned long long)cut);
}

} // namespace

kd_status light_launch(const frame *frame, const sample_range *range) {
    const light_method method = {light_state_pixels((const light_state *)frame->state)};
    return take_samples_launch(frame, range, method);
}

static kd_status light_state_place(light_state *state, uint64_t sums) {
    void *memory = NULL;
    KD_TRY(device_memory_reserve(&memory, sizeof(light_counts) + sums * sizeof *state->sums));
    state->device_counts = (light_counts *)memory;
    state->sums = (int64_t *)(state->device_counts + 1);
    return KD_OK;
}

static void light_state_leave(light_state *owned) {
    device_memory_free(owned->device_counts);
    owned->device_counts = NULL;
    owned->sums = NULL;
}

static kd_status light_state_trace(light_state *state, const scene_view *scene) {
    const size_t sums = 3 * (size_t)state->eye.width * (size_t)state->eye.height;
    light_counts counts;
    KD_CUDA(cudaMemsetAsync(state->device_counts, 0,
                            sizeof(light_counts) + sums * sizeof *state->sums));
    if (state->share == 0) return KD_OK;
    trace_light<<<(state->share + TRACE_BLOCK - 1) / TRACE_BLOCK, TRACE_BLOCK>>>(*scene, *state);
    KD_CUDA_LAUNCHED("trace_light");
    KD_TRY(device_memory_download(&counts, state->device_counts, sizeof counts));
    state->counts.rays += counts.rays;
    state->counts.cut += counts.cut;
    return KD_OK;
}

extern const light_device light_on_device;
const light_device light_on_device = {light_state_place, light_state_leave, light_state_trace};
