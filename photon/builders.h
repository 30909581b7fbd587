/* The builders behind the rows of the table in pointtree.c. */
#ifndef KD_PHOTON_BUILDERS_H
#define KD_PHOTON_BUILDERS_H
#include "photon/pointtree.h"

/* For builders that order ids alone: the tree's coordinates from them, on all cores. */
void pointtree_gather(pointtree *out, const point_array *points);

uint64_t build_brown_scratch_bytes(uint64_t count);
kd_status build_brown(pointtree *out, const point_array *points, job *watched);

uint64_t build_kandela_scratch_bytes(uint64_t count);
kd_status build_kandela(pointtree *out, const point_array *points, job *watched);

uint64_t build_recursive_scratch_bytes(uint64_t count);
kd_status build_recursive(pointtree *out, const point_array *points, job *watched);

uint64_t build_wald_scratch_bytes(uint64_t count);
kd_status build_wald(pointtree *out, const point_array *points, job *watched);

#endif
