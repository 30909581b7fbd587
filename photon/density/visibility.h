/* Visibility along a surface: which points of the surface around a query point are hidden from it
   by walls and other objects that stand on it.
   Idea: a short ray joins two points of the surface, lifted above both by a fraction of their
         distance, so that it passes over bumps and curvature but hits what stands between them.
         A ray for each photon of each estimate would cost too much, so probes find the parts of
         the surface from which something lit is hidden (tile_probe.h). Only there, and if something
         stands on the surface within the radius of the estimate, it ignores hidden photons, and the
         kernel's integral is multiplied by the visible share.
   Work: 8 rays; where these hit something, a ray per photon behind it, and up to two for each of the
         samples of the visible share.
   Invariants: a function of the scene and the points, with the same bits on every device.
   Limits: all surfaces are opaque to these rays, glass and cut-outs, too. Objects lower than
           VISIBLE_LIFT of the distance hide nothing. */
#ifndef KD_PHOTON_DENSITY_VISIBILITY_H
#define KD_PHOTON_DENSITY_VISIBILITY_H
#include "core/math/sampling.h"
#include "photon/density/tiles.h"

/* Samples of the visible share: one for each of the lanes of a warp at most. */
enum { VISIBLE_SIDE = 5, VISIBLE_SAMPLES = VISIBLE_SIDE * VISIBLE_SIDE };
/* With fewer samples that find a surface, as among blades of grass, no share is estimated. */
enum { VISIBLE_SAMPLES_MIN = 8 };
/* Height of a ray above the surface, relative to its length. */
#define VISIBLE_LIFT 0.25f
/* Rays that find out what stands on the surface around a point. Their slope is VISIBLE_LIFT, so
   they hit whatever is high enough to hide another point. */
enum { HORIZON_RAYS = 8 };
/* Their length, relative to the radius of the estimate: a wall between two of them is farther away
   along them. */
#define HORIZON_REACH 1.1f
/* Least distance of a wall across two neighbouring rays, relative to that along them: the cosine of
   half the angle between them, and of their slope. */
#define HORIZON_NEARER 0.89f

/* Distances of the surfaces around a point along rays in its tangent plane; ray i has the angle i /
   8 of a turn from the axis x. */
typedef struct visibility_horizon {
    vec3 x, y;                 /* unit axes of the tangent plane */
    float reach[HORIZON_RAYS]; /* INFINITY: nothing within their length */
} visibility_horizon;

/* Sets the axes of `out`. */
KD_FN void visibility_horizon_begin(visibility_horizon *out, const openness_place *place) {
    const float angle = 2 * KD_PI / HORIZON_RAYS * place->shift[0];
    const float cosine = float_cos(angle), sine = float_sin(angle);
    out->x = frame3_to_world(&place->axes, vec3_make(cosine, sine, 0));
    out->y = frame3_to_world(&place->axes, vec3_make(-sine, cosine, 0));
}

/* Distance of what a ray hits within `length`; INFINITY: nothing. */
KD_FN float visibility_reach(const scene_view *scene, const openness_place *place,
                             const visibility_horizon *horizon, int which, float length) {
    const float angle = 2 * KD_PI / HORIZON_RAYS * (float)which;
    const vec3 along =
        vec3_along(vec3_scale(horizon->x, float_cos(angle)), float_sin(angle), horizon->y);
    const vec3 d = vec3_normalize(vec3_along(along, VISIBLE_LIFT, place->axes.normal));
    const vec3 from = ray_leave(place->position, place->error, place->axes.normal, d);
    const ray_hit hit = tritree_closest(&scene->tree, ray_make(from, d, 0, length));
    return hit.triangle == KD_NONE ? INFINITY : hit.t;
}

/* Returns true if something stands on the surface near a point. */
KD_FN_NOINLINE bool visibility_obstructed(const scene_view *scene, const openness_place *place,
                                          float length) {
    visibility_horizon horizon;
    visibility_horizon_begin(&horizon, place);
    for (int i = 0; i < HORIZON_RAYS; ++i)
        if (visibility_reach(scene, place, &horizon, i, length) < INFINITY) return true;
    return false;
}

/* Finds what stands within `length`; returns false if nothing does. */
KD_FN_NOINLINE bool visibility_horizon_find(visibility_horizon *out, const scene_view *scene,
                                            const openness_place *place, float length) {
    bool any = false;
    visibility_horizon_begin(out, place);
    for (int i = 0; i < HORIZON_RAYS; ++i) {
        out->reach[i] = visibility_reach(scene, place, out, i, length);
        any = any || out->reach[i] < INFINITY;
    }
    return any;
}

/* Returns true if nothing stands between the point and the one `offset` away, by the rays on both
   sides of it. */
KD_FN bool visibility_is_free(const visibility_horizon *horizon, vec3 offset) {
    const float x = vec3_dot(offset, horizon->x), y = vec3_dot(offset, horizon->y);
    int octant; /* the angle in eighths of a turn, rounded down */
    if (y >= 0)
        octant = x >= 0 ? (x > y ? 0 : 1) : y > -x ? 2 : 3;
    else
        octant = x < 0 ? (x < y ? 4 : 5) : -y > x ? 6 : 7;
    const float near = HORIZON_NEARER * float_min(horizon->reach[octant],
                                                  horizon->reach[(octant + 1) % HORIZON_RAYS]);
    return x * x + y * y < near * near;
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
    ray_hit hit; /* opaque surface at the sample; triangle KD_NONE: none that accepts photons */
    bool hidden;
} visibility_sample;

/* Looks at the point `offset` away from `position`, in its tangent plane. `all`: find the surface
   of visible points, too. `horizon`: may be NULL. */
KD_FN visibility_sample visibility_look(const scene_view *scene, const visibility_horizon *horizon,
                                        vec3 position, vec3 normal, vec3 offset, bool all) {
    const float length = vec3_length(offset), lift = VISIBLE_LIFT * length;
    visibility_sample found;
    found.hit.triangle = KD_NONE;
    found.hidden =
        !(horizon && visibility_is_free(horizon, offset)) &&
        visibility_blocked(scene, position, normal, vec3_add(position, offset), normal, lift);
    if (!found.hidden && !all) return found;
    const vec3 above = vec3_along(vec3_add(position, offset), lift, normal);
    const ray down = ray_make(above, vec3_negate(normal), 0, 2 * lift);
    found.hit = openness_opaque(scene, down, tritree_closest(&scene->tree, down));
    if (found.hit.triangle == KD_NONE) return found;
    const uint32_t *corner = scene->mesh.triangles + 3 * (size_t)found.hit.triangle;
    const vec3 *p = scene->mesh.positions;
    const float cosine =
        vec3_dot(triangle_unit_normal(p[corner[0]], p[corner[1]], p[corner[2]]), normal);
    if (fabsf(cosine) < TILE_COSINE) found.hit.triangle = KD_NONE;
    return found;
}

#endif
