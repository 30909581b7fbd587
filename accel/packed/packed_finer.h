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

KD_FN bool packed_has_next(uint32_t which, uint32_t *bit) {
    for (uint32_t i = *bit; i < PACKED_FINER_MOST; ++i)
        if (which >> i & 1) {
            *bit = i;
            return true;
        }
    return false;
}

KD_FN bool packed_is_flat(box3 box) {
    return box.lo.x == box.hi.x || box.lo.y == box.hi.y || box.lo.z == box.hi.z;
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

/* Whether so many triangles may be cut, so many levels of cuts below a leaf of the tree. */
KD_FN bool packed_may_be_finer(uint32_t count, bool flat, uint32_t level) {
    const uint32_t least = flat ? PACKED_FINER_FLAT : PACKED_FINER_LEAST;
    return count >= least && count <= PACKED_FINER_MOST && level < PACKED_FINER_LEVELS;
}

#endif
