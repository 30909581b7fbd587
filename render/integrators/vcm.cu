/* `vcm` on a CUDA device: its memory, and the grid of its photons.
   Data flow: vcm_light_waves.cu traces a pass's light paths, which leave splats in `sums`, and
              `photons`; count_cells reads these and counts those of each bucket in `ends`, which a
              scan turns into the buckets' begins; sort_photons reads both and writes `sorted`,
   which vcm_eye_waves.cu reads; sorting turns the begins into ends. */
#include "core/device/async.h"
#include "core/device/cuda.h"
#include "core/device/device_sort.cuh"
#include "render/integrators/vcm_device.h"

namespace {

enum { TRACE_BLOCK = 128 };

__global__
__launch_bounds__(TRACE_BLOCK) void find_footprints(const __grid_constant__ scene_view scene,
                                                    const __grid_constant__ vcm_view view,
                                                    int32_t side, float *t) {
    const int32_t i = (int32_t)(blockIdx.x * TRACE_BLOCK + threadIdx.x);
    if (i >= side * side) return;
    const ray ray = vcm_footprint_ray(&view.viewer, side, i);
    const ray_hit hit = tritree_closest(&scene.tree, ray);
    t[i] = hit.triangle == KD_NONE ? INFINITY : hit.t;
}

__global__ __launch_bounds__(TRACE_BLOCK) void try_paths(const __grid_constant__ scene_view scene,
                                                         const __grid_constant__ vcm_view view,
                                                         uint64_t first, uint32_t count,
                                                         vcm_trial *trials) {
    const uint32_t i = blockIdx.x * TRACE_BLOCK + threadIdx.x;
    if (i < count) trials[i] = vcm_try(&view, &scene, first + i);
}

__global__ __launch_bounds__(TRACE_BLOCK) void count_cells(const vcm_grid grid,
                                                           const vcm_photon *photons,
                                                           uint32_t *counts) {
    const uint32_t i = blockIdx.x * TRACE_BLOCK + threadIdx.x;
    if (i < grid.count) atomicAdd(counts + vcm_grid_bucket(&grid, photons[i].place), 1u);
}

__global__ __launch_bounds__(TRACE_BLOCK) void sort_photons(const vcm_grid grid,
                                                            const vcm_photon *photons,
                                                            uint32_t *begins, vcm_photon *sorted) {
    const uint32_t i = blockIdx.x * TRACE_BLOCK + threadIdx.x;
    if (i >= grid.count) return;
    const vcm_photon photon = photons[i];
    sorted[atomicAdd(begins + vcm_grid_bucket(&grid, photon.place), 1u)] = photon;
}

/* Replaces the number of photons of each bucket by the index of its first photon. Without scratch
   memory, only computes how much is needed. */
kd_status scan_buckets(void *scratch, size_t *bytes, uint32_t *counts, uint64_t buckets) {
    return device_prefix_sum(scratch, bytes, counts, buckets, (cudaStream_t)device_thread_stream());
}

} // namespace

kd_status vcm_cuda_open(vcm_cuda *out, uint64_t sums) {
    void *memory = NULL;
    KD_TRY(device_memory_reserve(&memory, sizeof(vcm_counts) + sums * sizeof(int64_t)));
    out->counts = (vcm_counts *)memory;
    out->sums = (int64_t *)(out->counts + 1);
    return KD_OK;
}

void vcm_cuda_close(vcm_cuda *owned) {
    device_memory_free(owned->counts);
    device_buffer_free(&owned->sorted);
    device_buffer_free(&owned->joined);
    device_buffer_free(&owned->ends);
    device_buffer_free(&owned->scratch);
    memset(owned, 0, sizeof *owned);
}

static kd_status launch_footprints(float *t, int32_t side, const vcm_view *view,
                                   const scene_view *scene) {
    find_footprints<<<cuda_blocks((uint64_t)side * side, TRACE_BLOCK), TRACE_BLOCK>>>(*scene, *view,
                                                                                      side, t);
    KD_CUDA_LAUNCHED("find_footprints");
    return KD_OK;
}

kd_status vcm_cuda_footprints(float *t, int32_t side, const vcm_view *view,
                              const scene_view *scene) {
    const uint32_t count = (uint32_t)(side * side);
    void *found = NULL;
    KD_TRY(device_memory_reserve(&found, count * sizeof *t));
    kd_status status = launch_footprints((float *)found, side, view, scene);
    if (status == KD_OK) status = device_memory_download(t, found, count * sizeof *t);
    device_memory_free(found);
    return status;
}

static kd_status launch_trials(vcm_trial *trials, uint64_t first, uint32_t count,
                               const vcm_view *view, const scene_view *scene) {
    try_paths<<<cuda_blocks(count, TRACE_BLOCK), TRACE_BLOCK>>>(*scene, *view, first, count,
                                                                trials);
    KD_CUDA_LAUNCHED("try_paths");
    return KD_OK;
}

kd_status vcm_cuda_try(vcm_trial *trials, uint64_t first, uint32_t count, const vcm_view *view,
                       const scene_view *scene) {
    void *traced = NULL;
    KD_TRY(device_memory_reserve(&traced, count * sizeof *trials));
    kd_status status = launch_trials((vcm_trial *)traced, first, count, view, scene);
    if (status == KD_OK) status = device_memory_download(trials, traced, count * sizeof *trials);
    device_memory_free(traced);
    return status;
}

kd_status vcm_cuda_fetch(const vcm_cuda *device, vcm_photon *photons, uint64_t count) {
    return device_memory_download(photons, device->photons, count * sizeof *photons);
}

static kd_status sort_into(vcm_cuda *device, const vcm_photon *photons, const vcm_grid *grid) {
    uint32_t *ends = (uint32_t *)device->ends.memory;
    const uint64_t buckets = (uint64_t)grid->mask + 1;
    const unsigned blocks = cuda_blocks(grid->count, TRACE_BLOCK);
    size_t bytes = 0;
    KD_TRY(scan_buckets(NULL, &bytes, ends, buckets));
    KD_TRY(device_buffer_reserve(&device->scratch, bytes));
    KD_TRY(device_memory_clear(ends, buckets * sizeof *ends));
    count_cells<<<blocks, TRACE_BLOCK>>>(*grid, photons, ends);
    KD_CUDA_LAUNCHED("count_cells");
    KD_TRY(scan_buckets(device->scratch.memory, &bytes, ends, buckets));
    sort_photons<<<blocks, TRACE_BLOCK>>>(*grid, photons, ends,
                                          (vcm_photon *)device->sorted.memory);
    KD_CUDA_LAUNCHED("sort_photons");
    return KD_OK;
}

kd_status vcm_cuda_build(vcm_cuda *device, const vcm_photon *photons, uint64_t count,
                         vcm_view *view) {
    vcm_grid grid = vcm_grid_make(count, view->radius);
    const vcm_photon *unsorted = device->photons;
    if (photons) {
        KD_TRY(device_buffer_reserve(&device->joined, count * sizeof *photons));
        KD_TRY(device_memory_upload(device->joined.memory, photons, count * sizeof *photons));
        unsorted = (const vcm_photon *)device->joined.memory;
    }
    KD_TRY(device_buffer_reserve(&device->sorted, count * sizeof *photons));
    KD_TRY(device_buffer_reserve(&device->ends, ((uint64_t)grid.mask + 1) * sizeof *grid.ends));
    KD_TRY(sort_into(device, unsorted, &grid));
    grid.photons = (const vcm_photon *)device->sorted.memory;
    grid.ends = (const uint32_t *)device->ends.memory;
    view->grid = grid;
    return device_wait(); /* for the stage's time */
}
