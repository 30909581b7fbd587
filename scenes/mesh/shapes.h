/* Shapes of scene descriptions: finely divided, with exact normals and texture coordinates. Errors
   go to builder->status. */
#ifndef KD_SCENES_MESH_SHAPES_H
#define KD_SCENES_MESH_SHAPES_H
#include "scenes/mesh/surfaces.h"

typedef struct profile_point {
    float radius, height; /* radius >= 0 */
    bool sharp;           /* the surface has an edge here */
} profile_point;

typedef struct revolved_shape {
    const profile_point *profile; /* neighbours differ; at least one radius is above 0 */
    uint32_t point_count;         /* at least 2 */
    bool smooth;                  /* Catmull-Rom curves instead of straight segments */
    bool closed;                  /* the last point joins the first; needs 3 points */
    bool caps;                    /* discs join the ends of an open profile to the axis */
    double crease_degrees;        /* the surface has an edge where the profile turns by more */
    uint64_t triangles;           /* approximate number */
    vec3 base;                    /* position of (0, 0) of the profile */
    vec2 uv;                      /* u after a turn, v at the end of the profile */
} revolved_shape;

/* Adds the surface of revolution about +y. If it is closed, front faces point outwards, else to the
   right of the profile's direction. Returns false, having added nothing, if the curve after
   profile[*crossing] crosses the axis. */
bool shape_revolve(mesh_builder *builder, const revolved_shape *shape, uint32_t *crossing);

/* Adds a torus about +y; 0 < tube < radius. */
void shape_torus(mesh_builder *builder, vec3 centre, float radius, float tube, uint64_t triangles,
                 vec2 uv);

typedef struct cone_shape {
    vec3 base; /* centre of the bottom */
    float radius, top_radius, height;
    bool caps;
    uint64_t triangles; /* approximate number */
    vec2 uv;            /* u after a turn; v at the upper end of the wall and at the caps' rims */
} cone_shape;

/* Adds a cylinder or a cone about +y; the height and at least one radius are above 0. */
void shape_cone(mesh_builder *builder, const cone_shape *shape);

/* Adds a box whose edges and corners are parts of cylinders and spheres of radius `rounding`, which
   is above 0 and at most half the smallest side. */
void shape_rounded_box(mesh_builder *builder, vec3 lo, vec3 hi, double rounding,
                       uint64_t triangles);

#endif
