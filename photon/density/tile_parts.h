/* Triangles parted into four alike, and these again: how parts are numbered, and what tiles are
   made of.
   Idea: of a triangle a, b, c the parts 0, 1, 2 lie at a, b and c, part 3 in the middle, its corners
         opposite to them. A part's number has two bits for each step, the first step's highest. */
#ifndef KD_PHOTON_DENSITY_TILE_PARTS_H
#define KD_PHOTON_DENSITY_TILE_PARTS_H
#include "accel/rays/batch.h"
#include "core/math/sampling.h"
#include "core/status.h"
#include "shaders/scene_view.h"
#include "shaders/surface.h"

enum { TILE_DEPTH_MOST = 8 };

/* A triangle that keeps photons. */
typedef struct tile_face {
    vec3 corner[3], normal; /* of its winding */
    float area;
    uint32_t triangle, first; /* of its parts in tile_parts.weights */
    uint8_t depth;            /* it has 4^depth of them */
} tile_face;

typedef struct tile_parts {
    tile_face *faces;
    float (*weights)[2]; /* of each part's front and back: tile.weight */
    uint32_t face_count, count;
} tile_parts;

/* Brings what light reaches, and how much of it, into the weights; parts are about squares of
   `size`, the model looks as far as `radius` (scene units). `there`: the scene on the current
   device, where rays are cast then; or NULL. */
kd_status tile_parts_reach(tile_parts *parts, const scene_view *scene, const scene_view *there,
                           float radius, float size);
uint64_t tile_parts_reach_bytes_most(uint64_t parts, uint64_t triangles);

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

/* Corners of a part by u, v: as if the triangle were (0, 0), (1, 0), (0, 1). */
KD_FN void tile_part_corners(uint32_t depth, uint32_t part, vec2 out[3]) {
    vec3 corner[3] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}};
    for (uint32_t step = depth; step-- > 0;) {
        vec3 next[3];
        tile_part_of(corner, part >> 2 * step & 3u, next);
        memcpy(corner, next, sizeof corner);
    }
    for (int k = 0; k < 3; ++k) out[k] = vec2_make(corner[k].x, corner[k].y);
}

/* The part that holds the place u, v (weights of the corners b and c). */
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

/* How bright even light from afar would leave a place on a surface: a model, 0 to 1, by which
   estimates weigh what they measure.
   Idea: light varies less beside what the model expects than it does itself: in gaps, behind
         folds, under leaves. An estimate is m(place) sum / W with W over K m: where m is
         constant it cancels, and any m leaves the estimate consistent. Half of what surfaces
         near by hide comes back from them; the factor 2 leaves edges of rooms, where half of the
         sky is hidden, at 1.
   Work: 16 short rays.
   Invariants: a function of the place and its normal; the same at a place that is looked at as
               at a probe, since m is no linear function of what rays find. */

enum { OPENNESS_SIDE = 4, OPENNESS_RAYS = OPENNESS_SIDE * OPENNESS_SIDE, OPENNESS_LAYERS = 64 };
/* Places that are nearly open count as open. */
#define OPENNESS_ALL 0.98f
/* Least that a place which is looked at counts by. */
#define OPENNESS_LEAST 0.02f

/* Where rays begin. */
typedef struct openness_place {
    vec3 position;
    frame3 axes; /* around the side's normal */
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

/* Whether light passes a surface on, some of it at least. */
KD_FN bool openness_passes(const scene_view *scene, uint32_t triangle) {
    const uint32_t which = scene->mesh.triangle_materials[triangle];
    const material *made = scene->materials + which;
    if (made->kind == MATERIAL_PRINCIPLED && scene->layers[which].transmission > 0.5f) return true;
    return made->kind == MATERIAL_GLASS || made->opacity < 1 || made->opacity_map != KD_NONE;
}

/* Whether a ray meets the side of a lamp that shines. */
KD_FN bool openness_meets_light(const scene_view *scene, uint32_t triangle, vec3 direction) {
    if (!scene->triangle_lights || scene->triangle_lights[triangle] == KD_NONE) return false;
    if (scene->lights[scene->triangle_lights[triangle]].two_sided) return true;
    const uint32_t *corner = scene->mesh.triangles + 3 * (size_t)triangle;
    const vec3 *p = scene->mesh.positions;
    return vec3_dot(triangle_unit_normal(p[corner[0]], p[corner[1]], p[corner[2]]), direction) < 0;
}

/* One of the rays of a place, evenly spread by the cosine. */
KD_FN ray openness_ray(const openness_place *from, int which, float length) {
    const vec3 local =
        sample_cosine_hemisphere(((float)(which / OPENNESS_SIDE) + from->shift[0]) / OPENNESS_SIDE,
                                 ((float)(which % OPENNESS_SIDE) + from->shift[1]) / OPENNESS_SIDE);
    const vec3 d = frame3_to_world(&from->axes, local);
    return ray_make(ray_leave(from->position, from->error, from->axes.normal, d), d, 0, length);
}

/* Where a ray that met `hit` first ends: on the first surface that lets nothing pass and is no
   lamp; the triangle is KD_NONE if there is none. */
KD_FN ray_hit openness_end(const scene_view *scene, ray cast, ray_hit hit) {
    for (int layer = 1; hit.triangle != KD_NONE && openness_passes(scene, hit.triangle); ++layer) {
        cast.tmin = hit.t;
        if (layer == OPENNESS_LAYERS)
            hit.triangle = KD_NONE;
        else
            hit = tritree_closest(&scene->tree, cast);
    }
    if (hit.triangle != KD_NONE && openness_meets_light(scene, hit.triangle, cast.direction))
        hit.triangle = KD_NONE;
    return hit;
}

/* What a ray's end hides, by its distance over the model's length. */
KD_FN float openness_hidden(ray_hit hit, float span) {
    if (hit.triangle == KD_NONE) return 0;
    const float t = hit.t / span;
    return float_max(0, 1 - t * t);
}

/* The model, by what all rays hide in the mean. */
KD_FN float openness_model(float hidden) {
    const float open = 1 - hidden, model = 2 * open / (1 - 0.5f * (1 - open));
    return model >= OPENNESS_ALL ? 1 : model;
}

KD_FN float openness_at(const scene_view *scene, vec3 position, vec3 normal, uint32_t triangle,
                        float span) {
    const openness_place place = openness_place_make(&scene->mesh, position, normal, triangle);
    float hidden = 0;
    for (int i = 0; i < OPENNESS_RAYS; ++i) {
        const ray cast = openness_ray(&place, i, span);
        const ray_hit first = tritree_closest(&scene->tree, cast);
        hidden += openness_hidden(openness_end(scene, cast, first), span);
    }
    return openness_model(hidden / OPENNESS_RAYS);
}

#endif
