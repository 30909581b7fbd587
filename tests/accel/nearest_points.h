/* Query points for a set of triangles: anywhere near it, at corners, on edges, in faces, beside
   them, far away. */
#ifndef KD_TESTS_NEAREST_POINTS_H
#define KD_TESTS_NEAREST_POINTS_H
#include "triangle_sets.h"

static inline vec3 nearest_point_case(const triangle_set *set, uint32_t i) {
    const rng_block r = rng_draw(rng_key_make(77, 1, i), 0, 0);
    const vec3 spread = vec3_make(r.value[0] - 0.5f, r.value[1] - 0.5f, r.value[2] - 0.5f);
    const vec3 around = vec3_along(set->centre, 2 * set->size, spread);
    const uint32_t n = set->input.triangle_count;
    if (n == 0 || i % 8 == 0) return around;
    const uint32_t id = (uint32_t)(r.value[3] * (float)n) % n;
    const vec3 *corner = set->positions + 3 * id;
    const vec3 on_edge = vec3_along(corner[0], r.value[0], vec3_sub(corner[1], corner[0]));
    switch (i % 8) {
    case 1: return corner[i / 8 % 3];
    case 2: return on_edge;
    case 3: return vec3_along(on_edge, r.value[1], vec3_sub(corner[2], on_edge));
    case 4: return vec3_along(corner[0], 1e-3f * set->size, spread);
    case 5: return vec3_along(on_edge, 1e-6f * set->size, spread);
    case 6: return vec3_along(set->centre, 1000 * set->size, spread);
    default: {
        vec3 beside_corner = around;
        vec3_set_axis(&beside_corner, (int)(i / 8 % 3), vec3_axis(corner[0], (int)(i / 8 % 3)));
        return beside_corner;
    }
    }
}

#endif
