/* Cuts the leaves of a k-d tree further before they become packed: rays of a device pay more for a
   leaf's triangles, and less for another leaf, than what the tree was built for. The same bits on
   a CPU and on a device.
   Source: MacDonald and Booth 1990 for what a cut costs; Wald and Havran 2006 for its planes.
   Idea: planes are the sides of boxes around what triangles have of the leaf's cell. Boxes in
         packed nodes are tight, so a cut is judged in the box of all that lies there, not in the
         cell, and none is made to cut off empty space.
   Work: a cut of n triangles 6 n n comparisons, and n boxes on each side; some 1.3 cuts a
         triangle of a tree of C_t 1.5. */
#ifndef KD_ACCEL_PACKED_PACKED_FINER_H
#define KD_ACCEL_PACKED_PACKED_FINER_H
#include "accel/packed/packed_measure.h"
#include "accel/tree/sah.h"

enum {
    PACKED_FINER_LEAST = 4, /* triangles of a leaf that is cut */
    PACKED_FINER_MOST = 16,
    PACKED_FINER_LEVELS = 4 /* of cuts below a leaf of the tree */
};

/* Some of the triangles of a leaf of the tree, in a part of its cell. */
typedef struct packed_few {
    uint32_t which; /* bit i: reference i of the leaf */
    uint32_t count;
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

/* The boxes of the triangles `which` of a leaf whose references these are. */
KD_FN void packed_few_make(packed_few *out, const tritree_view *tree, const uint32_t *ids,
                           uint32_t which, box3 cell) {
    out->which = which;
    out->count = 0;
    out->cell = cell;
    out->box = box3_empty();
    for (uint32_t i = 0; packed_has_next(which, &i); ++i) {
        const box3 box = packed_cut_id(tree, ids[i], cell);
        box3_join(&out->box, box);
        out->boxes[out->count++] = box;
    }
}

/* How many boxes have a part on each side of a plane; one that lies in it is on the low side. */
KD_FN void packed_count_sides(const packed_few *of, int axis, float plane, uint32_t *low,
                              uint32_t *high) {
    *low = *high = 0;
    for (uint32_t i = 0; i < of->count; ++i) {
        const float lo = vec3_axis(of->boxes[i].lo, axis), hi = vec3_axis(of->boxes[i].hi, axis);
        *high += hi > plane;
        *low += lo < plane || hi <= plane;
    }
}

/* Where these triangles are best cut; false: they stay together. */
KD_FN bool packed_finer_cut(const packed_few *of, int *axis, float *plane) {
    const sah_costs costs = {0.3f, 1, 1};
    float best = (float)of->count;
    bool found = false;
    if (of->count < PACKED_FINER_LEAST || !(sah_half_area(of->box) > 0)) return false;
    for (int k = 0; k < 3; ++k) {
        const sah_axis along = sah_axis_of(of->box, k);
        for (uint32_t i = 0; i < 2 * of->count; ++i) {
            const box3 *box = &of->boxes[i >> 1];
            const float at = vec3_axis(i & 1 ? box->hi : box->lo, k);
            uint32_t low, high;
            if (!(at > along.lo && at < along.hi)) continue;
            packed_count_sides(of, k, at, &low, &high);
            const float cost = sah_split_cost(&costs, &along, at, low, high);
            if (!(cost < best)) continue;
            best = cost;
            *axis = k;
            *plane = at;
            found = true;
        }
    }
    return found;
}

/* Whether a leaf of the tree may be cut. */
KD_FN bool packed_may_be_finer(tritree_node leaf) {
    const uint32_t count = tritree_count(leaf);
    return count >= PACKED_FINER_LEAST && count <= PACKED_FINER_MOST;
}

/* The triangles on one side of a cut. */
KD_FN uint32_t packed_few_side(const packed_few *of, int axis, float plane, bool high) {
    uint32_t side = 0, i = 0;
    for (uint32_t k = 0; packed_has_next(of->which, &i); ++i, ++k) {
        const float lo = vec3_axis(of->boxes[k].lo, axis), hi = vec3_axis(of->boxes[k].hi, axis);
        if (high ? hi > plane : lo < plane || hi <= plane) side |= 1u << i;
    }
    return side;
}

#endif
