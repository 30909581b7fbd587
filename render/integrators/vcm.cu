/* `vcm` on a CUDA device: one thread per path.
   Data flow: trace_light_paths, one thread per light path, reads the scene, adds splats to `sums` by
              atomics and appends photons to `landings`; the host sorts them by path and bounce,
              builds their tree, and copies both back; then take_samples, one thread per pixel,
              reads them and adds samples to the film. Sums are of integers and photons in the order
              of the CPU's, so pictures have the CPU's bits. */
#include "render/frame/take_samples.cuh"
#include "render/integrators/integrators.h"
#include "render/integrators/vcm_device.h"
#include "render/integrators/vcm_eye.h"

namespace {

enum { TRACE_BLOCK = 128 };

struct vcm_method {
    vcm_view view;
    __device__ __forceinline__ pixel_sample operator()(const pixel_view *pixels, int32_t x,
                                                       int32_t y, uint32_t sample) const {
        return vcm_pixel(&view, pixels, x, y, sample);
    }
};

/* Where the threads of trace_light_paths write. */
struct trace_output {
    vcm_counts *counts;
    vcm_landing *landings;
    uint64_t capacity;
    uint32_t first, share;
};

__device__ void add_splat(const vcm_view &view, const light_splat &splat, uint32_t *cut) {
    const int64_t pixel = (int64_t)splat.y * view.pixels.width + splat.x;
    const float value[3] = {splat.radiance.x, splat.radiance.y, splat.radiance.z};
    for (int c = 0; c < 3; ++c)
        atomicAdd((unsigned long long *)(view.sums + 3 * pixel + c),
                  (unsigned long long)light_splat_units(value[c], view.unit, cut));
}

__device__ void add_photon(const trace_output &to, const vcm_landing &landing) {
    const uint64_t slot = atomicAdd((unsigned long long *)&to.counts->photons, 1ull);
    if (slot < to.capacity) to.landings[slot] = landing;
}

__global__
__launch_bounds__(TRACE_BLOCK) void trace_light_paths(const __grid_constant__ scene_view scene,
                                                      const __grid_constant__ vcm_view view,
                                                      const __grid_constant__ trace_output to) {
    const uint32_t i = blockIdx.x * TRACE_BLOCK + threadIdx.x;
    uint32_t rays = 0, cut = 0;
    if (i < to.share) {
        vcm_light_path path = vcm_light_begin(&view, &scene, (uint64_t)to.first + i);
        vcm_landing landing;
        light_splat splat;
        memset(&landing, 0, sizeof landing); /* its padding is copied to the host, too */
        landing.path = i;
        while (vcm_light_next(&view, &scene, &path)) {
            if (view.splat && vcm_light_splat(&view, &scene, &path, &splat))
                add_splat(view, splat, &cut);
            if (vcm_light_photon(&view, &path, &landing.place, &landing.photon))
                add_photon(to, landing);
        }
        rays = path.base.rays;
    }
    rays = __reduce_add_sync(0xffffffffu, rays);
    cut = __reduce_add_sync(0xffffffffu, cut);
    if (threadIdx.x % 32 != 0) return;
    atomicAdd((unsigned long long *)&to.counts->rays, (unsigned long long)rays);
    if (cut) atomicAdd((unsigned long long *)&to.counts->cut, (unsigned long long)cut);
}

__global__
__launch_bounds__(TRACE_BLOCK) void find_footprints(const __grid_constant__ scene_view scene,
                                                    const __grid_constant__ vcm_view view,
                                                    int32_t side, float *t) {
    const int32_t i = (int32_t)(blockIdx.x * TRACE_BLOCK + threadIdx.x);
    if (i >= side * side) return;
    const ray ray = vcm_footprint_ray(&view.pixels, side, i);
    const ray_hit hit = tritree_closest(&scene.tree, ray);
    t[i] = hit.triangle == KD_NONE ? INFINITY : hit.t;
}

} // namespace

