/* Visitor: a callback for each point around a query, used instead of a result list, which may
   shrink the search radius as it goes; and plain tree walks that call it, the reference for the
   walks over buckets (neighbours/leaf_index.h). */
#ifndef KD_POINTS_TREE_VISITOR_H
#define KD_POINTS_TREE_VISITOR_H
#include "points/tree/walk_nd.h"

typedef struct point_visitor {
    double (*callback)(void *context, uint64_t query, uint64_t id, double dist2, double bound);
    void *context;
    uint64_t query;          /* index of the query, passed to `callback` */
    const uint32_t *renamed; /* id to report for each id of the tree; or NULL */
    double bound;            /* largest distance of interest; negative: stop */
} point_visitor;

/* Reports a point to the visitor, unless it lies beyond the bound. The callback `callback` returns
   the new bound, which may be lower than the old one but never higher. */
static inline void point_visitor_call(point_visitor *visitor, uint32_t id, double dist2) {
    if (!(dist2 <= visitor->bound)) return;
    const uint64_t name = visitor->renamed ? visitor->renamed[id] : id;
    const double next_bound =
        visitor->callback(visitor->context, visitor->query, name, dist2, visitor->bound);
    if (!(next_bound >= visitor->bound)) visitor->bound = next_bound >= 0 ? next_bound : -1;
}

/* Returns the largest float that is not greater than the bound. */
static inline float point_visitor_bound(const point_visitor *visitor) {
    const float near = (float)visitor->bound;
    return (double)near <= visitor->bound ? near : nextafterf(near, -INFINITY);
}

/* Reports each point within the visitor's bound once. `metric` NULL selects the Euclidean
   distance. */
static inline void pointtree_report(const pointtree_nd_view *tree, const point_metric *metric,
                                    const void *query, point_visitor *visitor) {
    neighbour_nd item;
    pointtree_nd_walk walk = pointtree_nd_walk_begin(tree, metric);
    while (pointtree_nd_walk_next(tree, metric, query, visitor->bound, &walk, &item))
        point_visitor_call(visitor, item.id, item.dist2);
}

#endif
