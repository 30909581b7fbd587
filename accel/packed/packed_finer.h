/* Cuts the leaves of a k-d tree further before they become packed: rays of a device pay more for a
   leaf's triangles, and less for another leaf, than what the tree was built for. The same bits on
   a CPU and on a device.
   Source: MacDonald and Booth 1990 for what a cut costs; Wald and Havran 2006 for its planes.
   Idea: planes are the sides of boxes around what triangles have of the leaf's cell. Boxes in
         packed nodes are tight, so a cut is judged in the box of all that lies there, not in the
         cell, and none is made to cut off empty space. A side of that box is a plane too for
         boxes that lie in it, such as those of a floor under what stands on it: of two or three
         triangles nothing else is cut off.
   Work: a cut of n triangles 6 n n comparisons, and n boxes on each side; some 1.4 cuts a
         triangle of a tree of C_t 1.5. */
#ifndef KD_ACCEL_PACKED_PACKED_FINER_H
#define KD_ACCEL_PACKED_PACKED_FINER_H
#include "accel/packed/packed_measure.h"
#include "accel/tree/sah.h"

enum {
    PACKED_FINER_LEAST = 4, /* triangles of a part that is cut */
    PACKED_FINER_FLAT = 2,  /* the same where some box of the leaf is flat */
    PACKED_FINER_MOST = 16,
    PACKED_FINER_LEVELS = 4 /* of cuts below a leaf of the tree */
};

/* Some of the triangles of a leaf of the tree, in a part of its cell. */
typedef struct packed_few {
    uint32_t which; /* bit i: reference i of the leaf */
    uint32_t count;
    bool flat;      /* of the leaf's boxes some have no thickness along an axis */
    box3 cell, box; /* box: around all */
    box3 boxes[PACKED_FINER_MOST];
} packed_few;

KD_FN bool packed_has_next(uint32_t which, uint32_t *bit) {
    for (uint32_t i = *bit; i < PACKED_FINER_MOST; ++i)
        if (which >> i & 1) {
            *bit = i;
            return true;
        }
    return false;
}

/* The box around what a leaf has of its cell, of any number of triangles. */
KD_FN box3 packed_leaf_box(const tritree_view *tree, tritree_node leaf, box3 cell) {
    const uint32_t *ids = tree->references + tritree_first(leaf);
    box3 box = box3_empty();
    for (uint32_t i = 0; i < tritree_count(leaf); ++i)
        box3_join(&box, packed_cut_id(tree, ids[i], cell));
    return box;
}

KD_FN bool packed_is_flat(box3 box) {
    return box.lo.x == box.hi.x || box.lo.y == box.hi.y || box.lo.z == box.hi.z;
}

/* The boxes of the triangles `which` of a leaf whose references these are. */
KD_FN void packed_few_make(packed_few *out, const tritree_view *tree, const uint32_t *ids,
                           uint32_t which, box3 cell) {
    out->which = which;
    out->count = 0;
    out->flat = false;
    out->cell = cell;
    out->box = box3_empty();
    for (uint32_t i = 0; packed_has_next(which, &i); ++i) {
        const box3 box = packed_cut_id(tree, ids[i], cell);
        if (packed_is_flat(box)) out->flat = true;
        box3_join(&out->box, box);
        out->boxes[out->count++] = box;
    }
}

/* sah_axis_of, all of whose divisions are one: `inverse` is 1 / sah_half_area(box). */
KD_FN sah_axis packed_axis_of(box3 box, int axis, double inverse) {
    const int u = axis == 2 ? 0 : axis + 1, v = u == 2 ? 0 : u + 1;
    const double width = (double)vec3_axis(box.hi, u) - (double)vec3_axis(box.lo, u);
    const double height = (double)vec3_axis(box.hi, v) - (double)vec3_axis(box.lo, v);
    sah_axis of;
    of.lo = vec3_axis(box.lo, axis);
    of.hi = vec3_axis(box.hi, axis);
    of.base = (float)(width * height * inverse);
    of.slope = (float)((width + height) * inverse);
    return of;
}

/* Whether a box has a part on a side of a plane. One that lies in it is on the low side, but if
   nothing lies above, `at_end`, on the high one. */
KD_FN bool packed_is_low(float lo, float hi, float plane, bool at_end) {
    return lo < plane || (hi <= plane && !at_end);
}
KD_FN bool packed_is_high(float lo, float hi, float plane, bool at_end) {
    return hi > plane || (lo >= plane && at_end);
}

/* How many boxes have a part on each side of a plane. */
KD_FN void packed_count_sides(const packed_few *of, int axis, float plane, bool at_end,
                              uint32_t *low, uint32_t *high) {
    *low = *high = 0;
    for (uint32_t i = 0; i < of->count; ++i) {
        const float lo = vec3_axis(of->boxes[i].lo, axis), hi = vec3_axis(of->boxes[i].hi, axis);
        *high += packed_is_high(lo, hi, plane, at_end);
        *low += packed_is_low(lo, hi, plane, at_end);
    }
}

/* Whether so many triangles may be cut, so many levels of cuts below a leaf of the tree. */
KD_FN bool packed_may_be_finer(uint32_t count, bool flat, uint32_t level) {
    const uint32_t least = flat ? PACKED_FINER_FLAT : PACKED_FINER_LEAST;
    return count >= least && count <= PACKED_FINER_MOST && level < PACKED_FINER_LEVELS;
}

/* Where these triangles, which may be cut, are best cut; false: they stay together. */
KD_FN bool packed_finer_cut(const packed_few *of, int *axis, float *plane) {
    const sah_costs costs = {0.3f, 1, 1};
    float best = (float)of->count;
    bool found = false;
    const double area = sah_half_area(of->box);
    if (!(area > 0)) return false;
    for (int k = 0; k < 3; ++k) {
        const sah_axis along = packed_axis_of(of->box, k, 1 / area);
        for (uint32_t i = 0; i < 2 * of->count; ++i) {
            const box3 *box = &of->boxes[i >> 1];
            const float lo = vec3_axis(box->lo, k), hi = vec3_axis(box->hi, k),
                        at = i & 1 ? hi : lo;
            const bool inside = at > along.lo && at < along.hi;
            uint32_t low, high;
            if (inside ? of->count < PACKED_FINER_LEAST : lo < hi) continue;
            packed_count_sides(of, k, at, at == along.hi, &low, &high);
            const float cost = sah_split_cost(&costs, &along, at, low, high);
            if (low == 0 || high == 0 || !(cost < best)) continue;
            best = cost;
            *axis = k;
            *plane = at;
            found = true;
        }
    }
    return found;
}

/* The triangles on one side of a cut. */
KD_FN uint32_t packed_few_side(const packed_few *of, int axis, float plane, bool high) {
    const bool at_end = plane == vec3_axis(of->box.hi, axis);
    uint32_t side = 0, i = 0;
    for (uint32_t k = 0; packed_has_next(of->which, &i); ++i, ++k) {
        const float lo = vec3_axis(of->boxes[k].lo, axis), hi = vec3_axis(of->boxes[k].hi, axis);
        if ((high ? packed_is_high : packed_is_low)(lo, hi, plane, at_end)) side |= 1u << i;
    }
    return side;
}

#endif
