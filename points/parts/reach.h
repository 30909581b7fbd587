/* Determines which parts a query needs; the same code on CPUs and devices.
   Invariants: the distance to a part's box is computed like that to a point, axis by axis in the
               points' scalar. Every step is rounded, and rounding is monotone, so no point in the
               box has a smaller computed distance. */
#ifndef KD_POINTS_PARTS_REACH_H
#define KD_POINTS_PARTS_REACH_H
#include "points/parts/ask.h"
#include "points/tree/walk_metric.h"

typedef struct part_reach {
    const part_summary *all;
    int32_t size;
    uint32_t dims;
    point_scalar scalar;
    point_norm norm;
    bool periodic; /* images of a query may be anywhere: all parts are needed */
} part_reach;

KD_FN double reach_distance(const part_reach *of, const void *point, int32_t part) {
    const point_box *box = &of->all[part].box;
    double least = 0;
    for (uint32_t axis = 0; axis < of->dims; ++axis) {
        const double x = point_coordinate(point, of->scalar, axis);
        const double below = pointtree_nd_difference(of->scalar, box->lo[axis], x);
        const double above = pointtree_nd_difference(of->scalar, x, box->hi[axis]);
        const double outside = below > 0 ? below : above > 0 ? above : 0;
        least =
            metric_join(of->scalar, of->norm, least, metric_part(of->scalar, of->norm, outside));
    }
    return least;
}

/* Returns whether a part may contain a result within this distance (in the units of results). */
KD_FN bool reach_may_hold(const part_reach *of, const void *point, int32_t part, double bound) {
    if (of->all[part].count == 0) return false;
    return of->periodic || reach_distance(of, point, part) <= bound;
}

/* Returns the part to search first: the nearest one. */
KD_FN int32_t reach_home(const part_reach *of, const void *point) {
    int32_t home = 0;
    double least = (double)INFINITY;
    for (int32_t part = 0; part < of->size; ++part) {
        if (of->all[part].count == 0) continue;
        const double distance = reach_distance(of, point, part);
        if (!(distance < least) && of->all[home].count > 0) continue;
        home = part;
        least = distance;
    }
    return home;
}

/* Returns a radius that covers this distance, as small as possible. */
KD_FN double reach_radius_of(const part_reach *of, double bound) {
    const point_scalar scalar = of->scalar;
    if (of->norm != POINT_NORM_2) return bound;
    double radius = metric_round(scalar, sqrt(bound));
    while (pointtree_nd_square(scalar, radius) < bound)
        radius = scalar == POINT_DOUBLE ? nextafter(radius, (double)INFINITY)
                                        : (double)nextafterf((float)radius, INFINITY);
    return radius;
}

/* The parts' boxes, norm and period of a call. */
static inline part_reach parts_reach(const parts_call *call) {
    const points_parts *of = call->of;
    const double norm = call->query.norm;
    part_reach reach;
    reach.all = of->all;
    reach.size = of->size;
    reach.dims = of->dims;
    reach.scalar = of->scalar;
    reach.norm = norm == 2 ? POINT_NORM_2 : norm == 1 ? POINT_NORM_1 : POINT_NORM_MOST;
    reach.periodic = false;
    for (uint32_t axis = 0; axis < POINT_DIMS_MAX; ++axis)
        reach.periodic = reach.periodic || call->query.period[axis] > 0;
    return reach;
}

#endif
