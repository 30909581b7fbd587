/* triangle_clip_halves (shaders/triangle_clip.h) as a CPU's vector unit does it: the same bits.
   Idea: a corner's three coordinates are one vector of doubles, with the same operations on the
   same numbers. What is kept and what is cut are written always and counted only if wanted, and
   what an extent must not include becomes NaN, which minima and maxima ignore: on which side a
   corner lies is hard to predict. */
#ifndef KD_ACCEL_CLIP_HALVES_H
#define KD_ACCEL_CLIP_HALVES_H
#include "accel/vector8.h"
#include "shaders/triangle_clip.h"
#include "shaders/triangle_rows.h"
#ifdef __AVX__
#include <immintrin.h>
#endif

typedef double double4 __attribute__((vector_size(32)));
typedef int64_t long4 __attribute__((vector_size(32)));

typedef struct clip_polygon {
    double4 corner[TRIANGLE_CLIP_CORNERS + 1]; /* one more: the first again, or what is dropped */
    int count;
} clip_polygon;

typedef struct clip_extent {
    double4 lo, hi;
} clip_extent;

/* v < than ? v : than, so `than` where v is NaN. */
VECTOR8_FN double4 double4_min(double4 v, double4 than) {
#ifdef __AVX__
    return (double4)_mm256_min_pd((__m256d)v, (__m256d)than);
#else
    const long4 less = v < than;
    return (double4)((less & (long4)v) | (~less & (long4)than));
#endif
}
VECTOR8_FN double4 double4_max(double4 v, double4 than) {
#ifdef __AVX__
    return (double4)_mm256_max_pd((__m256d)v, (__m256d)than);
#else
    const long4 more = v > than;
    return (double4)((more & (long4)v) | (~more & (long4)than));
#endif
}
VECTOR8_FN double4 double4_all(double x) {
    const double4 v = {x, x, x, x};
    return v;
}
VECTOR8_FN double4 double4_of(vec3 v) {
    const double4 of = {(double)v.x, (double)v.y, (double)v.z, 0};
    return of;
}
VECTOR8_FN double double4_axis(const double4 *v, int axis) {
    double component;
    memcpy(&component, (const char *)v + (size_t)axis * sizeof component, sizeof component);
    return component;
}
VECTOR8_FN long4 long4_all(bool set) {
    const int64_t x = -(int64_t)set;
    const long4 v = {x, x, x, x};
    return v;
}
/* All bits of one axis. */
VECTOR8_FN long4 long4_axis(int axis) {
    const long4 number = {0, 1, 2, 3};
    return number == axis;
}

typedef struct clip_cut { /* where an edge crosses a plane */
    int edge, to;         /* from this corner to the next; which corner that becomes */
    bool falls;           /* the edge's first end is the lower one */
    double below, above;  /* heights of its ends */
} clip_cut;

/* Keeps what lies at or above the plane (`sign` 1), or at or below it (-1). */
VECTOR8_FN void clip_polygon_cut(clip_polygon *to, clip_polygon *from, int axis, double plane,
                                 double sign) {
    enum { MOST = TRIANGLE_CLIP_CORNERS };
    clip_cut cuts[MOST + 1];
    const long4 of_axis = long4_axis(axis), in_plane = of_axis & (long4)double4_all(plane);
    from->corner[from->count] = from->corner[0];
    double dp = (double4_axis(from->corner, axis) - plane) * sign;
    int kept = 0, cut_count = 0;
    for (int i = 0; i < from->count; ++i) {
        const double dq = (double4_axis(from->corner + i + 1, axis) - plane) * sign;
        const bool falls = dp < 0;
        to->corner[kept] = from->corner[i];
        kept += !falls & (kept < MOST);
        clip_cut *cut = cuts + cut_count;
        cut->edge = i;
        cut->to = kept;
        cut->falls = falls;
        cut->below = falls ? dp : dq;
        cut->above = falls ? dq : dp;
        const int crosses = (cut->below < 0) & (cut->above > 0) & (kept < MOST);
        cut_count += crosses;
        kept += crosses;
        dp = dq;
    }
    to->count = kept;
    for (const clip_cut *cut = cuts; cut < cuts + cut_count; ++cut) {
        /* from the lower end always, so that neighbours cut a shared edge at the same point */
        const double4 *p = from->corner + cut->edge;
        const double4 low = p[cut->falls ? 0 : 1], high = p[cut->falls ? 1 : 0];
        const double s = cut->below / (cut->below - cut->above);
        const double4 between = low + s * (high - low);
        to->corner[cut->to] = (double4)((~of_axis & (long4)between) | in_plane);
    }
}

