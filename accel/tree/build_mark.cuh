/* Where a builder's stages begin, for those who ask. */
#ifndef KD_ACCEL_TREE_BUILD_MARK_CUH
#define KD_ACCEL_TREE_BUILD_MARK_CUH
#include "accel/tree/build_device.h"
#include "core/device/cuda.h"

static inline kd_status build_mark(const tritree_build_cuda *build, int stage) {
    if (!build->marks) return KD_OK;
    KD_CUDA(cudaEventRecord((cudaEvent_t)build->marks[stage], (cudaStream_t)build->stream));
    return KD_OK;
}

#endif
