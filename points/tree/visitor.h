/* A function that hears of the points around a query instead of a list of them, and may want fewer
   as it goes; and the plain walks that tell it, which are the oracle of those by buckets. */
#ifndef KD_POINTS_TREE_VISITOR_H
#define KD_POINTS_TREE_VISITOR_H
#include "points/tree/walk_metric.h"

typedef struct point_visitor {
    double (*hear)(void *context, uint64_t query, uint64_t id, double dist2, double bound);
    void *context;
    uint64_t query;          /* the caller's number of it */
    const uint32_t *renamed; /* what to say instead of each id, or NULL */
    double bound;            /* the largest distance of interest; below 0: no more */
} point_visitor;

/* A point is said once; it may lower the bound, never raise it. */
static inline void point_visitor_tell(point_visitor *to, uint32_t id, double dist2) {
    if (!(dist2 <= to->bound)) return;
    const uint64_t name = to->renamed ? to->renamed[id] : id;
    const double wanted = to->hear(to->context, to->query, name, dist2, to->bound);
    if (!(wanted >= to->bound)) to->bound = wanted >= 0 ? wanted : -1;
}

/* The largest float that is within the bound. */
static inline float point_visitor_bound(const point_visitor *of) {
    const float near = (float)of->bound;
    return (double)near <= of->bound ? near : nextafterf(near, -INFINITY);
}

/* `metric` NULL: Euclid's. */
static inline void pointtree_tell(const pointtree_nd_view *tree, const point_metric *metric,
                                  const void *query, point_visitor *to) {
    if (metric) {
        neighbour_nd item;
        metric_walk walk = metric_walk_begin(tree, metric);
        while (metric_walk_next(tree, metric, query, to->bound, &walk, &item))
            point_visitor_tell(to, item.id, item.dist2);
        return;
    }
    pointtree_nd_walk walk = pointtree_nd_walk_begin();
    while (pointtree_nd_walk_next(tree, query, to->bound, &walk))
        point_visitor_tell(to, tree->ids[walk.node], pointtree_nd_dist2(tree, query, walk.node));
}

#endif
