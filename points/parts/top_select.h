/* The planes of the upper levels, selected by all ranks together. */
#ifndef KD_POINTS_PARTS_TOP_SELECT_H
#define KD_POINTS_PARTS_TOP_SELECT_H
#include "distributed/ranks/ranks.h"
#include "points/parts/share.h"

/* Nodes of a tree over so many parts. */
static inline uint32_t top_nodes(uint32_t parts) {
    return 2 * parts - 1;
}

/* The same nodes at every rank: top_nodes(parts) of them. `count` points in all, numbers from
   `first_number` on, in this box. */
kd_status top_select(top_node *nodes, ranks *among, const point_share *share, const point_box *box,
                     uint64_t count, uint64_t first_number, uint32_t parts);

#endif
