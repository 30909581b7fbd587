/* THE layout of a left-balanced point k-d tree: a permutation of the points in level order; the
   children of node i are 2i+1 and 2i+2, a node exists if its index is below the count. Nothing but
   the order is stored, unless the split axis is chosen by the widest side: then one byte per node.
   Order of points: by the coordinate on the node's axis, ties by the point's original id.
   Source: Wald 2022, "GPU-friendly, parallel, and (almost-)in-place construction of left-balanced
   k-d trees", section 2. */
#ifndef KD_SHADERS_POINTTREE_H
#define KD_SHADERS_POINTTREE_H
#include "shaders/box.h"

typedef enum pointtree_split {
    POINTTREE_ROUND_ROBIN = 0, /* axis = depth mod 3 */
    POINTTREE_WIDEST = 1 /* axis = widest side of the bounding box clipped along the ancestors */
} pointtree_split;

typedef struct pointtree_view {
    const vec3 *points;  /* in tree order */
    const uint32_t *ids; /* original index of each, in tree order */
    const uint8_t *axes; /* split axis of each node, or NULL: round robin */
    uint32_t count;
    box3 box;
} pointtree_view;

KD_FN uint32_t pointtree_level_of(uint32_t node) {
    uint32_t level = 0;
    for (uint32_t n = node + 1; n > 1; n >>= 1) ++level;
    return level;
}

#endif
