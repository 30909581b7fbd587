/* The upper levels of a tree whose lower ones lie in several parts, on devices or machines of their
   own: every inner node divides its parts in two by a plane, and says how points stand to it.
   Invariants: a point goes left if (its coordinate on the axis, its number) is before (the plane's,
               the plane's); the number is its place in the input, so no two points are equal. */
#ifndef KD_POINTS_PARTS_TOP_H
#define KD_POINTS_PARTS_TOP_H
#include "points/tree/layout.h"

typedef struct top_node {
    uint64_t key, number; /* the first point of the right side, as integers of the same order */
    uint32_t axis;
    uint32_t left;        /* its children are this node and the next; 0: not divided (yet) */
    uint32_t first, last; /* parts that it is divided into */
} top_node;

KD_FN uint64_t top_key(const void *point, point_scalar scalar, uint32_t axis) {
    return scalar == POINT_DOUBLE ? pointtree_order_bits_double(((const double *)point)[axis])
                                  : pointtree_order_bits(((const float *)point)[axis]);
}

/* Where a point stands among the nodes that are there: one without children. */
KD_FN uint32_t top_descend(const top_node *nodes, const void *point, point_scalar scalar,
                           uint64_t number) {
    uint32_t at = 0;
    while (nodes[at].left) {
        const uint64_t key = top_key(point, scalar, nodes[at].axis);
        const bool before =
            key < nodes[at].key || (key == nodes[at].key && number < nodes[at].number);
        at = nodes[at].left + (before ? 0 : 1);
    }
    return at;
}

/* A plane that is being looked for: it lies among the values from lo to hi, of keys or, once the
   key is known, of the numbers of points that have it. */
typedef struct top_bracket {
    uint64_t lo, hi, key;
    uint32_t node, axis, shift; /* (value - lo) >> shift is below TOP_BINS */
    bool by_number;
} top_bracket;

enum { TOP_BITS = 11, TOP_BINS = 1 << TOP_BITS };

/* The bin of a point that stands at the bracket's node; TOP_BINS: it is outside. */
KD_FN uint32_t top_bin(const top_bracket *bracket, const void *point, point_scalar scalar,
                       uint64_t number) {
    uint64_t value = top_key(point, scalar, bracket->axis);
    if (bracket->by_number) {
        if (value != bracket->key) return TOP_BINS;
        value = number;
    }
    if (value < bracket->lo || value > bracket->hi) return TOP_BINS;
    return (uint32_t)((value - bracket->lo) >> bracket->shift);
}

#endif
