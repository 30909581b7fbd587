/* The triangle k-d tree in the form that rays on a CPU walk: eight or sixteen cells at a time.
   Source: Wald, Benthin, Boulos 2008, "Getting rid of packets": one ray, all children of a wide
   node by one vector. Kaplan 1985: in a k-d tree the order along a ray is known from signs. Ogaki
   and Derouet-Jourdan 2016, "An N-ary BVH child node sorting technique for occlusion tests".
   Idea: a wide node stands for the top of a subtree: some cells, each shrunk to the boxes of what
   lies in it. The cells do not overlap, so the order in which a ray meets them follows from the
   signs of its direction, and nothing is sorted. Rays that ask for any hit need no order at all:
   for them the cells lie such that the one most likely to end the ray for its cost comes first.
   Neighbouring leaves that share triangles become one, and a leaf's corners lie side by side: up to
   eight triangles for one vector.
   Memory: 32 bytes a cell, 40 bytes a triangle of a leaf; 170 to 200 bytes a triangle in all. */
#ifndef KD_ACCEL_WIDE_WIDE_TREE_H
#define KD_ACCEL_WIDE_WIDE_TREE_H
#include "accel/tree/layout.h"
#include "core/math/geometry.h"
#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    WIDE_CELLS_MOST = 16,
    WIDE_LEAF_MOST = 8,                      /* triangles */
    WIDE_LEAF_FLOATS = 10,                   /* a triangle: three corners and its id */
    WIDE_MAX_DEPTH = TRITREE_MAX_DEPTH + 12, /* a large leaf is cut until eight are left */
    WIDE_COUNT_BITS = 4,                     /* of a word: a leaf's triangles; 0: an inner node */
    WIDE_COUNT_MASK = (1 << WIDE_COUNT_BITS) - 1,
    WIDE_REACH = 4 /* diagonals of the tree: what bounds are widened for */
};

/* A node of c cells is 8 c numbers of 32 bits, 64 bytes aligned:
     6 c  bounds: lo x of each cell, hi x, lo y, ..., less the tree's centre, widened by its margin
          and rounded outwards; where there is no cell: infinity, -infinity
     c    words: a node (index << WIDE_COUNT_BITS) or a leaf (first triangle << WIDE_COUNT_BITS |
          triangles, 1 ... 8); no word but the root's is 0
     c    orders: for each of the eight signs of a direction (negative in x: 1, in y: 2, in z: 4)
          c / 8 numbers; of two the first has the even ones of c nibbles, the second the odd ones:
          which cell the ray meets last, which before that, ... */
typedef struct wide_tree {
    float *nodes;  /* the root first */
    float *leaves; /* of n triangles: 9 n coordinates (by axis, corner, triangle), n ids */
    uint32_t cells, node_count, leaf_triangles, depth;
    vec3 centre;  /* of the tree's box */
    float reach;  /* the largest distance along an axis from a ray's origin to the tree's box that
                     the margin is enough for */
    float margin; /* 2^-20 of reach */
} wide_tree;

typedef struct wide_node {
    float *bounds;
    uint32_t *words, *orders;
} wide_node;

static inline uint64_t wide_node_floats(uint32_t cells) {
    return 8 * (uint64_t)cells;
}
static inline wide_node wide_node_at(const wide_tree *tree, uint32_t index) {
    float *at = tree->nodes + index * wide_node_floats(tree->cells);
    const wide_node node = {at, (uint32_t *)(void *)(at + 6 * (uint64_t)tree->cells),
                            (uint32_t *)(void *)(at + 7 * (uint64_t)tree->cells)};
    return node;
}

/* *out is the tree's wide form for the CPU that this runs on (wide_cells_best), or
   NULL if nothing in it can be hit or it has more than 2^28 nodes or triangles in leaves. The same
   for any number of threads. `from` has rows. */
kd_status wide_tree_open(wide_tree **out, const tritree_view *from);
/* The same with 8 or 16 cells a node; rays go through wide_cells_best() alone. */
kd_status wide_tree_make(wide_tree **out, const tritree_view *from, uint32_t cells);
void wide_tree_close(wide_tree *owned); /* takes NULL */
uint64_t wide_tree_bytes(const wide_tree *of);
/* What it takes while it is made and after, from a tree of so many nodes and references. */
uint64_t wide_tree_bytes_most(uint64_t nodes, uint64_t references, uint32_t cells);

/* Rays through a wide tree: one, or many that need not be alike. */

/* How many cells the nodes must have that rays walk on the CPU that this runs on. */
uint32_t wide_cells_best(void);

/* What tritree_cast answers, to the bit; with `any`, only whether the hit's triangle is KD_NONE is
   told. The tree has a wide form. */
ray_hit trace_wide_one(const tritree_view *tree, ray cast, bool any);

/* The rays whose numbers are listed: hits[i] is rays[i]'s. */
void trace_wide(const tritree_view *tree, const ray *rays, const uint32_t *listed, uint32_t count,
                ray_hit *hits);
/* The same for any hit: blocked[i] is 1 if rays[i] meets anything, else 0. */
void trace_wide_any(const tritree_view *tree, const ray *rays, const uint32_t *listed,
                    uint32_t count, uint8_t *blocked);

/* What packets took, and what their rays would have taken in a stream: cycles, reckoned by what
   nodes, cells and triangles take on the average. */
typedef struct packet_use {
    uint32_t together, apart;
} packet_use;

enum { WIDE_PACKET = 16 };

/* Casts the rays together if they are much alike (origins, directions, octant), else returns false
   and does nothing. hits[i] is what tritree_cast(rays[i]) answers, to the bit; with `any`, only
   whether hits[i].triangle is KD_NONE is told. Adds to `use`. */
bool trace_wide_packet(const tritree_view *tree, const ray rays[WIDE_PACKET], bool any,
                       ray_hit hits[WIDE_PACKET], packet_use *use);

#ifdef __cplusplus
}
#endif

#endif
