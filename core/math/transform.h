/* Affine maps in double precision: p' = M p + t, rows of M first. */
#ifndef KD_CORE_MATH_TRANSFORM_H
#define KD_CORE_MATH_TRANSFORM_H
#include "core/math/vec3.h"

typedef struct transform {
    double m[3][4];
} transform;

transform transform_identity(void);
transform transform_translate(vec3 by);
transform transform_scale(vec3 by);
transform transform_rotate(vec3 axis, double degrees); /* counter-clockwise, axis towards you */
transform transform_compose(const transform *last, const transform *first);
double transform_determinant(const transform *of);
vec3 transform_point(const transform *by, vec3 point);
/* A unit normal again, by the inverse transpose; mirroring does not flip it. */
vec3 transform_normal(const transform *by, vec3 normal);

#endif
