/* The invariants of a left-balanced point k-d tree, proved on the device that built it. */
#ifndef KD_POINTS_TREE_CHECK_DEVICE_H
#define KD_POINTS_TREE_CHECK_DEVICE_H
#include "core/device/absent.h"
#include "points/tree/build_device.h"
#include "points/tree/pointtree.h"

#ifdef __cplusplus
extern "C" {
#endif

/* P1, P2 and P3 of check.h for the tree of `count` nodes in arguments->ids and axes (its
   scratch does not matter), in the order that its builder states; `box` is that of all points, and
   matters with axes. KD_ERROR_CHECK names the first node that is wrong. Takes a bit a point of
   device memory, and waits. */
KD_DEVICE_CALL(point_check_cuda, (const point_build_cuda *arguments, uint64_t count,
                                  pointtree_order order, const point_box *box));

/* Robinson's node list of a tree: `count` links, in device memory. */
KD_DEVICE_CALL(point_links_cuda,
               (const uint32_t *ids, uint64_t count, pointtree_link *links, void *stream));

#ifdef __cplusplus
}
#endif
#endif
