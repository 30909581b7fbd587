/* Stack-free queries for points of 1 to 8 dimensions, float or double, in any norm and in periodic
   space, on CPU and device. For three floats and the Euclidean norm the results are those of
   walk.h, which describes the algorithm. The squared distance is summed axis by axis in the points'
   scalar and returned as a double.
   Idea: in every norm the distance to a splitting plane is that along its one axis. Along a
         periodic axis the difference d of two points counts as min(d, |period - d|), as in SciPy,
         which is the same from either point. Periodic space is searched once for each image of the
         query, shifted by minus one, zero or one period along each axis; most images are farther
         from the box of all points than the bound. A point is reported only by the image that the
         minimum stands for, so no point is reported twice.
   Work: that of walk.h, times the number of images within the bound.
   Invariants: distances are rounded axis by axis to the points' scalar. Those to images are rounded
               differently; `slack` covers that. */
#ifndef KD_POINTS_TREE_WALK_ND_H
#define KD_POINTS_TREE_WALK_ND_H
#include "points/tree/layout.h"

typedef struct neighbour_nd {
    double dist2; /* squared distance from the query */
    uint32_t id;
    uint32_t node;
} neighbour_nd;

KD_FN bool neighbour_nd_before(neighbour_nd a, neighbour_nd b) {
    return a.dist2 < b.dist2 || (a.dist2 == b.dist2 && a.id < b.id);
}

/* x * x, rounded to the scalar. */
KD_FN double pointtree_nd_square(point_scalar scalar, double x) {
    return scalar == POINT_DOUBLE ? x * x : (double)((float)x * (float)x);
}

/* a - b, rounded to the scalar of both operands. */
KD_FN double pointtree_nd_difference(point_scalar scalar, double a, double b) {
    return scalar == POINT_DOUBLE ? a - b : (double)((float)a - (float)b);
}

/* `query` has `dims` scalars of the tree's type. */
KD_FN double pointtree_nd_dist2(const pointtree_nd_view *tree, const void *query, uint32_t node) {
    const uint64_t at = (uint64_t)node * tree->dims;
    if (tree->scalar == POINT_DOUBLE) {
        const double *p = (const double *)tree->coordinates + at, *q = (const double *)query;
        double sum = (q[0] - p[0]) * (q[0] - p[0]);
        for (uint32_t axis = 1; axis < tree->dims; ++axis) {
            const double d = q[axis] - p[axis];
            sum = sum + d * d;
        }
        return sum;
    }
    const float *p = (const float *)tree->coordinates + at, *q = (const float *)query;
    float sum = (q[0] - p[0]) * (q[0] - p[0]);
    for (uint32_t axis = 1; axis < tree->dims; ++axis) {
        const float d = q[axis] - p[axis];
        sum = sum + d * d;
    }
    return (double)sum;
}

/* Returns the bound on dist2 for a radius; negative, so that no point qualifies, if the radius
   is negative or NaN. */
KD_FN double pointtree_nd_bound2(point_scalar scalar, double radius) {
    return radius >= 0 ? pointtree_nd_square(scalar, radius) : -1.0;
}

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

/* Adds the contribution `part` of one more axis to that of the previous ones, `all`. */
KD_FN double metric_join(point_scalar scalar, point_norm norm, double all, double part) {
    if (norm == POINT_NORM_MAX) return part > all || part != part ? part : all;
    return scalar == POINT_DOUBLE ? all + part : (double)((float)all + (float)part);
}

/* The difference of two coordinates, at least 0, in space with this period (0: not periodic). */
KD_FN double metric_difference(point_scalar scalar, double period, double a, double b) {
    const double d = fabs(pointtree_nd_difference(scalar, a, b));
    if (!(period > 0)) return d;
    const double other = fabs(pointtree_nd_difference(scalar, metric_round(scalar, period), d));
    return other < d ? other : d;
}

/* The walk of one query. */
typedef struct pointtree_nd_walk {
    uint32_t node; /* current node */
    uint32_t from; /* previous node */
    /* with a metric: one walk per image */
    double image[POINT_DIMS_MAX]; /* the query, shifted by the period */
    double slack;                 /* bound on the rounding errors of distances to the image */
    uint32_t next;                /* index of the next image */
    uint32_t images;
    bool walking;
} pointtree_nd_walk;

/* `metric` NULL selects the Euclidean norm and space without a period, in all functions below. */
KD_FN pointtree_nd_walk pointtree_nd_walk_begin(const pointtree_nd_view *tree,
                                                const point_metric *metric) {
    pointtree_nd_walk walk;
    walk.node = KD_NONE;
    walk.from = KD_NONE;
    walk.slack = 0;
    walk.next = 0;
    walk.images = 1;
    walk.walking = false;
    for (uint32_t axis = 0; metric && axis < tree->dims; ++axis)
        if (metric->period[axis] > 0) walk.images *= 3;
    return walk;
}

