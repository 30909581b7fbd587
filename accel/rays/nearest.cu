/* Nearest triangles on a CUDA device: the reference traversal with one thread per point.
   Data flow: points -> nearest. */
#include "accel/rays/nearest.h"
#include "accel/rays/nearest_walk.h"
#include "core/device/cuda.h"

namespace {

enum { BLOCK = 128 };

__global__ __launch_bounds__(BLOCK) void find_nearest(const __grid_constant__ nearest_view view,
                                                      const vec3 *points, uint64_t count,
                                                      float max_distance, near_place *nearest) {
    const uint64_t i = (uint64_t)blockIdx.x * BLOCK + threadIdx.x;
    if (i < count) nearest[i] = nearest_plain(&view, points[i], max_distance);
}

} // namespace

kd_status nearest_find_cuda(const nearest_view *view, const vec3 *points, uint64_t count,
                            float max_distance, near_place *nearest, void *stream) {
    if (count == 0) return KD_OK;
    const unsigned blocks = (unsigned)((count + BLOCK - 1) / BLOCK);
    find_nearest<<<blocks, BLOCK, 0, (cudaStream_t)stream>>>(*view, points, count, max_distance,
                                                             nearest);
    KD_CUDA_LAUNCHED("find_nearest");
    return KD_OK;
}
