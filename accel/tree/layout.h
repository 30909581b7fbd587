/* The memory layout of a triangle k-d tree: 8-byte nodes, siblings adjacent, the root at index 0.
     inner node: position of the splitting plane; word = left child's index << 2 | axis (0, 1, 2)
     leaf:       bits of the first index into `references`; word = reference count << 2 | 3
   The right child is left + 1. An empty tree is one empty leaf. All builders store nodes in the
   same order (depth first, both children of a node at once, left subtree before right), so that
   equal trees have equal bytes. */
#ifndef KD_ACCEL_TREE_LAYOUT_H
#define KD_ACCEL_TREE_LAYOUT_H
#include "accel/tree/triangle.h"

/* A triangle for a CPU's vector unit and for single rays on a device: the coordinates of the three
   corners, grouped by axis.
   Idea: the three edge functions of triangle_intersect are evaluated at once, with the same
   operations on the same numbers. A triangle rejected here would also be rejected by
   triangle_intersect, which decides the few that remain. There is one record per triangle, not per
   reference, which keeps the working set small enough for the caches. */

typedef struct triangle_rows {
    float axis[3][4]; /* per axis: the coordinates of the three corners, then 0 */
} triangle_rows;

KD_FN triangle_rows triangle_rows_make(vec3 a, vec3 b, vec3 c) {
    triangle_rows rows;
    for (int axis = 0; axis < 3; ++axis) {
        rows.axis[axis][0] = vec3_axis(a, axis);
        rows.axis[axis][1] = vec3_axis(b, axis);
        rows.axis[axis][2] = vec3_axis(c, axis);
        rows.axis[axis][3] = 0;
    }
    return rows;
}
KD_FN vec3 triangle_rows_corner(const triangle_rows *rows, int corner) {
    return vec3_make(rows->axis[0][corner], rows->axis[1][corner], rows->axis[2][corner]);
}

#if defined(__GNUC__) && !defined(__CUDACC__)
typedef float float4v __attribute__((vector_size(16)));
typedef int32_t int4v __attribute__((vector_size(16)));

KD_FN float4v float4v_load(const float *from) {
    float4v v;
    memcpy(&v, from, sizeof v);
    return v;
}
/* Bit i of the result is the sign of component i, i < 3. */
KD_FN unsigned int4v_signs(int4v v) {
#ifdef __SSE__
    return (unsigned)__builtin_ia32_movmskps((float4v)v) & 7u;
#else
    return (v[0] < 0 ? 1u : 0u) | (v[1] < 0 ? 2u : 0u) | (v[2] < 0 ? 4u : 0u);
#endif
}

/* Returns true if the ray certainly misses the triangle. */
KD_FN bool triangle_rows_missed(const triangle_rows *rows, const precomputed_ray *precomputed) {
    const int kx = precomputed->kx, ky = precomputed->ky, kz = precomputed->kz;
    const float4v z = float4v_load(rows->axis[kz]) - vec3_axis(precomputed->origin, kz);
    const float4v x =
        float4v_load(rows->axis[kx]) - vec3_axis(precomputed->origin, kx) - precomputed->sx * z;
    const float4v y =
        float4v_load(rows->axis[ky]) - vec3_axis(precomputed->origin, ky) - precomputed->sy * z;
    const float4v x_cab = __builtin_shufflevector(x, x, 2, 0, 1, 3);
    const float4v y_cab = __builtin_shufflevector(y, y, 2, 0, 1, 3);
    const float4v x_bca = __builtin_shufflevector(x, x, 1, 2, 0, 3);
    const float4v y_bca = __builtin_shufflevector(y, y, 1, 2, 0, 3);
    const float4v edge = x_cab * y_bca - y_cab * x_bca;
    const int4v positive = {0x7fffffff, 0x7fffffff, 0x7fffffff, 0x7fffffff};
    const float4v minimum = {0x1p-80f, 0x1p-80f, 0x1p-80f, 0x1p-80f};
    const float4v maximum = {0x1p80f, 0x1p80f, 0x1p80f, 0x1p80f};
    const float4v size = (float4v)((int4v)edge & positive);
    const unsigned negative = int4v_signs((int4v)edge);
    return int4v_signs((size > minimum) & (size < maximum)) == 7 && negative != 0 && negative != 7;
}
#else
KD_FN bool triangle_rows_missed(const triangle_rows *rows, const precomputed_ray *precomputed) {
    (void)rows;
    (void)precomputed;
    return false;
}
#endif

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
/* A node as one 64-bit number, and back. */
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

/* View of a tree over the triangles of a mesh, for traversal. Owns nothing. */
typedef struct tritree_view {
    const tritree_node *nodes;  /* on a device, siblings are aligned to 16 bytes */
    const uint32_t *references; /* triangle ids, one leaf after another */
    const vec3 *positions;      /* vertices */
    const uint32_t *triangles;  /* 3 vertex indices per triangle */
    box3 box;                   /* bounds of all triangles that can be hit; may be empty */
    uint32_t node_count;
    uint32_t reference_count;
    uint32_t triangle_count;
    const triangle_rows *rows; /* one per triangle; or NULL */
    /* CPU: the wide form, which accel/rays/batch.h traverses; or NULL */
    const struct wide_tree *wide;
    /* CUDA: device memory (accel/rays/tree_device.h); else NULL */
    const void *compressed; /* compressed wide form (accel/wide/compressed_form.h); or NULL */
    bool indexed;           /* its leaves are lists of triangles, whose corners are in `rows` */
} tritree_view;

#endif
