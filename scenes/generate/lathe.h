/* Surfaces of revolution about +y. */
#ifndef KD_SCENES_GENERATE_LATHE_H
#define KD_SCENES_GENERATE_LATHE_H
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

#endif
