/* Clips a triangle to a box and computes the bounding box of the part inside ("perfect splits").
   Source: Sutherland and Hodgman 1974, clipping a polygon plane by plane; used for k-d trees by
   Havran and Bittner 2002, and by Wald and Havran 2006, section 4.1.
   Idea: always clip the original triangle, in double, and round outwards, so that errors do not
   accumulate from node to node and no part of the triangle is lost. Only planes that intersect the
   triangle's box are clipped against. */
#ifndef KD_ACCEL_TREE_TRIANGLE_CLIP_H
#define KD_ACCEL_TREE_TRIANGLE_CLIP_H
#include "accel/tree/triangle.h"

enum { TRIANGLE_CLIP_CORNERS = 9 }; /* 3, plus one for each of six planes */

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

/* Keeps the part at or above the plane (`sign` 1), or at or below it (-1). */
KD_FN void triangle_polygon_clip(triangle_polygon *polygon, int axis, double plane, double sign) {
    double height[TRIANGLE_CLIP_CORNERS + 1];
    const int count = polygon->count;
    bool whole = true;
    for (int i = 0; i < count; ++i) {
        height[i] = (polygon->corner[i][axis] - plane) * sign;
        whole = whole && height[i] >= 0;
    }
    if (whole) return;
    height[count] = height[0];
    const triangle_polygon from = *polygon;
    int kept = 0;
    for (int i = 0; i < count && kept < TRIANGLE_CLIP_CORNERS; ++i) {
        const double *p = from.corner[i], *q = from.corner[i + 1 < count ? i + 1 : 0];
        const double dp = height[i], dq = height[i + 1];
        if (dp >= 0) {
            for (int k = 0; k < 3; ++k) polygon->corner[kept][k] = p[k];
            ++kept;
        }
        if (((dp < 0 && dq > 0) || (dp > 0 && dq < 0)) && kept < TRIANGLE_CLIP_CORNERS) {
            /* Interpolate from the lower end, so that adjacent triangles get the same point on a
               shared edge. */
            const double *low = dp < 0 ? p : q, *high = dp < 0 ? q : p;
            const double s = dp < 0 ? dp / (dp - dq) : dq / (dq - dp);
            for (int k = 0; k < 3; ++k) polygon->corner[kept][k] = low[k] + s * (high[k] - low[k]);
            polygon->corner[kept][axis] = plane;
            ++kept;
        }
    }
    polygon->count = kept;
}

KD_FN float float_not_above(double x) {
    const float nearest = (float)x;
    return (double)nearest > x ? float_down(nearest) : nearest;
}
KD_FN float float_not_below(double x) {
    const float nearest = (float)x;
    return (double)nearest < x ? float_up(nearest) : nearest;
}

/* Returns the triangle's part in the closed `box`; no corners if it is empty. */
KD_FN triangle_polygon triangle_polygon_in_box(vec3 a, vec3 b, vec3 c, box3 box) {
    const box3 whole = triangle_box(a, b, c);
    triangle_polygon polygon = triangle_polygon_make(a, b, c);
    for (int axis = 0; axis < 3; ++axis) {
        const float lo = vec3_axis(box.lo, axis), hi = vec3_axis(box.hi, axis);
        if (vec3_axis(whole.lo, axis) < lo) triangle_polygon_clip(&polygon, axis, (double)lo, 1);
        if (vec3_axis(whole.hi, axis) > hi) triangle_polygon_clip(&polygon, axis, (double)hi, -1);
    }
    return polygon;
}

typedef struct triangle_extent {
    double lo[3], hi[3];
} triangle_extent;

KD_FN triangle_extent triangle_extent_empty(void) {
    triangle_extent extent;
    for (int k = 0; k < 3; ++k) {
        extent.lo[k] = (double)INFINITY;
        extent.hi[k] = -(double)INFINITY;
    }
    return extent;
}
KD_FN void triangle_extent_include(triangle_extent *extent, const double *point) {
    for (int k = 0; k < 3; ++k) {
        extent->lo[k] = point[k] < extent->lo[k] ? point[k] : extent->lo[k];
        extent->hi[k] = point[k] > extent->hi[k] ? point[k] : extent->hi[k];
    }
}
/* Computes the box, rounded outwards but not beyond `box`. Returns false if the extent is empty. */
KD_FN bool triangle_extent_box(const triangle_extent *extent, box3 box, box3 *out) {
    *out = box;
    if (!(extent->lo[0] <= extent->hi[0])) return false;
    out->lo.x = float_max(float_not_above(extent->lo[0]), box.lo.x);
    out->lo.y = float_max(float_not_above(extent->lo[1]), box.lo.y);
    out->lo.z = float_max(float_not_above(extent->lo[2]), box.lo.z);
    out->hi.x = float_min(float_not_below(extent->hi[0]), box.hi.x);
    out->hi.y = float_min(float_not_below(extent->hi[1]), box.hi.y);
    out->hi.z = float_min(float_not_below(extent->hi[2]), box.hi.z);
    return true;
}

/* Computes the bounding box of the triangle's part in the closed `box`. Returns false if it is
   empty. */
KD_FN bool triangle_clip_box(vec3 a, vec3 b, vec3 c, box3 box, box3 *clipped) {
    const triangle_polygon polygon = triangle_polygon_in_box(a, b, c, box);
    triangle_extent extent = triangle_extent_empty();
    for (int i = 0; i < polygon.count; ++i) triangle_extent_include(&extent, polygon.corner[i]);
    return triangle_extent_box(&extent, box, clipped);
}

/* Computes the bounding boxes of the triangle's parts in the two halves of `box`. Returns bit 0 if
   the lower half has one, bit 1 if the upper half has one. */
KD_FN int triangle_clip_halves(vec3 a, vec3 b, vec3 c, box3 box, int axis, float plane, box3 *lower,
                               box3 *upper) {
    const triangle_polygon polygon = triangle_polygon_in_box(a, b, c, box);
    triangle_extent below = triangle_extent_empty(), above = below;
    for (int i = 0; i < polygon.count; ++i) {
        const double *p = polygon.corner[i];
        const double *q = polygon.corner[i + 1 < polygon.count ? i + 1 : 0];
        const double dp = p[axis] - (double)plane, dq = q[axis] - (double)plane;
        if (dp <= 0) triangle_extent_include(&below, p);
        if (dp >= 0) triangle_extent_include(&above, p);
        if ((dp < 0 && dq > 0) || (dp > 0 && dq < 0)) {
            const double s = dp / (dp - dq);
            double cut[3];
            for (int k = 0; k < 3; ++k)
                cut[k] = k == axis ? (double)plane : p[k] + s * (q[k] - p[k]);
            triangle_extent_include(&below, cut);
            triangle_extent_include(&above, cut);
        }
    }
    box3 half = box;
    vec3_set_axis(&half.hi, axis, plane);
    const int has_lower = triangle_extent_box(&below, half, lower) ? 1 : 0;
    half = box;
    vec3_set_axis(&half.lo, axis, plane);
    const int has_upper = triangle_extent_box(&above, half, upper) ? 2 : 0;
    return has_lower | has_upper;
}

#endif
