/* The stack-free walk for other norms than the Euclidean one and for periodic space, in 1 to 8
   dimensions, float or double, on CPU and device.
   Idea: in every norm the distance to a splitting plane is that along its one axis. Periodic space
         is searched once for each image of the query, shifted by minus one, zero or one period
         along each axis; most images are farther from the box of all points than the bound. A point
         is reported only by the image that is nearest to it along every axis, so no point is
         reported twice.
   Work: that of walk_nd.h, times the number of images within the bound.
   Invariants: distances are rounded axis by axis to the points' scalar; without a period and in
               the Euclidean norm they are those of walk_nd.h, bit for bit. */
#ifndef KD_POINTS_TREE_WALK_METRIC_H
#define KD_POINTS_TREE_WALK_METRIC_H
#include "points/tree/walk_nd.h"

typedef enum point_norm { POINT_NORM_2 = 0, POINT_NORM_1 = 1, POINT_NORM_MAX = 2 } point_norm;

typedef struct point_metric {
    point_norm norm;
    double period[POINT_DIMS_MAX]; /* along each axis; 0: not periodic */
} point_metric;

KD_FN double metric_round(point_scalar scalar, double x) {
    return scalar == POINT_DOUBLE ? x : (double)(float)x;
}

/* The contribution of one axis: the square of the difference, or its absolute value. */
KD_FN double metric_part(point_scalar scalar, point_norm norm, double difference) {
    return norm == POINT_NORM_2 ? pointtree_nd_square(scalar, difference) : fabs(difference);
}

/* The largest distance within a radius, in the units of `dist2`: squared for the Euclidean norm
   only. */
KD_FN double metric_bound(point_scalar scalar, point_norm norm, double radius) {
    return norm == POINT_NORM_2 ? pointtree_nd_bound2(scalar, radius)
           : radius >= 0        ? metric_round(scalar, radius)
                                : -1.0;
}

/* Combines the contribution `part` of one more axis with that of the previous ones, `all`. */
KD_FN double metric_join(point_scalar scalar, point_norm norm, double all, double part) {
    if (norm == POINT_NORM_MAX) return part > all || part != part ? part : all;
    return scalar == POINT_DOUBLE ? all + part : (double)((float)all + (float)part);
}

/* The walks of one query, one per image. */
typedef struct metric_walk {
    double image[POINT_DIMS_MAX]; /* the query, shifted by the period */
    uint32_t next;                /* index of the next image */
    uint32_t images;
    pointtree_nd_walk walk;
    bool walking;
} metric_walk;

/* Returns a query coordinate shifted by a period, rounded to the scalar; `shift` is 0 (none), 1
   (down) or 2 (up). */
KD_FN double metric_shifted(const pointtree_nd_view *tree, const point_metric *metric,
                            const void *query, uint32_t axis, uint32_t shift) {
    const double x = point_coordinate(query, tree->scalar, axis);
    if (shift == 0) return x;
    const double period = metric->period[axis];
    return metric_round(tree->scalar, shift == 1 ? x - period : x + period);
}

KD_FN metric_walk metric_walk_begin(const pointtree_nd_view *tree, const point_metric *metric) {
    metric_walk walk;
    walk.next = 0;
    walk.images = 1;
    walk.walking = false;
    for (uint32_t axis = 0; axis < tree->dims; ++axis)
        if (metric->period[axis] > 0) walk.images *= 3;
    return walk;
}

/* Computes the next image; returns false if it is farther than `bound` from the box of all
   points. */
KD_FN bool metric_open_image(const pointtree_nd_view *tree, const point_metric *metric,
                             const void *query, double bound, metric_walk *walk) {
    uint32_t digits = walk->next++;
    double minimum = 0;
    for (uint32_t axis = 0; axis < tree->dims; ++axis) {
        uint32_t shift = 0;
        if (metric->period[axis] > 0) {
            shift = digits % 3;
            digits /= 3;
        }
        const double x = metric_shifted(tree, metric, query, axis, shift);
        const double below = pointtree_nd_difference(tree->scalar, tree->box.lo[axis], x);
        const double above = pointtree_nd_difference(tree->scalar, x, tree->box.hi[axis]);
        const double outside = below > 0 ? below : above > 0 ? above : 0;
        walk->image[axis] = x;
        minimum = metric_join(tree->scalar, metric->norm, minimum,
                              metric_part(tree->scalar, metric->norm, outside));
    }
    walk->walk = pointtree_nd_walk_begin();
    return walk->images == 1 || minimum <= bound;
}

/* Returns whether no other image of the query is nearer to the node's point along any axis; of
   equally near images the first one counts. */
