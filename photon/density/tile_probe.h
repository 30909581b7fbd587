/* Probes at the sides of parts (tile_reach.c), for CPU and device. */
#ifndef KD_PHOTON_DENSITY_TILE_PROBE_H
#define KD_PHOTON_DENSITY_TILE_PROBE_H
#include "core/device/cuda_stubs.h"
#include "photon/density/tile_parts.h"
#include "photon/density/visibility.h"
#include "shaders/light_sampling.h"
#include "shaders/transmittance.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { PROBE_ROUNDS = 32, PROBE_SHADOW_RAYS = 2 };
#define PROBE_PASSED_ON 0.9f
/* Least cosine of a shadow ray: light sources in the plane of the probe, to the rounding of their
   points, are not seen. */
#define PROBE_GRAZING 1e-3f
/* Sides with a lower brightness are unlit. */
#define PROBE_DARK 0.1f
/* Points that are tested if something stands near a probe, and the distance up to which, relative
   to the radius. */
enum { DIVIDING_SAMPLES = 24 };
#define DIVIDING_REACH 1.5f

/* The probes 2 i and 2 i + 1 of pair i, for both sides of a part or of a group of small
   triangles. */
typedef struct probe_pair {
    uint32_t face, part;
} probe_pair;

/* Pointers to host or device memory. */
typedef struct tile_probes {
    const tile_face *faces;
    uint32_t *face_of; /* per triangle; KD_NONE: it stores no photons */
    uint32_t *pair_of; /* pair of each part */
    probe_pair *pairs;
    uint32_t *targets; /* OPENNESS_RAYS per probe: index of another probe; KD_NONE: light */
    float *model, *now, *next;
    uint8_t *divided; /* per probe: TILE_DIVIDED, TILE_HIDDEN; NULL: not computed */
    float radius;
    uint32_t pair_count;
} tile_probes;

KD_FN openness_place probe_place(const scene_view *scene, const tile_probes *probes,
                                 uint32_t probe) {
    const probe_pair *pair = &probes->pairs[probe / 2];
    const tile_face *face = &probes->faces[pair->face];
    vec2 corner[3];
    tile_part_corners(face->depth, pair->part, corner);
    const float u = (corner[0].x + corner[1].x + corner[2].x) / 3;
    const float v = (corner[0].y + corner[1].y + corner[2].y) / 3;
    const vec3 *c = face->corner;
    const vec3 normal = probe % 2 ? vec3_negate(face->normal) : face->normal;
    return openness_place_make(&scene->mesh, triangle_point(c[0], c[1], c[2], u, v), normal,
                               face->triangle);
}

/* Returns true if a shadow ray of the probe reaches a light source. */
KD_FN bool probe_sees_light(const scene_view *scene, const openness_place *place, uint32_t which) {
    surface at;
    uint32_t rays = 0;
    memset(&at, 0, sizeof at);
    at.position = place->position;
    at.geometric = at.normal = place->axes.normal;
    at.error = place->error;
    const rng_key key = rng_key_make(float_bits(place->shift[0]), 2, float_bits(place->shift[1]));
    const light_sample drawn =
        light_draw(scene, at.position, place->axes.normal, rng_draw(key, which, 0));
    if (!(drawn.pdf_solid_angle > 0) || vec3_is_zero(drawn.radiance)) return false;
    if (!(vec3_dot(drawn.direction, place->axes.normal) > PROBE_GRAZING)) return false;
    return path_visibility(scene, SCENE_TREE, light_shadow_ray(&at, &drawn), true, &rays) > 0;
}

/* Returns the target of a ray. */
KD_FN uint32_t probe_target(const tile_probes *probes, ray_hit hit, vec3 direction) {
    if (hit.triangle == KD_NONE) return KD_NONE;
    const uint32_t which = probes->face_of[hit.triangle];
    if (which == KD_NONE) return KD_NONE;
    const tile_face *face = &probes->faces[which];
    const uint32_t part = tile_part_at(face->depth, hit.u, hit.v);
    const uint32_t back = vec3_dot(direction, face->normal) > 0;
    return 2 * probes->pair_of[face->first + part] + back;
}

