/* Points on their way from one tree to the next. */
#ifndef KD_POINTS_API_POINTS_PILE_H
#define KD_POINTS_API_POINTS_PILE_H
#include "points/api/changes.h"

/* Points with their ids, in the order in which they came. Owner. */
typedef struct point_pile {
    void *coordinates;
    uint32_t *ids;
    uint64_t count;
    uint32_t dims;
    point_scalar scalar;
} point_pile;

/* Room for `most` points like those of a tree. */
kd_status pile_open(point_pile *out, const pointtree *like, uint64_t most);
void pile_close(point_pile *owned);
/* What is there of a tree on the CPU goes to the pile's end. */
kd_status pile_add(point_pile *to, const kd_points *from, const points_gone *gone);
/* All layers from `first` on, and then `more` points or NULL, as one pile. */
kd_status pile_layers(point_pile *out, const points_changes *changes, int first,
                      const point_pile *more);
kd_point_array pile_array(const point_pile *of); /* borrows */

#endif
