/* Entry points of the presorted-list builder that other builders use (build_brown.cu). */
#ifndef KD_POINTS_PAPERS_BUILD_BROWN_H
#define KD_POINTS_PAPERS_BUILD_BROWN_H
#include "points/tree/build_device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The scratch size of `brown`; and its variant that orders by (coordinate, id), which builds the
   tree of `select` for any dims and scalar. Both need the same scratch. */
kd_status build_brown_cuda_scratch_bytes(size_t *bytes, const point_build_cuda *arguments);
kd_status build_lists_cuda(const point_build_cuda *arguments);

#ifdef __cplusplus
}
#endif
#endif
