/* Visibility along a surface: which points of the surface around a query point are hidden from it
   by walls and other objects that stand on it.
   Idea: a short ray joins two points of the surface, lifted above both by a fraction of their
         distance, so that it passes over bumps and curvature but hits what stands between them.
         A ray for each photon of each estimate would cost too much, so probes find the parts of
         the surface from which something lit is hidden (tile_probe.h). Only there, and if something
         stands on the surface within the radius of the estimate, it ignores hidden photons, and the
         kernel's integral is multiplied by the visible share.
   Work: 8 rays, then a ray per photon, and up to two for each of the samples of the visible share.
   Invariants: a function of the scene and the points, with the same bits on every device.
   Limits: all surfaces are opaque to these rays, glass and cut-outs, too. Objects lower than
           VISIBLE_LIFT of the distance hide nothing. */
#ifndef KD_PHOTON_DENSITY_VISIBILITY_H
#define KD_PHOTON_DENSITY_VISIBILITY_H
#include "core/math/sampling.h"
#include "photon/density/tiles.h"

/* Samples of the visible share: one for each of the lanes of a warp at most. */
enum { VISIBLE_SIDE = 5, VISIBLE_SAMPLES = VISIBLE_SIDE * VISIBLE_SIDE };
/* Height of a ray above the surface, relative to its length. */
#define VISIBLE_LIFT 0.25f
/* Rays that find out whether something stands on the surface near a point. Their slope is
   VISIBLE_LIFT, so they hit whatever is high enough to hide another point. */
enum { OBSTRUCTION_RAYS = 8 };
/* Their length, relative to the radius of the estimate: a wall between two of them is farther away
   along them. */
#define OBSTRUCTION_REACH 1.1f

/* Returns true if one of the rays from a point hits something within `length`. */
KD_FN bool visibility_obstructed_along(const scene_view *scene, const openness_place *place,
                                       int which, float length) {
    const float angle = 2 * KD_PI / OBSTRUCTION_RAYS * ((float)which + place->shift[0]);
    const vec3 local = vec3_make(float_cos(angle), float_sin(angle), VISIBLE_LIFT);
    const vec3 d = vec3_normalize(frame3_to_world(&place->axes, local));
    const vec3 from = ray_leave(place->position, place->error, place->axes.normal, d);
    return tritree_occluded(&scene->tree, ray_make(from, d, 0, length));
}

/* Returns true if something stands on the surface near a point. */
KD_FN_NOINLINE bool visibility_obstructed(const scene_view *scene, const openness_place *place,
                                          float length) {
    for (int i = 0; i < OBSTRUCTION_RAYS; ++i)
        if (visibility_obstructed_along(scene, place, i, length)) return true;
    return false;
}

/* Returns true if something is between two points, lifted by `lift` along their normals. */
KD_FN bool visibility_blocked(const scene_view *scene, vec3 a, vec3 a_normal, vec3 b, vec3 b_normal,
                              float lift) {
    const vec3 from = vec3_along(a, lift, a_normal), to = vec3_along(b, lift, b_normal);
    const vec3 way = vec3_sub(to, from);
    const float length = vec3_length(way);
    if (!(length > 0)) return false;
    return tritree_occluded(&scene->tree, ray_make(from, vec3_scale(way, 1 / length), 0, length));
}

typedef struct visibility_sample {
    ray_hit hit; /* surface at the sample; triangle KD_NONE: none that accepts photons */
    bool hidden;
} visibility_sample;

/* Looks at the point `offset` away from `position`, in its tangent plane. `all`: find the surface
   of visible points, too. */
KD_FN visibility_sample visibility_look(const scene_view *scene, vec3 position, vec3 normal,
                                        vec3 offset, bool all) {
    const float length = vec3_length(offset), lift = VISIBLE_LIFT * length;
    visibility_sample found;
    found.hit.triangle = KD_NONE;
    found.hidden =
        visibility_blocked(scene, position, normal, vec3_add(position, offset), normal, lift);
    if (!found.hidden && !all) return found;
    const vec3 above = vec3_along(vec3_add(position, offset), lift, normal);
    found.hit = tritree_closest(&scene->tree, ray_make(above, vec3_negate(normal), 0, 2 * lift));
    if (found.hit.triangle == KD_NONE) return found;
    const uint32_t *corner = scene->mesh.triangles + 3 * (size_t)found.hit.triangle;
    const vec3 *p = scene->mesh.positions;
    const float cosine =
        vec3_dot(triangle_unit_normal(p[corner[0]], p[corner[1]], p[corner[2]]), normal);
    if (fabsf(cosine) < TILE_COSINE) found.hit.triangle = KD_NONE;
    return found;
}

#endif
