/* Surfaces of revolution about +y, and curved surfaces from a function of two parameters, as grids
   with smooth normals. */
#ifndef KD_SCENES_MESH_SURFACES_H
#define KD_SCENES_MESH_SURFACES_H
#include "scenes/mesh/mesh_builder.h"

typedef struct lathe_point {
    float radius, height;
    uint32_t material; /* of the band from this point to the next */
} lathe_point;

typedef struct lathe {
    const lathe_point *profile; /* fronts lie to the right of its way: upwards means outwards */
    uint32_t point_count;
    bool ring;         /* the last point joins the first one */
    uint32_t segments; /* around */
    vec3 base;         /* where (0, 0) of the profile lies */
} lathe;

/* Bands meet smoothly where the profile turns by less than 30 degrees. Points of radius 0 are one
   vertex, so that a profile from axis to axis, or a ring, is closed. */
void lathe_turn(mesh_builder *to, const lathe *shape);

/* Triangles that it makes. */
uint64_t lathe_triangles(const lathe *shape);

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
