/* Lookups where walls may hide photons (photon/density/visibility.h), on a CUDA device.
   Idea: they are few. The other kernels answer them, too, as if nothing were hidden; here one warp
         each repeats them, with a ray for each photon. Each lane takes one of the samples of the
         visible share; they are added up in the order of the CPU.
   Work: 8 rays for each lookup at a divided surface; a search and some hundred rays for each where
         something stands, in 32 lanes.
   Memory: the list of requests that packets have left, which is not needed any more.
   Invariants: the bits of the CPU.
   Data flow: list_divided, one thread per request, and 8 lanes for each at a divided surface, reads
              requests, sums and radii, and appends by atomics to the list; alone_within or
              alone_nearest, one warp per listed request, write its sum and radius; measure_shares,
              one warp per listed request, multiplies its integral. */
#include "core/device/cuda.h"
#include "photon/density/warp_per_surface.cuh"
#include "photon/maps/map_index.cuh"

namespace {

using namespace photon_gathering_cuda;

constexpr int BLOCK = 128;

struct divided_work {
    tile_view tiles;
    const eye_request *requests;
    uint32_t count;
    flux_sum *sums;
    float *radii;
    alone_requests listed;
    photon_kernel kernel;
    float *integrals;
};

/* Returns the mask of those lanes in `left` near whose points something stands; each of its first
   four is tested by 8 lanes, one ray each. */
__device__ __forceinline__ unsigned obstructed_of_four(const divided_work &work, uint32_t first,
                                                       unsigned left) {
    static_assert(OBSTRUCTION_RAYS == 8, "four points in 32 lanes");
    const int group = (int)lane_id() / OBSTRUCTION_RAYS, ray = (int)lane_id() % OBSTRUCTION_RAYS;
    unsigned mine = left;
    for (int i = 0; i < group; ++i) mine &= mine - 1;
    mine &= 0u - mine;
    bool hit = false;
    if (mine) {
        const uint32_t i = first + (uint32_t)__ffs((int)mine) - 1;
        const estimate_point point = estimate_point_of(&work.requests[i].at);
        const openness_place place = openness_place_make(&work.tiles.scene->mesh, point.position,
                                                         point.normal, point.triangle);
        hit = visibility_obstructed_along(work.tiles.scene, &place, ray,
                                          OBSTRUCTION_REACH * work.radii[i]);
    }
    __syncwarp();
    const bool any = __ballot_sync(ALL, hit) >> OBSTRUCTION_RAYS * group & 0xffu;
    unsigned all = any ? mine : 0;
    all |= __shfl_xor_sync(ALL, all, OBSTRUCTION_RAYS);
    return all | __shfl_xor_sync(ALL, all, 2 * OBSTRUCTION_RAYS);
}

__global__ __launch_bounds__(BLOCK) void list_divided(const __grid_constant__ divided_work work) {
    const uint32_t i = blockIdx.x * BLOCK + threadIdx.x;
    bool divided = i < work.count && !flux_sum_is_zero(work.sums + i);
    if (divided) {
        const estimate_point point = estimate_point_of(&work.requests[i].at);
        divided = estimate_point_is_divided(&work.tiles, &point);
    }
    __syncwarp();
    unsigned all = 0;
    for (unsigned left = __ballot_sync(ALL, divided); left;) {
        all |= obstructed_of_four(work, i - lane_id(), left);
        for (int k = 0; k < 4; ++k) left &= left - 1;
    }
    uint32_t to = 0;
    if (!all) return;
    if (lane_id() == 0) to = atomicAdd(work.listed.count, (uint32_t)__popc(all));
    to = __shfl_sync(ALL, to, 0) + __popc(all & ((1u << lane_id()) - 1));
    if (all >> lane_id() & 1u) work.listed.list[to] = i;
}

__global__ __launch_bounds__(BLOCK) void measure_shares(const __grid_constant__ divided_work work) {
    static_assert(VISIBLE_SAMPLES <= 32, "one sample per lane");
    const scene_view *scene = work.tiles.scene;
    for (uint32_t i; take_listed(work.listed, &i);) {
        const estimate_point point = estimate_point_of(&work.requests[i].at);
        const visibility_place place =
            visibility_place_make(point.position, point.normal, work.radii[i], work.kernel);
        bool hidden = false;
        float weight = 0, visible = 0, whole = 0;
        if (lane_id() < VISIBLE_SAMPLES)
            weight = visibility_weight(scene, &place, (int)lane_id(), &hidden);
        const float seen = hidden ? 0 : weight;
        __syncwarp();
        for (int lane = 0; lane < VISIBLE_SAMPLES; ++lane) {
            whole += __shfl_sync(ALL, weight, lane);
            visible += __shfl_sync(ALL, seen, lane);
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

kd_status gather_listed(const photon_maps_cuda *maps, int which, uint32_t k, float radius,
                        const divided_work *divided) {
    const photon_map_cuda *map = &maps->map[which];
    void (*kernel)(gather_work) = kernel_of(k);
    gather_work work;
    unsigned blocks = 0;
    memset(&work, 0, sizeof work);
    work.index = map_index_of(map);
    work.requests = divided->requests;
    work.count = divided->count;
    work.alone = divided->listed;
    work.sums = divided->sums;
    work.radii = divided->radii;
    work.k = k;
    work.radius = radius;
    work.kernel = maps->kernel;
    work.scale = map->scale;
    work.occluders = divided->tiles.scene;
    KD_CUDA(cudaMemsetAsync(work.alone.next, 0, sizeof *work.alone.next));
    KD_TRY(cuda_resident_blocks(&blocks, kernel, 32 * WARPS));
    kernel<<<blocks, 32 * WARPS>>>(work);
    KD_CUDA_LAUNCHED("gather_divided");
    return KD_OK;
}

kd_status measure_listed(const divided_work *work) {
    unsigned blocks = 0;
    KD_CUDA(cudaMemsetAsync(work->listed.next, 0, sizeof *work->listed.next));
    KD_TRY(cuda_resident_blocks(&blocks, measure_shares, BLOCK));
    measure_shares<<<blocks, BLOCK>>>(*work);
    KD_CUDA_LAUNCHED("measure_shares");
    return KD_OK;
}

} // namespace

extern "C" kd_status photon_maps_cuda_hide(const photon_maps_cuda *maps, int which, uint32_t gather,
                                           float radius, const photon_gather_cuda *request,
                                           float *integrals) {
    if (request->count == 0 || !maps->tiles.divided) return KD_OK;
    divided_work work;
    work.tiles = maps->tiles;
    work.requests = request->requests;
    work.count = request->count;
    work.sums = request->sums;
    work.radii = request->radii;
    work.listed = {request->alone, request->alone + request->count,
                   request->alone + request->count + 1};
    work.kernel = maps->kernel;
    work.integrals = integrals;
    KD_CUDA(cudaMemsetAsync(work.listed.count, 0, sizeof *work.listed.count));
    list_divided<<<cuda_blocks(work.count, BLOCK), BLOCK>>>(work);
    KD_CUDA_LAUNCHED("list_divided");
    if (radius > 0 && maps->map[which].list.local_count)
        KD_TRY(gather_listed(maps, which, gather, radius, &work));
    return integrals && maps->tiles.box_count ? measure_listed(&work) : KD_OK;
}
