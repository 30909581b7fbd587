/* Vectorised triangle_clip_halves (accel/tree/triangle_clip.h) with the same results, bit for bit.
   Idea: a polygon is a set of edges, four per vector. A plane clips each edge independently, so no
   branch depends on which corners lie on which side. One edge along the plane closes the polygon
   again; it takes a lane that held an edge of length zero. The arithmetic is that of the scalar
   version, which takes over where the order of operations would matter: polygons that cross a plane
   more than twice because of rounding, numbers too small for the full precision of float, and zeros
   of both signs. */
#ifndef KD_ACCEL_SWEEP_CLIP_HALVES_H
#define KD_ACCEL_SWEEP_CLIP_HALVES_H
#include "accel/tree/triangle_clip.h"
#include "accel/tree/vectors.h"

/* Vectors of four doubles for clip_halves.h: by the compilers' vector extension, and by intrinsics
   where that generates more instructions than necessary. */

typedef double double4 __attribute__((vector_size(32)));
typedef int64_t long4 __attribute__((vector_size(32)));

/* v < than ? v : than, which is `than` if v is NaN. */
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
VECTOR8_FN double4 double4_select(long4 mask, double4 if_set, double4 if_clear) {
    return (double4)((mask & (long4)if_set) | (~mask & (long4)if_clear));
}
/* Bit l of the result: lane l is set. */
VECTOR8_FN uint32_t long4_bits(long4 mask) {
#ifdef __AVX__
    return (uint32_t)_mm256_movemask_pd((__m256d)mask);
#else
    return (uint32_t)((mask[0] & 1) | (mask[1] & 2) | (mask[2] & 4) | (mask[3] & 8));
#endif
}
/* v, or NaN where the mask is set; cheaper than a select. */
VECTOR8_FN double4 double4_or_nan(double4 v, long4 mask) {
#ifdef __AVX__
    return (double4)_mm256_or_pd((__m256d)v, (__m256d)mask);
#else
    return (double4)((long4)v | mask);
#endif
}
VECTOR8_FN double4 double4_of(float4v v) {
#ifdef __AVX__
    return (double4)_mm256_cvtps_pd((__m128)v);
#else
    return __builtin_convertvector(v, double4);
#endif
}
VECTOR8_FN float4v double4_rounded(double4 v) {
#ifdef __AVX__
    return (float4v)_mm256_cvtpd_ps((__m256d)v);
#else
    return __builtin_convertvector(v, float4v);
#endif
}
/* Round down, or up, to float. x must be 0 or at least as large as the smallest normal float. */
VECTOR8_FN float4v clip_float_down(double4 x) {
    const long4 bits = (long4)x, rest = {0x1fffffff, 0x1fffffff, 0x1fffffff, 0x1fffffff};
    return double4_rounded((double4)((bits + ((bits < 0) & rest)) & ~rest));
}
VECTOR8_FN float4v clip_float_up(double4 x) {
    const long4 bits = (long4)x, rest = {0x1fffffff, 0x1fffffff, 0x1fffffff, 0x1fffffff};
    return double4_rounded((double4)((bits + (~(bits < 0) & rest)) & ~rest));
}

enum { CLIP_VECTORS = 2, CLIP_CUTS_MAX = 5 }; /* three edges, plus one for each cut */

/* Edges from one corner (`p`) to the next (`q`), four per vector; one row per axis. */
typedef struct clip_edges {
    double4 p[3][CLIP_VECTORS], q[3][CLIP_VECTORS];
} clip_edges;

/* The split of a box as vectors: the box, and where its halves end and begin. */
typedef struct clip_split {
    float4v lo, hi, lower_hi, upper_lo;
    box3 box;
    int axis;
    float plane;
} clip_split;

/* Bounding box of the triangle's part in a half: x, y, z and an undefined component. */
typedef struct clip_part {
    float4v lo, hi;
} clip_part;

typedef enum clip_outcome { CLIP_DONE = 0, CLIP_EMPTY = 1, CLIP_ODD = 2 } clip_outcome;

/* Cyclic order of axes. */
VECTOR8_FN int clip_next_axis(int axis) {
    return axis == 2 ? 0 : axis + 1;
}

