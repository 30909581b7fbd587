/* A box around a triangle's part in a cell of the k-d tree, in float, the same bits everywhere.
   Idea: where the triangle reaches beyond the cell along an axis, its corners between the two
         planes and the points where its edges cross them bound the other two coordinates; and
         the triangle's plane bounds each coordinate by what is left of the other two.
   Invariants: never too small. A crossing is computed to within 2^-20 of the edge's coordinates
               and widened by that much, the plane's bounds by 2^-20 of all that their sums are
               made of. */
#ifndef KD_ACCEL_PACKED_PACKED_CUT_H
#define KD_ACCEL_PACKED_PACKED_CUT_H
#include "accel/geometry/triangle.h"

/* The coordinates of an axis that a part of the triangle has. */
typedef struct packed_range {
    float lo, hi;
} packed_range;

KD_FN void packed_range_cross(packed_range *range, float from, float to, float s) {
    const float at = from + s * (to - from);
    const float off = float_max(fabsf(from), fabsf(to)) * 0x1p-20f;
    range->lo = float_min(range->lo, float_max(at - off, float_min(from, to)));
    range->hi = float_max(range->hi, float_min(at + off, float_max(from, to)));
}

KD_FN void packed_range_include(packed_range *range, float x) {
    range->lo = float_min(range->lo, x);
    range->hi = float_max(range->hi, x);
}

/* Where the edge from corner i to corner j crosses a plane across the axis of w. */
KD_FN void packed_cut_edge(const float w[3], const float u[3], const float v[3], int i, int j,
                           float plane, packed_range *of_u, packed_range *of_v) {
    if (!((w[i] < plane && w[j] > plane) || (w[i] > plane && w[j] < plane))) return;
    const float s = (plane - w[i]) / (w[j] - w[i]);
    packed_range_cross(of_u, u[i], u[j], s);
    packed_range_cross(of_v, v[i], v[j], s);
}

/* What corner i, and the edge from there to j, have between two planes. */
KD_FN void packed_cut_corner(const float w[3], const float u[3], const float v[3], int i, int j,
                             float low, float high, packed_range *of_u, packed_range *of_v) {
    if (w[i] >= low && w[i] <= high) {
        packed_range_include(of_u, u[i]);
        packed_range_include(of_v, v[i]);
    }
    packed_cut_edge(w, u, v, i, j, low, of_u, of_v);
    packed_cut_edge(w, u, v, i, j, high, of_u, of_v);
}

/* What two more axes (u, v) have of the triangle between two planes across the axis of w. Written
   without loops, here and below: a device then keeps the numbers in registers. */
KD_FN void packed_cut_slab(const float w[3], const float u[3], const float v[3], float low,
                           float high, packed_range *of_u, packed_range *of_v) {
    of_u->lo = of_v->lo = INFINITY;
    of_u->hi = of_v->hi = -INFINITY;
    packed_cut_corner(w, u, v, 0, 1, low, high, of_u, of_v);
    packed_cut_corner(w, u, v, 1, 2, low, high, of_u, of_v);
    packed_cut_corner(w, u, v, 2, 0, low, high, of_u, of_v);
}

/* The bounds lo, hi narrowed to what the triangle has between from[k] and to[k]; i, j: the other
   axes. */
KD_FN void packed_cut_between(const float x[3][3], const float from[3], const float to[3], int k,
                              int i, int j, float lo[3], float hi[3]) {
    packed_range of_i, of_j;
    packed_cut_slab(x[k], x[i], x[j], from[k], to[k], &of_i, &of_j);
    lo[i] = float_max(lo[i], of_i.lo);
    hi[i] = float_min(hi[i], of_i.hi);
    lo[j] = float_max(lo[j], of_j.lo);
    hi[j] = float_min(hi[j], of_j.hi);
}

/* A coordinate x of the plane: normal (x - at) is between `least` and `most`. */
KD_FN void packed_cut_axis(float at, float normal, float least, float most, float *lo, float *hi) {
    const float inverse = 1 / normal, p = least * inverse, q = most * inverse;
    const float off = (fabsf(at) + float_max(fabsf(p), fabsf(q))) * 0x1p-20f;
    const float low = at + float_min(p, q) - off, high = at + float_max(p, q) + off;
    if (low > *lo && low <= FLT_MAX) *lo = low; /* what is no number bounds nothing */
    if (high < *hi && high >= -FLT_MAX) *hi = high;
}

