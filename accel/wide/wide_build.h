/* What lies in each subtree of a triangle k-d tree, which subtrees are worth one leaf, and how
   the cells of a wide node are best shared out.
   Source: Wald, Benthin, Boulos 2008, section 3.2, and Ylitie, Karras, Laine 2017, "Efficient
           incoherent ray traversal on GPUs through compressed wide BVHs": the collapse of least
           cost.
   Idea: from the leaves up, by the surface area heuristic with a wide walk's costs: for each
         subtree and each number of cells that it may take, what it then costs at least. One
         cell: a leaf of all its triangles, if there are at most eight, or a node of its own;
         more: the best way to share them out to its halves.
   Work: O(nodes cells^2 + references), by vectors, subtrees side by side.
   Memory: 33 bytes a node while it is used. */
#ifndef KD_ACCEL_WIDE_WIDE_BUILD_H
#define KD_ACCEL_WIDE_WIDE_BUILD_H
#include "accel/wide/wide_tree.h"

/* A node's kind, where it is one cell: how many triangles it has as a leaf, 1 ... 8; or */
enum { WIDE_EMPTY = 0, WIDE_OPEN = WIDE_LEAF_MOST + 1 };

typedef struct wide_cells {
    const tritree_view *tree;
    uint32_t cells;
    box3 *boxes;    /* a node: of its triangles' boxes, each cut to the leaf's cell */
    uint64_t *ways; /* an inner node: nibble k - 1, k > 1: of k cells so many go to the left half;
                       nibble 0: it is opened where it may take more cells than that; 0: never */
    uint8_t *kinds; /* a node */
} wide_cells;

/* One leaf's triangles, none twice. */
typedef struct wide_ids {
    uint32_t count, ids[WIDE_LEAF_MOST]; /* count WIDE_OPEN: more than that */
} wide_ids;

/* Costs, by the surface area heuristic: a wide node, a leaf, each triangle in it. */
static const float wide_node_cost = 1, wide_leaf_cost = 0.8f, wide_triangle_cost = 0.3f;

kd_status wide_cells_open(wide_cells *out, const tritree_view *tree, uint32_t cells);
void wide_cells_close(wide_cells *owned);
uint64_t wide_cells_bytes(uint64_t nodes); /* of a tree of so many */

void wide_ids_add(wide_ids *to, uint32_t id);
/* The triangles of a subtree. */
void wide_ids_collect(wide_ids *to, const tritree_view *tree, uint32_t node);
box3 wide_box_of(const triangle_rows *rows);
/* A box, cut to a cell. */
box3 wide_box_cut(box3 box, box3 cell);
double wide_area(box3 box); /* half the surface; 0 of an empty one */

/* The parts of a subtree that become the cells of one wide node, and in which order rays of each
   octant meet them. */

/* A subtree, or some references of a large leaf. */
typedef struct wide_part {
    uint32_t node;
    uint32_t first, count; /* count > 0: of a large leaf these references */
    uint32_t triangles;    /* as a leaf, 1 ... 8; WIDE_OPEN: it is a node */
    box3 box;
} wide_part;

/* A part, or the plane between two. */
typedef struct wide_split {
    int axis, low, high; /* axis WIDE_PART: part `low`; WIDE_ROW: parts low ... high - 1 */
} wide_split;
enum { WIDE_PART = 3, WIDE_ROW = 4 };

typedef struct wide_parts {
    wide_part parts[WIDE_CELLS_MOST];
    wide_split splits[2 * WIDE_CELLS_MOST - 1]; /* the first one is the top */
    int count, split_count;
} wide_parts;

/* The part that is the whole tree, which is not empty. */
wide_part wide_part_of_all(const wide_cells *cells);
/* The cells of the node that `of` is; `boxes`: with the boxes of a large leaf's parts. */
void wide_parts_list(wide_parts *out, const wide_cells *cells, const wide_part *of, bool boxes);
/* Numbers of the parts as rays of this octant meet them. */
void wide_parts_order(const wide_parts *of, int octant, uint8_t order[WIDE_CELLS_MOST]);
/* The triangles of a part that is a leaf. */
void wide_part_ids(const wide_cells *cells, const wide_part *of, wide_ids *ids);

#endif
