/* Groups of pieces of outlines, for estimates with more pieces in reach than they can look at one
   by one. Owner of what photon/density/boundary_integral.h descends. */
#ifndef KD_PHOTON_DENSITY_BOUNDARY_GROUPS_H
#define KD_PHOTON_DENSITY_BOUNDARY_GROUPS_H
#include "core/status.h"
#include "photon/density/boundary_integral.h"

typedef struct crease_groups {
    crease_group *groups; /* depth first */
    uint32_t *order;      /* pieces, group by group */
    uint32_t count;       /* 0: so few pieces need none */
} crease_groups;

/* Groups `count` pieces. `scale` (scene units, > 0): groups of that size are parted by their
   normals before they are parted further by their places. Work: O(n log n). Memory: 4 bytes a piece
   and at most 54 for groups, usually 27. */
kd_status crease_groups_open(crease_groups *out, const crease *pieces, uint32_t count, float scale);
void crease_groups_close(crease_groups *owned); /* takes a zeroed one */

#endif
