/* Eight pairs of a ray and a triangle at once: triangle_meet (accel/geometry/triangle.h),
   operation by operation, so that what is decided here it would decide alike, to the bit.
   Idea: the caller moves the corners to the rays' space; lanes whose numbers are not safe, and
         those that see the triangle edge-on, are left to triangle_meet. */
#ifndef KD_ACCEL_GEOMETRY_TRIANGLE8_H
#define KD_ACCEL_GEOMETRY_TRIANGLE8_H
#include "accel/geometry/vector8.h"

typedef struct triangle8 {
    float8 x[3], y[3], z[3]; /* in: the three corners, less the origin, sheared (z not scaled) */
    float8 wa, wb, wc;       /* edge functions */
    int8 safe;               /* they are in the comfortable range of float */
    float8 t, u, v;
    int8 good; /* t, u and v are triangle_meet's */
} triangle8;

/* Lanes that surely miss; fills the edge functions. */
VECTOR8_FN int8 triangle8_missed(triangle8 *of) {
    const float8 *x = of->x, *y = of->y;
    of->wa = x[2] * y[1] - y[2] * x[1];
    of->wb = x[0] * y[2] - y[0] * x[2];
    of->wc = x[1] * y[0] - y[1] * x[0];
    const float8 sa = float8_abs(of->wa), sb = float8_abs(of->wb), sc = float8_abs(of->wc);
    const float8 smallest = float8_min(sa, float8_min(sb, sc)),
                 largest = float8_max(sa, float8_max(sb, sc));
    of->safe = (smallest > 0x1p-80f) & (largest < 0x1p80f);
    const int8 signs = (((int8)of->wa ^ (int8)of->wb) | ((int8)of->wa ^ (int8)of->wc)) >> 31;
    return of->safe & signs;
}

/* After that: where the others meet the triangle's plane. `scale`: 1 / the direction's largest. */
VECTOR8_FN void triangle8_meet(triangle8 *of, float8 scale) {
    const float8 *x = of->x, *y = of->y, *z = of->z;
    const float8 sum = of->wa + of->wb + of->wc, inverse = 1 / sum;
    of->u = of->wb * inverse;
    of->v = of->wc * inverse;
    of->t = (of->wa * inverse * z[0] + of->u * z[1] + of->v * z[2]) * scale;
    const float8 wide =
        float8_max(float8_abs(x[0]), float8_max(float8_abs(x[1]), float8_abs(x[2])));
    const float8 high =
        float8_max(float8_abs(y[0]), float8_max(float8_abs(y[1]), float8_abs(y[2])));
    of->good = of->safe & (float8_abs(sum) > 0.125f * wide * high);
}

#endif
