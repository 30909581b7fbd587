/* The compressed wide form of the triangle k-d tree, which GPU rays traverse: nodes of eight
   children whose boxes are quantised to bytes, as in a CWBVH.
   Source: Ylitie, Karras, Laine 2017, "Efficient incoherent ray traversal on GPUs through
   compressed wide BVHs", for the quantised nodes. Kaplan 1985: in a k-d tree the order of children
   along a ray follows from the signs of its direction.
   Idea: a wide node replaces the top of a k-d subtree, as in accel/wide/wide_tree.h. Its children
   are up to eight cells of the k-d tree, each shrunk to a box of the geometry in it. The boxes are
   stored as bytes on a grid local to the node, so that a node fills one cache line of 128 bytes.
   The node also stores the front-to-back order of its children for each combination of the signs of
   x and y; for negative z the order is reversed, so no traversal sorts.
   Memory: an array of 32-byte units. A node takes four units, to which it is aligned unless leaves
   are indexed; a leaf of n triangles takes one unit and 48 n bytes, or, if leaves are indexed, 16
   and 4 n bytes, for it then only lists the triangles, whose corners rays read from `rows` of the
   tree (layout.h). The root is at unit 0. The children of a node are contiguous: first the inner
   nodes, then the leaves, both in lane order. About 340 to 400 bytes per triangle, indexed 135. */
#ifndef KD_ACCEL_WIDE_COMPRESSED_FORM_H
#define KD_ACCEL_WIDE_COMPRESSED_FORM_H
#include "accel/tree/layout.h"
#include "core/device/cuda_stubs.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    COMPRESSED_CHILDREN = 8,
    COMPRESSED_UNIT = 32,      /* bytes */
    COMPRESSED_NODE_UNITS = 4, /* units per node */
    /* triangles; seven such leaves take 126 units, so 7 bits hold an offset */
    COMPRESSED_LEAF_MAX = 11,
    COMPRESSED_MAX_DEPTH = 64,   /* levels of nodes; the capacity of a ray's stack */
    COMPRESSED_SPARE_UNITS = 4,  /* padding after the last leaf, for loads beyond it */
    COMPRESSED_INNER_SHIFT = 29, /* bits of `base` above: how many children are nodes */
    COMPRESSED_INNER_MAX = 7
};

/* A node. Plane q of an axis lies at p + q / inv_e; the three axes share one scale. Each of the
   eight children has a lane. Four bytes {low, high, low, high} hold the planes of two children:
   lanes 0 and 2, 1 and 3, 4 and 6, or 5 and 7. With this pairing the two 16-bit results of testing
   a pair line up with the `meta` bytes of its lanes. */
typedef struct compressed_node {
    float p[3], inv_e;
    uint8_t box[3][4][4]; /* axis, pair of lanes, planes; an empty lane has low 255 and high 0 */
    struct compressed_row {
        /* 128 + offset of the child in the block, in units; 0: no child */
        uint8_t meta[COMPRESSED_CHILDREN];
        /* low 29 bits: the block of children, in its alignment; high 3: how many are nodes, of 8
           stored as 7: a child at a place of at most 4 units for each of these is a node, as a leaf
           begins one unit behind its header */
        uint32_t base;
        uint32_t order; /* lanes in front-to-back order, a nibble each */
    } rows[4]; /* index: bit 0: direction negative in x, bit 1: in y. For positive z; a ray with
                  negative z reads the row of the opposite signs of x and y backwards */
} compressed_node;

/* Header of a leaf. For a leaf at unit P the header is unit P - 1 and the triangles begin at P. */
typedef struct compressed_leaf {
    /* the leaf's cell in the k-d tree, infinite on sides without a plane; {infinity, -infinity} if
       a hit in this leaf need not be the nearest */
    float lo[3], hi[3];
    uint32_t padding[2];
} compressed_leaf;

/* Header of an indexed leaf: the planes of its cell, rounded inwards to the grid of the tree. */
typedef struct compressed_indexed_leaf {
    /* per axis: the low plane, and from bit 21 on the low 11 bits of the high one; the other 10
       bits of each high plane, and COMPRESSED_LAST if a hit in this leaf need not be the nearest */
    uint32_t planes[4];
    uint32_t list[4]; /* the first triangles, the others follow at P; bit 31 marks the last one */
} compressed_indexed_leaf;

enum { COMPRESSED_PLANE_MAX = (1 << 21) - 1 };

/* The grid of indexed leaves' cells; somewhat larger than the tree's box, so that a side without a
   plane lies behind all triangles. */
typedef struct compressed_grid {
    vec3 origin;
    float step;
} compressed_grid;

