/* The wide form of the triangle k-d tree, which CPU rays traverse: nodes of eight or sixteen
   children.
   Source: Wald, Benthin, Boulos 2008, "Getting rid of packets": one ray, all children of a wide
   node at once. Kaplan 1985: in a k-d tree the order along a ray follows from signs. Ogaki and
   Derouet-Jourdan 2016, "An N-ary BVH child node sorting technique for occlusion tests".
   Idea: a wide node replaces the top of a k-d subtree. Its children are cells of the k-d tree, each
   shrunk to the box of the geometry in it; one vector instruction tests all of them. Children do
   not overlap, so their order along a ray follows from the signs of its direction and is stored,
   not computed. Occlusion queries need no order: they visit first the child with the largest ratio
   of the probability that it ends the query to its cost, by the lanes in which children are stored.
   Neighbouring leaves that share triangles are merged; a leaf stores the corners of up to eight
   triangles as a structure of arrays, for one vector instruction per operation.
   Memory: 32 bytes per child, 40 bytes per triangle of a leaf; 170 to 200 bytes per triangle in
   all. */
#ifndef KD_ACCEL_WIDE_WIDE_TREE_H
#define KD_ACCEL_WIDE_WIDE_TREE_H
#include "accel/tree/layout.h"
#include "core/math/geometry.h"
#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    WIDE_CHILDREN_MAX = 16,
    WIDE_LEAF_MAX = 8,     /* triangles per leaf */
    WIDE_LEAF_FLOATS = 10, /* per triangle: three corners and an id */
    /* a large leaf is split until eight triangles are left */
    WIDE_MAX_DEPTH = TRITREE_MAX_DEPTH + 12,
    WIDE_COUNT_BITS = 4, /* bits of a word for the triangles of a leaf; 0: inner node */
    WIDE_COUNT_MASK = (1 << WIDE_COUNT_BITS) - 1,
    WIDE_REACH = 4 /* margin of the bounds, in diagonals of the tree */
};

/* A node of c children is 8 c numbers of 32 bits, aligned to 64 bytes:
     6 c  bounds: lo x of each child, hi x, lo y, ..., relative to the tree's centre, widened by its
          margin and rounded outwards; infinity, -infinity for a missing child
     c    words: a node (index << WIDE_COUNT_BITS) or a leaf (first triangle << WIDE_COUNT_BITS |
          triangles, 1 ... 8); no word but the root's is 0
     c    orders: for each of the eight octants of a direction (negative in x: 1, in y: 2, in z: 4)
          c / 8 numbers. They hold c nibbles: the child that the ray enters last, the one before
          that, ... With two numbers the first has the even nibbles, the second the odd ones */
typedef struct wide_tree {
    float *nodes;  /* the root comes first */
    float *leaves; /* n triangles: 9 n coordinates (by axis, corner, triangle), n ids */
    uint32_t children, node_count, leaf_triangles, depth;
    vec3 centre; /* centre of the tree's box */
    /* largest distance along an axis from a ray's origin to the tree's box for which the margin
       suffices */
    float reach;
    float margin; /* 2^-20 reach */
} wide_tree;

typedef struct wide_node {
    float *bounds;
    uint32_t *words, *orders;
} wide_node;

static inline uint64_t wide_node_floats(uint32_t children) {
    return 8 * (uint64_t)children;
}
static inline wide_node wide_node_at(const wide_tree *tree, uint32_t index) {
    float *at = tree->nodes + index * wide_node_floats(tree->children);
    const wide_node node = {at, (uint32_t *)(void *)(at + 6 * (uint64_t)tree->children),
                            (uint32_t *)(void *)(at + 7 * (uint64_t)tree->children)};
    return node;
}

/* Builds the wide form for the current CPU (wide_children_best). *out is NULL if no triangle can be
   hit, or if there are more than 2^28 nodes or triangles in leaves. The result does not depend on
   the number of threads. `view` must have rows. */
kd_status wide_tree_open(wide_tree **out, const tritree_view *view);
/* The same with 8 or 16 children per node. Rays only traverse trees with wide_children_best(). */
kd_status wide_tree_make(wide_tree **out, const tritree_view *view, uint32_t children);
void wide_tree_close(wide_tree *owned); /* accepts NULL */
uint64_t wide_tree_bytes(const wide_tree *tree);
/* Returns an upper bound of the bytes, including scratch, for a tree with that many nodes and
   references. */
uint64_t wide_tree_bytes_max(uint64_t nodes, uint64_t references, uint32_t children);

/* Ray queries on a wide tree: single rays, streams of incoherent rays, and packets. */

/* Returns the children per node that traversal requires on the current CPU. */
uint32_t wide_children_best(void);

/* Returns the hit of tritree_cast, bit for bit; with `any` only whether the hit's triangle is
   KD_NONE is defined. The tree must have a wide form. */
ray_hit trace_wide_one(const tritree_view *tree, ray ray, bool any);

/* Casts the rays whose indices are in `listed`; hits[i] is the result of rays[i]. */
void trace_wide(const tritree_view *tree, const ray *rays, const uint32_t *listed, uint32_t count,
                ray_hit *hits);
/* Occlusion queries for the same rays: blocked[i] is 1 if rays[i] hits anything, else 0. */
void trace_wide_any(const tritree_view *tree, const ray *rays, const uint32_t *listed,
                    uint32_t count, uint8_t *blocked);

/* Estimated cycles of casting rays in packets (`together`) and of casting the same rays in a stream
   (`separate`), from average costs of nodes, children and triangles. */
typedef struct packet_use {
    uint32_t together, separate;
} packet_use;

enum { WIDE_PACKET = 16 };

/* Casts the rays as a packet if they are coherent (similar origins and directions, one octant);
   otherwise returns false and does nothing. hits[i] is the hit of tritree_cast(rays[i]), bit for
   bit; with `any` only whether hits[i].triangle is KD_NONE is defined. Adds to `use`. */
bool trace_wide_packet(const tritree_view *tree, const ray rays[WIDE_PACKET], bool any,
                       ray_hit hits[WIDE_PACKET], packet_use *use);

#ifdef __cplusplus
}
#endif

#endif