/* Returns a query coordinate shifted by a period; `shift` is 0 (none), 1 (down) or 2 (up). */
KD_FN double metric_shifted(double x, double period, uint32_t shift) {
    return shift == 0 ? x : shift == 1 ? x - period : x + period;
}

/* Computes the next image; returns false if it is farther than `bound` from the box of all
   points. */
KD_FN bool metric_open_image(const pointtree_nd_view *tree, const point_metric *metric,
                             const void *query, double bound, pointtree_nd_walk *walk) {
    uint32_t digits = walk->next++;
    double minimum = 0;
    walk->slack = 0;
    for (uint32_t axis = 0; axis < tree->dims; ++axis) {
        const double x = point_coordinate(query, tree->scalar, axis);
        const double lo = tree->box.lo[axis], hi = tree->box.hi[axis],
                     period = metric->period[axis];
        double error = 0;
        walk->image[axis] = x;
        if (period > 0) {
            walk->image[axis] = metric_round(tree->scalar, metric_shifted(x, period, digits % 3));
            error = (fabs(x) + fabs(lo) + fabs(hi) + period) *
                    (tree->scalar == POINT_DOUBLE ? 0x1p-50 : 0x1p-21);
            if (digits % 3 && error > walk->slack) walk->slack = error;
            if (digits % 3 == 0) error = 0;
            digits /= 3;
        }
        const double below = pointtree_nd_difference(tree->scalar, lo, walk->image[axis]);
        const double above = pointtree_nd_difference(tree->scalar, walk->image[axis], hi);
        const double outside = (below > above ? below : above) - error;
        minimum = metric_join(tree->scalar, metric->norm, minimum,
                              metric_part(tree->scalar, metric->norm, outside > 0 ? outside : 0));
    }
    walk->node = KD_NONE;
    walk->from = KD_NONE;
    return walk->images == 1 || minimum <= bound;
}

/* Returns whether the image is the one to which the node's point is measured along every axis. */
KD_FN bool metric_image_is_nearest(const pointtree_nd_view *tree, const point_metric *metric,
                                   const void *query, const pointtree_nd_walk *walk,
                                   uint32_t node) {
    uint32_t digits = walk->next - 1;
    for (uint32_t axis = 0; axis < tree->dims; ++axis) {
        const double period = metric->period[axis];
        if (!(period > 0)) continue;
        const uint32_t shift = digits % 3;
        digits /= 3;
        const double x = point_coordinate(query, tree->scalar, axis);
        const double at = pointtree_nd_coordinate(tree, node, axis);
        const bool wraps = metric_difference(tree->scalar, period, x, at) <
                           fabs(pointtree_nd_difference(tree->scalar, x, at));
        if (shift != (!wraps ? 0u : x > at ? 1u : 2u)) return false;
    }
    return true;
}

KD_FN double metric_distance(const pointtree_nd_view *tree, const point_metric *metric,
                             const void *query, uint32_t node) {
    double all = 0;
    for (uint32_t axis = 0; axis < tree->dims; ++axis) {
        const double difference = metric_difference(tree->scalar, metric->period[axis],
                                                    point_coordinate(query, tree->scalar, axis),
                                                    pointtree_nd_coordinate(tree, node, axis));
        all = metric_join(tree->scalar, metric->norm, all,
                          metric_part(tree->scalar, metric->norm, difference));
    }
    return all;
}

/* Advances to the next node in pre-order, near child first; returns false after the last one.
   `query` has scalars of the type `given`; `error` bounds that of a distance. Inlined, with a
   constant norm for Euclidean queries: this step dominates the cost of a query. */
