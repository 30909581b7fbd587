/* Recursive subdivision of triangles into four similar ones: the numbering of parts, from which
   tiles are made; and the openness model.
   Idea: the parts 0, 1 and 2 of a triangle a, b, c contain the corners a, b and c; part 3 is the
         centre, whose corners lie on the sides opposite to them. The number of a part has two bits
         for each level, those of the first level highest. */
#ifndef KD_PHOTON_DENSITY_TILE_PARTS_H
#define KD_PHOTON_DENSITY_TILE_PARTS_H
#include "accel/rays/batch.h"
#include "core/job.h"
#include "core/math/sampling.h"
#include "core/status.h"
#include "shaders/scene_view.h"
#include "shaders/surface.h"

enum { TILE_DEPTH_MAX = 8 };

/* A triangle that stores photons. */
typedef struct tile_face {
    vec3 corner[3], normal; /* the normal follows the winding */
    float area;
    uint32_t triangle, first; /* index of its first part in tile_parts.weights */
    uint8_t depth;            /* subdivided into 4^depth parts */
} tile_face;

typedef struct tile_parts {
    tile_face *faces;
    float (*weights)[2]; /* tile.weight of the front and back of each part */
    uint8_t *divided;    /* per part: TILE_DIVIDED and TILE_HIDDEN, shifted by 1 for the back */
    uint32_t face_count, count;
} tile_parts;

/* Multiplies the weights by the reachability and openness of each side; a part has about the area
   of a square with sides of `size`, and the openness model has the range `radius` (both in scene
   units). `view`: the scene's copy on the current device, where the rays are traced; NULL: on the
   host, where KD_INTERRUPTED is returned soon after `job` (may be NULL) is cancelled. Sets
   `divided`. */
kd_status tile_parts_reach(tile_parts *parts, const scene_view *scene, const scene_view *view,
                           float radius, float size, const job_control *job);
uint64_t tile_parts_reach_bytes_max(uint64_t parts, uint64_t triangles);

static inline void tile_face_corners(const mesh_view *mesh, uint32_t triangle, vec3 out[3]) {
    for (uint32_t k = 0; k < 3; ++k)
        out[k] = mesh->positions[mesh->triangles[3 * (size_t)triangle + k]];
}

static inline float triangle_area(const vec3 corner[3]) {
    return 0.5f *
           vec3_length(vec3_cross(vec3_sub(corner[1], corner[0]), vec3_sub(corner[2], corner[0])));
}

/* Corners of one of the four parts. */
KD_FN void tile_part_of(const vec3 corner[3], uint32_t child, vec3 out[3]) {
    for (uint32_t k = 0; k < 3; ++k) {
        const vec3 a = child < 3 ? corner[child] : corner[(k + 1) % 3];
        const vec3 b = child < 3 ? corner[k] : corner[(k + 2) % 3];
        out[k] = vec3_add(vec3_scale(a, 0.5f), vec3_scale(b, 0.5f));
    }
}

/* Corners of a part in coordinates u, v, in which the triangle is (0, 0), (1, 0), (0, 1). */
KD_FN void tile_part_corners(uint32_t depth, uint32_t part, vec2 out[3]) {
    vec3 corner[3] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}};
    for (uint32_t step = depth; step-- > 0;) {
        vec3 next[3];
        tile_part_of(corner, part >> 2 * step & 3u, next);
        memcpy(corner, next, sizeof corner);
    }
    for (int k = 0; k < 3; ++k) out[k] = vec2_make(corner[k].x, corner[k].y);
}

/* Part that contains the point u, v (barycentric weights of the corners b and c). */
KD_FN uint32_t tile_part_at(uint32_t depth, float u, float v) {
    uint32_t part = 0;
    for (uint32_t step = 0; step < depth; ++step) {
        const float w = 1 - u - v;
        uint32_t child = 3;
        if (w >= 0.5f)
            child = 0;
        else if (u >= 0.5f)
            child = 1;
        else if (v >= 0.5f)
            child = 2;
        u = child == 3 ? 1 - 2 * u : 2 * u - (child == 1);
        v = child == 3 ? 1 - 2 * v : 2 * v - (child == 2);
        part = part << 2 | child;
    }
    return part;
}

/* The openness model: brightness, 0 to 1, that uniform light from far away would give a point on a
   surface, by which estimates are weighted.
   Idea: light varies less relative to the model than absolutely: in gaps, behind folds, under
         leaves. An estimate is m(point) sum / W, where W integrates K m: where m is constant it
         cancels, and any m keeps the estimate consistent. The model assumes that surfaces nearby
         reflect half of what they hide; the factor 2 gives edges of rooms, where half of the sky is
         hidden, the value 1.
   Work: 16 short rays.
   Invariants: a function of the position and its normal, the same for queries and for probes, since
               m is not linear in the results of the rays. */

