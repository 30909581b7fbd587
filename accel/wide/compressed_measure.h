/* Cost and plan of each k-d subtree for the compressed wide form: how a node with eight children is
   best opened. The result is the same on CPU and GPU, bit for bit.
   Source: Ylitie, Karras, Laine 2017, section 3.1: least cost over 1 to 8 slots per subtree, bottom
   up. Wald and Havran 2006 for clipping to a cell.
   Idea: the cost of a node is the area of its box; that of a leaf is its area times a factor that
   grows with the number of triangles. Subtrees of at most four distinct triangles may become one
   leaf; empty children take no slot. */
#ifndef KD_ACCEL_WIDE_COMPRESSED_MEASURE_H
#define KD_ACCEL_WIDE_COMPRESSED_MEASURE_H
#include "accel/tree/sah.h"
#include "accel/tree/triangle.h"
#include "accel/wide/compressed_form.h"

/* The box of a triangle's part inside a cell of the k-d tree, in float, with the same bits on CPU
   and GPU.
   Idea: where the triangle extends beyond the cell along an axis, its corners between the cell's
   two planes and the points where its edges cross the planes bound the other two coordinates. In
   addition the triangle's plane bounds each coordinate in terms of the other two.
   Invariants: the box is never too small. A crossing is computed with an error of at most 2^-20 of
   the edge's coordinates and widened by that; the bounds from the plane are widened by 2^-20 of the
   terms of their sums. */

/* The interval of one coordinate of a triangle's part. */
typedef struct compressed_range {
    float lo, hi;
} compressed_range;

KD_FN void compressed_range_cross(compressed_range *range, float from, float to, float s) {
    const float at = from + s * (to - from);
    const float off = float_max(fabsf(from), fabsf(to)) * 0x1p-20f;
    range->lo = float_min(range->lo, float_max(at - off, float_min(from, to)));
    range->hi = float_max(range->hi, float_min(at + off, float_max(from, to)));
}

KD_FN void compressed_range_include(compressed_range *range, float x) {
    range->lo = float_min(range->lo, x);
    range->hi = float_max(range->hi, x);
}

/* Extends the ranges of u and v by the point where the edge from corner i to corner j crosses a
   plane of constant w. */
KD_FN void compressed_cut_edge(const float w[3], const float u[3], const float v[3], int i, int j,
                               float plane, compressed_range *of_u, compressed_range *of_v) {
    if (!((w[i] < plane && w[j] > plane) || (w[i] > plane && w[j] < plane))) return;
    const float s = (plane - w[i]) / (w[j] - w[i]);
    compressed_range_cross(of_u, u[i], u[j], s);
    compressed_range_cross(of_v, v[i], v[j], s);
}

/* Extends the ranges by corner i, and by the edge from there to corner j, between two planes. */
KD_FN void compressed_cut_corner(const float w[3], const float u[3], const float v[3], int i, int j,
                                 float low, float high, compressed_range *of_u,
                                 compressed_range *of_v) {
    if (w[i] >= low && w[i] <= high) {
        compressed_range_include(of_u, u[i]);
        compressed_range_include(of_v, v[i]);
    }
    compressed_cut_edge(w, u, v, i, j, low, of_u, of_v);
    compressed_cut_edge(w, u, v, i, j, high, of_u, of_v);
}

/* Computes the ranges of u and v of the triangle between two planes of constant w. Unrolled by
   hand, here and below, so that the GPU keeps the arrays in registers. */
KD_FN void compressed_cut_slab(const float w[3], const float u[3], const float v[3], float low,
                               float high, compressed_range *of_u, compressed_range *of_v) {
    of_u->lo = of_v->lo = INFINITY;
    of_u->hi = of_v->hi = -INFINITY;
    compressed_cut_corner(w, u, v, 0, 1, low, high, of_u, of_v);
    compressed_cut_corner(w, u, v, 1, 2, low, high, of_u, of_v);
    compressed_cut_corner(w, u, v, 2, 0, low, high, of_u, of_v);
}

/* Narrows lo, hi to the part of the triangle between from[k] and to[k]; i, j: the other axes. */
KD_FN void compressed_cut_between(const float x[3][3], const float from[3], const float to[3],
                                  int k, int i, int j, float lo[3], float hi[3]) {
    compressed_range of_i, of_j;
    compressed_cut_slab(x[k], x[i], x[j], from[k], to[k], &of_i, &of_j);
    lo[i] = float_max(lo[i], of_i.lo);
    hi[i] = float_min(hi[i], of_i.hi);
    lo[j] = float_max(lo[j], of_j.lo);
    hi[j] = float_min(hi[j], of_j.hi);
}

