/* Transforms of instances for tests. */
#ifndef KD_TESTS_TRANSFORM_CASES_H
#define KD_TESTS_TRANSFORM_CASES_H
#include "core/math/transform.h"
#include "tests/accel/nasty_rays.h"

/* Transform i: identity, far away, large, small, rotated, mirrored, sheared, flattened, and
   combinations. */
static inline transform case_transform(uint32_t i, float size) {
    const rng_block r = rng_draw(rng_key_make(7, 1, i), 0, 0);
    const vec3 u = vec3_make(r.value[0] - 0.5f, r.value[1] - 0.5f, r.value[2] - 0.5f);
    transform made = transform_identity(), moved = transform_translate(vec3_scale(u, 4 * size));
    switch (i % 8) {
    case 1: moved = transform_translate(vec3_scale(u, 1000 * size)); break;
    case 2: made = transform_scale(vec3_all(ldexpf(1 + r.value[3], 6))); break;
    case 3: made = transform_scale(vec3_all(ldexpf(1 + r.value[3], -9))); break;
    case 4: made = transform_rotate(vec3_add(u, vec3_all(1e-3f)), 360 * (double)r.value[3]); break;
    case 5: made = transform_scale(vec3_make(-1, 1 + r.value[3], 0.7f)); break;
    case 6: made.m[0][1] = 3 * (double)r.value[3], made.m[2][0] = -1; break;
    case 7: made = transform_scale(vec3_make(1, 0x1p-10f, 3)); break;
    default: break;
    }
    if (i == 0) return made;
    if (i > 8) {
        const transform turned = transform_rotate(vec3_make(u.y, 1, u.x), 777 * (double)u.z);
        made = transform_compose(&turned, &made);
    }
    return transform_compose(&moved, &made);
}

#endif
