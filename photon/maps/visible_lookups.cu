/* Lookups where walls may hide photons (photon/density/visibility.h), on a CUDA device.
   Idea: such lookups are few. The other kernels answer them, too, as if nothing were hidden; here
         one warp per lookup repeats it, with a ray for each photon that something may hide. Each
         lane takes one of the samples of the visible share; their sum has the order of the CPU.
   Work: 8 rays for each lookup at a divided surface; a search within the known radius and some ten
         rays for each where something stands, in 32 lanes.
   Memory: the list of requests that packets have left, which is not needed any more.
   Invariants: the bits of the CPU.
   Data flow: list_divided, one thread per request, and 8 lanes for each at a divided surface, reads
              requests, sums and radii, and appends by atomics to the list; hide, one warp per
              listed request, writes its sum and multiplies its integral. */
#include "core/device/cuda.h"
#include "photon/density/warp_per_surface.cuh"
#include "photon/maps/map_index.cuh"

namespace {

using namespace photon_gathering_cuda;

constexpr int BLOCK = 128;

struct hiding {
    tile_view tiles;
    gather_work gather; /* `alone` is the list */
    float *integrals;   /* NULL: only sums are repeated */
    bool sums;          /* repeat the sums */
};

/* Returns the mask of those lanes in `left` near whose points something stands; each of its first
   four is tested by 8 lanes, one ray each. */
__device__ __forceinline__ unsigned obstructed_of_four(const hiding &work, uint32_t first,
                                                       unsigned left) {
    static_assert(HORIZON_RAYS == 8, "four points in 32 lanes");
    const int group = (int)lane_id() / HORIZON_RAYS, ray = (int)lane_id() % HORIZON_RAYS;
    unsigned mine = left;
    for (int i = 0; i < group; ++i) mine &= mine - 1;
    mine &= 0u - mine;
    bool hit = false;
    if (mine) {
        const uint32_t i = first + (uint32_t)__ffs((int)mine) - 1;
        const scene_view *scene = work.tiles.scene;
        const estimate_point point = estimate_point_of(&work.gather.requests[i].at);
        const openness_place place =
            openness_place_make(&scene->mesh, point.position, point.normal, point.triangle);
        visibility_horizon horizon;
        visibility_horizon_begin(&horizon, &place);
        hit = visibility_reach(scene, &place, &horizon, ray, HORIZON_REACH * work.gather.radii[i]) <
              INFINITY;
    }
    __syncwarp();
    const bool any = __ballot_sync(ALL, hit) >> HORIZON_RAYS * group & 0xffu;
    unsigned all = any ? mine : 0;
    all |= __shfl_xor_sync(ALL, all, HORIZON_RAYS);
    return all | __shfl_xor_sync(ALL, all, 2 * HORIZON_RAYS);
}

__global__ __launch_bounds__(BLOCK) void list_divided(const __grid_constant__ hiding work) {
    const uint32_t i = blockIdx.x * BLOCK + threadIdx.x;
    bool divided = false;
    if (i < work.gather.count) {
        const uint32_t patch = work.tiles.patches[work.gather.requests[i].at.triangle];
        if (patch & TILE_PATCH_DIVIDED && !flux_sum_is_zero(work.gather.sums + i)) {
            const estimate_point point = estimate_point_of(&work.gather.requests[i].at);
            divided = estimate_point_is_divided(&work.tiles, &point);
        }
    }
    __syncwarp();
    unsigned all = 0;
    for (unsigned left = __ballot_sync(ALL, divided); left;) {
        all |= obstructed_of_four(work, i - lane_id(), left);
        for (int k = 0; k < 4; ++k) left &= left - 1;
    }
    uint32_t to = 0;
    if (!all) return;
    if (lane_id() == 0) to = atomicAdd(work.gather.alone.count, (uint32_t)__popc(all));
    to = __shfl_sync(ALL, to, 0) + __popc(all & ((1u << lane_id()) - 1));
    if (all >> lane_id() & 1u) work.gather.alone.list[to] = i;
}

/* Finds the horizon of a point by the whole warp. */
__device__ __forceinline__ void find_horizon(const hiding &work, uint32_t which,
                                             visibility_horizon &horizon) {
    const scene_view *scene = work.tiles.scene;
    const estimate_point point = estimate_point_of(&work.gather.requests[which].at);
    const openness_place place =
        openness_place_make(&scene->mesh, point.position, point.normal, point.triangle);
    const int ray = (int)lane_id();
    visibility_horizon made;
    visibility_horizon_begin(&made, &place);
    if (ray == 0) horizon.x = made.x, horizon.y = made.y;
    if (ray < HORIZON_RAYS)
        horizon.reach[ray] =
            visibility_reach(scene, &place, &made, ray, HORIZON_REACH * work.gather.radii[which]);
    __syncwarp();
}

template <int PARTS>
__device__ __forceinline__ void repeat_sum(const gather_work &work, nearest_scratch<PARTS> &scratch,
                                           uint32_t which, const occlusion &by) {
    const float known = work.radii[which] * (1 + 0x1p-20f); /* from the search without rays */
    const nearest_places<PARTS> best =
        find_nearest(work, scratch, work.requests[which].at.position, known * known);
    if (best.count == best.k) best.drop_last();
    weigh_nearest<false, true>(work, best, work.radii[which], which, by);
}

__device__ __forceinline__ void repeat_sum(const gather_work &work, within_scratch &scratch,
                                           uint32_t which, const occlusion &by) {
    within_of_one<false, true>(work, scratch, which, by);
}

/* Multiplies the integral by the visible share. */
__device__ __forceinline__ void measure_share(const hiding &work, uint32_t which,
                                              const occlusion &by) {
    static_assert(VISIBLE_SAMPLES <= 32, "one sample per lane");
    const estimate_point point = estimate_point_of(&work.gather.requests[which].at);
    const visibility_place place = visibility_place_make(
        point.position, point.normal, work.gather.radii[which], work.gather.kernel);
    bool hidden = false;
    float weight = 0, visible = 0, whole = 0;
    uint32_t count = 0;
    if (lane_id() < VISIBLE_SAMPLES)
        weight = visibility_weight(by.scene, by.horizon, &place, (int)lane_id(), &hidden);
    const float seen = hidden ? 0 : weight;
    __syncwarp();
    for (int lane = 0; lane < VISIBLE_SAMPLES; ++lane) {
        const float part = __shfl_sync(ALL, weight, lane);
        whole += part;
        if (part > 0) ++count;
        visible += __shfl_sync(ALL, seen, lane);
    }
    if (lane_id() == 0) work.integrals[which] *= visibility_share_of(visible, whole, count);
}

template <class SCRATCH>
__global__ __launch_bounds__(32 * WARPS) void hide(const __grid_constant__ hiding work) {
    __shared__ SCRATCH scratch[WARPS];
    __shared__ visibility_horizon horizons[WARPS];
    const uint32_t warp = threadIdx.x / 32;
    const occlusion by = {work.tiles.scene, &horizons[warp]};
    for (uint32_t which; take_listed(work.gather.alone, &which);) {
        find_horizon(work, which, horizons[warp]);
        if (work.sums) repeat_sum(work.gather, scratch[warp], which, by);
        if (work.integrals) measure_share(work, which, by);
        __syncwarp();
    }
}

void (*kernel_of(uint32_t k))(hiding) {
    return k == 0     ? hide<within_scratch>
           : k <= 72  ? hide<nearest_scratch<4>>
           : k <= 320 ? hide<nearest_scratch<12>>
                      : hide<nearest_scratch<40>>;
}

} // namespace

