/* Which parts a query needs.
   Invariants: the distance to a part's box is computed as that to a point is, axis by axis in the
               points' scalar: every step of it is rounded, and no rounding turns the order of two
               numbers around, so no point in the box is nearer by the numbers that answers have. */
#include "points/parts/answer.h"
#include "points/tree/walk_metric.h"

static point_norm norm_of(const parts_call *call) {
    return call->query.norm == 2   ? POINT_NORM_2
           : call->query.norm == 1 ? POINT_NORM_1
                                   : POINT_NORM_MOST;
}

static const void *scalars_at(const kd_point_array *points, uint64_t i) {
    const uint64_t packed =
        points->dims * point_scalar_bytes(points->scalar == KD_DOUBLE ? POINT_DOUBLE : POINT_FLOAT);
    return (const char *)points->coordinates +
           i * (points->stride_bytes ? points->stride_bytes : packed);
}

static double box_distance(const parts_call *call, uint64_t query, int32_t part) {
    const points_parts *of = call->of;
    const point_box *box = &of->all[part].box;
    const void *point = scalars_at(&call->query.points, query);
    const point_norm norm = norm_of(call);
    double least = 0;
    for (uint32_t axis = 0; axis < of->dims; ++axis) {
        const double x = point_coordinate(point, of->scalar, axis);
        const double below = pointtree_nd_difference(of->scalar, box->lo[axis], x);
        const double above = pointtree_nd_difference(of->scalar, x, box->hi[axis]);
        const double outside = below > 0 ? below : above > 0 ? above : 0;
        least = metric_join(of->scalar, norm, least, metric_part(of->scalar, norm, outside));
    }
    return least;
}

static bool box_overlaps(const parts_call *call, uint64_t query, int32_t part) {
    const point_box *box = &call->of->all[part].box;
    const void *lo = scalars_at(&call->query.points, query), *hi = scalars_at(&call->hi, query);
    for (uint32_t axis = 0; axis < call->of->dims; ++axis)
        if (!(point_coordinate(lo, call->of->scalar, axis) <= box->hi[axis] &&
              point_coordinate(hi, call->of->scalar, axis) >= box->lo[axis]))
            return false;
    return true;
}

static bool has_period(const parts_call *call) {
    for (uint32_t axis = 0; axis < POINT_DIMS_MAX; ++axis)
        if (call->query.period[axis] > 0) return true;
    return false;
}

bool parts_may_hold(const parts_call *call, uint64_t query, int32_t part, double bound) {
    if (call->of->all[part].count == 0) return false;
    if (parts_asks_boxes(call->kind)) return box_overlaps(call, query, part);
    return has_period(call) || box_distance(call, query, part) <= bound;
}

int32_t parts_home(const parts_call *call, uint64_t query) {
    int32_t home = 0;
    double least = (double)INFINITY;
    for (int32_t part = 0; part < call->of->size; ++part) {
        if (call->of->all[part].count == 0) continue;
        const double distance = box_distance(call, query, part);
        if (!(distance < least) && call->of->all[home].count > 0) continue;
        home = part;
        least = distance;
    }
    return home;
}

double parts_radius(const parts_call *call, uint64_t query) {
    const double own = call->query.radii
                           ? point_coordinate((const char *)call->query.radii +
                                                  query * point_scalar_bytes(call->of->scalar),
                                              call->of->scalar, 0)
                           : (double)INFINITY;
    return own < call->query.max_radius ? own : call->query.max_radius;
}

double parts_radius_of(const parts_call *call, double bound) {
    const point_scalar scalar = call->of->scalar;
    if (norm_of(call) != POINT_NORM_2) return bound;
    double radius = metric_round(scalar, sqrt(bound));
    while (pointtree_nd_square(scalar, radius) < bound)
        radius = scalar == POINT_DOUBLE ? nextafter(radius, (double)INFINITY)
                                        : (double)nextafterf((float)radius, INFINITY);
    return radius;
}
