/* What builders on a CPU share. */
#ifndef KD_POINTS_TREE_BUILD_H
#define KD_POINTS_TREE_BUILD_H
#include "points/tree/pointtree.h"

/* For builders that order ids alone: the tree's coordinates from them, on all cores. */
void pointtree_gather(pointtree *out, const point_array *points);

/* The box of all points, clipped by the ancestors of `node`, which are in their places and have
   their axes (Wald 2022, section 6). */
point_box pointtree_domain(const pointtree *out, const point_array *points, uint32_t node);

#endif
