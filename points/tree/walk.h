/* Stack-free queries of a left-balanced point k-d tree: k nearest and fixed radius. These
   are the reference implementations of all queries.
   Source: Wald 2022, "A stack-free traversal algorithm for left-balanced k-d trees", section 3.
   Idea: the current node and the previous one determine the next: coming from the parent, visit the
         node and go to the child on the query's side; coming from that child, go to the other one
         if the splitting plane is within range; otherwise go up.
   Memory: two integers per query, and the caller's array of results.
   Invariants: the result is a function of the points, not of the tree: the neighbours are the first
               of all points in the order (dist2, id). Exact in float arithmetic: rounding is
               monotone, so no point beyond a plane has a smaller rounded dist2 than the plane.
   Differs from the paper in: planes are compared by squared distance; missing children are skipped
         immediately. dist2 is a float: distances below 1e-23 or above 1e19 become 0 or infinity,
         and such ties are broken by id alone. */
#ifndef KD_POINTS_TREE_WALK_H
#define KD_POINTS_TREE_WALK_H
#include "points/tree/layout.h"

typedef struct neighbour {
    float dist2;   /* squared distance from the query */
    uint32_t id;   /* original index of the point */
    uint32_t node; /* index of the point in the tree */
} neighbour;

KD_FN bool neighbour_before(neighbour a, neighbour b) {
    return a.dist2 < b.dist2 || (a.dist2 == b.dist2 && a.id < b.id);
}

/* The squared distance. Every query on every device rounds it in this order. */
KD_FN float pointtree_dist2(vec3 a, vec3 b) {
    const float x = a.x - b.x, y = a.y - b.y, z = a.z - b.z;
    return x * x + y * y + z * z;
}

/* Returns the bound on dist2 for a radius; negative, so that no point qualifies, if the radius
   is negative or NaN. */
KD_FN float pointtree_bound2(float radius) {
    return radius >= 0 ? radius * radius : -1.0f;
}

/* --- the walk: visits every node whose region may hold points with dist2 <= bound2 ---------- */

typedef struct pointtree_walk {
    uint32_t node; /* current node */
    uint32_t from; /* previous node */
} pointtree_walk;

KD_FN pointtree_walk pointtree_walk_begin(void) {
    pointtree_walk walk;
    walk.node = KD_NONE; /* the root's parent */
    walk.from = KD_NONE;
    return walk;
}

/* Advances to the next node in pre-order, near child first; returns false after the last one.
   `bound2` may shrink from call to call:
       pointtree_walk walk = pointtree_walk_begin();
       while (pointtree_walk_next(tree, query, bound2, &walk)) ... tree->points[walk.node] ... */
KD_FN bool pointtree_walk_next(const pointtree_view *tree, vec3 query, float bound2,
                               pointtree_walk *walk) {
    uint32_t node = walk->node, from = walk->from;
    if (node == KD_NONE) {
        walk->node = 0;
        return tree->count > 0;
    }
    for (;;) {
        const int axis = pointtree_axis(tree, node);
        const float distance = vec3_axis(query, axis) - vec3_axis(tree->points[node], axis);
        const uint32_t side = distance > 0;
        const uint32_t near = 2 * node + 1 + side, far = 2 * node + 2 - side;
        const bool from_parent = from == KD_NONE || from < node;
        const bool from_near = from == near || (from_parent && near >= tree->count);
        if (from_parent && near < tree->count) {
            walk->node = near;
            walk->from = node;
            return true;
        }
        if (from_near && far < tree->count && distance * distance <= bound2) {
            walk->node = far;
            walk->from = node;
            return true;
        }
        if (node == 0) return false;
        from = node;
        node = (node - 1) / 2;
    }
}

/* --- the k nearest -------------------------------------------------------------------------- */

/* Max-heap in the order (dist2, id). */
KD_FN void neighbour_sift_down(neighbour *heap, uint32_t count, uint32_t hole, neighbour item) {
    for (;;) {
        uint32_t child = 2 * hole + 1;
        if (child >= count) break;
        if (child + 1 < count && neighbour_before(heap[child], heap[child + 1])) ++child;
        if (!neighbour_before(item, heap[child])) break;
        heap[hole] = heap[child];
        hole = child;
    }
    heap[hole] = item;
}

