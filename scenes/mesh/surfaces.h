/* Surfaces of revolution about +y, and parametric surfaces, as grids with smooth normals. */
#ifndef KD_SCENES_MESH_SURFACES_H
#define KD_SCENES_MESH_SURFACES_H
#include "scenes/mesh/mesh_builder.h"

typedef struct lathe_point {
    float radius, height;
    uint32_t material; /* material of the band from this point to the next */
} lathe_point;

typedef struct lathe_band { /* values at the first and at the second point of a band */
    vec2 normals[2];        /* (radius, height), of unit length */
    float v[2];             /* texture coordinate */
} lathe_band;

typedef struct lathe {
    /* front faces are to the right of its direction: outwards if it runs upwards */
    const lathe_point *profile;
    uint32_t point_count;
    bool ring;         /* closed: the last point joins the first */
    uint32_t segments; /* around the axis */
    vec3 base;         /* position of (0, 0) of the profile */
    /* One per band, or NULL: no texture coordinates, and bands join smoothly where the profile
       bends by less than 30 degrees. */
    const lathe_band *bands;
    float u; /* with `bands`: texture coordinate after a whole turn from +z over +x */
} lathe;

/* Adds the surface. A point of radius 0 becomes one vertex, so that a profile from axis to axis, or
   a ring, is closed. */
void lathe_turn(mesh_builder *builder, const lathe *shape);

/* Returns the number of triangles of the surface. */
uint64_t lathe_triangles(const lathe *shape);
/* Returns the number of segments, at least `fewest`, for about that many triangles. */
uint32_t lathe_segments(const lathe *shape, uint64_t triangles, uint32_t fewest);

typedef struct patch {
    vec3 (*at)(const void *context, float u, float v); /* u, v in 0..1 */
    const void *context;
    uint32_t columns, rows; /* cells along u and v */
    vec2 uv;                /* texture coordinates at u = v = 1 */
} patch;

/* Adds 2 x columns x rows triangles of the current material. The front is the side that
   (derivative by u) x (derivative by v) points to. */
void patch_add(mesh_builder *builder, const patch *shape);

#endif
