/* The triangle k-d tree in the form that rays on a CPU walk: eight cells at a time.
   Source: Wald, Benthin, Boulos 2008, "Getting rid of packets": one ray, all children of a wide
   node by one vector. Kaplan 1985: in a k-d tree the order along a ray is known from signs.
   Idea: a wide node stands for the top of a subtree: up to eight cells, each shrunk to the boxes
   of what lies in it. The cells do not overlap, so the order in which a ray meets them follows
   from the signs of its direction, and nothing is sorted. Neighbouring leaves that share triangles
   become one, and a leaf's corners lie side by side: up to eight triangles for one vector.
   Memory: 256 bytes a node, 40 bytes a triangle of a leaf; some 150 bytes a triangle in all. */
#ifndef KD_ACCEL_WIDE_WIDE_TREE_H
#define KD_ACCEL_WIDE_WIDE_TREE_H
#include "accel/tree/layout.h"
#include "core/status.h"

enum {
    WIDE_CELLS = 8,
    WIDE_LEAF_FLOATS = 10,                   /* a triangle: three corners and its id */
    WIDE_MAX_DEPTH = TRITREE_MAX_DEPTH + 32, /* a large leaf is halved until eight are left */
    WIDE_COUNT_BITS = 4                      /* of a word: a leaf's triangles; 0: an inner node */
};

/* 64 bytes aligned. A word names a node (index << WIDE_COUNT_BITS) or a leaf (first triangle <<
   WIDE_COUNT_BITS | triangles, 1 ... 8); no word but the root's is 0. */
typedef struct wide_node {
    float bound[6][WIDE_CELLS]; /* lo x, hi x, lo y, ..., less the tree's centre, rounded outwards;
                                   where there is no cell: infinity, -infinity */
    uint32_t word[WIDE_CELLS];
    uint8_t order[4]
                 [WIDE_CELLS]; /* the cells as rays meet them whose direction is negative in x
                                  (bit 0), in y (bit 1), positive in z; backwards: its opposite */
} wide_node;

typedef struct wide_tree {
    wide_node *nodes; /* level by level, the root first */
    float *leaves;    /* of n triangles: 9 n coordinates (by axis, corner, triangle), n ids */
    uint32_t node_count, leaf_triangles, depth;
    vec3 centre; /* of the tree's box */
    /* [backwards][cells]: the numbers of the bits set in `cells`, the last in the order first */
    uint8_t compress[2][1 << WIDE_CELLS][WIDE_CELLS];
} wide_tree;

/* *out is the tree's wide form, or NULL if nothing in it can be hit or it has more than 2^28 nodes
   or triangles in leaves. The same for any number of threads. `from` has rows. */
kd_status wide_tree_open(wide_tree **out, const tritree_view *from);
void wide_tree_close(wide_tree *owned); /* takes NULL */
uint64_t wide_tree_bytes(const wide_tree *of);

#endif
