/* Many queries of one tree at once, on all cores. The answers are ids and dist2 ordered by
   (dist2, id), whatever way they are found. */
#ifndef KD_POINTS_NEIGHBOURS_QUERY_H
#define KD_POINTS_NEIGHBOURS_QUERY_H
#include "points/neighbours/leaf_index.h"
#include "points/neighbours/request.h"

typedef struct point_target {
    pointtree_nd_view tree;
    const leafindex *index;  /* of the same tree; NULL: stack-free walks */
    const uint32_t *renamed; /* what to answer instead of each id, or NULL */
} point_target;

typedef struct point_queries {
    point_array points;  /* dims and scalar of the tree's */
    const void *radii;   /* one of the tree's scalars each, or NULL */
    double max_radius;   /* of all, INFINITY: no limit */
    const void *bounds2; /* one of the tree's scalars each: the largest dist2 of use; or NULL */
    bool sort;           /* work along a space-filling curve */
    const point_metric *metric; /* of a target without indexes; NULL: Euclid's */
} point_queries;

/* Where the k nearest go: row i of `k` ids, and of k dist2 in the tree's scalar; what is not there
   is KD_NONE and INFINITY. Each of the three, and `counts` (how many are there), may be NULL. */
typedef struct point_rows {
    uint32_t *ids;
    void *dist2;
    uint32_t *counts;
} point_rows;

/* Working room for sorting the queries; 0 if they are not. */
uint64_t point_query_scratch_bytes(const point_queries *queries);

kd_status point_query_nearest(const point_target *target, const point_queries *queries, uint32_t k,
                              const point_rows *out, void *scratch);

/* offsets[i] ... offsets[i+1] is where the answers of query i go: counts+1 offsets. */
kd_status point_query_count_within(const point_target *target, const point_queries *queries,
                                   uint64_t *offsets, void *scratch);
/* The answers, at these offsets; ids and dist2 may be NULL. */
kd_status point_query_within(const point_target *target, const point_queries *queries,
                             const uint64_t *offsets, uint32_t *ids, void *dist2, void *scratch);

/* Tells a function of the points of each query, tree by tree of `count` >= 1 of one kind; it is
   called by several threads at once, though not for one query. visitor->query, renamed and bound
   are not looked at. */
kd_status point_query_visit(const point_target *targets, uint32_t count,
                            const point_queries *queries, const point_visitor *visitor,
                            void *scratch);

/* The same with the tree's own points as queries, one radius for all: nothing is copied or sorted.
   Rows are those of the same call with a copy of the points; own->order is that of the nodes. */
kd_status point_own_nearest(const point_target *target, const point_own *own, uint32_t k,
                            const point_rows *out);
kd_status point_own_count_within(const point_target *target, const point_own *own,
                                 uint64_t *offsets);
kd_status point_own_within(const point_target *target, const point_own *own,
                           const uint64_t *offsets, uint32_t *ids, void *dist2);

#endif
