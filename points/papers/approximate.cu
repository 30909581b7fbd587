/* Approximate nearest neighbour on a CUDA device.
   Idea: the search of points/papers/approximate.h unchanged; its queue is in local memory.
   Data flow: one thread per query: tree, query -> a queue in local memory -> id and distance of the
              point found. */
#include "core/device/cuda.h"
#include "points/papers/approximate.h"

namespace {
constexpr int BLOCK = 128;

__global__ __launch_bounds__(BLOCK) void search(pointtree_nd_view tree, const char *queries,
                                                uint64_t bytes, uint64_t count, uint32_t capacity,
                                                uint32_t *ids, double *dist2) {
    const uint64_t i = (uint64_t)blockIdx.x * BLOCK + threadIdx.x;
    if (i >= count) return;
    neighbour_nd best;
    pointtree_approximate(&tree, queries + i * bytes, capacity, &best);
    ids[i] = best.id;
    dist2[i] = best.dist2;
}
} // namespace

extern "C" kd_status point_approximate_cuda(const pointtree_nd_view *tree, const void *queries,
                                            uint64_t count, uint32_t capacity, uint32_t *ids,
                                            double *dist2, void *stream) {
    KD_REQUIRE(capacity <= POINTTREE_QUEUE_MAX, KD_ERROR_USAGE,
               "the queue has %u branches; supported: at most %u", capacity, POINTTREE_QUEUE_MAX);
    if (count == 0) return KD_OK;
    search<<<(unsigned)((count + BLOCK - 1) / BLOCK), BLOCK, 0, (cudaStream_t)stream>>>(
        *tree, (const char *)queries, tree->dims * point_scalar_bytes(tree->scalar), count,
        capacity, ids, dist2);
    KD_CUDA_LAUNCHED("search");
    return KD_OK;
}
