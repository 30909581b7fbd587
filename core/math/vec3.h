/* Three floats: points, directions, linear Rec. 709 colours. */
#ifndef KD_CORE_MATH_VEC3_H
#define KD_CORE_MATH_VEC3_H
#include "core/math/platform.h"

typedef struct vec2 {
    float x, y;
} vec2;

typedef struct vec3 {
    float x, y, z;
} vec3;

KD_FN vec2 vec2_make(float x, float y) {
    vec2 v;
    v.x = x;
    v.y = y;
    return v;
}

KD_FN vec3 vec3_make(float x, float y, float z) {
    vec3 v;
    v.x = x;
    v.y = y;
    v.z = z;
    return v;
}

KD_FN vec3 vec3_all(float x) {
    return vec3_make(x, x, x);
}
KD_FN vec3 vec3_add(vec3 a, vec3 b) {
    return vec3_make(a.x + b.x, a.y + b.y, a.z + b.z);
}
KD_FN vec3 vec3_sub(vec3 a, vec3 b) {
    return vec3_make(a.x - b.x, a.y - b.y, a.z - b.z);
}
KD_FN vec3 vec3_mul(vec3 a, vec3 b) {
    return vec3_make(a.x * b.x, a.y * b.y, a.z * b.z);
}
KD_FN vec3 vec3_scale(vec3 a, float s) {
    return vec3_make(a.x * s, a.y * s, a.z * s);
}
KD_FN vec3 vec3_negate(vec3 a) {
    return vec3_make(-a.x, -a.y, -a.z);
}
KD_FN float vec3_dot(vec3 a, vec3 b) {
    return a.x * b.x + a.y * b.y + a.z * b.z;
}
KD_FN vec3 vec3_cross(vec3 a, vec3 b) {
    return vec3_make(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}
/* a + s b */
KD_FN vec3 vec3_along(vec3 a, float s, vec3 b) {
    return vec3_make(a.x + s * b.x, a.y + s * b.y, a.z + s * b.z);
}
KD_FN vec3 vec3_min(vec3 a, vec3 b) {
    return vec3_make(float_min(a.x, b.x), float_min(a.y, b.y), float_min(a.z, b.z));
}
KD_FN vec3 vec3_max(vec3 a, vec3 b) {
    return vec3_make(float_max(a.x, b.x), float_max(a.y, b.y), float_max(a.z, b.z));
}
KD_FN float vec3_length2(vec3 a) {
    return vec3_dot(a, a);
}
KD_FN float vec3_length(vec3 a) {
    return sqrtf(vec3_dot(a, a));
}
KD_FN float vec3_largest(vec3 a) {
    return float_max(a.x, float_max(a.y, a.z));
}
KD_FN bool vec3_is_zero(vec3 a) {
    return a.x == 0 && a.y == 0 && a.z == 0;
}
KD_FN bool vec3_is_finite(vec3 a) {
    return isfinite(a.x) && isfinite(a.y) && isfinite(a.z);
}
KD_FN float vec3_luminance(vec3 c) {
    return 0.2126f * c.x + 0.7152f * c.y + 0.0722f * c.z;
}

/* Unit vector along a; zero stays zero. Scaled first, so lengths from 1e-38 to 1e38 work. */
KD_FN_HOT vec3 vec3_normalize(vec3 a) {
    const float largest = float_max(fabsf(a.x), float_max(fabsf(a.y), fabsf(a.z)));
    if (!(largest > 0) || !(largest <= FLT_MAX)) return vec3_all(0);
    const vec3 scaled = vec3_make(a.x / largest, a.y / largest, a.z / largest);
    return vec3_scale(scaled, 1 / sqrtf(vec3_dot(scaled, scaled)));
}

KD_FN float vec3_axis(vec3 a, int axis) {
    return axis == 0 ? a.x : axis == 1 ? a.y : a.z;
}
KD_FN void vec3_set_axis(vec3 *a, int axis, float value) {
    if (axis == 0)
        a->x = value;
    else if (axis == 1)
        a->y = value;
    else
        a->z = value;
}

/* Orthonormal frame around a unit normal (Duff et al. 2017, JCGT 6(1), listing 3). */
typedef struct frame3 {
    vec3 tangent, bitangent, normal;
} frame3;

KD_FN frame3 frame3_around(vec3 normal) {
    const float sign = copysignf(1.0f, normal.z);
    const float a = -1.0f / (sign + normal.z);
    const float b = normal.x * normal.y * a;
    frame3 frame;
    frame.tangent = vec3_make(1 + sign * normal.x * normal.x * a, sign * b, -sign * normal.x);
    frame.bitangent = vec3_make(b, sign + normal.y * normal.y * a, -normal.y);
    frame.normal = normal;
    return frame;
}
KD_FN vec3 frame3_to_world(const frame3 *frame, vec3 local) {
    return vec3_along(vec3_along(vec3_scale(frame->tangent, local.x), local.y, frame->bitangent),
                      local.z, frame->normal);
}
KD_FN vec3 frame3_to_local(const frame3 *frame, vec3 world) {
    return vec3_make(vec3_dot(world, frame->tangent), vec3_dot(world, frame->bitangent),
                     vec3_dot(world, frame->normal));
}

#endif
