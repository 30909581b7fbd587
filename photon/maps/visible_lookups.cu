/* Lookups where walls may hide photons (photon/density/visibility.h), on a CUDA device.
   Idea: they are few. The other kernels answer them, too, as if nothing were hidden; here one warp
         each repeats them, with a ray for each photon. Of the visible share, each lane takes one or
         two samples, and all of them are added up in the order of the CPU.
   Work: a search and up to some hundred rays per lookup, in 32 lanes.
   Memory: the list of requests that packets have left, which is not needed any more.
   Invariants: the bits of the CPU.
   Data flow: list_divided, one thread per request, reads requests, sums and flags of the surfaces,
              and appends by atomics to the list; alone_within or alone_nearest, one warp per listed
              request, write its sum and radius; measure_shares, one warp per listed request,
              multiplies its integral. */
#include "core/device/cuda.h"
#include "photon/maps/visible_lookups.cuh"

namespace photon_gathering_cuda {

namespace {

constexpr int BLOCK = 128;

struct divided_work {
    tile_view tiles;
    const eye_request *requests;
    uint32_t count;
    const flux_sum *sums;
    const float *radii;
    alone_requests listed;
    photon_kernel kernel;
    float *integrals;
};

__global__ __launch_bounds__(BLOCK) void list_divided(const __grid_constant__ divided_work work) {
    const uint32_t i = blockIdx.x * BLOCK + threadIdx.x;
    const bool divided = i < work.count && !flux_sum_is_zero(work.sums + i) &&
                         estimate_point_on(&work.tiles, &work.requests[i].at).occluders;
    const unsigned all = __ballot_sync(ALL, divided);
    uint32_t first = 0;
    if (!all) return;
    if (lane_id() == 0) first = atomicAdd(work.listed.count, (uint32_t)__popc(all));
    first = __shfl_sync(ALL, first, 0);
    if (divided) work.listed.list[first + __popc(all & ((1u << lane_id()) - 1))] = i;
}

__global__ __launch_bounds__(BLOCK) void measure_shares(const __grid_constant__ divided_work work) {
    constexpr int ROUNDS = (VISIBLE_SAMPLES + 31) / 32;
    const scene_view *scene = work.tiles.scene;
    for (uint32_t i; take_listed(work.listed, &i);) {
        const estimate_point point = estimate_point_of(&work.requests[i].at);
        if (!(work.radii[i] > 0)) continue;
        const visibility_place place =
            visibility_place_make(point.position, point.normal, work.radii[i], work.kernel);
        float weight[ROUNDS], seen[ROUNDS], visible = 0, whole = 0;
        for (int r = 0; r < ROUNDS; ++r) {
            const int which = 32 * r + (int)lane_id();
            bool hidden = false;
            weight[r] =
                which < VISIBLE_SAMPLES ? visibility_weight(scene, &place, which, &hidden) : 0;
            seen[r] = hidden ? 0 : weight[r];
        }
        __syncwarp();
        for (int r = 0; r < ROUNDS; ++r)
            for (int lane = 0; lane < 32; ++lane) {
                whole += __shfl_sync(ALL, weight[r], lane);
                visible += __shfl_sync(ALL, seen[r], lane);
            }
        if (lane_id() == 0) work.integrals[i] *= visibility_share_of(visible, whole);
    }
}

void (*kernel_of(uint32_t k))(gather_work) {
    return k == 0     ? alone_within<true>
           : k <= 72  ? alone_nearest<4, true>
           : k <= 320 ? alone_nearest<12, true>
                      : alone_nearest<40, true>;
}

/* Lists the requests. */
kd_status begin_divided(const divided_work *work) {
    KD_CUDA(cudaMemsetAsync(work->listed.count, 0, sizeof *work->listed.count));
    KD_CUDA(cudaMemsetAsync(work->listed.next, 0, sizeof *work->listed.next));
    list_divided<<<cuda_blocks(work->count, BLOCK), BLOCK>>>(*work);
    KD_CUDA_LAUNCHED("list_divided");
    return KD_OK;
}

} // namespace

kd_status gather_divided(const gather_work *work, const tile_view *tiles) {
    if (work->count == 0 || !tiles->divided) return KD_OK;
    const divided_work listing = {*tiles,      work->requests, work->count,  work->sums,
                                  work->radii, work->alone,    work->kernel, NULL};
    gather_work hidden = *work;
    void (*kernel)(gather_work) = kernel_of(work->k);
    unsigned blocks = 0;
    hidden.occluders = tiles->scene;
    KD_TRY(begin_divided(&listing));
    KD_TRY(cuda_resident_blocks(&blocks, kernel, 32 * WARPS));
    kernel<<<blocks, 32 * WARPS>>>(hidden);
    KD_CUDA_LAUNCHED("gather_divided");
    return KD_OK;
}

kd_status measure_divided(const photon_gather_cuda *gather, const photon_maps_cuda *maps,
                          float *integrals) {
    if (gather->count == 0 || !maps->tiles.divided || !maps->tiles.box_count) return KD_OK;
    const alone_requests listed = {gather->alone, gather->alone + gather->count,
                                   gather->alone + gather->count + 1};
    const divided_work work = {maps->tiles,   gather->requests, gather->count, gather->sums,
                               gather->radii, listed,           maps->kernel,  integrals};
    unsigned blocks = 0;
    KD_TRY(begin_divided(&work));
    KD_TRY(cuda_resident_blocks(&blocks, measure_shares, BLOCK));
    measure_shares<<<blocks, BLOCK>>>(work);
    KD_CUDA_LAUNCHED("measure_shares");
    return KD_OK;
}

} // namespace photon_gathering_cuda
