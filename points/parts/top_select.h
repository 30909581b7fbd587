/* Collective selection of the planes of the upper levels. */
#ifndef KD_POINTS_PARTS_TOP_SELECT_H
#define KD_POINTS_PARTS_TOP_SELECT_H
#include "distributed/ranks/ranks.h"
#include "points/parts/share.h"

/* Number of nodes of a tree over this many parts. */
static inline uint32_t top_nodes(uint32_t parts) {
    return 2 * parts - 1;
}

/* Collective: computes top_nodes(parts) nodes, identical on all ranks. There are `count` points in
   all, with numbers from `first_number` on and bounding box `box`. */
kd_status top_select(top_node *nodes, ranks *among, const point_share *share, const point_box *box,
                     uint64_t count, uint64_t first_number, uint32_t parts);

#endif