/* The triangle's part in the closed `box`, in either of two polygons. */
VECTOR8_FN clip_polygon *clip_polygon_in_box(clip_polygon work[2], vec3 a, vec3 b, vec3 c,
                                             box3 box) {
    clip_polygon *from = work, *to = work + 1;
    const box3 whole = triangle_box(a, b, c);
    from->corner[0] = double4_of(a);
    from->corner[1] = double4_of(b);
    from->corner[2] = double4_of(c);
    from->count = 3;
    uint32_t sides =
        (uint32_t)(whole.lo.x < box.lo.x) | (uint32_t)(whole.hi.x > box.hi.x) << 1 |
        (uint32_t)(whole.lo.y < box.lo.y) << 2 | (uint32_t)(whole.hi.y > box.hi.y) << 3 |
        (uint32_t)(whole.lo.z < box.lo.z) << 4 | (uint32_t)(whole.hi.z > box.hi.z) << 5;
    for (; sides; sides &= sides - 1) {
        const int side = __builtin_ctz(sides), axis = side / 2;
        const double plane = (double)vec3_axis(side & 1 ? box.hi : box.lo, axis);
        clip_polygon_cut(to, from, axis, plane, side & 1 ? -1 : 1);
        clip_polygon *swap = from;
        from = to;
        to = swap;
    }
    return from;
}

VECTOR8_FN void clip_extent_include(clip_extent *extent, double4 point, bool wanted) {
    const double4 or_nan = (double4)((long4)point | long4_all(!wanted));
    extent->lo = double4_min(or_nan, extent->lo);
    extent->hi = double4_max(or_nan, extent->hi);
}

/* The next float below x, or above it; x is finite. */
VECTOR8_FN float4v clip_float_down(float4v x) {
    const int4v bits = (int4v)x, positive = bits > 0, zero = bits == 0;
    const int4v next = bits + (positive | 1); /* -1 or 1 */
    return (float4v)((~zero & next) | (zero & (int32_t)0x80000001));
}
VECTOR8_FN float4v clip_float_up(float4v x) {
    return -clip_float_down(-x);
}
VECTOR8_FN float4v clip_select(int4v mask, float4v yes, float4v no) {
    return (float4v)((mask & (int4v)yes) | (~mask & (int4v)no));
}
VECTOR8_FN vec3 clip_vec3(float4v v) {
    return vec3_make(v[0], v[1], v[2]);
}

/* Rounded outwards, but not beyond `box`; false if nothing was included. */
VECTOR8_FN bool clip_extent_box(const clip_extent *extent, box3 box, box3 *out) {
    *out = box;
    if (!(extent->lo[0] <= extent->hi[0])) return false;
    const float4v box_lo = {box.lo.x, box.lo.y, box.lo.z, 0};
    const float4v box_hi = {box.hi.x, box.hi.y, box.hi.z, 0};
    float4v lo = __builtin_convertvector(extent->lo, float4v);
    float4v hi = __builtin_convertvector(extent->hi, float4v);
    const long4 lo_above = __builtin_convertvector(lo, double4) > extent->lo;
    const long4 hi_below = __builtin_convertvector(hi, double4) < extent->hi;
    lo = clip_select(__builtin_convertvector(lo_above, int4v), clip_float_down(lo), lo);
    hi = clip_select(__builtin_convertvector(hi_below, int4v), clip_float_up(hi), hi);
    out->lo = clip_vec3(clip_select(lo > box_lo, lo, box_lo));
    out->hi = clip_vec3(clip_select(hi < box_hi, hi, box_hi));
    return true;
}

/* Bounding boxes of the triangle's parts in the two halves of `box`; bit 0 of the answer: the lower
   half has one, bit 1: the upper half has. */
VECTOR8_FN int clip_halves_by_vectors(vec3 a, vec3 b, vec3 c, box3 box, int axis, float plane,
                                      box3 *lower, box3 *upper) {
    clip_polygon work[2];
    clip_polygon *polygon = clip_polygon_in_box(work, a, b, c, box);
    const long4 of_axis = long4_axis(axis), in_plane = of_axis & (long4)double4_all((double)plane);
    clip_extent below = {double4_all((double)INFINITY), double4_all(-(double)INFINITY)};
    clip_extent above = below;
    polygon->corner[polygon->count] = polygon->corner[0];
    double dp = double4_axis(polygon->corner, axis) - (double)plane;
    for (int i = 0; i < polygon->count; ++i) {
        const double4 *p = polygon->corner + i;
        const double dq = double4_axis(p + 1, axis) - (double)plane;
        clip_extent_include(&below, p[0], dp <= 0);
        clip_extent_include(&above, p[0], dp >= 0);
        const double s = dp / (dp - dq);
        const double4 between = p[0] + s * (p[1] - p[0]);
        const double4 cut = (double4)((~of_axis & (long4)between) | in_plane);
        const bool crosses = ((dp < 0) & (dq > 0)) | ((dp > 0) & (dq < 0));
        clip_extent_include(&below, cut, crosses);
        clip_extent_include(&above, cut, crosses);
        dp = dq;
    }
    box3 half = box;
    vec3_set_axis(&half.hi, axis, plane);
    const int has_lower = clip_extent_box(&below, half, lower) ? 1 : 0;
    half = box;
    vec3_set_axis(&half.lo, axis, plane);
    const int has_upper = clip_extent_box(&above, half, upper) ? 2 : 0;
    return has_lower | has_upper;
}

/* By pairs of doubles (SSE2) vectors take twice as long as the plain way. */
VECTOR8_FN int clip_halves(vec3 a, vec3 b, vec3 c, box3 box, int axis, float plane, box3 *lower,
                           box3 *upper) {
#ifdef __AVX__
    return clip_halves_by_vectors(a, b, c, box, axis, plane, lower, upper);
#else
    return triangle_clip_halves(a, b, c, box, axis, plane, lower, upper);
#endif
}

#endif
