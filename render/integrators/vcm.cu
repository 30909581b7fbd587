/* `vcm` on a CUDA device: its memory, and the tree of its photons.
   Data flow: vcm_light_waves.cu traces a pass's light paths, which leave splats in `sums` and photons
              in `landings`; the builder of point trees writes their order to `ids`; order_photons
              reads both and writes `points` and `photons`, which vcm_eye_waves.cu reads. */
#include "core/device/async.h"
#include "core/device/cuda.h"
#include "points/select/builders.h"
#include "render/integrators/vcm_device.h"

namespace {

enum { TRACE_BLOCK = 128 };

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

/* Puts photons in the order of the tree. */
__global__ __launch_bounds__(TRACE_BLOCK) void order_photons(const vcm_landing *landings,
                                                             const uint32_t *ids, uint32_t count,
                                                             vec3 *points, vcm_photon *photons) {
    const uint32_t node = blockIdx.x * TRACE_BLOCK + threadIdx.x;
    if (node >= count) return;
    points[node] = landings[ids[node]].place;
    photons[node] = landings[ids[node]].photon;
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
    device_buffer_free(&owned->landings);
    device_buffer_free(&owned->points);
    device_buffer_free(&owned->photons);
    device_buffer_free(&owned->ids);
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

kd_status vcm_cuda_fetch(const vcm_cuda *device, vcm_landing *landings, uint64_t count) {
    return device_memory_download(landings, device->landings.memory, count * sizeof *landings);
}

kd_status vcm_cuda_place(vcm_cuda *device, const vcm_landing *landings, uint64_t count) {
    KD_TRY(device_buffer_reserve(&device->landings, count * sizeof *landings));
    return device_memory_upload(device->landings.memory, landings, count * sizeof *landings);
}

static kd_status build_tree(vcm_cuda *device, uint64_t count) {
    const point_builder_cuda *builder = point_builders_cuda[0];
    point_build_cuda build;
    memset(&build, 0, sizeof build);
    build.points = point_array_make(device->landings.memory, count, 3, POINT_FLOAT);
    build.points.stride_bytes = sizeof(vcm_landing);
    build.split = POINTTREE_ROUND_ROBIN;
    KD_TRY(device_buffer_reserve(&device->ids, count * sizeof(uint32_t)));
    build.ids = (uint32_t *)device->ids.memory;
    build.stream = device_thread_stream();
    KD_TRY(builder->scratch_bytes(&build.scratch_bytes, &build));
    KD_TRY(device_buffer_reserve(&device->scratch, build.scratch_bytes));
    build.scratch = device->scratch.memory;
    return builder->build(&build);
}

kd_status vcm_cuda_build(vcm_cuda *device, uint64_t count, vcm_view *view) {
    KD_TRY(build_tree(device, count));
    KD_TRY(device_buffer_reserve(&device->points, count * sizeof(vec3)));
    KD_TRY(device_buffer_reserve(&device->photons, count * sizeof(vcm_photon)));
    order_photons<<<cuda_blocks(count, TRACE_BLOCK), TRACE_BLOCK>>>(
        (const vcm_landing *)device->landings.memory, (const uint32_t *)device->ids.memory,
        (uint32_t)count, (vec3 *)device->points.memory, (vcm_photon *)device->photons.memory);
    KD_CUDA_LAUNCHED("order_photons");
    memset(&view->tree, 0, sizeof view->tree); /* its box and ids are not used */
    view->tree.points = (const vec3 *)device->points.memory;
    view->tree.count = (uint32_t)count;
    view->photons = (const vcm_photon *)device->photons.memory;
    return device_wait(); /* for the stage's time */
}
