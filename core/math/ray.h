/* Rays and hits. A ray covers origin + t direction for t in (tmin, tmax); the direction need not be
   a unit vector, t counts in its lengths. */
#ifndef KD_CORE_MATH_RAY_H
#define KD_CORE_MATH_RAY_H
#include "core/math/vec3.h"

typedef struct ray {
    vec3 origin;
    float tmin;
    vec3 direction;
    float tmax;
} ray;

typedef struct ray_hit {
    float t;           /* the ray's tmax if nothing was hit */
    float u, v;        /* barycentric weights of the second and third corner */
    uint32_t triangle; /* KD_NONE if nothing was hit */
} ray_hit;

KD_FN ray ray_make(vec3 origin, vec3 direction, float tmin, float tmax) {
    ray made;
    made.origin = origin;
    made.tmin = tmin;
    made.direction = direction;
    made.tmax = tmax;
    return made;
}
KD_FN vec3 ray_at(const ray *cast, float t) {
    return vec3_along(cast->origin, t, cast->direction);
}

#endif
