/* Stack-free search for all points in an axis-aligned box, on CPU and device. The walk visits the
   tree in pre-order and enters a child only if the box reaches its side of the parent's plane;
   after a sub-tree it goes up until an ancestor has a right child to enter.
   Work: n^(1 - 1/dims) nodes besides those in the box (Lee and Wong 1977). */
#ifndef KD_POINTS_TREE_WALK_BOX_H
#define KD_POINTS_TREE_WALK_BOX_H
#include "points/tree/walk_nd.h"

/* Returns whether the box reaches to the right (or left) of the node's plane. `lo` and `hi` are
   `dims` scalars of the tree's type each. */
KD_FN bool box_reaches(const pointtree_nd_view *tree, const void *lo, const void *hi, uint32_t node,
                       bool right) {
    const uint32_t axis = pointtree_nd_axis(tree, node);
    const double slack = pointtree_nd_slack(tree);
    const double plane = pointtree_nd_coordinate(tree, node, axis);
    return right ? point_coordinate(hi, tree->scalar, axis) >= plane - slack
                 : point_coordinate(lo, tree->scalar, axis) <= plane + slack;
}

KD_FN bool box_holds(const pointtree_nd_view *tree, const void *lo, const void *hi, uint32_t node) {
    for (uint32_t axis = 0; axis < tree->dims; ++axis) {
        const double x = pointtree_nd_coordinate(tree, node, axis);
        if (!(x >= point_coordinate(lo, tree->scalar, axis) &&
              x <= point_coordinate(hi, tree->scalar, axis)))
            return false;
    }
    return true;
}

/* Returns the node after `node` in the walk. KD_NONE starts the walk, and is returned at its
   end. */
KD_FN uint32_t box_walk_next(const pointtree_nd_view *tree, const void *lo, const void *hi,
                             uint32_t node) {
    if (node == KD_NONE) return tree->count ? 0 : KD_NONE;
    for (uint32_t child = 2 * node + 1; child <= 2 * node + 2 && child < tree->count; ++child)
        if (box_reaches(tree, lo, hi, node, child % 2 == 0)) return child;
    for (; node > 0; node = (node - 1) / 2)
        if (node % 2 && node + 1 < tree->count && box_reaches(tree, lo, hi, (node - 1) / 2, true))
            return node + 1;
    return KD_NONE;
}

/* Returns the number of points in the box and stores the ids of the first `capacity` visited in
   `ids`. */
KD_FN uint32_t pointtree_box_ids(const pointtree_nd_view *tree, const void *lo, const void *hi,
                                 uint32_t capacity, uint32_t *ids) {
    uint32_t count = 0;
    for (uint32_t node = box_walk_next(tree, lo, hi, KD_NONE); node != KD_NONE;
         node = box_walk_next(tree, lo, hi, node)) {
        if (!box_holds(tree, lo, hi, node)) continue;
        if (count < capacity) ids[count] = tree->ids[node];
        ++count;
    }
    return count;
}

/* In-place heap sort. */
KD_FN void box_ids_sort(uint32_t *ids, uint32_t count) {
    for (uint32_t todo = count / 2 + count; todo > 1; --todo) {
        uint32_t hole = 0, end = todo - 1;
        if (todo > count) {
            hole = todo - count - 1;
            end = count; /* the heap is still being built */
        } else {
            const uint32_t last = ids[end];
            ids[end] = ids[0];
            ids[0] = last;
        }
        const uint32_t item = ids[hole];
        for (uint32_t child = 2 * hole + 1; child < end; child = 2 * hole + 1) {
            if (child + 1 < end && ids[child] < ids[child + 1]) ++child;
            if (item >= ids[child]) break;
            ids[hole] = ids[child];
            hole = child;
        }
        ids[hole] = item;
    }
}

#endif
