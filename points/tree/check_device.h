/* Checks the invariants of a left-balanced point k-d tree on the CUDA device that holds it. */
#ifndef KD_POINTS_TREE_CHECK_DEVICE_H
#define KD_POINTS_TREE_CHECK_DEVICE_H
#include "core/device/cuda_stubs.h"
#include "points/tree/build_device.h"
#include "points/tree/pointtree.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Checks P1 to P3 of check.h for the tree of `count` nodes in arguments->ids and
   arguments->axes, in the total order `order`; arguments->scratch is ignored. `box` is the
   bounding box of all points and is used only with axes. Returns KD_ERROR_CHECK with the first
   invalid node in the message. Allocates one bit per point of device memory and synchronises
   with the stream. */
KD_DEVICE_CALL(point_check_cuda, (const point_build_cuda *arguments, uint64_t count,
                                  pointtree_order order, const point_box *box));

#ifdef __cplusplus
}
#endif
#endif
