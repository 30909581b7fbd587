/* Three-dimensional vectors, orthonormal frames, axis-aligned boxes, rays and hits. */
#ifndef KD_CORE_MATH_GEOMETRY_H
#define KD_CORE_MATH_GEOMETRY_H
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

/* Returns the unit vector of a, or zero for zero and non-finite vectors. Scales first, so that
   lengths from 1e-38 to 1e38 neither overflow nor underflow. */
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

/* An orthonormal frame. frame3_around builds one from a unit normal (Duff et al. 2017, JCGT 6(1),
   listing 3). */
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

typedef struct box3 {
    vec3 lo, hi;
} box3;

KD_FN box3 box3_empty(void) {
    box3 box;
    box.lo = vec3_all(INFINITY);
    box.hi = vec3_all(-INFINITY);
    return box;
}
KD_FN void box3_include(box3 *box, vec3 point) {
    box->lo = vec3_min(box->lo, point);
    box->hi = vec3_max(box->hi, point);
}
KD_FN void box3_join(box3 *box, box3 other) {
    box->lo = vec3_min(box->lo, other.lo);
    box->hi = vec3_max(box->hi, other.hi);
}
KD_FN bool box3_is_empty(box3 box) {
    return !(box.lo.x <= box.hi.x && box.lo.y <= box.hi.y && box.lo.z <= box.hi.z);
}
KD_FN vec3 box3_size(box3 box) {
    return vec3_sub(box.hi, box.lo);
}
KD_FN vec3 box3_centre(box3 box) {
    return vec3_add(vec3_scale(box.lo, 0.5f), vec3_scale(box.hi, 0.5f));
}
KD_FN int box3_longest_axis(box3 box) {
    const vec3 size = box3_size(box);
    return size.x >= size.y && size.x >= size.z ? 0 : size.y >= size.z ? 1 : 2;
}

typedef struct ray {
    vec3 origin;
    float tmin;
    vec3 direction;
    float tmax;
} ray;

typedef struct ray_hit {
    float t;           /* the ray's tmax on a miss */
    float u, v;        /* barycentric weights of the second and third vertex */
    uint32_t triangle; /* KD_NONE on a miss */
} ray_hit;

KD_FN ray ray_make(vec3 origin, vec3 direction, float tmin, float tmax) {
    ray made;
    made.origin = origin;
    made.tmin = tmin;
    made.direction = direction;
    made.tmax = tmax;
    return made;
}
KD_FN vec3 ray_at(const ray *ray, float t) {
    return vec3_along(ray->origin, t, ray->direction);
}

#endif