enum { OPENNESS_SIDE = 4, OPENNESS_RAYS = OPENNESS_SIDE * OPENNESS_SIDE, OPENNESS_LAYERS = 64 };
/* Values from here on count as 1. */
#define OPENNESS_ALL 0.98f
/* Lower bound of the model at a query point. */
#define OPENNESS_MIN 0.02f

/* Origin of the rays. */
typedef struct openness_place {
    vec3 position;
    frame3 axes; /* around the normal of the side */
    float error; /* triangle_point_error */
    float shift[2];
} openness_place;

KD_FN openness_place openness_place_make(const mesh_view *mesh, vec3 position, vec3 normal,
                                         uint32_t triangle) {
    const uint32_t *corner = mesh->triangles + 3 * (size_t)triangle;
    const uint64_t x = float_bits(position.x), y = float_bits(position.y);
    const rng_block shift = rng_draw(rng_key_make(x << 32 | y, float_bits(position.z), 1), 0, 0);
    openness_place made;
    made.position = position;
    made.axes = frame3_around(normal);
    made.error = triangle_point_error(mesh->positions[corner[0]], mesh->positions[corner[1]],
                                      mesh->positions[corner[2]]);
    made.shift[0] = shift.value[0];
    made.shift[1] = shift.value[1];
    return made;
}

/* Returns true if the surface transmits some light. */
KD_FN bool openness_passes(const scene_view *scene, uint32_t triangle) {
    const uint32_t which = scene->mesh.triangle_materials[triangle];
    const material *made = scene->materials + which;
    if (made->kind == MATERIAL_PRINCIPLED && scene->layers[which].transmission > 0.5f) return true;
    return made->kind == MATERIAL_GLASS || material_has_cutouts(made);
}

/* Returns true if the ray hits the emitting side of a light source. */
KD_FN bool openness_intersects_light(const scene_view *scene, uint32_t triangle, vec3 direction) {
    if (!scene->triangle_lights || scene->triangle_lights[triangle] == KD_NONE) return false;
    if (scene->lights[scene->triangle_lights[triangle]].two_sided) return true;
    const uint32_t *corner = scene->mesh.triangles + 3 * (size_t)triangle;
    const vec3 *p = scene->mesh.positions;
    return vec3_dot(triangle_unit_normal(p[corner[0]], p[corner[1]], p[corner[2]]), direction) < 0;
}

/* One of the rays of a point, stratified with a cosine distribution. */
KD_FN ray openness_ray(const openness_place *place, int which, float length) {
    const vec3 local = sample_cosine_hemisphere(
        ((float)(which / OPENNESS_SIDE) + place->shift[0]) / OPENNESS_SIDE,
        ((float)(which % OPENNESS_SIDE) + place->shift[1]) / OPENNESS_SIDE);
    const vec3 d = frame3_to_world(&place->axes, local);
    return ray_make(ray_leave(place->position, place->error, place->axes.normal, d), d, 0, length);
}

/* Follows a ray that has hit `hit` to the first opaque surface; the triangle is KD_NONE if there is
   none. */
KD_FN ray_hit openness_opaque(const scene_view *scene, ray ray, ray_hit hit) {
    for (int layer = 1; hit.triangle != KD_NONE && openness_passes(scene, hit.triangle); ++layer) {
        ray.tmin = hit.t;
        if (layer == OPENNESS_LAYERS)
            hit.triangle = KD_NONE;
        else
            hit = tritree_closest(&scene->tree, ray);
    }
    return hit;
}

/* As openness_opaque; the triangle is KD_NONE if it is a light source, too. */
KD_FN ray_hit openness_end(const scene_view *scene, ray ray, ray_hit hit) {
    hit = openness_opaque(scene, ray, hit);
    if (hit.triangle != KD_NONE && openness_intersects_light(scene, hit.triangle, ray.direction))
        hit.triangle = KD_NONE;
    return hit;
}

/* Occlusion by the hit, by its distance relative to the model's range. */
KD_FN float openness_hidden(ray_hit hit, float span) {
    if (hit.triangle == KD_NONE) return 0;
    const float t = hit.t / span;
    return float_max(0, 1 - t * t);
}

/* Value of the model from the mean occlusion of all rays. */
KD_FN float openness_model(float hidden) {
    const float open = 1 - hidden, model = 2 * open / (1 - 0.5f * (1 - open));
    return model >= OPENNESS_ALL ? 1 : model;
}

KD_FN float openness_at(const scene_view *scene, vec3 position, vec3 normal, uint32_t triangle,
                        float span) {
    const openness_place place = openness_place_make(&scene->mesh, position, normal, triangle);
    float hidden = 0;
    for (int i = 0; i < OPENNESS_RAYS; ++i) {
        const ray ray = openness_ray(&place, i, span);
        const ray_hit first = tritree_closest(&scene->tree, ray);
        hidden += openness_hidden(openness_end(scene, ray, first), span);
    }
    return openness_model(hidden / OPENNESS_RAYS);
}

#endif
