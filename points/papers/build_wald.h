/* The steps of the tag-and-sort builder, one by one. */
#ifndef KD_POINTS_PAPERS_BUILD_WALD_H
#define KD_POINTS_PAPERS_BUILD_WALD_H
#include "points/tree/build.h"
#include "points/tree/coordinate_keys.h"

typedef struct wald_steps {
    const point_array *points;
    pointtree *out;
    point_keys keys;
    uint32_t *tags;      /* per point of the input: the root of the sub-tree it is in */
    uint64_t *sort_keys; /* (tag, coordinate) of the level at hand */
    uint32_t *order;     /* the points, sorted by them */
    void *scratch;
    uint32_t level;
} wald_steps;

kd_status wald_open(wald_steps *out, pointtree *tree, const point_array *points);
void wald_sort(wald_steps *steps);   /* by (tag, coordinate on the tag's axis, id) */
void wald_update(wald_steps *steps); /* of the tags, and on to the next level */
void wald_close(wald_steps *owned);

#endif