/* The position of four edges relative to a plane. */
typedef struct clip_heights {
    long4 p_in, q_in, crosses;
    double4 share; /* parameter of the crossing, from the lower end */
    long4 falls;   /* the first end is the lower one */
} clip_heights;

VECTOR8_FN clip_heights clip_heights_of(double4 p, double4 q, double plane, long4 flip) {
    const double4 dp = (double4)((long4)(p - plane) ^ flip);
    const double4 dq = (double4)((long4)(q - plane) ^ flip);
    const double4 below = double4_min(dp, dq), above = double4_max(dp, dq);
    clip_heights heights;
    heights.falls = dp < 0;
    heights.p_in = dp >= 0;
    heights.q_in = dq >= 0;
    heights.crosses = (below < 0) & (above > 0);
    heights.share = below / (below - above);
    return heights;
}

/* Clips one row of the edges. `exit` and `enter` are the edges that leave the kept side and return
   to it, the only ones with one end on each side. Points outside move to the exit's crossing; the
   edge that closes the polygon ends at the crossing of `enter`. */
VECTOR8_FN void clip_cut_row(double4 p[], double4 q[], const clip_heights *heights, int vectors,
                             int lane, uint32_t exit, uint32_t enter) {
    double4 point[CLIP_VECTORS];
    for (int k = 0; k < vectors; ++k) {
        /* Interpolate from the lower end, so that adjacent triangles get the same point on a shared
           edge. */
        const long4 turn = ((long4)p[k] ^ (long4)q[k]) & heights[k].falls;
        const double4 low = (double4)((long4)q[k] ^ turn), high = (double4)((long4)p[k] ^ turn);
        const double4 between = low + heights[k].share * (high - low);
        /* or an end that lies in the plane */
        point[k] = double4_select(heights[k].crosses, between, high);
    }
    double left, right;
    memcpy(&left, (const char *)point + exit * sizeof left, sizeof left);
    memcpy(&right, (const char *)point + enter * sizeof right, sizeof right);
    const double4 l = double4_all(left), r = double4_all(right);
    for (int k = 0; k < CLIP_VECTORS; ++k) {
        const long4 number = {4 * k, 4 * k + 1, 4 * k + 2, 4 * k + 3};
        const double4 end = double4_select(number == lane, r, l);
        if (k < vectors) {
            p[k] = double4_select(heights[k].p_in, p[k], double4_select(heights[k].q_in, r, l));
            q[k] = double4_select(heights[k].q_in, q[k], end);
        } else if (lane / 4 == k) {
            p[k] = l;
            q[k] = end;
        }
    }
}

/* Clips the row of the plane's own axis. */
VECTOR8_FN void clip_cut_axis(double4 p[], double4 q[], int vectors, int lane, double plane,
                              long4 flip) {
    const double4 limit = double4_all(plane), turned = (double4)((long4)limit ^ flip);
    for (int k = 0; k < vectors; ++k) {
        p[k] = (double4)((long4)double4_max(turned, (double4)((long4)p[k] ^ flip)) ^ flip);
        q[k] = (double4)((long4)double4_max(turned, (double4)((long4)q[k] ^ flip)) ^ flip);
    }
    if (lane / 4 < vectors) {
        const long4 number = {0, 1, 2, 3};
        const long4 closing = number == lane % 4;
        p[lane / 4] = double4_select(closing, limit, p[lane / 4]);
        q[lane / 4] = double4_select(closing, limit, q[lane / 4]);
    } else {
        p[lane / 4] = q[lane / 4] = limit;
    }
}

/* Keeps the part at or above the plane, or at or below it. The closing edge along the plane goes to
   lane `lane`, which may be the first of a new vector. */