kd_status vcm_launch(const frame *frame, const sample_range *range) {
    const vcm_method method = {*(const vcm_view *)frame->state}; /* its first member */
    return take_samples_launch(frame, range, method);
}

kd_status vcm_cuda_open(vcm_cuda *out, uint64_t sums) {
    void *memory = NULL;
    KD_TRY(device_memory_reserve(&memory, sizeof(vcm_counts) + sums * sizeof(int64_t)));
    out->counts = (vcm_counts *)memory;
    out->sums = (int64_t *)(out->counts + 1);
    return KD_OK;
}

void vcm_cuda_close(vcm_cuda *owned) {
    device_memory_free(owned->counts);
    device_buffer_free(&owned->landings);
    device_buffer_free(&owned->points);
    device_buffer_free(&owned->axes);
    device_buffer_free(&owned->photons);
    memset(owned, 0, sizeof *owned);
}

kd_status vcm_cuda_footprints(float *t, int32_t side, const vcm_view *view,
                              const scene_view *scene) {
    const uint32_t count = (uint32_t)(side * side);
    void *found = NULL;
    KD_TRY(device_memory_reserve(&found, count * sizeof *t));
    find_footprints<<<(count + TRACE_BLOCK - 1) / TRACE_BLOCK, TRACE_BLOCK>>>(*scene, *view, side,
                                                                              (float *)found);
    kd_status status = device_memory_download(t, found, count * sizeof *t);
    device_memory_free(found);
    return status;
}

static kd_status trace_once(vcm_cuda *device, const vcm_view *view, const scene_view *scene,
                            const trace_output &to, vcm_counts *counts) {
    const uint64_t sums = view->splat ? 3 * (uint64_t)view->paths : 0;
    KD_TRY(device_memory_clear(device->counts, sizeof *counts + sums * sizeof *device->sums));
    if (to.share) {
        trace_light_paths<<<(to.share + TRACE_BLOCK - 1) / TRACE_BLOCK, TRACE_BLOCK>>>(*scene,
                                                                                       *view, to);
        KD_CUDA_LAUNCHED("trace_light_paths");
    }
    return device_memory_download(counts, device->counts, sizeof *counts);
}

kd_status vcm_cuda_trace(vcm_cuda *device, const vcm_view *view, const scene_view *scene,
                         uint32_t first, uint32_t share, vcm_counts *counts) {
    for (;;) {
        const trace_output to = {device->counts, (vcm_landing *)device->landings.memory,
                                 device->landings.bytes / sizeof(vcm_landing), first, share};
        KD_TRY(trace_once(device, view, scene, to, counts));
        if (counts->photons <= to.capacity) return KD_OK;
        /* the photons did not fit: again, with a little more than they need */
        KD_TRY(device_buffer_reserve(&device->landings, (counts->photons + counts->photons / 8) *
                                                            sizeof(vcm_landing)));
    }
}

kd_status vcm_cuda_fetch(const vcm_cuda *device, vcm_landing *landings, uint64_t count) {
    return device_memory_download(landings, device->landings.memory, count * sizeof *landings);
}

static kd_status upload(device_buffer *to, const void *from, uint64_t bytes) {
    KD_TRY(device_buffer_reserve(to, bytes));
    return device_memory_upload(to->memory, from, bytes);
}

kd_status vcm_cuda_upload(vcm_cuda *device, const pointtree *tree, const vcm_photon *photons,
                          vcm_view *view) {
    const uint64_t count = tree->count;
    KD_TRY(upload(&device->points, tree->points, count * sizeof *tree->points));
    if (tree->axes) KD_TRY(upload(&device->axes, tree->axes, count));
    KD_TRY(upload(&device->photons, photons, count * sizeof *photons));
    view->tree.points = (const vec3 *)device->points.memory;
    view->tree.axes = tree->axes ? (const uint8_t *)device->axes.memory : NULL;
    view->tree.ids = NULL;
    view->photons = (const vcm_photon *)device->photons.memory;
    return KD_OK;
}
