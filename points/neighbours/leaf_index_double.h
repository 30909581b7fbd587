/* Buckets of 16 points under groups of eight boxes, as in leaf_index.h, for points of one to three
   doubles. The answers are those of points/tree/walk_nd.h, bit for bit. */
#ifndef KD_POINTS_NEIGHBOURS_LEAF_INDEX_DOUBLE_H
#define KD_POINTS_NEIGHBOURS_LEAF_INDEX_DOUBLE_H
#include "points/neighbours/leaf_index.h"
#include "points/tree/walk_nd.h"

/* A bucket; what is not there is NaN, which is within no distance. */
typedef struct leaf_doubles {
    double x[LEAF_POINTS], y[LEAF_POINTS], z[LEAF_POINTS];
    uint32_t id[LEAF_POINTS];
} leaf_doubles;

typedef struct leafindex_double {
    leaf_doubles *leaves;
    leaf_group *groups; /* as leafindex has them; boxes are rounded outwards to floats */
    leaf_shape shape;
} leafindex_double;

/* From any tree of one to three doubles, what is not there being 0. Work: one pass over the points.
   Memory: about 34 bytes a point. */
kd_status leafindex_double_open(leafindex_double *out, const pointtree_nd_view *tree);
void leafindex_double_close(leafindex_double *owned); /* takes a zeroed one */
uint64_t leafindex_double_bytes(const leafindex_double *index);

/* As pointtree_nd_nearest_k and pointtree_nd_within, but the answers' nodes are not set; `query` is
   three doubles. `near`: see leafindex_nearest_keys. */
uint32_t leafindex_double_nearest_k(const leafindex_double *index, const double query[3],
                                    uint32_t k, double bound2, neighbour_nd *out, uint32_t *near);
uint32_t leafindex_double_within(const leafindex_double *index, const double query[3],
                                 double bound2, uint32_t capacity, neighbour_nd *out);
/* See leafindex_tell. */
void leafindex_double_tell(const leafindex_double *index, const double query[3], point_visitor *to);

#endif
