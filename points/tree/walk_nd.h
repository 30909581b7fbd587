/* Stack-free queries for points of 1 to 8 dimensions, float or double. For three floats the
   results are those of walk.h, which describes the algorithm. dist2 is summed axis by axis in
   the points' scalar and returned as a double. */
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

typedef struct pointtree_nd_walk {
    uint32_t node; /* current node */
    uint32_t from; /* previous node */
} pointtree_nd_walk;

KD_FN pointtree_nd_walk pointtree_nd_walk_begin(void) {
    pointtree_nd_walk walk;
    walk.node = KD_NONE;
    walk.from = KD_NONE;
    return walk;
}

/* Advances to the next node in pre-order, near child first; returns false after the last one. */
KD_FN bool pointtree_nd_walk_next(const pointtree_nd_view *tree, const void *query, double bound2,
                                  pointtree_nd_walk *walk) {
    uint32_t node = walk->node, from = walk->from;
    if (node == KD_NONE) {
        walk->node = 0;
        return tree->count > 0;
    }
    const double slack = pointtree_nd_slack(tree);
    for (;;) {
        const uint32_t axis = pointtree_nd_axis(tree, node);
        const double distance =
            pointtree_nd_difference(tree->scalar, point_coordinate(query, tree->scalar, axis),
                                    pointtree_nd_coordinate(tree, node, axis));
        const uint32_t side = distance > 0;
        const uint32_t near = 2 * node + 1 + side, far = 2 * node + 2 - side;
        const bool from_parent = from == KD_NONE || from < node;
        const bool from_near = from == near || (from_parent && near >= tree->count);
        if (from_parent && near < tree->count) {
            walk->node = near;
            walk->from = node;
            return true;
        }
        const double difference = fabs(distance) > slack ? fabs(distance) - slack : 0;
        if (from_near && far < tree->count &&
            pointtree_nd_square(tree->scalar, difference) <= bound2) {
            walk->node = far;
            walk->from = node;
            return true;
        }
        if (node == 0) return false;
        from = node;
        node = (node - 1) / 2;
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

/* Finds the `k` nearest points with dist2 <= bound2 and stores them in `out`, an array of k
   elements, sorted by (dist2, id). Returns the number of points found. */
KD_FN uint32_t pointtree_nd_nearest_k(const pointtree_nd_view *tree, const void *query, uint32_t k,
                                      double bound2, neighbour_nd *out) {
    if (k == 0) return 0;
    uint32_t count = 0;
    pointtree_nd_walk walk = pointtree_nd_walk_begin();
    while (pointtree_nd_walk_next(tree, query, bound2, &walk)) {
        neighbour_nd item;
        item.dist2 = pointtree_nd_dist2(tree, query, walk.node);
        if (!(item.dist2 <= bound2)) continue;
        item.id = tree->ids[walk.node];
        item.node = walk.node;
        bound2 = neighbour_nd_offer(out, &count, k, item, bound2);
    }
    neighbour_nd_finish(out, count, k);
    return count;
}

/* Returns the number of points with dist2 <= bound2 and stores the first `capacity` visited in
   `out`. */
KD_FN uint32_t pointtree_nd_within(const pointtree_nd_view *tree, const void *query, double bound2,
                                   uint32_t capacity, neighbour_nd *out) {
    uint32_t count = 0;
    pointtree_nd_walk walk = pointtree_nd_walk_begin();
    while (pointtree_nd_walk_next(tree, query, bound2, &walk)) {
        const double dist2 = pointtree_nd_dist2(tree, query, walk.node);
        if (!(dist2 <= bound2)) continue;
        if (count < capacity) {
            out[count].dist2 = dist2;
            out[count].id = tree->ids[walk.node];
            out[count].node = walk.node;
        }
        ++count;
    }
    return count;
}

#endif
