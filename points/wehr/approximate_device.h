/* The approximate search of points/wehr/approximate.h on a CUDA device, a thread a query. */
#ifndef KD_POINTS_WEHR_APPROXIMATE_DEVICE_H
#define KD_POINTS_WEHR_APPROXIMATE_DEVICE_H
#include "core/device/absent.h"
#include "core/status.h"
#include "points/tree/layout.h"

#ifdef __cplusplus
extern "C" {
#endif

/* `tree`, queries (packed, of its dims and scalar) and out are in device memory; `capacity` is at
   most POINTTREE_QUEUE_MAX. */
KD_DEVICE_CALL(point_approximate_cuda,
               (const pointtree_nd_view *tree, const void *queries, uint64_t count,
                uint32_t capacity, uint32_t *ids, double *dist2, void *stream));

#ifdef __cplusplus
}
#endif
#endif
