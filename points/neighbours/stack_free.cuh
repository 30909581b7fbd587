/* One thread per query with the stack-free walk of points/tree/walk_nd.h: supports any points and
   any k, and is the reference for the faster methods. The rows `walk` of
   tools/bench/results/h200-variants.txt compare it with these. The list of the nearest points is in
   scratch memory.
   Data flow: one thread per query, grid-stride: tree, query -> its list in scratch
              (nearest_by_walk) -> its row; count_by_walk -> counts, which become offsets;
              fill_by_walk: the same walk -> the row from its offset on. */
#ifndef KD_POINTS_NEIGHBOURS_STACK_FREE_CUH
#define KD_POINTS_NEIGHBOURS_STACK_FREE_CUH
#include "core/device/cuda.h"
#include "points/neighbours/request.h"
#include "points/tree/walk_metric.h"

namespace point_walk {

constexpr int BLOCK = 128;

/* Euclidean distance in non-periodic space, as in walk_nd.h; any other metric is a point_metric. */
struct euclid {};

__device__ inline double bound_of(const euclid &, point_scalar scalar, double radius) {
    return pointtree_nd_bound2(scalar, radius);
}
__device__ inline double bound_of(const point_metric &metric, point_scalar scalar, double radius) {
    return metric_bound(scalar, metric.norm, radius);
}

__device__ inline uint32_t nearest_of(const pointtree_nd_view &tree, const euclid &,
                                      const void *query, uint32_t k, double bound,
                                      neighbour_nd *out) {
    return pointtree_nd_nearest_k(&tree, query, k, bound, out);
}
__device__ inline uint32_t nearest_of(const pointtree_nd_view &tree, const point_metric &metric,
                                      const void *query, uint32_t k, double bound,
                                      neighbour_nd *out) {
    return pointtree_metric_nearest_k(&tree, &metric, query, k, bound, out);
}

__device__ inline uint32_t count_of(const pointtree_nd_view &tree, const euclid &,
                                    const void *query, double bound) {
    return pointtree_nd_within(&tree, query, bound, 0, NULL);
}
__device__ inline uint32_t count_of(const pointtree_nd_view &tree, const point_metric &metric,
                                    const void *query, double bound) {
    return pointtree_metric_within(&tree, &metric, query, bound, 0, NULL);
}

/* Calls take(dist2, id) for each point within the bound. */
template <class TAKE>
__device__ inline void each_within(const pointtree_nd_view &tree, const euclid &, const void *query,
                                   double bound, const TAKE &take) {
    pointtree_nd_walk walk = pointtree_nd_walk_begin();
    while (pointtree_nd_walk_next(&tree, query, bound, &walk)) {
        const double dist2 = pointtree_nd_dist2(&tree, query, walk.node);
        if (dist2 <= bound) take(dist2, tree.ids[walk.node]);
    }
}
template <class TAKE>
__device__ inline void each_within(const pointtree_nd_view &tree, const point_metric &metric,
                                   const void *query, double bound, const TAKE &take) {
    neighbour_nd nd;
    metric_walk walk = metric_walk_begin(&tree, &metric);
    while (metric_walk_next(&tree, &metric, query, bound, &walk, &nd)) take(nd.dist2, nd.id);
}

struct point_queries {
    point_array points;
    const void *radii; /* or NULL */
    double max_radius;
};

template <typename real> struct rows {
    uint32_t *ids;
    real *dist2;
    uint32_t *counts;
};

template <class METRIC>
__device__ inline double bound2_of(const point_queries &queries, const METRIC &metric,
                                   uint64_t which) {
    double radius = queries.max_radius;
    if (queries.radii) {
        const double query_radius =
            point_coordinate(queries.radii, queries.points.scalar, (uint32_t)which);
        if (query_radius < radius) radius = query_radius;
    }
    return bound_of(metric, queries.points.scalar, radius);
}

/* `lists` has k elements for each thread of the grid. */
template <typename real, class METRIC>
__global__ __launch_bounds__(BLOCK) void nearest_by_walk(pointtree_nd_view tree,
                                                         point_queries queries, METRIC metric,
                                                         uint32_t k, neighbour_nd *lists,
                                                         rows<real> out) {
    const uint64_t thread = (uint64_t)blockIdx.x * BLOCK + threadIdx.x;
    neighbour_nd *list = lists + thread * k;
    for (uint64_t i = thread; i < queries.points.count; i += (uint64_t)gridDim.x * BLOCK) {
        const uint32_t count = nearest_of(tree, metric, point_array_at(&queries.points, i), k,
                                          bound2_of(queries, metric, i), list);
        for (uint32_t j = 0; j < k; ++j) {
            if (out.ids) out.ids[i * k + j] = j < count ? list[j].id : KD_NONE;
            if (out.dist2) out.dist2[i * k + j] = j < count ? (real)list[j].dist2 : (real)INFINITY;
        }
        if (out.counts) out.counts[i] = count;
    }
}

template <class METRIC>
__global__ __launch_bounds__(BLOCK) void count_by_walk(pointtree_nd_view tree,
                                                       point_queries queries, METRIC metric,
                                                       uint64_t *counts) {
    const uint64_t i = (uint64_t)blockIdx.x * BLOCK + threadIdx.x;
    if (i < queries.points.count)
        counts[i] = count_of(tree, metric, point_array_at(&queries.points, i),
                             bound2_of(queries, metric, i));
}

template <typename real> __device__ bool row_before(const rows<real> &row, uint64_t a, uint64_t b) {
    return row.dist2[a] < row.dist2[b] || (row.dist2[a] == row.dist2[b] && row.ids[a] < row.ids[b]);
}

template <typename real> __device__ void row_swap(const rows<real> &row, uint64_t a, uint64_t b) {
    const real dist2 = row.dist2[a];
    const uint32_t id = row.ids[a];
    row.dist2[a] = row.dist2[b], row.ids[a] = row.ids[b];
    row.dist2[b] = dist2, row.ids[b] = id;
}

/* In-place heap sort of a row by (dist2, id). */
template <typename real> __device__ void row_sort(const rows<real> &row, uint64_t count) {
    for (uint64_t todo = count / 2 + count; todo > 1; --todo) {
        uint64_t hole = 0, end = todo - 1;
        if (todo > count)
            hole = todo - count - 1, end = count; /* the heap is still being built */
        else
            row_swap(row, 0, end);
        for (uint64_t child = 2 * hole + 1; child < end; child = 2 * hole + 1) {
            if (child + 1 < end && row_before(row, child, child + 1)) ++child;
            if (!row_before(row, hole, child)) break;
            row_swap(row, hole, child);
            hole = child;
        }
    }
}

template <typename real, class METRIC>
__global__ __launch_bounds__(BLOCK) void fill_by_walk(pointtree_nd_view tree, point_queries queries,
                                                      METRIC metric, const uint64_t *offsets,
                                                      rows<real> out) {
    const uint64_t i = (uint64_t)blockIdx.x * BLOCK + threadIdx.x;
    if (i >= queries.points.count) return;
    const uint64_t fit = offsets[i + 1] - offsets[i];
    const rows<real> row = {out.ids + offsets[i], out.dist2 + offsets[i], NULL};
    uint64_t count = 0;
    each_within(tree, metric, point_array_at(&queries.points, i), bound2_of(queries, metric, i),
                [&](double dist2, uint32_t id) {
                    if (count == fit) return;
                    row.dist2[count] = (real)dist2;
                    row.ids[count++] = id;
                });
    row_sort(row, count);
}

} // namespace point_walk
#endif
