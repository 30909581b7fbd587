/* The upper levels of a distributed tree: every inner node divides its parts in two by a plane.
   Invariants: a point goes left if (its coordinate on the axis, its number) is less than that of
               the plane; the number is its position in the input, so no two points are equal. */
#ifndef KD_POINTS_PARTS_TOP_H
#define KD_POINTS_PARTS_TOP_H
#include "points/tree/layout.h"

typedef struct top_node {
    /* the first point of the right side; key: order-preserving integer of its coordinate */
    uint64_t key, number;
    uint32_t axis;
    /* children are nodes `left` and `left` + 1; 0: not divided (yet) */
    uint32_t left;
    uint32_t first, last; /* range of parts below it */
} top_node;

KD_FN uint64_t top_key(const void *point, point_scalar scalar, uint32_t axis) {
    return scalar == POINT_DOUBLE ? pointtree_order_bits_double(((const double *)point)[axis])
                                  : pointtree_order_bits(((const float *)point)[axis]);
}

/* Returns the node without children to which a point belongs. */
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

/* Search interval of a plane: it lies among the values from lo to hi, which are keys or, once the
   key is known, numbers of points with that key. */
typedef struct top_bracket {
    uint64_t lo, hi, key;
    uint32_t node, axis, shift; /* (value - lo) >> shift is less than TOP_BINS */
    bool by_number;
} top_bracket;

enum { TOP_BITS = 11, TOP_BINS = 1 << TOP_BITS };

/* Returns the bin of a point of the bracket's node; TOP_BINS if it is outside. */
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
