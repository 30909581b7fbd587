/* What cannot be used is taken out of a mesh as it was read, so that whoever comes next finds every
   index in range and every number finite. */
#ifndef KD_SCENES_MESH_MESH_SQUEEZE_H
#define KD_SCENES_MESH_MESH_SQUEEZE_H
#include "scenes/mesh/mesh.h"
#include <stdbool.h>

/* What a reader met on the way. */
typedef struct mesh_faults {
    bool unusable;                     /* triangles whose corners are KD_NONE */
    bool position, normal, texcoord;   /* NaN or infinite; a normal without a direction (zeros) */
    bool uses_normals, uses_texcoords; /* some corner has one; else their indices are dropped */
} mesh_faults;

/* Takes out triangles without sound corners, and references to numbers that are not finite. `lines`
   (one a triangle) goes along; may be NULL. */
void mesh_squeeze(mesh *into, uint32_t *lines, const mesh_faults *faults);

#endif