/* Brightness of a probe after another iteration. */
KD_FN float probe_lit(const tile_probes *probes, uint32_t probe) {
    const uint32_t *target = probes->targets + (size_t)probe * OPENNESS_RAYS;
    float sum = 0;
    if (probes->now[probe] >= 1) return 1;
    for (int k = 0; k < OPENNESS_RAYS; ++k)
        sum += target[k] == KD_NONE ? 1 : PROBE_PASSED_ON * probes->now[target[k]];
    return sum / OPENNESS_RAYS;
}

/* Flags of a hidden point of the surface. */
KD_FN uint32_t probe_hidden_flags(const tile_probes *probes, ray_hit hit, vec3 normal) {
    const uint32_t which = probes->face_of[hit.triangle];
    if (which == KD_NONE) return 0;
    const tile_face *face = &probes->faces[which];
    const uint32_t part = tile_part_at(face->depth, hit.u, hit.v);
    const uint32_t back = vec3_dot(face->normal, normal) < 0;
    const uint32_t probe = 2 * probes->pair_of[face->first + part] + back;
    return probes->now[probe] < PROBE_DARK ? TILE_HIDDEN : TILE_HIDDEN | TILE_DIVIDED;
}

/* TILE_DIVIDED and TILE_HIDDEN of a probe, from pairs of points: one in its part, one within the
   radius. `now` must be final. */
KD_FN uint8_t probe_divided(const scene_view *scene, const tile_probes *probes, uint32_t probe) {
    const openness_place place = probe_place(scene, probes, probe);
    const probe_pair *pair = &probes->pairs[probe / 2];
    const tile_face *face = &probes->faces[pair->face];
    const float radius = probes->radius;
    uint32_t found = 0;
    vec2 corner[3];
    if (!visibility_obstructed(scene, &place, DIVIDING_REACH * radius)) return 0;
    tile_part_corners(face->depth, pair->part, corner);
    for (uint32_t i = 0; i < DIVIDING_SAMPLES && !(found & TILE_DIVIDED); ++i) {
        const rng_block r = rng_draw(rng_key_make(probe, 4, i), 0, 0);
        const vec2 w = sample_triangle(r.value[0], r.value[1]);
        const vec2 d = sample_disc(r.value[2], r.value[3]);
        const float first = 1 - w.x - w.y;
        const float u = first * corner[0].x + w.x * corner[1].x + w.y * corner[2].x;
        const float v = first * corner[0].y + w.x * corner[1].y + w.y * corner[2].y;
        const vec3 from = triangle_point(face->corner[0], face->corner[1], face->corner[2], u, v);
        const vec3 offset = frame3_to_world(&place.axes, vec3_make(radius * d.x, radius * d.y, 0));
        const visibility_sample sample =
            visibility_look(scene, NULL, from, place.axes.normal, offset, false);
        if (sample.hidden && sample.hit.triangle != KD_NONE)
            found |= probe_hidden_flags(probes, sample.hit, place.axes.normal);
    }
    return (uint8_t)found;
}

/* Traces the rays of all probes and propagates light, on the current device, which has the scene.
   Sets `now`, `model` and, if it is not NULL, `divided` of `host`; its `targets` and `next` are not
   used. */
KD_DEVICE_CALL(tile_probes_cuda_follow, (const scene_view *view, const tile_probes *host,
                                         uint32_t parts, uint32_t face_count));
/* Upper bound of device memory needed temporarily; 0 without CUDA. */
KD_DEVICE_ANSWER(uint64_t, tile_probes_cuda_bytes_max, (uint64_t parts, uint64_t triangles), 0);

#ifdef __cplusplus
}
#endif
#endif
