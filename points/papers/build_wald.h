/* The steps of the tag-and-sort builder, exposed so that a test can follow the paper's example. */
#ifndef KD_POINTS_PAPERS_BUILD_WALD_H
#define KD_POINTS_PAPERS_BUILD_WALD_H
#include "points/tree/build.h"
#include "points/tree/coordinate_keys.h"

typedef struct wald_steps {
    const point_array *points;
    pointtree *out;
    point_keys keys;
    uint32_t *tags;      /* per input point: root of the sub-tree that contains it */
    uint64_t *sort_keys; /* (tag, coordinate) for the current level */
    uint32_t *order;     /* the ids, sorted by sort_keys */
    void *scratch;
    uint32_t level;
} wald_steps;

kd_status wald_open(wald_steps *out, pointtree *tree, const point_array *points);
void wald_sort(wald_steps *steps);   /* sorts by (tag, coordinate on its axis, id) */
void wald_update(wald_steps *steps); /* updates the tags and enters the next level */
void wald_close(wald_steps *owned);

#endif
