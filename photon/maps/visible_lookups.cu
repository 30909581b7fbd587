/* Lookups where walls may hide photons (photon/density/visibility.h), on a CUDA device.
   Idea: they are few. The other kernels answer them, too, as if nothing were hidden; here one thread
         each repeats them by the functions of the CPU.
   Work: a lookup and up to some hundred rays per thread.
   Memory: a list of neighbours in each thread's local memory.
   Invariants: the bits of the CPU.
   Data flow: gather_visible, one thread per request, reads requests, radii and sums, and writes sums
              and integrals. */
#include "core/device/cuda.h"
#include "photon/density/estimate_radius.h"
#include "photon/maps/maps_device.h"

namespace {

constexpr int BLOCK = 128;

__global__ __launch_bounds__(BLOCK) void gather_visible(
    const __grid_constant__ photon_map_view map, const __grid_constant__ tile_view tiles,
    const __grid_constant__ photon_gather_cuda gather, float *integrals) {
    const uint32_t i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= gather.count || flux_sum_is_zero(gather.sums + i)) return;
    const eye_request *request = gather.requests + i;
    const estimate_point point = estimate_point_on(&tiles, &request->at);
    if (!point.occluders) return;
    if (map.gather == 0) {
        gather.sums[i] = photon_fixed_sum(&map, &request->at, request->wo, &point);
    } else {
        photon_gathering gathered;
        photon_gather(&map, point.position, &gathered);
        gather.sums[i] = photon_gathered_sum(&map, &request->at, request->wo, &point,
                                             gathered.neighbours, gathered.count, gathered.radius);
    }
    integrals[i] = estimate_integral(&tiles, &point, gather.radii[i], map.kernel);
}

} // namespace

extern "C" kd_status photon_maps_cuda_gather_visible(const photon_maps_cuda *maps, int which,
                                                     const photon_gather_cuda *gather,
                                                     float *integrals) {
    if (gather->count == 0 || !maps->tiles.divided) return KD_OK;
    gather_visible<<<cuda_blocks(gather->count, BLOCK), BLOCK>>>(photon_maps_cuda_view(maps, which),
                                                                 maps->tiles, *gather, integrals);
    KD_CUDA_LAUNCHED("gather_visible");
    return KD_OK;
}