/* Narrows a box that holds a part of the triangle by the triangle's plane: with n the normal and a
   the first corner, n_x (x - a_x) = -n_y (y - a_y) - n_z (z - a_z), which y and z bound. */
KD_FN void packed_cut_plane(const float x[3][3], float lo[3], float hi[3]) {
    float normal[3], terms[3], least[3], most[3], reach[3], off = 0, all_terms = 0, all_reach = 1;
    for (int k = 0; k < 3; ++k) {
        const int i = k == 2 ? 0 : k + 1, j = k == 0 ? 2 : k - 1;
        const float plus = (x[i][1] - x[i][0]) * (x[j][2] - x[j][0]),
                    minus = (x[j][1] - x[j][0]) * (x[i][2] - x[i][0]);
        const float low = lo[k] - x[k][0], high = hi[k] - x[k][0];
        normal[k] = plus - minus;
        terms[k] = fabsf(plus) + fabsf(minus);
        least[k] = float_min(normal[k] * low, normal[k] * high);
        most[k] = float_max(normal[k] * low, normal[k] * high);
        reach[k] = float_max(fabsf(low), fabsf(high));
        off += terms[k] * reach[k];
        all_terms += terms[k];
        all_reach += reach[k];
    }
    off *= 0x1p-20f;
    /* not where what underflows could be more than `off`, or overflows */
    if (!(off > 1e-30f * all_reach && all_terms < 0x1p120f && off < 0x1p100f)) return;
    for (int k = 0; k < 3; ++k) {
        const int i = k == 2 ? 0 : k + 1, j = k == 0 ? 2 : k - 1;
        packed_cut_axis(x[k][0], normal[k], -(most[i] + most[j]) - off, off - (least[i] + least[j]),
                        &lo[k], &hi[k]);
    }
}

/* Nothing is left of a part that is there by rounding alone: it keeps the wide box. */
KD_FN void packed_cut_unless_empty(const float wide_lo[3], const float wide_hi[3], float lo[3],
                                   float hi[3]) {
    const bool empty = !(lo[0] <= hi[0] && lo[1] <= hi[1] && lo[2] <= hi[2]);
    for (int k = 0; k < 3; ++k) {
        if (empty) lo[k] = wide_lo[k];
        if (empty) hi[k] = wide_hi[k];
    }
}

KD_FN box3 packed_cut(vec3 a, vec3 b, vec3 c, box3 cell) {
    const float x[3][3] = {{a.x, b.x, c.x}, {a.y, b.y, c.y}, {a.z, b.z, c.z}};
    const float from[3] = {cell.lo.x, cell.lo.y, cell.lo.z},
                to[3] = {cell.hi.x, cell.hi.y, cell.hi.z};
    float lo[3], hi[3], wide_lo[3], wide_hi[3];
    bool beyond[3];
    for (int k = 0; k < 3; ++k) {
        const float low = float_min(x[k][0], float_min(x[k][1], x[k][2])),
                    high = float_max(x[k][0], float_max(x[k][1], x[k][2]));
        beyond[k] = low < from[k] || high > to[k];
        lo[k] = wide_lo[k] = float_max(low, from[k]);
        hi[k] = wide_hi[k] = float_min(high, to[k]);
    }
    if (beyond[0]) packed_cut_between(x, from, to, 0, 1, 2, lo, hi);
    if (beyond[1]) packed_cut_between(x, from, to, 1, 2, 0, lo, hi);
    if (beyond[2]) packed_cut_between(x, from, to, 2, 0, 1, lo, hi);
    if (beyond[0] || beyond[1] || beyond[2]) packed_cut_plane(x, lo, hi);
    packed_cut_unless_empty(wide_lo, wide_hi, lo, hi);
    box3 box;
    box.lo = vec3_make(lo[0], lo[1], lo[2]);
    box.hi = vec3_make(hi[0], hi[1], hi[2]);
    return box;
}

#endif
