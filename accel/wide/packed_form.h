/* The triangle k-d tree in the form that a GPU's rays walk: nodes of eight boxes in bytes.
   Source: Ylitie, Karras, Laine 2017, "Efficient incoherent ray traversal on GPUs through
           compressed wide BVHs", for nodes of bytes. Kaplan 1985: in a k-d tree the order along
           a ray is known from signs.
   Idea: a node stands for the top of a subtree, as in accel/wide: up to eight cells of the k-d
         tree, each shrunk to a box of what lies in it. Boxes are bytes on a grid of the node's
         own, so that a node is one cache line; the order of the cells is in the node for each
         sign of x and y.
   Memory: an array of units of 32 bytes. A node takes four, at a multiple of four; a leaf of n
           triangles one, and 48 bytes a triangle. The root is at unit 0. The children of a node
           lie behind one another: first those that are nodes, then leaves, in the order of their
           lanes. Some 340 to 400 bytes a triangle. */
#ifndef KD_ACCEL_WIDE_PACKED_FORM_H
#define KD_ACCEL_WIDE_PACKED_FORM_H
#include "accel/tree/layout.h"
#include "core/device/absent.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    PACKED_CELLS = 8,
    PACKED_UNIT = 32,       /* bytes */
    PACKED_NODE_UNITS = 4,  /* of a node; and what a block of children is aligned to */
    PACKED_LEAF_MOST = 11,  /* triangles: seven such leaves take 126 units, so bytes tell places */
    PACKED_MAX_DEPTH = 64,  /* levels of nodes: what rays' stacks hold */
    PACKED_SPARE_UNITS = 4, /* behind the last leaf, which is read ahead of */
    PACKED_INNER_SHIFT = 28 /* of a row's base: how many children are nodes */
};

/* A plane of number q lies at p + q / inv_e; one scale for the three axes. Eight children, a lane
   each: bytes {low, high, low, high} hold the planes of two of them, lanes 0 and 2, 1 and 3, 4 and
   6, 5 and 7, so that a pair's verdict falls on the two lanes' bytes of `meta`. */
typedef struct packed_node {
    float p[3], inv_e;
    uint8_t box[3][4][4]; /* axis, pair, planes; where there is no child 255 and 0 */
    struct packed_row {
        uint8_t meta[PACKED_CELLS]; /* 128 + where the child lies, in units behind the block; 0:
                                       there is none */
        uint32_t base;  /* the children's block, in nodes; PACKED_INNER_SHIFT: how many are nodes */
        uint32_t order; /* which lane comes first, second ...: a nibble each */
    } rows[4];          /* for rays negative in x (bit 0), in y (bit 1), positive in z; backwards:
                           the opposite */
} packed_node;

/* A leaf at unit P: its cell and count at P - 1, then its triangles. */
typedef struct packed_leaf {
    float lo[3], hi[3]; /* the k-d tree's cell, sides without a plane infinite; where a hit in this
                           leaf need not be the nearest: infinity, -infinity */
    uint32_t count, spare;
} packed_leaf;

/* An axis after the other: that of the three corners, and the triangle's id; bit 31: the last. */
typedef struct packed_triangle {
    struct {
        float corner[3];
        uint32_t word;
    } axis[3];
} packed_triangle;

#define PACKED_LAST 0x80000000u

/* Units of a leaf, its cell included. */
KD_FN uint32_t packed_leaf_units(uint32_t triangles) {
    return 1 + (3 * triangles + 1) / 2;
}

/* A tree has no packed form if nothing in it can be hit, if it would be deeper than
   PACKED_MAX_DEPTH, or of more units than bases can name. */
#define PACKED_MOST_UNITS ((uint64_t)1 << (PACKED_INNER_SHIFT + 2))

/* The smallest side of a node's grid in a tree of that box: finer ones are lost in rays' slacks. */
KD_FN float packed_least_side(box3 box) {
    return float_max(vec3_largest(box3_size(box)) * 0x1p-20f, 0x1p-100f);
}

/* What the form of a mesh's tree takes, before there is a tree: a unit and 48 bytes for each
   triangle of a leaf, four units a node, as leaves are cut further than those of the tree
   (packed_measure.h). */
KD_FN uint64_t packed_bytes_most(uint64_t triangles) {
    enum { A_TRIANGLE = 410, SMALL = 1 << 12 };
    return triangles * A_TRIANGLE + SMALL;
}

/* The packed form made on a CUDA device. Without CUDA in the build every call is KD_ERROR_DEVICE.
 */

/* *units: device memory that device_memory_free takes, of so many bytes, written once the stream
   has come so far; NULL if the tree has no packed form (packed_form.h). The tree's nodes,
   references, positions and triangles are device memory. Scratch (packed_cuts.cuh,
   packed_stages.cuh) is of the device's pool. Waits for the stream once, or again
   where it turns out that there was not enough room. */
KD_DEVICE_CALL(packed_device_open,
               (void **units, uint64_t *bytes, const tritree_view *tree, void *stream));

#ifdef __cplusplus
}
#endif

#endif
