/* Buckets of 16 points under groups of eight boxes, as in leaf_index.h, for points of 1 to 8
   dimensions, float or double. The answers are those of points/tree/walk_nd.h, bit for bit.
 */
#ifndef KD_POINTS_NEIGHBOURS_LEAF_INDEX_ND_H
#define KD_POINTS_NEIGHBOURS_LEAF_INDEX_ND_H
#include "points/neighbours/leaf_index.h"
#include "points/tree/walk_nd.h"

typedef struct leafindex_nd {
    void *coordinates; /* of each bucket: `dims` rows of 16 scalars; NaN for what is not there */
    uint32_t *ids;     /* of each bucket: 16 */
    float *boxes; /* of each group: per axis 8 lower sides, then 8 upper ones, rounded outwards */
    uint32_t *least_ids; /* of each group: of the points below each of 8 boxes */
    leaf_shape shape;
    uint32_t dims;
    point_scalar scalar;
} leafindex_nd;

kd_status leafindex_nd_open(leafindex_nd *out, const pointtree_nd_view *tree);
void leafindex_nd_close(leafindex_nd *owned); /* takes a zeroed one */
uint64_t leafindex_nd_bytes(const leafindex_nd *index);

/* As pointtree_nd_nearest_k and pointtree_nd_within, but the answers' nodes are not set. */
uint32_t leafindex_nd_nearest_k(const leafindex_nd *index, const void *query, uint32_t k,
                                double bound2, neighbour_nd *out);
uint32_t leafindex_nd_within(const leafindex_nd *index, const void *query, double bound2,
                             uint32_t capacity, neighbour_nd *out);
/* See leafindex_tell. */
void leafindex_nd_tell(const leafindex_nd *index, const void *query, point_visitor *to);

#endif
