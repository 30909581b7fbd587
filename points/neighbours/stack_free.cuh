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
#include "points/tree/walk_nd.h"

namespace point_walk {

constexpr int BLOCK = 128;

/* Euclidean distance in non-periodic space; any other metric is a point_metric. */
struct euclid {};

__device__ inline const point_metric *metric_of(const euclid &) {
    return NULL;
}
__device__ inline const point_metric *metric_of(const point_metric &metric) {
    return &metric;
}

template <class METRIC>
__device__ inline double bound_of(const METRIC &metric, point_scalar scalar, double radius) {
    const point_metric *other = metric_of(metric);
    return metric_bound(scalar, other ? other->norm : POINT_NORM_2, radius);
}

struct point_queries {
    point_array points;
    const void *radii; /* radius per query; may be NULL */
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
        const uint32_t count =
            pointtree_nd_nearest_k(&tree, metric_of(metric), point_array_at(&queries.points, i), k,
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
        counts[i] =
            pointtree_nd_within(&tree, metric_of(metric), point_array_at(&queries.points, i),
                                bound2_of(queries, metric, i), 0, NULL);
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

/* Writes the points within the bound, at most `fit`, without the point `skipped`, in order. */
template <typename real, class METRIC>
__device__ void fill_row(const pointtree_nd_view &tree, const METRIC &metric, const void *query,
                         double bound, uint32_t skipped, uint64_t fit, const rows<real> &row) {
    uint64_t count = 0;
    neighbour_nd found;
    pointtree_nd_walk walk = pointtree_nd_walk_begin(&tree, metric_of(metric));
    while (count < fit &&
           pointtree_nd_walk_next(&tree, metric_of(metric), query, bound, &walk, &found)) {
        if (found.id == skipped) continue;
        row.dist2[count] = (real)found.dist2;
        row.ids[count++] = found.id;
    }
    row_sort(row, count);
}

template <typename real, class METRIC>
__global__ __launch_bounds__(BLOCK) void fill_by_walk(pointtree_nd_view tree, point_queries queries,
                                                      METRIC metric, const uint64_t *offsets,
                                                      rows<real> out) {
    const uint64_t i = (uint64_t)blockIdx.x * BLOCK + threadIdx.x;
    if (i >= queries.points.count) return;
    const rows<real> row = {out.ids + offsets[i], out.dist2 + offsets[i], NULL};
    fill_row(tree, metric, point_array_at(&queries.points, i), bound2_of(queries, metric, i),
             KD_NONE, offsets[i + 1] - offsets[i], row);
}

} // namespace point_walk
#endif
