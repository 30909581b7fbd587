/* The builders behind the rows of the table in pointtree.c. */
#ifndef KD_POINTS_TREE_BUILD_H
#define KD_POINTS_TREE_BUILD_H
#include "points/tree/pointtree.h"

/* For builders that order ids alone: the tree's coordinates from them, on all cores. */
void pointtree_gather(pointtree *out, const point_array *points);

/* The box of all points, clipped by the ancestors of `node`, which are in their places and have
   their axes (Wald 2022, section 6). */
point_box pointtree_domain(const pointtree *out, const point_array *points, uint32_t node);

uint64_t build_wehr_scratch_bytes(uint64_t count);
kd_status build_wehr(pointtree *out, const point_array *points, job *watched);

uint64_t build_brown_scratch_bytes(uint64_t count);
kd_status build_brown(pointtree *out, const point_array *points, job *watched);

uint64_t build_kandela_scratch_bytes(uint64_t count);
kd_status build_kandela(pointtree *out, const point_array *points, job *watched);

uint64_t build_recursive_scratch_bytes(uint64_t count);
kd_status build_recursive(pointtree *out, const point_array *points, job *watched);

uint64_t build_wald_scratch_bytes(uint64_t count);
kd_status build_wald(pointtree *out, const point_array *points, job *watched);

#endif