/* Narrows lo, hi of one coordinate x by the plane: normal (x - at) lies between `minimum` and
   `maximum`. */
KD_FN void compressed_cut_axis(float at, float normal, float minimum, float maximum, float *lo,
                               float *hi) {
    const float inverse = 1 / normal, p = minimum * inverse, q = maximum * inverse;
    const float off = (fabsf(at) + float_max(fabsf(p), fabsf(q))) * 0x1p-20f;
    const float low = at + float_min(p, q) - off, high = at + float_max(p, q) + off;
    if (low > *lo && low <= FLT_MAX) *lo = low; /* NaN and infinity bound nothing */
    if (high < *hi && high >= -FLT_MAX) *hi = high;
}

/* Narrows a box around a part of the triangle by the triangle's plane: with the normal n and the
   first corner a, n_x (x - a_x) = -n_y (y - a_y) - n_z (z - a_z), which y and z bound. */
KD_FN void compressed_cut_plane(const float x[3][3], float lo[3], float hi[3]) {
    float normal[3], terms[3], minimum[3], maximum[3], reach[3], off = 0, all_terms = 0,
                                                                 all_reach = 1;
    for (int k = 0; k < 3; ++k) {
        const int i = k == 2 ? 0 : k + 1, j = k == 0 ? 2 : k - 1;
        const float plus = (x[i][1] - x[i][0]) * (x[j][2] - x[j][0]),
                    minus = (x[j][1] - x[j][0]) * (x[i][2] - x[i][0]);
        const float low = lo[k] - x[k][0], high = hi[k] - x[k][0];
        normal[k] = plus - minus;
        terms[k] = fabsf(plus) + fabsf(minus);
        minimum[k] = float_min(normal[k] * low, normal[k] * high);
        maximum[k] = float_max(normal[k] * low, normal[k] * high);
        reach[k] = float_max(fabsf(low), fabsf(high));
        off += terms[k] * reach[k];
        all_terms += terms[k];
        all_reach += reach[k];
    }
    off *= 0x1p-20f;
    /* skipped where underflow could exceed `off`, or where terms overflow */
    if (!(off > 1e-30f * all_reach && all_terms < 0x1p120f && off < 0x1p100f)) return;
    for (int k = 0; k < 3; ++k) {
        const int i = k == 2 ? 0 : k + 1, j = k == 0 ? 2 : k - 1;
        compressed_cut_axis(x[k][0], normal[k], -(maximum[i] + maximum[j]) - off,
                            off - (minimum[i] + minimum[j]), &lo[k], &hi[k]);
    }
}

/* Restores the wide box if rounding left nothing of a part. */
KD_FN void compressed_cut_unless_empty(const float wide_lo[3], const float wide_hi[3], float lo[3],
                                       float hi[3]) {
    const bool empty = !(lo[0] <= hi[0] && lo[1] <= hi[1] && lo[2] <= hi[2]);
    for (int k = 0; k < 3; ++k) {
        if (empty) lo[k] = wide_lo[k];
        if (empty) hi[k] = wide_hi[k];
    }
}

KD_FN box3 compressed_cut(vec3 a, vec3 b, vec3 c, box3 cell) {
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
    if (beyond[0]) compressed_cut_between(x, from, to, 0, 1, 2, lo, hi);
    if (beyond[1]) compressed_cut_between(x, from, to, 1, 2, 0, lo, hi);
    if (beyond[2]) compressed_cut_between(x, from, to, 2, 0, 1, lo, hi);
    if (beyond[0] || beyond[1] || beyond[2]) compressed_cut_plane(x, lo, hi);
    compressed_cut_unless_empty(wide_lo, wide_hi, lo, hi);
    box3 box;
    box.lo = vec3_make(lo[0], lo[1], lo[2]);
    box.hi = vec3_make(hi[0], hi[1], hi[2]);
    return box;
}

/* Returns the box of the part of a triangle's box on one side of a plane that cuts the box: that of
   the triangle on this side, within the given box. */