extern "C" kd_status photon_maps_cuda_hide(const photon_maps_cuda *maps, int which, uint32_t gather,
                                           float radius, const photon_gather_cuda *request,
                                           float *integrals) {
    const photon_map_cuda *map = &maps->map[which];
    void (*kernel)(hiding) = kernel_of(gather);
    unsigned blocks = 0;
    hiding work;
    if (request->count == 0 || !maps->tiles.divided || !maps->tiles.patches) return KD_OK;
    memset(&work, 0, sizeof work);
    work.tiles = maps->tiles;
    work.integrals = maps->tiles.box_count ? integrals : NULL;
    work.sums = radius > 0 && map->list.local_count;
    if (map->list.local_count) work.gather.index = map_index_of(map);
    work.gather.requests = request->requests;
    work.gather.count = request->count;
    work.gather.alone = {request->alone, request->alone + request->count,
                         request->alone + request->count + 1};
    work.gather.sums = request->sums;
    work.gather.radii = request->radii;
    work.gather.k = gather;
    work.gather.radius = radius;
    work.gather.kernel = maps->kernel;
    work.gather.scale = map->scale;
    KD_CUDA(cudaMemsetAsync(work.gather.alone.count, 0, 2 * sizeof(uint32_t)));
    list_divided<<<cuda_blocks(request->count, BLOCK), BLOCK>>>(work);
    KD_CUDA_LAUNCHED("list_divided");
    KD_TRY(cuda_resident_blocks(&blocks, kernel, 32 * WARPS));
    kernel<<<blocks, 32 * WARPS>>>(work);
    KD_CUDA_LAUNCHED("hide");
    return KD_OK;
}
