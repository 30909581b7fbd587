/* THE layout of a triangle k-d tree: 8-byte nodes, children adjacent, root at index 0.
     inner node: split plane's position; word = left child's index << 2 | axis (0, 1, 2)
     leaf:       bits of the first index into `references`; word = reference count << 2 | 3
   The right child is left + 1. An empty tree is one empty leaf. Builders fill it, and fill it in
   the same order (depth first, a pair of children at a time, left subtree before right), so that
   equal trees are equal bytes. */
#ifndef KD_ACCEL_TREE_LAYOUT_H
#define KD_ACCEL_TREE_LAYOUT_H
#include "accel/geometry/triangle_rows.h"

enum { TRITREE_LEAF = 3, TRITREE_MAX_DEPTH = 62 };

typedef struct tritree_node {
    float split; /* leaf: float_from_bits(first reference) */
    uint32_t word;
} tritree_node;

KD_FN tritree_node tritree_inner(int axis, float split, uint32_t left) {
    tritree_node node;
    node.split = split;
    node.word = left << 2 | (uint32_t)axis;
    return node;
}
KD_FN tritree_node tritree_leaf(uint32_t first, uint32_t count) {
    tritree_node node;
    node.split = float_from_bits(first);
    node.word = count << 2 | (uint32_t)TRITREE_LEAF;
    return node;
}
/* A node as one number, and back. */
KD_FN uint64_t tritree_bits(tritree_node node) {
    uint64_t bits;
    memcpy(&bits, &node, sizeof bits);
    return bits;
}
KD_FN tritree_node tritree_from_bits(uint64_t bits) {
    tritree_node node;
    memcpy(&node, &bits, sizeof node);
    return node;
}
KD_FN bool tritree_is_leaf(tritree_node node) {
    return (node.word & 3u) == (uint32_t)TRITREE_LEAF;
}
KD_FN int tritree_axis(tritree_node node) {
    return (int)(node.word & 3u);
}
KD_FN uint32_t tritree_left(tritree_node node) {
    return node.word >> 2;
}
KD_FN uint32_t tritree_first(tritree_node node) {
    return float_bits(node.split);
}
KD_FN uint32_t tritree_count(tritree_node node) {
    return node.word >> 2;
}

struct wide_tree; /* accel/wide/wide_tree.h */

/* What rays are cast against: a tree over the triangles of a mesh; borrows everything. */
typedef struct tritree_view {
    const tritree_node *nodes;
    const uint32_t *references; /* triangle ids, leaf after leaf */
    const vec3 *positions;      /* vertices */
    const uint32_t *triangles;  /* 3 vertex indices each */
    box3 box;                   /* of all triangles that can be hit; empty if there is none */
    uint32_t node_count;
    uint32_t reference_count;
    uint32_t triangle_count;
    const triangle_rows *rows; /* for a CPU: one a triangle; or NULL */
    /* for a CPU: the same tree in wide nodes, at which accel/rays/cast.h casts rays; or NULL */
    const struct wide_tree *wide;
    /* for a device, in its memory (tree_device.h); else NULL: */
    const tritree_node *pairs;      /* the nodes, each pair of children 16 bytes aligned */
    const triangle_rows *leaf_rows; /* one a reference; the fourth numbers are the triangle's id */
    const void *packed; /* the tree in units (accel/packed/packed_form.h); NULL: it has none */
} tritree_view;

#endif
