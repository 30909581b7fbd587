/* The parts of a subtree that become the cells of one wide node, and in which order rays of each
   octant meet them. */
#ifndef KD_ACCEL_WIDE_WIDE_PARTS_H
#define KD_ACCEL_WIDE_WIDE_PARTS_H
#include "accel/wide/wide_cells.h"

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
