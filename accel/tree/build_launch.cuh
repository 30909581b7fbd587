/* What the host's side of builders on a device shares: memory laid out in one piece, what is
   refused, kernels whose blocks wait for each other, marks where stages begin. */
#ifndef KD_ACCEL_TREE_BUILD_LAUNCH_CUH
#define KD_ACCEL_TREE_BUILD_LAUNCH_CUH
#include "accel/tree/build_device.h"
#include "accel/tree/sah.h"
#include "core/device/cuda.h"

enum { BUILD_TRIANGLES_MOST = 100000000 };

template <class item> inline void take(item **out, cuda_arena *arena, uint64_t count) {
    *out = (item *)cuda_arena_take(arena, count, sizeof(item));
}

static inline kd_status build_check_count(const tritree_build_cuda *build) {
    KD_REQUIRE(build->input.triangle_count <= BUILD_TRIANGLES_MOST, KD_ERROR_USAGE,
               "%u triangles, expected at most %d", build->input.triangle_count,
               BUILD_TRIANGLES_MOST);
    return KD_OK;
}

static inline kd_status build_check_scratch(const tritree_build_cuda *build, size_t needed) {
    KD_REQUIRE(needed <= build->scratch_bytes, KD_ERROR_MEMORY,
               "scratch of %llu bytes given, %zu needed", (unsigned long long)build->scratch_bytes,
               needed);
    return KD_OK;
}

static inline sah_costs build_costs(const tritree_build_cuda *build) {
    sah_costs costs;
    costs.traversal = build->options.traversal_cost;
    costs.intersect = build->options.intersect_cost;
    costs.empty_factor = build->options.empty_factor;
    return costs;
}

/* As many blocks as the device holds at once, so that they may wait for each other. */
template <class kernel, class state>
kd_status launch_cooperative(kernel body, int block, state *k, cudaStream_t stream,
                             const char *name) {
    unsigned blocks = 0;
    KD_TRY(cuda_resident_blocks(&blocks, body, block));
    void *arguments[] = {k};
    KD_CUDA(cuda_launch_cooperative(body, blocks, block, arguments, stream));
    KD_CUDA_LAUNCHED(name);
    return KD_OK;
}

/* Times a stage, if the caller wants its times. */
static inline kd_status build_mark(const tritree_build_cuda *build, int stage) {
    if (!build->marks) return KD_OK;
    KD_CUDA(cudaEventRecord((cudaEvent_t)build->marks[stage], (cudaStream_t)build->stream));
    return KD_OK;
}

#endif