VECTOR8_FN clip_outcome clip_edges_cut(clip_edges *edges, int vectors, int lane, int axis,
                                       double plane, bool from_above) {
    const long4 sign = {INT64_MIN, INT64_MIN, INT64_MIN, INT64_MIN};
    const long4 flip = from_above ? sign : sign & 0;
    clip_heights heights[CLIP_VECTORS];
    uint32_t p_in = 0, q_in = 0;
    for (int k = 0; k < vectors; ++k) {
        const long4 number = {4 * k, 4 * k + 1, 4 * k + 2, 4 * k + 3};
        heights[k] = clip_heights_of(edges->p[axis][k], edges->q[axis][k], plane, flip);
        p_in |= long4_bits(heights[k].p_in) << 4 * k;
        q_in |= long4_bits(heights[k].q_in) << 4 * k;
        heights[k].p_in &= number != lane;
        heights[k].q_in &= number != lane;
    }
    const uint32_t exits = p_in & ~q_in, enters = q_in & ~p_in;
    if (!exits) {
        if (vectors < CLIP_VECTORS && lane / 4 == vectors)
            for (int i = 0; i < 3; ++i)
                edges->p[i][vectors] = edges->q[i][vectors] = double4_all(edges->p[i][0][0]);
        return p_in ? CLIP_DONE : CLIP_EMPTY;
    }
    if ((exits & (exits - 1)) | (enters & (enters - 1))) return CLIP_ODD;
    const uint32_t exit = (uint32_t)__builtin_ctz(exits), enter = (uint32_t)__builtin_ctz(enters);
    clip_cut_axis(edges->p[axis], edges->q[axis], vectors, lane, plane, flip);
    for (int i = 0; i < 2; ++i) {
        axis = clip_next_axis(axis);
        clip_cut_row(edges->p[axis], edges->q[axis], heights, vectors, lane, exit, enter);
    }
    return CLIP_DONE;
}

/* Minima and maxima of three rows (axes in cyclic order), the last one twice. */
typedef struct clip_extent {
    double4 lo[3], hi[3];
} clip_extent;

VECTOR8_FN double4 clip_reduce(const double4 rows[3], double4 (*better)(double4, double4)) {
    const double4 u = rows[0], v = rows[1], w = rows[2];
    const double4 uv = better(__builtin_shufflevector(u, v, 0, 4, 2, 6),
                              __builtin_shufflevector(u, v, 1, 5, 3, 7));
    const double4 ww = better(__builtin_shufflevector(w, w, 0, 4, 2, 6),
                              __builtin_shufflevector(w, w, 1, 5, 3, 7));
    return better(__builtin_shufflevector(uv, ww, 0, 1, 4, 5),
                  __builtin_shufflevector(uv, ww, 2, 3, 6, 7));
}

/* Includes one row in both extents: the corners inside the respective half, and the crossings of
   edges that cross the plane. */
VECTOR8_FN void clip_include(clip_extent extent[2], int row, double4 corner, const long4 out[2],
                             double4 cut, long4 no_cut) {
    const double4 cut_or_nan = double4_or_nan(cut, no_cut);
    for (int side = 0; side < 2; ++side) {
        const double4 or_nan = double4_or_nan(corner, out[side]);
        extent[side].lo[row] = double4_min(or_nan, extent[side].lo[row]);
        extent[side].lo[row] = double4_min(cut_or_nan, extent[side].lo[row]);
        extent[side].hi[row] = double4_max(or_nan, extent[side].hi[row]);
        extent[side].hi[row] = double4_max(cut_or_nan, extent[side].hi[row]);
    }
}

VECTOR8_FN void clip_extents(const clip_edges *edges, int vectors, const clip_split *split,
                             clip_extent extent[2]) {
    const int u = split->axis, v = clip_next_axis(u), w = clip_next_axis(v);
    const double plane = (double)split->plane;
    for (int i = 0; i < 6; ++i) {
        extent[i / 3].lo[i % 3] = double4_all((double)INFINITY);
        extent[i / 3].hi[i % 3] = double4_all(-(double)INFINITY);
    }
    for (int k = 0; k < vectors; ++k) {
        const double4 *p[3] = {&edges->p[u][k], &edges->p[v][k], &edges->p[w][k]};
        const double4 *q[3] = {&edges->q[u][k], &edges->q[v][k], &edges->q[w][k]};
        const double4 dp = *p[0] - plane, dq = *q[0] - plane;
        const double4 share = dp / (dp - dq);
        const long4 out[2] = {dp > 0, dp < 0};
        const long4 no_cut = (double4_min(dp, dq) >= 0) | (double4_max(dp, dq) <= 0);
        clip_include(extent, 0, *p[0], out, double4_all(plane), no_cut);
        for (int row = 1; row < 3; ++row)
            clip_include(extent, row, *p[row], out, *p[row] + share * (*q[row] - *p[row]), no_cut);
    }
}

