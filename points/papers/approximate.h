/* Approximate nearest neighbour with a bounded number of branches to backtrack to.
   Source: Wehr and Radkowski 2018, section III-E; the stopping criterion of Friedman, Bentley,
           Finkel 1977.
   Idea: descend to a leaf on the query's side; branches not taken wait in a queue, ordered by a
         lower bound on their distance. A full queue drops its farthest branch. Continue with the
         nearest branch until none is nearer than the best point.
   Memory: a queue of `capacity` branches; the result is exact if it never overflows.
   Differs from the paper in: the double-ended queue is a sorted list, which is as fast for so few
         branches. */
#ifndef KD_POINTS_PAPERS_APPROXIMATE_H
#define KD_POINTS_PAPERS_APPROXIMATE_H
#include "core/device/cuda_stubs.h"
#include "core/status.h"
#include "points/tree/walk_nd.h"

#define POINTTREE_QUEUE_MAX 64u

typedef struct pointtree_branch {
    double dist2; /* lower bound on the dist2 from the query to the points beyond the plane */
    uint32_t node;
} pointtree_branch;

/* Inserts a branch into the queue, nearest first; drops the farthest if the queue is full. */
KD_FN void pointtree_queue_add(pointtree_branch *queue, uint32_t *waiting, uint32_t capacity,
                               pointtree_branch branch) {
    uint32_t hole = *waiting;
    if (hole == capacity) {
        if (capacity == 0 || queue[capacity - 1].dist2 <= branch.dist2) return;
        --hole;
    } else {
        ++*waiting;
    }
    for (; hole > 0 && queue[hole - 1].dist2 > branch.dist2; --hole) queue[hole] = queue[hole - 1];
    queue[hole] = branch;
}

/* Finds a point near the query, most probably the closest one; returns false if the tree is empty.
   `capacity` is at most POINTTREE_QUEUE_MAX. */
KD_FN bool pointtree_approximate(const pointtree_nd_view *tree, const void *query,
                                 uint32_t capacity, neighbour_nd *out) {
    pointtree_branch queue[POINTTREE_QUEUE_MAX];
    const double slack = pointtree_nd_slack(tree);
    uint32_t waiting = 0;
    pointtree_branch branch;
    branch.dist2 = 0;
    branch.node = 0;
    out->dist2 = (double)INFINITY;
    out->id = KD_NONE;
    out->node = KD_NONE;
    if (tree->count == 0) return false;
    for (;;) {
        while (branch.node < tree->count) {
            const uint32_t node = branch.node, axis = pointtree_nd_axis(tree, node);
            neighbour_nd candidate;
            candidate.dist2 = pointtree_nd_dist2(tree, query, node);
            candidate.id = tree->ids[node];
            candidate.node = node;
            if (neighbour_nd_before(candidate, *out)) *out = candidate;
            const double distance =
                pointtree_nd_difference(tree->scalar, point_coordinate(query, tree->scalar, axis),
                                        pointtree_nd_coordinate(tree, node, axis));
            const uint32_t side = distance > 0;
            const double difference = fabs(distance) > slack ? fabs(distance) - slack : 0;
            const double beyond = pointtree_nd_square(tree->scalar, difference);
            pointtree_branch other;
            other.node = 2 * node + 2 - side;
            other.dist2 = beyond > branch.dist2 ? beyond : branch.dist2;
            if (other.node < tree->count && other.dist2 <= out->dist2)
                pointtree_queue_add(queue, &waiting, capacity, other);
            branch.node = 2 * node + 1 + side;
        }
        if (waiting == 0 || queue[0].dist2 > out->dist2) return out->node != KD_NONE;
        branch = queue[0];
        --waiting;
        for (uint32_t i = 0; i < waiting; ++i) queue[i] = queue[i + 1];
    }
}

#ifdef __cplusplus
extern "C" {
#endif

/* pointtree_approximate on a CUDA device, one thread per query. The arrays of `tree`, `queries`
   (packed, with the tree's dims and scalar), `ids` and `dist2` are in device memory; `tree` itself
   is in host memory. */
KD_DEVICE_CALL(point_approximate_cuda,
               (const pointtree_nd_view *tree, const void *queries, uint64_t count,
                uint32_t capacity, uint32_t *ids, double *dist2, void *stream));

#ifdef __cplusplus
}
#endif
#endif
