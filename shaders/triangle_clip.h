/* The part of a triangle inside a box, as its bounding box: what "perfect splits" are made of.
   Source: Sutherland and Hodgman 1974, clipping a polygon plane by plane; used for k-d trees by
   Havran and Bittner 2002, and by Wald and Havran 2006, section 4.1.
   Idea: always from the original triangle, in double, rounded outwards, so that errors do not add
   up from node to node and no part of the triangle is lost. Only planes that cut the triangle's own
   box are clipped against. */
#ifndef KD_SHADERS_TRIANGLE_CLIP_H
#define KD_SHADERS_TRIANGLE_CLIP_H
#include "shaders/triangle.h"

enum { TRIANGLE_CLIP_CORNERS = 9 }; /* 3, and one more for each of six planes */

typedef struct triangle_polygon {
    double corner[TRIANGLE_CLIP_CORNERS][3];
    int count;
} triangle_polygon;

KD_FN triangle_polygon triangle_polygon_make(vec3 a, vec3 b, vec3 c) {
    triangle_polygon polygon;
    const vec3 corner[3] = {a, b, c};
    for (int i = 0; i < 3; ++i) {
        polygon.corner[i][0] = (double)corner[i].x;
        polygon.corner[i][1] = (double)corner[i].y;
        polygon.corner[i][2] = (double)corner[i].z;
    }
    polygon.count = 3;
    return polygon;
}

/* Keeps what lies at or above the plane (`sign` 1), or at or below it (-1). */
KD_FN void triangle_polygon_clip(triangle_polygon *polygon, int axis, double plane, double sign) {
    triangle_polygon kept;
    kept.count = 0;
    for (int i = 0; i < polygon->count; ++i) {
        const double *p = polygon->corner[i];
        const double *q = polygon->corner[i + 1 < polygon->count ? i + 1 : 0];
        const double dp = (p[axis] - plane) * sign, dq = (q[axis] - plane) * sign;
        if (dp >= 0) {
            for (int k = 0; k < 3; ++k) kept.corner[kept.count][k] = p[k];
            ++kept.count;
        }
        if ((dp < 0 && dq > 0) || (dp > 0 && dq < 0)) {
            /* from the lower end always, so that neighbours cut a shared edge at the same point */
            const double *low = dp < 0 ? p : q, *high = dp < 0 ? q : p;
            const double s = dp < 0 ? dp / (dp - dq) : dq / (dq - dp);
            for (int k = 0; k < 3; ++k)
                kept.corner[kept.count][k] = k == axis ? plane : low[k] + s * (high[k] - low[k]);
            ++kept.count;
        }
        if (kept.count == TRIANGLE_CLIP_CORNERS) break;
    }
    *polygon = kept;
}

KD_FN float float_not_above(double x) {
    const float nearest = (float)x;
    return (double)nearest > x ? float_down(nearest) : nearest;
}
KD_FN float float_not_below(double x) {
    const float nearest = (float)x;
    return (double)nearest < x ? float_up(nearest) : nearest;
}

/* Bounding box of the triangle's part in the closed `box`; false if there is none. */
KD_FN bool triangle_clip_box(vec3 a, vec3 b, vec3 c, box3 box, box3 *clipped) {
    const box3 whole = triangle_box(a, b, c);
    triangle_polygon polygon = triangle_polygon_make(a, b, c);
    for (int axis = 0; axis < 3; ++axis) {
        const float lo = vec3_axis(box.lo, axis), hi = vec3_axis(box.hi, axis);
        if (vec3_axis(whole.lo, axis) < lo) triangle_polygon_clip(&polygon, axis, (double)lo, 1);
        if (vec3_axis(whole.hi, axis) > hi) triangle_polygon_clip(&polygon, axis, (double)hi, -1);
    }
    *clipped = box;
    if (polygon.count == 0) return false;
    for (int axis = 0; axis < 3; ++axis) {
        double lo = polygon.corner[0][axis], hi = lo;
        for (int i = 1; i < polygon.count; ++i) {
            lo = polygon.corner[i][axis] < lo ? polygon.corner[i][axis] : lo;
            hi = polygon.corner[i][axis] > hi ? polygon.corner[i][axis] : hi;
        }
        vec3_set_axis(&clipped->lo, axis, float_max(float_not_above(lo), vec3_axis(box.lo, axis)));
        vec3_set_axis(&clipped->hi, axis, float_min(float_not_below(hi), vec3_axis(box.hi, axis)));
    }
    return true;
}

#endif