/* Returns true if there are numbers that clip_float_down does not support, or zeros of uncertain
   sign. */
static __attribute__((noinline)) bool clip_is_odd(const double4 end[4], const clip_split *split,
                                                  const float4v corner[3]) {
    const float coordinates[] = {corner[0][0],    corner[0][1],    corner[0][2],    corner[1][0],
                                 corner[1][1],    corner[1][2],    corner[2][0],    corner[2][1],
                                 corner[2][2],    split->box.lo.x, split->box.lo.y, split->box.lo.z,
                                 split->box.hi.x, split->box.hi.y, split->box.hi.z, split->plane};
    for (int i = 0; i < 16; ++i) {
        const double x = end[i / 4][i % 4];
        if ((x != 0 && x > -0x1p-126 && x < 0x1p-126) || float_bits(coordinates[i]) == 0x80000000u)
            return true;
    }
    return false;
}

/* Sets up the edges of a triangle; the fourth has length zero. */
VECTOR8_FN void clip_edges_open(clip_edges *edges, const float4v corner[3]) {
    const float4v ac = __builtin_shufflevector(corner[0], corner[2], 0, 4, 1, 5);
    const float4v bc = __builtin_shufflevector(corner[1], corner[2], 0, 4, 1, 5);
    const float4v ac_z = __builtin_shufflevector(corner[0], corner[2], 2, 6, 3, 7);
    const float4v bc_z = __builtin_shufflevector(corner[1], corner[2], 2, 6, 3, 7);
    const float4v row[3] = {__builtin_shufflevector(ac, bc, 0, 4, 1, 5),
                            __builtin_shufflevector(ac, bc, 2, 6, 3, 7),
                            __builtin_shufflevector(ac_z, bc_z, 0, 4, 1, 5)};
    for (int axis = 0; axis < 3; ++axis) {
        const double4 p = double4_of(row[axis]); /* a, b, c, c */
        edges->p[axis][0] = p;
        edges->q[axis][0] = __builtin_shufflevector(p, p, 1, 2, 0, 3);
    }
}

/* Clips against the first of `sides`. */
VECTOR8_FN clip_outcome clip_edges_side(clip_edges *edges, int vectors, int lane, const box3 *box,
                                        uint32_t sides) {
    const int side = __builtin_ctz(sides), axis = side / 2;
    const double plane = (double)vec3_axis(side & 1 ? box->hi : box->lo, axis);
    return clip_edges_cut(edges, vectors, lane, axis, plane, (side & 1) != 0);
}

VECTOR8_FN clip_split clip_split_make(box3 box, int axis, float plane) {
    const int4v number = {0, 1, 2, 3};
    const float4v all = {plane, plane, plane, plane};
    clip_split split = {.box = box, .axis = axis, .plane = plane};
    split.lo = float4v_of(box.lo);
    split.hi = float4v_of(box.hi);
    split.lower_hi = float4v_select(number == axis, all, split.hi);
    split.upper_lo = float4v_select(number == axis, all, split.lo);
    return split;
}

/* Rounds an extent outwards to a part, which stays within its half. */
VECTOR8_FN void clip_round(double4 lo, double4 hi, int axis, clip_part *part) {
    static const int4v turn[3] = {{0, 1, 2, 3}, {2, 0, 1, 3}, {1, 2, 0, 3}};
    part->lo = float4v_max(float4v_permute(clip_float_down(lo), turn[axis]), part->lo);
    part->hi = float4v_min(float4v_permute(clip_float_up(hi), turn[axis]), part->hi);
}

/* Returns bit 0 if the lower half has a part, bit 1 if the upper one has; negative: use the scalar
   version. */
