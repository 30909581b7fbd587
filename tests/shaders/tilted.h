/* Flux and radiance of one surface under a tilted shading normal. */
#ifndef KD_TESTS_SHADERS_TILTED_H
#define KD_TESTS_SHADERS_TILTED_H
#include "shaders/bsdf.h"

enum { TILTED_BINS = 8 };

static int tilted_bin(vec3 direction) {
    return (direction.x > 0 ? 1 : 0) + (direction.y > 0 ? 2 : 0) + (direction.z > 0 ? 4 : 0);
}

/* Returns the largest difference, over octants of the direction, between the share of flux from
   `light` that bsdf_draw sends there and the integral of the radiance that an eye there sees, in
   units of the whole plus 0.05. Delta distributions are excluded. */
static double tilted_difference(surface at, vec3 light, rng_block (*draw)(uint32_t, uint64_t)) {
    enum { DRAWS = 100000, ROWS = 400, COLUMNS = 200 };
    double drawn[TILTED_BINS] = {0}, seen[TILTED_BINS] = {0}, whole = 0, worst = 0;
    surface_turn(&at, light);
    for (uint64_t i = 0; i < DRAWS; ++i) {
        const bsdf_sample s = bsdf_draw(&at, light, draw(11, i), BSDF_FLUX);
        if (!s.specular && !vec3_is_zero(s.weight))
            drawn[tilted_bin(s.direction)] += (double)s.weight.x / DRAWS;
    }
    for (int r = 0; r < ROWS; ++r)
        for (int k = 0; k < COLUMNS; ++k) {
            const double z = 1 - 2 * (r + 0.5) / ROWS, radius = sqrt(1 - z * z);
            const double turn = 6.283185307179586 * (k + 0.5) / COLUMNS;
            const vec3 eye =
                vec3_make((float)(radius * cos(turn)), (float)(radius * sin(turn)), (float)z);
            surface from_eye = at;
            surface_turn(&from_eye, eye);
            const vec3 f = bsdf_evaluate(&from_eye, eye, light, BSDF_RADIANCE);
            seen[tilted_bin(eye)] +=
                (double)(f.x * fabsf(vec3_dot(light, from_eye.normal) *
                                     vec3_dot(eye, at.geometric) / vec3_dot(light, at.geometric))) *
                12.566370614359172 / (ROWS * COLUMNS);
        }
    for (int b = 0; b < TILTED_BINS; ++b) whole += seen[b];
    for (int b = 0; b < TILTED_BINS; ++b) {
        const double off = fabs(drawn[b] - seen[b]) / (whole + 0.05);
        if (off > worst) worst = off;
    }
    return worst;
}

#endif
