/* The outlines of a mesh's smooth patches: where a density estimate must know that the surface ends
   or turns. Owner of what photon/density/estimate.h walks. */
#ifndef KD_PHOTON_DENSITY_BOUNDARY_H
#define KD_PHOTON_DENSITY_BOUNDARY_H
#include "photon/density/boundary_groups.h"
#include "photon/density/estimate.h"
#include "points/tree/pointtree.h"
#include "shaders/scene_view.h"

typedef struct crease_set {
    crease *pieces;    /* in the tree's order */
    uint8_t *flips;    /* per triangle */
    pointtree middles; /* of the pieces' middle points */
    crease_groups groups;
    uint64_t edge_count; /* sides of triangles that are creases */
    float reach;
} crease_set;

/* Finds the creases of a mesh (vertices at the same place are one) and cuts them into pieces no
   longer than `piece_length` (scene units, > 0); or longer, where that is below 1/4096 of the
   diagonal of all triangles, or would make millions. */
kd_status crease_set_open(crease_set *out, const mesh_view *mesh, float piece_length, job *watched);
void crease_set_close(crease_set *owned); /* takes a zeroed one */
crease_view crease_set_get_view(const crease_set *from);

#endif