KD_FN_HOT bool pointtree_nd_step(const pointtree_nd_view *tree, point_norm norm, const void *query,
                                 point_scalar given, double error, double bound,
                                 pointtree_nd_walk *walk) {
    uint32_t node = walk->node, from = walk->from;
    if (node == KD_NONE) {
        walk->node = 0;
        return tree->count > 0;
    }
    const double slack = pointtree_nd_slack(tree) + error;
    for (;;) {
        const uint32_t axis = pointtree_nd_axis(tree, node);
        const double distance =
            pointtree_nd_difference(tree->scalar, point_coordinate(query, given, axis),
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
KD_FN_HOT bool pointtree_nd_walk_next(const pointtree_nd_view *tree, const point_metric *metric,
                                      const void *query, double bound, pointtree_nd_walk *walk,
                                      neighbour_nd *found) {
    for (;;) {
        if (!metric) {
            if (!pointtree_nd_step(tree, POINT_NORM_2, query, tree->scalar, 0, bound, walk))
                return false;
            found->dist2 = pointtree_nd_dist2(tree, query, walk->node);
        } else if (!walk->walking) {
            if (walk->next == walk->images) return false;
            walk->walking = metric_open_image(tree, metric, query, bound, walk);
            continue;
        } else {
            walk->walking = pointtree_nd_step(tree, metric->norm, walk->image, POINT_DOUBLE,
                                              walk->slack, bound, walk);
            if (!walk->walking) continue;
            found->dist2 = metric_distance(tree, metric, query, walk->node);
        }
        if (!(found->dist2 <= bound)) continue;
        if (metric && walk->images > 1 &&
            !metric_image_is_nearest(tree, metric, query, walk, walk->node))
            continue;
        found->node = walk->node;
        found->id = tree->ids[walk->node];
        return true;
    }
}

/* Max-heap in the order (dist2, id). */
KD_FN void neighbour_nd_sift(neighbour_nd *heap, uint32_t count, uint32_t hole, neighbour_nd item) {
    for (;;) {
        uint32_t child = 2 * hole + 1;
        if (child >= count) break;
        if (child + 1 < count && neighbour_nd_before(heap[child], heap[child + 1])) ++child;
        if (!neighbour_nd_before(item, heap[child])) break;
        heap[hole] = heap[child];
        hole = child;
    }
    heap[hole] = item;
}

/* Sorts any list by (dist2, id). */
KD_FN void neighbour_nd_sort(neighbour_nd *list, uint32_t count) {
    for (uint32_t i = count / 2; i-- > 0;) neighbour_nd_sift(list, count, i, list[i]);
    while (count > 1) {
        const neighbour_nd last = list[--count];
        list[count] = list[0];
        neighbour_nd_sift(list, count, 0, last);
    }
}

/* Sorted insertion is faster than the heap while the list is short. */
#define NEIGHBOUR_ND_LIST_MAX 16u

/* Offers `item`, which must be within the bound, to the `k` >= 1 best points so far; returns the
   new bound. */
KD_FN double neighbour_nd_offer(neighbour_nd *best, uint32_t *count, uint32_t k, neighbour_nd item,
                                double bound2) {
    if (k <= NEIGHBOUR_ND_LIST_MAX) {
        uint32_t hole = *count;
        if (hole == k) {
            if (!neighbour_nd_before(item, best[k - 1])) return bound2;
            --hole;
        } else {
            ++*count;
        }
        for (; hole > 0 && neighbour_nd_before(item, best[hole - 1]); --hole)
            best[hole] = best[hole - 1];
        best[hole] = item;
        return *count == k ? best[k - 1].dist2 : bound2;
    }
    if (*count < k) {
        best[(*count)++] = item;
        if (*count < k) return bound2;
        for (uint32_t i = k / 2; i-- > 0;) neighbour_nd_sift(best, k, i, best[i]);
    } else if (neighbour_nd_before(item, best[0])) {
        neighbour_nd_sift(best, k, 0, item);
    }
    return best[0].dist2;
}

/* Sorts the points kept by neighbour_nd_offer by (dist2, id). */
KD_FN void neighbour_nd_finish(neighbour_nd *best, uint32_t count, uint32_t k) {
    if (k > NEIGHBOUR_ND_LIST_MAX) neighbour_nd_sort(best, count);
}

/* Finds the `k` nearest points within `bound`, metric_bound of a radius, and stores them in `out`,
   an array of k elements, sorted by (dist2, id). Returns the number of points found. */
KD_FN uint32_t pointtree_nd_nearest_k(const pointtree_nd_view *tree, const point_metric *metric,
                                      const void *query, uint32_t k, double bound,
                                      neighbour_nd *out) {
    uint32_t count = 0;
    neighbour_nd item;
    if (k == 0) return 0;
    pointtree_nd_walk walk = pointtree_nd_walk_begin(tree, metric);
    while (pointtree_nd_walk_next(tree, metric, query, bound, &walk, &item))
        bound = neighbour_nd_offer(out, &count, k, item, bound);
    neighbour_nd_finish(out, count, k);
    return count;
}

/* Returns the number of points within `bound`, metric_bound of a radius, and stores the first
   `capacity` visited in `out`. */
KD_FN uint32_t pointtree_nd_within(const pointtree_nd_view *tree, const point_metric *metric,
                                   const void *query, double bound, uint32_t capacity,
                                   neighbour_nd *out) {
    uint32_t count = 0;
    neighbour_nd item;
    pointtree_nd_walk walk = pointtree_nd_walk_begin(tree, metric);
    while (pointtree_nd_walk_next(tree, metric, query, bound, &walk, &item)) {
        if (count < capacity) out[count] = item;
        ++count;
    }
    return count;
}

#endif