KD_FN box3 compressed_cut_half(vec3 a, vec3 b, vec3 c, box3 box, int axis, float plane, bool high) {
    const float x[3][3] = {{a.x, b.x, c.x}, {a.y, b.y, c.y}, {a.z, b.z, c.z}};
    float w[3], u[3], v[3], lo[3], hi[3], wide_lo[3], wide_hi[3];
    compressed_range of_u = {INFINITY, -INFINITY}, of_v = of_u;
    for (int i = 0; i < 3; ++i) {
        w[i] = axis == 0 ? x[0][i] : axis == 1 ? x[1][i] : x[2][i];
        u[i] = axis == 0 ? x[1][i] : axis == 1 ? x[2][i] : x[0][i];
        v[i] = axis == 0 ? x[2][i] : axis == 1 ? x[0][i] : x[1][i];
    }
    for (int i = 0; i < 3; ++i) {
        const bool is = high ? w[i] >= plane : w[i] <= plane;
        if (is) compressed_range_include(&of_u, u[i]);
        if (is) compressed_range_include(&of_v, v[i]);
    }
    compressed_cut_edge(w, u, v, 0, 1, plane, &of_u, &of_v);
    compressed_cut_edge(w, u, v, 1, 2, plane, &of_u, &of_v);
    compressed_cut_edge(w, u, v, 2, 0, plane, &of_u, &of_v);
    for (int k = 0; k < 3; ++k) {
        const compressed_range *of = k == (axis == 2 ? 0 : axis + 1) ? &of_u : &of_v;
        const float low = vec3_axis(box.lo, k), up = vec3_axis(box.hi, k);
        wide_lo[k] = k == axis && high ? plane : low;
        wide_hi[k] = k == axis && !high ? plane : up;
        lo[k] = k == axis ? wide_lo[k] : float_max(low, of->lo);
        hi[k] = k == axis ? wide_hi[k] : float_min(up, of->hi);
    }
    compressed_cut_plane(x, lo, hi);
    compressed_cut_unless_empty(wide_lo, wide_hi, lo, hi);
    box.lo = vec3_make(lo[0], lo[1], lo[2]);
    box.hi = vec3_make(hi[0], hi[1], hi[2]);
    return box;
}

enum {
    COMPRESSED_FEW = 4 /* triangles up to which a subtree of several leaves may become one leaf */
};

/* The kind of a node of the k-d tree. */
enum {
    COMPRESSED_EMPTY,
    COMPRESSED_LEAF,
    COMPRESSED_INNER,
    COMPRESSED_LOW, /* only its low child is not empty, and replaces it */
    COMPRESSED_HIGH
};

/* A plan is a bit field: bits 0 to 2: the kind; 3 to 5: the number of distinct triangles, or
   COMPRESSED_FEW + 1 for more; from 8 on, for 1 to 8 slots: how many of them to use, less 1; from
   32 on, for 2 to 8 slots: how many of them the low child gets. */
KD_FN int compressed_kind(uint64_t plan) {
    return (int)(plan & 7);
}
KD_FN uint32_t compressed_distinct(uint64_t plan) {
    return (uint32_t)(plan >> 3 & 7);
}
KD_FN int compressed_slots_used(uint64_t plan, int slots) {
    return (int)(plan >> (8 + 3 * (slots - 1)) & 7) + 1;
}
KD_FN int compressed_low_slots(uint64_t plan, int slots) {
    return (int)(plan >> (32 + 3 * (slots - 2)) & 7);
}

/* A node of the refined tree with the data of its subtree: two memory sectors, the first of which
   suffices to descend. */
typedef struct compressed_subtree {
    tritree_node node;
    uint64_t plan;
    uint32_t ids[COMPRESSED_FEW]; /* the distinct triangles, if at most COMPRESSED_FEW */
    box3 box;                     /* bounds of its triangles' parts */
    uint32_t unused[2];
} compressed_subtree;

typedef struct compressed_measure {
    box3 box;
    float cost[COMPRESSED_CHILDREN]; /* cost with 1 to 8 slots */
    uint32_t distinct;
    uint32_t ids[COMPRESSED_FEW];
} compressed_measure;

KD_FN float compressed_area(box3 box) {
    const vec3 size = box3_size(box);
    return size.x >= 0 ? size.x * size.y + size.y * size.z + size.z * size.x : 0;
}
KD_FN float compressed_leaf_cost(float area, uint32_t triangles) {
    return area * (0.3f + 0.2f * (float)triangles);
}