KD_FN bool metric_image_is_nearest(const pointtree_nd_view *tree, const point_metric *metric,
                                   const void *query, const metric_walk *walk, uint32_t node) {
    uint32_t digits = walk->next - 1;
    for (uint32_t axis = 0; axis < tree->dims; ++axis) {
        if (!(metric->period[axis] > 0)) continue;
        const uint32_t image = digits % 3;
        digits /= 3;
        const double at = pointtree_nd_coordinate(tree, node, axis);
        const double difference =
            fabs(pointtree_nd_difference(tree->scalar, walk->image[axis], at));
        for (uint32_t other = 0; other < 3; ++other) {
            const double x = metric_shifted(tree, metric, query, axis, other);
            const double its = fabs(pointtree_nd_difference(tree->scalar, x, at));
            if (its < difference || (its == difference && other < image)) return false;
        }
    }
    return true;
}

KD_FN double metric_distance(const pointtree_nd_view *tree, point_norm norm, const double *query,
                             uint32_t node) {
    double all = 0;
    for (uint32_t axis = 0; axis < tree->dims; ++axis) {
        const double difference = pointtree_nd_difference(
            tree->scalar, query[axis], pointtree_nd_coordinate(tree, node, axis));
        all = metric_join(tree->scalar, norm, all, metric_part(tree->scalar, norm, difference));
    }
    return all;
}

/* pointtree_nd_walk_next for another norm, starting from an image of the query. The code is
   duplicated on purpose: the step dominates the cost of a query, and a common version would test
   the norm in each step of Euclidean queries as well. */
KD_FN bool metric_step(const pointtree_nd_view *tree, point_norm norm, const double *query,
                       double bound, pointtree_nd_walk *walk) {
    uint32_t node = walk->node, from = walk->from;
    if (node == KD_NONE) {
        walk->node = 0;
        return tree->count > 0;
    }
    const double slack = pointtree_nd_slack(tree);
    for (;;) {
        const uint32_t axis = pointtree_nd_axis(tree, node);
        const double distance = pointtree_nd_difference(tree->scalar, query[axis],
                                                        pointtree_nd_coordinate(tree, node, axis));
        const uint32_t side = distance > 0;
        const uint32_t near = 2 * node + 1 + side, far = 2 * node + 2 - side;
        const bool from_parent = from == KD_NONE || from < node;
        if (from_parent && near < tree->count) {
            walk->node = near;
            walk->from = node;
            return true;
        }
        const bool from_near = from == near || (from_parent && near >= tree->count);
        const double difference = fabs(distance) > slack ? fabs(distance) - slack : 0;
        if (from_near && far < tree->count &&
            metric_part(tree->scalar, norm, difference) <= bound) {
            walk->node = far;
            walk->from = node;
            return true;
        }
        if (node == 0) return false;
        from = node;
        node = (node - 1) / 2;
    }
}

/* Finds the next point within `bound`, which may shrink from call to call; returns false after
   the last one. */
KD_FN bool metric_walk_next(const pointtree_nd_view *tree, const point_metric *metric,
                            const void *query, double bound, metric_walk *walk, neighbour_nd *nd) {
    for (;;) {
        if (!walk->walking) {
            if (walk->next == walk->images) return false;
            walk->walking = metric_open_image(tree, metric, query, bound, walk);
            continue;
        }
        walk->walking = metric_step(tree, metric->norm, walk->image, bound, &walk->walk);
        if (!walk->walking) continue;
        nd->dist2 = metric_distance(tree, metric->norm, walk->image, walk->walk.node);
        if (!(nd->dist2 <= bound)) continue;
        if (walk->images > 1 &&
            !metric_image_is_nearest(tree, metric, query, walk, walk->walk.node))
            continue;
        nd->node = walk->walk.node;
        nd->id = tree->ids[nd->node];
        return true;
    }
}

/* As pointtree_nd_nearest_k, for a metric; `bound` is metric_bound of the radius. */
KD_FN uint32_t pointtree_metric_nearest_k(const pointtree_nd_view *tree, const point_metric *metric,
                                          const void *query, uint32_t k, double bound,
                                          neighbour_nd *out) {
    uint32_t count = 0;
    neighbour_nd item;
    if (k == 0) return 0;
    metric_walk walk = metric_walk_begin(tree, metric);
    while (metric_walk_next(tree, metric, query, bound, &walk, &item))
        bound = neighbour_nd_offer(out, &count, k, item, bound);
    neighbour_nd_finish(out, count, k);
    return count;
}

/* As pointtree_nd_within, for a metric; `bound` is metric_bound of the radius. */
KD_FN uint32_t pointtree_metric_within(const pointtree_nd_view *tree, const point_metric *metric,
                                       const void *query, double bound, uint32_t capacity,
                                       neighbour_nd *out) {
    uint32_t count = 0;
    neighbour_nd item;
    metric_walk walk = metric_walk_begin(tree, metric);
    while (metric_walk_next(tree, metric, query, bound, &walk, &item)) {
        if (count < capacity) out[count] = item;
        ++count;
    }
    return count;
}

#endif
