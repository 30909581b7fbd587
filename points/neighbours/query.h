/* Batches of queries on the CPU, on all cores. Results are ids and dist2 ordered by (dist2, id),
   independently of the search method. */
#ifndef KD_POINTS_NEIGHBOURS_QUERY_H
#define KD_POINTS_NEIGHBOURS_QUERY_H
#include "points/neighbours/leaf_index.h"
#include "points/neighbours/request.h"

typedef struct point_target {
    pointtree_nd_view tree;
    const leafindex *index;  /* index of the same tree; NULL: stack-free walks */
    const uint32_t *renamed; /* id to return for each id of the tree; or NULL */
} point_target;

typedef struct point_queries {
    point_array points;  /* dims and scalar of the tree */
    const void *radii;   /* one per query, in the tree's scalar; or NULL */
    double max_radius;   /* limit for all queries; INFINITY: none */
    const void *bounds2; /* per query an upper bound on dist2, in the tree's scalar; or NULL */
    bool sort;           /* process along a space-filling curve */
    const point_metric *metric; /* NULL: Euclidean */
} point_queries;

/* Result arrays for the k nearest: row i holds `k` ids and k values of dist2 in the tree's scalar,
   padded with KD_NONE and INFINITY. `counts` receives the number of results per row. Each of the
   three may be NULL. */
typedef struct point_rows {
    uint32_t *ids;
    void *dist2;
    uint32_t *counts;
} point_rows;

/* Returns the scratch bytes for sorting the queries; 0 if they are not sorted. */
uint64_t point_query_scratch_bytes(const point_queries *queries);

kd_status point_query_nearest(const point_target *target, const point_queries *queries, uint32_t k,
                              const point_rows *out, void *scratch);

/* Counts the points within the radius of each query and computes count + 1 offsets: results of
   query i go to offsets[i] ... offsets[i+1]. */
kd_status point_query_count_within(const point_target *target, const point_queries *queries,
                                   uint64_t *offsets, void *scratch);
/* Stores the results at these offsets; ids and dist2 may be NULL. */
kd_status point_query_within(const point_target *target, const point_queries *queries,
                             const uint64_t *offsets, uint32_t *ids, void *dist2, void *scratch);

/* Calls the visitor for the points of each query, tree by tree, of `count` >= 1 trees of the same
   kind. Several threads call it concurrently, but not for the same query. visitor->query, renamed
   and bound are ignored. */
kd_status point_query_visit(const point_target *targets, uint32_t count,
                            const point_queries *queries, const point_visitor *visitor,
                            void *scratch);

/* Self-queries: the tree's own points are the queries, with one radius for all, without copying or
   sorting them. Rows are those of the same call with a copy of the points; if self_query->order is
   requested, rows are in node order. */
kd_status point_self_nearest(const point_target *target, const point_self_query *self_query,
                             uint32_t k, const point_rows *out);
kd_status point_self_count_within(const point_target *target, const point_self_query *self_query,
                                  uint64_t *offsets);
kd_status point_self_within(const point_target *target, const point_self_query *self_query,
                            const uint64_t *offsets, uint32_t *ids, void *dist2);

#endif
