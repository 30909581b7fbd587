/* Points in axis-aligned boxes, on a CUDA device. Every pointer is memory of the current device;
   nothing is allocated but scratch of the pool, and nothing is waited for. */
#ifndef KD_POINTS_DEVICE_BOXES_H
#define KD_POINTS_DEVICE_BOXES_H
#include "core/device/absent.h"
#include "points/tree/walk_box.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct point_boxes {
    point_array lo, hi; /* dims and scalar of the tree's, as many of both */
} point_boxes;

/* offsets[0 ... count]: where the ids of each box go. */
KD_DEVICE_CALL(points_device_count_boxes, (const pointtree_nd_view *tree, const point_boxes *boxes,
                                           uint64_t *offsets, void *stream));
/* Ids in order, each replaced by renamed[id] unless that is NULL. */
KD_DEVICE_CALL(points_device_fill_boxes,
               (const pointtree_nd_view *tree, const point_boxes *boxes, const uint64_t *offsets,
                const uint32_t *renamed, uint32_t *ids, void *stream));

#ifdef __cplusplus
}
#endif
#endif
