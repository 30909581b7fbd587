/* A thread a query by the stack-free walk of points/tree/walk_nd.h: any points, any k, and
   the oracle of the faster ways, which the rows of `walk` show beside them
   (tools/bench/results/h200-variants.txt). Its list of the nearest lies in scratch memory. */
#ifndef KD_POINTS_NEIGHBOURS_STACK_FREE_CUH
#define KD_POINTS_NEIGHBOURS_STACK_FREE_CUH
#include "core/device/cuda.h"
#include "points/neighbours/request.h"
#include "points/tree/walk_nd.h"

namespace point_walk {

constexpr int BLOCK = 128;

struct asked {
    point_array points;
    const void *radii; /* or NULL */
    double max_radius;
};

template <typename real> struct rows {
    uint32_t *ids;
    real *dist2;
    uint32_t *counts;
};

__device__ inline double bound2_of(const asked &queries, uint64_t which) {
    double radius = queries.max_radius;
    if (queries.radii) {
        const double own = point_coordinate(queries.radii, queries.points.scalar, (uint32_t)which);
        if (own < radius) radius = own;
    }
    return pointtree_nd_bound2(queries.points.scalar, radius);
}

/* `lists` has room for k answers of each thread of the grid. */
template <typename real>
__global__ __launch_bounds__(BLOCK) void nearest_by_walk(pointtree_nd_view tree, asked queries,
                                                         uint32_t k, neighbour_nd *lists,
                                                         rows<real> out) {
    const uint64_t thread = (uint64_t)blockIdx.x * BLOCK + threadIdx.x;
    neighbour_nd *list = lists + thread * k;
    for (uint64_t i = thread; i < queries.points.count; i += (uint64_t)gridDim.x * BLOCK) {
        const uint32_t count = pointtree_nd_nearest_k(&tree, point_array_at(&queries.points, i), k,
                                                      bound2_of(queries, i), list);
        for (uint32_t j = 0; j < k; ++j) {
            if (out.ids) out.ids[i * k + j] = j < count ? list[j].id : KD_NONE;
            if (out.dist2) out.dist2[i * k + j] = j < count ? (real)list[j].dist2 : (real)INFINITY;
        }
        if (out.counts) out.counts[i] = count;
    }
}

static __global__ __launch_bounds__(BLOCK) void count_by_walk(pointtree_nd_view tree, asked queries,
                                                              uint64_t *counts) {
    const uint64_t i = (uint64_t)blockIdx.x * BLOCK + threadIdx.x;
    if (i < queries.points.count)
        counts[i] = pointtree_nd_within(&tree, point_array_at(&queries.points, i),
                                        bound2_of(queries, i), 0, NULL);
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

/* Heap sort of a row by (dist2, id), in place. */
template <typename real> __device__ void row_sort(const rows<real> &row, uint64_t count) {
    for (uint64_t todo = count / 2 + count; todo > 1; --todo) {
        uint64_t hole = 0, end = todo - 1;
        if (todo > count)
            hole = todo - count - 1, end = count; /* the heap is still made */
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

template <typename real>
__global__ __launch_bounds__(BLOCK) void fill_by_walk(pointtree_nd_view tree, asked queries,
                                                      const uint64_t *offsets, rows<real> out) {
    const uint64_t i = (uint64_t)blockIdx.x * BLOCK + threadIdx.x;
    if (i >= queries.points.count) return;
    const uint64_t room = offsets[i + 1] - offsets[i];
    const rows<real> row = {out.ids + offsets[i], out.dist2 + offsets[i], NULL};
    const void *query = point_array_at(&queries.points, i);
    const double bound2 = bound2_of(queries, i);
    uint64_t count = 0;
    pointtree_nd_walk walk = pointtree_nd_walk_begin();
    while (pointtree_nd_walk_next(&tree, query, bound2, &walk)) {
        const double dist2 = pointtree_nd_dist2(&tree, query, walk.node);
        if (!(dist2 <= bound2) || count == room) continue;
        row.dist2[count] = (real)dist2;
        row.ids[count++] = tree.ids[walk.node];
    }
    row_sort(row, count);
}

} // namespace point_walk
#endif
