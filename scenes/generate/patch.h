/* Curved surfaces from a function of two parameters, as grids with smooth normals. */
#ifndef KD_SCENES_GENERATE_PATCH_H
#define KD_SCENES_GENERATE_PATCH_H
#include "scenes/mesh/mesh_builder.h"

typedef struct patch {
    vec3 (*at)(const void *context, float u, float v); /* u, v in 0..1 */
    const void *context;
    uint32_t columns, rows; /* cells along u and v */
    vec2 uv;                /* texture coordinates at u = v = 1 */
} patch;

/* The front is where (derivative by u) x (derivative by v) points to. Adds 2 columns rows
   triangles of the current material. */
void patch_add(mesh_builder *to, const patch *shape);

#endif