KD_FN compressed_grid compressed_grid_make(box3 box) {
    const float side = vec3_largest(box3_size(box));
    compressed_grid grid;
    grid.origin = vec3_sub(box.lo, vec3_all(side * 0x1p-6f));
    grid.step = side * (1.03125f / (float)COMPRESSED_PLANE_MAX);
    return grid;
}
KD_FN float compressed_plane_at(compressed_grid grid, int axis, uint32_t plane) {
    return fmaf((float)plane, grid.step, vec3_axis(grid.origin, axis));
}

/* A triangle: for each axis, the coordinates of its three corners and the triangle's id. Bit 31 of
   the id marks the last triangle of a leaf. */
typedef struct compressed_triangle {
    struct {
        float corner[3];
        uint32_t word;
    } axis[3];
} compressed_triangle;

#define COMPRESSED_LAST 0x80000000u

/* Returns the units that a leaf of `triangles` triangles takes, its header included. */
KD_FN uint32_t compressed_leaf_units(uint32_t triangles, bool indexed) {
    return indexed ? 1 + (triangles + 3) / 8 : 1 + (3 * triangles + 1) / 2;
}

/* Returns the alignment of blocks of children, in units. With indexed leaves, padding would take an
   eighth of the memory; but for more triangles than this, `base` could not address all units. */
KD_FN uint32_t compressed_alignment(bool indexed, uint32_t triangles) {
    enum { UNALIGNED_MAX = 110000000 /* at 156 bytes each */ };
    return indexed && triangles <= UNALIGNED_MAX ? 1 : (uint32_t)COMPRESSED_NODE_UNITS;
}

/* Returns `base` of a node with `inner` children that are nodes, whose block begins at `unit`. */
KD_FN uint32_t compressed_base(uint32_t inner, uint32_t unit, uint32_t alignment) {
    const uint32_t count = inner < COMPRESSED_INNER_MAX ? inner : (uint32_t)COMPRESSED_INNER_MAX;
    return count << COMPRESSED_INNER_SHIFT | unit / alignment;
}

/* A tree has no compressed form if none of its triangles can be hit, if it would be deeper than
   COMPRESSED_MAX_DEPTH, or if it would need more units than `base` can address: 68.7 GB, 17.2 GB if
   blocks are not aligned. */
KD_FN uint64_t compressed_units_max(uint32_t alignment) {
    return (uint64_t)alignment << COMPRESSED_INNER_SHIFT;
}
/* Nodes of a k-d tree that a node's word can address (layout.h). */
#define COMPRESSED_TREE_MAX ((uint64_t)1 << 30)

/* Returns the smallest side of a node's grid in a tree with this box. A finer grid would gain
   nothing, because rays widen every box by their slack. */
KD_FN float compressed_min_side(box3 box) {
    return float_max(vec3_largest(box3_size(box)) * 0x1p-20f, 0x1p-100f);
}

/* Triangles from which leaves are indexed: memory is worth more there than the few per cent of time
   that rays gain by leaves with corners. */
enum { COMPRESSED_MANY = 8000000 };

/* Returns an upper bound of the bytes of the compressed form for a mesh of `triangles` triangles,
   before its tree is built: the leaves' units and four per node. Leaves of the compressed form are
   split further than those of the tree (compressed_measure.h). */
KD_FN uint64_t compressed_bytes_max(uint64_t triangles, bool indexed) {
    enum { A_TRIANGLE = 410, A_TRIANGLE_INDEXED = 145, SMALL = 1 << 12 };
    return triangles * (indexed ? A_TRIANGLE_INDEXED : A_TRIANGLE) + SMALL;
}

/* Building the compressed form on a CUDA device. Without CUDA in the build every call fails with
   KD_ERROR_DEVICE. */

enum {
    /* nodes of a tree or slab that are converted at once, with up to 8 GB of scratch memory */
    COMPRESSED_SLAB_NODES = 1 << 23,
    COMPRESSED_SLAB_NODES_MIN = 1 << 17 /* if memory is short: 125 MB */
};

/* Builds the compressed form of `tree`, whose nodes, references, positions and triangles are device
   memory. *units is device memory of *bytes bytes; the caller frees it with device_memory_free. The
   memory is filled once `stream` has executed the work of this call; *units is NULL if the tree has
   no compressed form. A tree of more than slab_nodes nodes (0: COMPRESSED_SLAB_NODES, or a
   thirty-second of the tree if leaves are indexed; fewer if memory is short) is converted in slabs;
   `indexed`: leaves list their triangles, which takes a third of the memory. The hits depend on
   neither. Scratch (compressed_make.cu) comes from the device's memory pool. Synchronises the
   stream once, several times for each slab, and again for each retry with more memory. */
KD_DEVICE_CALL(compressed_device_open, (void **units, uint64_t *bytes, const tritree_view *tree,
                                        uint32_t slab_nodes, bool indexed, void *stream));

#ifdef __cplusplus
}
#endif

#endif
