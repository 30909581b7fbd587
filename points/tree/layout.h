/* The layout of a left-balanced point k-d tree: a permutation of the points in level order. The
   children of node i are 2i+1 and 2i+2, and a node exists if its index is less than the number of
   points. Only the permutation is stored, plus one byte per node for the split axis if it is chosen
   by the widest side.
   Order of points: by the coordinate on the node's axis (-0 equals +0), ties by original id. No two
   points are equal in this order, so the tree is a function of its input, and all builders that use
   it make the same tree.
   Source: Wald 2022, "GPU-friendly, parallel, and (almost-)in-place construction of left-balanced
           k-d trees", sections 2 and 4. */
#ifndef KD_POINTS_TREE_LAYOUT_H
#define KD_POINTS_TREE_LAYOUT_H
#include "core/math/geometry.h"
#include "points/tree/point_array.h"

/* 2i+2 of the last node must fit in 32 bits. */
#define POINTTREE_COUNT_MAX 0x7fffffffu

typedef enum pointtree_split {
    POINTTREE_ROUND_ROBIN = 0, /* axis = depth mod dims */
    POINTTREE_WIDEST = 1       /* axis = widest side of the box clipped along the ancestors */
} pointtree_split;

/* The total order of the points along an axis, which determines the tree of a builder. */
typedef enum pointtree_order {
    POINTTREE_BY_COORDINATE = 0, /* (coordinate, id): all builders but Brown's and Wehr's */
    POINTTREE_BY_SUPER_KEY = 1,  /* (coordinate, next axes cyclically, id): Brown 2015 */
    POINTTREE_BY_CELL = 2 /* (cell on the node's axis, then on those of its ancestors, nearest
                             first, id): Wehr and Radkowski 2018 */
} pointtree_order;

/* View of a tree of 1 to 8 dimensions, float or double; owns nothing. */
typedef struct pointtree_nd_view {
    const void *coordinates; /* in tree order, `dims` scalars per point */
    const uint32_t *ids;     /* original index of each point, in tree order */
    const uint8_t *axes;     /* split axis of each node; NULL for round robin */
    uint32_t count;
    uint32_t dims;
    point_scalar scalar;
    point_box box;
    pointtree_order order;
    double cells; /* POINTTREE_BY_CELL: cells per unit length; 0: coordinates are not rounded */
    bool unique;  /* equal points were removed */
} pointtree_nd_view;

/* View of a tree of three floats, as photons are; owns nothing. */
typedef struct pointtree_view {
    const vec3 *points;  /* in tree order */
    const uint32_t *ids; /* original index of each point, in tree order */
    const uint8_t *axes; /* split axis of each node; NULL for round robin */
    uint32_t count;
    box3 box;
} pointtree_view;

/* floor(log2(n)) for n > 0. */
KD_FN uint32_t pointtree_log2(uint32_t n) {
#ifdef __CUDA_ARCH__
    return 31u - (uint32_t)__clz((int)n);
#else
    return 31u - (uint32_t)__builtin_clz(n);
#endif
}

KD_FN uint32_t pointtree_level_of(uint32_t node) {
    return pointtree_log2(node + 1);
}

/* L: the number of levels of a tree of `count` > 0 nodes. */
KD_FN uint32_t pointtree_levels(uint32_t count) {
    return pointtree_log2(count) + 1;
}

/* F(l): the number of nodes above level l, hence the first node of level l. */
KD_FN uint32_t pointtree_level_begin(uint32_t level) {
    return (1u << level) - 1;
}

KD_FN int pointtree_axis(const pointtree_view *tree, uint32_t node) {
    return tree->axes ? (int)tree->axes[node] : (int)(pointtree_level_of(node) % 3);
}

KD_FN uint32_t pointtree_nd_axis(const pointtree_nd_view *tree, uint32_t node) {
    return tree->axes ? tree->axes[node] : pointtree_level_of(node) % tree->dims;
}

KD_FN double pointtree_nd_coordinate(const pointtree_nd_view *tree, uint32_t node, uint32_t axis) {
    return point_coordinate((const char *)tree->coordinates +
                                node * (uint64_t)tree->dims * point_scalar_bytes(tree->scalar),
                            tree->scalar, axis);
}