KD_FN box3 compressed_cut_id(const tritree_view *tree, uint32_t id, box3 cell) {
    const uint32_t *corner = tree->triangles + 3 * (uint64_t)id;
    return compressed_cut(tree->positions[corner[0]], tree->positions[corner[1]],
                          tree->positions[corner[2]], cell);
}

KD_FN box3 compressed_cut_half_id(const tritree_view *tree, uint32_t id, box3 box, int axis,
                                  float plane, bool high) {
    const uint32_t *corner = tree->triangles + 3 * (uint64_t)id;
    return compressed_cut_half(tree->positions[corner[0]], tree->positions[corner[1]],
                               tree->positions[corner[2]], box, axis, plane, high);
}

KD_FN void compressed_measure_add(compressed_measure *measure, uint32_t id) {
    if (measure->distinct > COMPRESSED_FEW) return;
    for (uint32_t i = 0; i < COMPRESSED_FEW; ++i)
        if (i < measure->distinct && measure->ids[i] == id) return;
    for (uint32_t i = 0; i < COMPRESSED_FEW; ++i)
        if (i == measure->distinct) measure->ids[i] = id;
    ++measure->distinct;
}

/* Computes the measure of a k-d leaf whose contents lie in `box`; returns its plan. */
KD_FN uint64_t compressed_measure_leaf(compressed_measure *out, const tritree_view *tree,
                                       tritree_node leaf, box3 box) {
    const uint32_t *ids = tree->references + tritree_first(leaf);
    const uint32_t count = tritree_count(leaf);
    out->box = box;
    out->distinct = 0;
    for (uint32_t i = 0; i < COMPRESSED_FEW; ++i) out->ids[i] = KD_NONE;
    for (uint32_t i = 0; i < count && out->distinct <= COMPRESSED_FEW; ++i)
        compressed_measure_add(out, ids[i]);
    const float cost = count ? compressed_leaf_cost(compressed_area(out->box), count) : 0;
    for (int k = 0; k < COMPRESSED_CHILDREN; ++k) out->cost[k] = cost;
    return (uint64_t)(count ? COMPRESSED_LEAF : COMPRESSED_EMPTY) | (uint64_t)out->distinct << 3;
}

/* Returns the least cost of distributing `slots` slots over both children; *low_slots: how many the
   low child gets. */
KD_FN float compressed_split_cost(const float low[COMPRESSED_CHILDREN],
                                  const float high[COMPRESSED_CHILDREN], int slots,
                                  int *low_slots) {
    float best = INFINITY;
    for (int k = 1; k < COMPRESSED_CHILDREN; ++k) {
        if (k >= slots) break;
        const float cost = low[k - 1] + high[slots - k - 1];
        if (cost < best) {
            best = cost;
            *low_slots = k;
        }
    }
    return best;
}

/* Computes the costs of an inner node with a box of this area, this number of distinct triangles,
   and two children that are not empty. In: costs of the children; out: low[] is that of the node.
   Returns the node's plan. */
KD_FN uint64_t compressed_measure_slots(float low[COMPRESSED_CHILDREN],
                                        const float high[COMPRESSED_CHILDREN], float area,
                                        uint32_t distinct) {
    float cost[COMPRESSED_CHILDREN];
    uint64_t plan = 0;
    for (int slots = 2; slots <= COMPRESSED_CHILDREN; ++slots) {
        int low_slots = 1;
        cost[slots - 1] = compressed_split_cost(low, high, slots, &low_slots);
        plan |= (uint64_t)low_slots << (32 + 3 * (slots - 2));
    }
    const float closed =
        distinct <= COMPRESSED_FEW ? compressed_leaf_cost(area, distinct) : INFINITY;
    const float open = area + cost[COMPRESSED_CHILDREN - 1];
    cost[0] = float_min(closed, open);
    int place_value = 1;
    for (int slots = 2; slots <= COMPRESSED_CHILDREN; ++slots) {
        if (cost[slots - 1] < cost[slots - 2])
            place_value = slots;
        else
            cost[slots - 1] = cost[slots - 2];
        plan |= (uint64_t)(place_value - 1) << (8 + 3 * (slots - 1));
    }
    for (int k = 0; k < COMPRESSED_CHILDREN; ++k) low[k] = cost[k];
    /* areas may overflow to infinity */
    const bool is_leaf = distinct <= COMPRESSED_FEW && closed <= open;
    return plan | (uint64_t)(is_leaf ? COMPRESSED_LEAF : COMPRESSED_INNER) |
           (uint64_t)distinct << 3;
}

