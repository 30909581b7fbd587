/* Helper functions shared by the CPU builders. */
#ifndef KD_POINTS_TREE_BUILD_H
#define KD_POINTS_TREE_BUILD_H
#include "points/tree/pointtree.h"

/* Fills the tree's coordinates from its `ids`, on all cores; for builders that permute only the
   ids. */
void pointtree_gather(pointtree *out, const point_array *points);

/* Returns the region of `node`: the bounding box of all points, clipped by the splitting planes
   of its ancestors (Wald 2022, section 6). The ids and axes of all ancestors must already be
   final. */
point_box pointtree_domain(const pointtree *out, const point_array *points, uint32_t node);

#endif