/* The cell index that POINTTREE_BY_CELL compares, a whole number; the coordinate itself if
   `cells` is 0. */
KD_FN double pointtree_cell(double coordinate, double cells) {
    return cells > 0 ? floor(coordinate * cells) : coordinate;
}

/* How far a point may lie on the wrong side of a node's plane. Trees ordered by cells are sorted
   only up to one cell; a second cell covers the rounding of coordinate * cells. */
KD_FN double pointtree_nd_slack(const pointtree_nd_view *tree) {
    return tree->order == POINTTREE_BY_CELL && tree->cells > 0 ? 2 / tree->cells : 0;
}

/* ss(s): the number of nodes in the sub-tree of `node`, including it, in a tree of `count`
   nodes; 0 if the node does not exist. All levels but the last are full, so only the nodes of
   the last level need counting (section 4.1). */
KD_FN uint32_t pointtree_subtree_size(uint32_t node, uint32_t count) {
    if (node >= count) return 0;
    const uint32_t below = pointtree_levels(count) - 1 - pointtree_level_of(node);
    const uint32_t width = 1u << below;                      /* nodes of a full last level */
    const uint64_t first = ((uint64_t)node + 1) * width - 1; /* fllc(s): "1" bits appended */
    const uint32_t last = first >= count                    ? 0
                          : count - (uint32_t)first < width ? count - (uint32_t)first
                                                            : width;
    return width - 1 + last;
}

/* sb(s, l): the index at which the points of `node`, on level l, begin in an array that holds
   first the nodes above level l and then the points of each sub-tree of level l, from left to
   right (section 4.2). */
KD_FN uint32_t pointtree_segment_begin(uint32_t node, uint32_t count) {
    const uint32_t level = pointtree_level_of(node), levels = pointtree_levels(count);
    const uint32_t width = 1u << (levels - 1 - level);
    const uint32_t left_siblings = node - pointtree_level_begin(level);
    const uint64_t low = (uint64_t)left_siblings * width; /* on the last level, if full */
    const uint32_t low_all = count - pointtree_level_begin(levels - 1);
    return pointtree_level_begin(level) + left_siblings * (width - 1) +
           (low < low_all ? (uint32_t)low : low_all);
}

/* The index at which the points of `node` begin in an array that holds the tree's points in
   order, from left to right. */
KD_FN uint32_t pointtree_inorder_begin(uint32_t node, uint32_t count) {
    const uint32_t level = pointtree_level_of(node), levels = pointtree_levels(count);
    const uint64_t width = (uint64_t)(node - pointtree_level_begin(level))
                           << (levels - 1 - level); /* nodes of a full last level that lie left
                                                       of `node` */
    const uint32_t low_all = count - pointtree_level_begin(levels - 1);
    return (uint32_t)(width + (width < low_all ? width : low_all));
}

/* One step down of the builder: returns the new tag of the point at `position` of its sorted
   segment. A tag is the root of the sub-tree that contains the point (Wald 2022, section 3.2). */
KD_FN uint32_t pointtree_next_tag(uint32_t position, uint32_t tag, uint32_t count) {
    const uint32_t pivot =
        pointtree_segment_begin(tag, count) + pointtree_subtree_size(2 * tag + 1, count);
    return position < pivot ? 2 * tag + 1 : position > pivot ? 2 * tag + 2 : tag;
}

/* Maps a float to an unsigned integer of the same order; -0 and +0 map to the same integer. */
KD_FN uint32_t pointtree_order_bits(float coordinate) {
    const uint32_t bits = float_bits(coordinate + 0.0f);
    return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

/* Inverse of pointtree_order_bits; both zeros become +0. */
KD_FN float pointtree_float_of_order_bits(uint32_t bits) {
    return float_from_bits(bits & 0x80000000u ? bits & 0x7fffffffu : ~bits);
}

KD_FN uint64_t pointtree_order_bits_double(double coordinate) {
    uint64_t bits;
    const double canonical = coordinate + 0.0;
    memcpy(&bits, &canonical, sizeof bits);
    return bits >> 63 ? ~bits : bits | 1ull << 63;
}

#endif