VECTOR8_FN int clip_edges_halves(const clip_edges *edges, int vectors, const clip_split *split,
                                 const float4v corner[3], clip_part part[2]) {
    const long4 positive = {INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX};
    clip_extent extent[2];
    double4 end[4], minimum = double4_all((double)INFINITY);
    clip_extents(edges, vectors, split, extent);
    for (int i = 0; i < 4; ++i) {
        end[i] = i % 2 ? clip_reduce(extent[i / 2].hi, double4_max)
                       : clip_reduce(extent[i / 2].lo, double4_min);
        minimum = double4_min((double4)((long4)end[i] & positive), minimum);
    }
    if (long4_bits(minimum < 0x1p-126) && clip_is_odd(end, split, corner)) return -1;
    int parts = 0;
    for (int side = 0; side < 2; ++side) {
        if (!(end[2 * side][0] <= end[2 * side + 1][0])) continue;
        parts |= 1 << side;
        clip_round(end[2 * side], end[2 * side + 1], split->axis, &part[side]);
    }
    return parts;
}

/* Returns a mask of the sides of the box that the triangle extends beyond. */
VECTOR8_FN uint32_t clip_sides(const float4v corner[3], const clip_split *split) {
    static const uint8_t every_other[8] = {0, 1, 4, 5, 16, 17, 20, 21};
    const float4v minimum = float4v_min(float4v_min(corner[0], corner[1]), corner[2]);
    const float4v maximum = float4v_max(float4v_max(corner[0], corner[1]), corner[2]);
    return (uint32_t)(every_other[int4v_signs(minimum < split->lo)] |
                      every_other[int4v_signs(maximum > split->hi)] << 1);
}

VECTOR8_FN int clip_by_edges(const clip_split *split, const float4v corner[3], clip_part part[2]) {
    uint32_t sides = clip_sides(corner, split);
    clip_edges edges;
    clip_outcome outcome = CLIP_DONE;
    if (__builtin_popcount(sides) > CLIP_CUTS_MAX) return -1;
    clip_edges_open(&edges, corner);
    if (sides) outcome = clip_edges_side(&edges, 1, 3, &split->box, sides);
    sides &= sides - 1;
    if (!sides && outcome == CLIP_DONE) return clip_edges_halves(&edges, 1, split, corner, part);
    if (outcome == CLIP_DONE) outcome = clip_edges_side(&edges, 1, 4, &split->box, sides);
    sides &= sides - 1;
    for (int lane = 5; sides && outcome == CLIP_DONE; sides &= sides - 1)
        outcome = clip_edges_side(&edges, 2, lane++, &split->box, sides);
    if (outcome != CLIP_DONE) return outcome == CLIP_ODD ? -1 : 0;
    return clip_edges_halves(&edges, 2, split, corner, part);
}

static __attribute__((noinline)) int clip_plainly(const clip_split *split, const float4v corner[3],
                                                  clip_part part[2]) {
    box3 lower, upper;
    const int parts = triangle_clip_halves(float4v_vec3(corner[0]), float4v_vec3(corner[1]),
                                           float4v_vec3(corner[2]), split->box, split->axis,
                                           split->plane, &lower, &upper);
    const clip_part halves[2] = {{float4v_of(lower.lo), float4v_of(lower.hi)},
                                 {float4v_of(upper.lo), float4v_of(upper.hi)}};
    memcpy(part, halves, sizeof halves);
    return parts;
}

/* Computes the bounding boxes of the triangle's parts in the two halves of the box; for an empty
   part the half itself. Corners come from float4v_of. Returns bit 0 if the lower half has a part,
   bit 1 if the upper one has. */
VECTOR8_FN int clip_halves_by_vectors(const clip_split *split, const float4v corner[3],
                                      clip_part part[2]) {
    part[0].lo = split->lo;
    part[0].hi = split->lower_hi;
    part[1].lo = split->upper_lo;
    part[1].hi = split->hi;
    const int parts = clip_by_edges(split, corner, part);
    return parts < 0 ? clip_plainly(split, corner, part) : parts;
}

VECTOR8_FN box3 clip_part_box(const clip_part *part) {
    box3 box;
    memcpy(&box.lo, &part->lo, sizeof box.lo);
    memcpy(&box.hi, &part->hi, sizeof box.hi);
    return box;
}

/* With pairs of doubles (SSE2) the vectorised version takes twice as long as the scalar one. */
VECTOR8_FN int clip_halves(const clip_split *split, const float4v corner[3], clip_part part[2]) {
#ifdef __AVX__
    return clip_halves_by_vectors(split, corner, part);
#else
    return clip_plainly(split, corner, part);
#endif
}

#endif