/* Joins the measures of both children of an inner node in *low; returns the node's plan. */
KD_FN uint64_t compressed_measure_join(compressed_measure *low, const compressed_measure *high) {
    if (high->distinct == 0)
        return (uint64_t)(low->distinct ? COMPRESSED_LOW : COMPRESSED_EMPTY) |
               (uint64_t)low->distinct << 3;
    if (low->distinct == 0) {
        *low = *high;
        return (uint64_t)COMPRESSED_HIGH | (uint64_t)low->distinct << 3;
    }
    box3_join(&low->box, high->box);
    if (high->distinct > COMPRESSED_FEW) low->distinct = COMPRESSED_FEW + 1;
    for (uint32_t i = 0; i < COMPRESSED_FEW; ++i)
        if (high->distinct <= COMPRESSED_FEW && i < high->distinct)
            compressed_measure_add(low, high->ids[i]);
    return compressed_measure_slots(low->cost, high->cost, compressed_area(low->box),
                                    low->distinct);
}

/* Splits the leaves of a k-d tree further for the compressed form: for rays on a GPU, a triangle
   test is more expensive, and another leaf less, than the costs with which the tree was built. The
   result is the same on CPU and GPU, bit for bit.
   Source: MacDonald and Booth 1990 for the cost of a split; Wald and Havran 2006 for its candidate
   planes.
   Idea: candidate planes are the sides of the boxes of the triangles' parts in the leaf's cell.
   Boxes in compressed nodes are tight, so a split is evaluated in the bounds of the leaf's
   contents, not in its cell, and empty space is not cut off. A side of these bounds is a candidate,
   too, if boxes lie in it, such as those of a floor below the objects that stand on it. In leaves
   of two or three triangles only such flat boxes are split off.
   Work: a split of n triangles takes 6 n n comparisons, and n boxes on each side; about 1.4 splits
   per triangle of a tree with C_t 1.5. */

enum {
    COMPRESSED_FINER_MIN = 4,  /* triangles of a part that may be split */
    COMPRESSED_FINER_FLAT = 2, /* the same limit if a box of the leaf is flat */
    COMPRESSED_FINER_MAX = 16,
    COMPRESSED_FINER_LEVELS = 4 /* maximum levels of splits below a leaf of the tree */
};

KD_FN bool compressed_is_flat(box3 box) {
    return box.lo.x == box.hi.x || box.lo.y == box.hi.y || box.lo.z == box.hi.z;
}

/* sah_axis_of without its divisions: `inverse` is 1 / sah_half_area(box). */
KD_FN sah_axis compressed_axis_of(box3 box, int axis, double inverse) {
    const int u = axis == 2 ? 0 : axis + 1, v = u == 2 ? 0 : u + 1;
    const double width = (double)vec3_axis(box.hi, u) - (double)vec3_axis(box.lo, u);
    const double height = (double)vec3_axis(box.hi, v) - (double)vec3_axis(box.lo, v);
    sah_axis areas;
    areas.lo = vec3_axis(box.lo, axis);
    areas.hi = vec3_axis(box.hi, axis);
    areas.base = (float)(width * height * inverse);
    areas.slope = (float)((width + height) * inverse);
    return areas;
}

/* compressed_is_low and compressed_is_high return whether a box has a part on that side of a plane.
   A box in the plane is on the low side, except if nothing lies above the plane (`at_end`). */
KD_FN bool compressed_is_low(float lo, float hi, float plane, bool at_end) {
    return lo < plane || (hi <= plane && !at_end);
}
KD_FN bool compressed_is_high(float lo, float hi, float plane, bool at_end) {
    return hi > plane || (lo >= plane && at_end);
}

/* Returns true if a part of `count` triangles may be split, `level` splits below a leaf of the
   tree. */
KD_FN bool compressed_may_be_finer(uint32_t count, bool flat, uint32_t level) {
    const uint32_t minimum = flat ? COMPRESSED_FINER_FLAT : COMPRESSED_FINER_MIN;
    return count >= minimum && count <= COMPRESSED_FINER_MAX && level < COMPRESSED_FINER_LEVELS;
}

#endif