KD_FN void neighbour_sift_up(neighbour *heap, uint32_t hole, neighbour item) {
    while (hole > 0) {
        const uint32_t parent = (hole - 1) / 2;
        if (!neighbour_before(heap[parent], item)) break;
        heap[hole] = heap[parent];
        hole = parent;
    }
    heap[hole] = item;
}

/* Turns a heap into a list sorted by (dist2, id). */
KD_FN void neighbour_heap_unwind(neighbour *heap, uint32_t count) {
    while (count > 1) {
        const neighbour last = heap[--count];
        heap[count] = heap[0];
        neighbour_sift_down(heap, count, 0, last);
    }
}

/* Sorts any list by (dist2, id). */
KD_FN void neighbour_sort(neighbour *list, uint32_t count) {
    for (uint32_t i = count / 2; i-- > 0;) neighbour_sift_down(list, count, i, list[i]);
    neighbour_heap_unwind(list, count);
}

/* Sorted insertion is faster than the heap while the list fits into a few cache lines. */
#define NEIGHBOUR_LIST_MAX 16u

/* Offers `item` to the `k` best points so far, a sorted list for small k, else a heap. Returns
   the new bound, the largest dist2 with which a point can still be among the k best. */
KD_FN float neighbour_offer(neighbour *best, uint32_t *count, uint32_t k, neighbour item,
                            float bound2) {
    const bool listed = k <= NEIGHBOUR_LIST_MAX;
    if (*count == k) {
        if (!neighbour_before(item, best[listed ? k - 1 : 0])) return bound2;
        if (!listed) {
            neighbour_sift_down(best, k, 0, item);
            return best[0].dist2;
        }
        --*count;
    }
    uint32_t hole = (*count)++;
    if (!listed) {
        neighbour_sift_up(best, hole, item);
        return *count == k ? best[0].dist2 : bound2;
    }
    for (; hole > 0 && neighbour_before(item, best[hole - 1]); --hole) best[hole] = best[hole - 1];
    best[hole] = item;
    return *count == k ? best[k - 1].dist2 : bound2;
}

/* Finds the `k` nearest points within `max_radius` (INFINITY: no limit) and stores them in
   `out`, an array of k elements, sorted by (dist2, id). Returns the number of points found. */
KD_FN uint32_t pointtree_nearest_k(const pointtree_view *tree, vec3 query, uint32_t k,
                                   float max_radius, neighbour *out) {
    if (k == 0) return 0;
    uint32_t count = 0;
    float bound2 = pointtree_bound2(max_radius);
    pointtree_walk walk = pointtree_walk_begin();
    while (pointtree_walk_next(tree, query, bound2, &walk)) {
        neighbour item;
        item.dist2 = pointtree_dist2(query, tree->points[walk.node]);
        if (!(item.dist2 <= bound2)) continue;
        item.id = tree->ids[walk.node];
        item.node = walk.node;
        bound2 = neighbour_offer(out, &count, k, item, bound2);
    }
    if (k > NEIGHBOUR_LIST_MAX) neighbour_heap_unwind(out, count);
    return count;
}

/* Returns the number of points within `radius` and stores the first `capacity` of them, in the
   order of the walk, in `out` (may be NULL if capacity is 0). neighbour_sort sorts them. To
   visit points without storing them, walk with pointtree_bound2(radius) as the bound. */
KD_FN uint32_t pointtree_within(const pointtree_view *tree, vec3 query, float radius,
                                uint32_t capacity, neighbour *out) {
    const float bound2 = pointtree_bound2(radius);
    uint32_t count = 0;
    pointtree_walk walk = pointtree_walk_begin();
    while (pointtree_walk_next(tree, query, bound2, &walk)) {
        const float dist2 = pointtree_dist2(query, tree->points[walk.node]);
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
