/* What lies in each subtree of a triangle k-d tree, and which subtrees are worth one leaf.
   Idea: from the leaves up, by the surface area heuristic with a wide walk's costs: a subtree of at
   most eight triangles becomes one leaf where that costs no more than its parts.
   Work: O(nodes + references), subtrees side by side. Memory: 25 bytes a node while it is used. */
#ifndef KD_ACCEL_WIDE_WIDE_CELLS_H
#define KD_ACCEL_WIDE_WIDE_CELLS_H
#include "accel/wide/wide_tree.h"

/* A node's kind: how many triangles it has as one leaf, 1 ... WIDE_CELLS; or */
enum { WIDE_EMPTY = 0, WIDE_OPEN = WIDE_CELLS + 1 };

typedef struct wide_cells {
    const tritree_view *tree;
    box3 *boxes;             /* a node: of its triangles' boxes, each cut to the leaf's cell */
    uint8_t *kinds;          /* a node */
    uint64_t leaf_triangles; /* in all leaves */
} wide_cells;

/* One leaf's triangles, none twice. */
typedef struct wide_ids {
    uint32_t count, ids[WIDE_CELLS]; /* count WIDE_OPEN: more than that */
} wide_ids;

kd_status wide_cells_open(wide_cells *out, const tritree_view *tree);
void wide_cells_close(wide_cells *owned);

void wide_ids_add(wide_ids *to, uint32_t id);
/* The triangles of a subtree. */
void wide_ids_collect(wide_ids *to, const tritree_view *tree, uint32_t node);
/* A triangle's box, cut to a cell. */
box3 wide_cell_of(const tritree_view *tree, uint32_t id, box3 cell);
double wide_area(box3 box); /* half the surface; 0 of an empty one */

#endif
