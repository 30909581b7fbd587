/* What the builder on a CUDA device does for others. */
#ifndef KD_POINTS_PAPERS_BUILD_BROWN_H
#define KD_POINTS_PAPERS_BUILD_BROWN_H
#include "points/tree/build_device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* `brown`'s, and its way to the tree of `select`: any dims and scalar, as much scratch. */
kd_status build_brown_cuda_scratch_bytes(size_t *bytes, const point_build_cuda *arguments);
kd_status build_lists_cuda(const point_build_cuda *arguments);

#ifdef __cplusplus
}
#endif
#endif
