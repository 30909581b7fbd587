/* Per-node, per-triangle and per-candidate functions of the builder `zhou`. CPU and GPU call the
   same functions, so their trees are the same, bit for bit.
   Source: Zhou, Hou, Wang, Guo 2008, "Real-time kd-tree construction on graphics hardware",
   algorithms 2 to 5, as described by Choi and Ye 2020, sections III.B and III.C.
   Invariants: decisions depend on counts, minima, maxima and sets, never on the order of triangles.
   A part's box is never too small. Coordinates are never -0, so the minimum of several has the same
   bits in any order.
   Differs from the papers in: a large node becomes a leaf if its split would exceed ZHOU_GROWTH_MAX
   references per triangle in its branch, or the depth limit. Close to the depth limit, where the
   remaining levels only suffice for halving the node's triangles, empty space of less than half a
   side is not cut off, and the split is at the mean of the triangles' centres, which separates
   them, instead of the spatial median, which may be far from all of them. An axis across which the
   whole node lies in one plane is not split. For a triangle in a candidate's plane both sides are
   tried. A face of a node is a candidate if triangles lie in it. Costs are those of
   accel/tree/sah.h. */
#ifndef KD_ACCEL_ZHOU_STAGES_H
#define KD_ACCEL_ZHOU_STAGES_H
#include "accel/tree/sah.h"
#include "accel/tree/triangle_clip.h"

enum {
    ZHOU_SMALL_MAX = 64, /* T: triangles of a small node, one bit each */
    ZHOU_CUTS_MAX = 6,
    ZHOU_GROWTH_MAX = 16,
    /* sides of a box; planes of side 2 axis are where parts begin, those of side 2 axis + 1 where
       they end */
    ZHOU_SIDES = 6,
    ZHOU_NO_AXIS = 3
};
#define ZHOU_EMPTY_SHARE 0.25f /* C_e: relative to the length of a side */

/* A node of the large-node stage. */
typedef struct zhou_node {
    box3 box;              /* cell of the node */
    box3 tight;            /* bounds of its triangles' parts */
    float mean[3];         /* mean of its parts' centres; set only if plan.means of the parent is */
    float growth;          /* factor by which its leaves' references may exceed its own */
    uint32_t first, count; /* references; on a CPU `first` is not used */
    uint32_t depth;
    uint32_t at; /* index of its node in the tree, on a device of its raw node */
} zhou_node;

KD_FN vec3 zhou_corner(vec3 corner) { /* -0 becomes 0 */
    return vec3_make(corner.x + 0.0f, corner.y + 0.0f, corner.z + 0.0f);
}

/* The empty spaces that are cut off a node, one side at a time, and then its split. */
typedef struct zhou_plan {
    float cut[ZHOU_CUTS_MAX];
    int cut_side[ZHOU_CUTS_MAX]; /* 2 axis, + 1 if the empty part is the upper one */
    int cuts;
    box3 box; /* the rest of the node's cell, to be split */
    int axis; /* ZHOU_NO_AXIS: leaf */
    float plane;
    uint32_t depth; /* depth of the rest */
    bool means;     /* whether its children need their `mean` */
} zhou_plan;

/* Returns the number of levels in which halving separates `count` triangles, plus some because
   planes cut triangles. */
KD_FN uint32_t zhou_levels_for(uint32_t count) {
    uint32_t halvings = 0;
    while (halvings < 32 && (uint64_t)1 << halvings < count) ++halvings;
    return halvings + 3;
}

/* Returns the centre of a part relative to a box, as an integer below 2^16, so that sums do not
   depend on the order. */
KD_FN uint32_t zhou_middle(box3 box, int axis, float lo, float hi) {
    const float from = vec3_axis(box.lo, axis), size = vec3_axis(box.hi, axis) - from;
    const float at = ((lo * 0.5f + hi * 0.5f) - from) / size * 65536.0f;
    return at > 0 ? (uint32_t)float_min(at, 65535.0f) : 0; /* NaN becomes 0 */
}
KD_FN float zhou_mean(box3 box, int axis, uint64_t sum, uint32_t count) {
    const float from = vec3_axis(box.lo, axis), size = vec3_axis(box.hi, axis) - from;
    return from + size * (float)(((double)sum / (double)(count ? count : 1) + 0.5) / 65536.0);
}

/* Zhou 2008, algorithm 2: "if i contains more than C_e empty space on side j, cut it off". A cut
   takes a level of the tree, too. Where the remaining levels only suffice for the triangles, a cut
   is skipped unless it removes more than half of a side. */
KD_FN void zhou_cut_side(zhou_plan *plan, const zhou_node *node, int side, uint32_t max_depth) {
    const int axis = side >> 1;
    const bool upper = (side & 1) != 0;
    const float lo = vec3_axis(plan->box.lo, axis), hi = vec3_axis(plan->box.hi, axis);
    const float at = upper ? vec3_axis(node->tight.hi, axis) : vec3_axis(node->tight.lo, axis);
    const float empty = upper ? hi - at : at - lo;
    if (!(empty > ZHOU_EMPTY_SHARE * (hi - lo)) || !(lo <= at && at <= hi)) return;
    if (plan->depth >= max_depth) return;
    if (!(empty > 0.5f * (hi - lo)) && plan->depth + 1 + zhou_levels_for(node->count) > max_depth)
        return;
    plan->cut[plan->cuts] = at;
    plan->cut_side[plan->cuts] = side;
    ++plan->cuts;
    ++plan->depth;
    vec3_set_axis(upper ? &plan->box.hi : &plan->box.lo, axis, at);
}

KD_FN void zhou_plan_make(zhou_plan *plan, const zhou_node *node, uint32_t max_depth) {
    plan->cuts = 0;
    plan->box = node->box;
    plan->depth = node->depth;
    for (int side = 0; side < ZHOU_SIDES; ++side) zhou_cut_side(plan, node, side, max_depth);
    plan->axis = ZHOU_NO_AXIS;
    plan->plane = 0;
    float longest = 0;
    for (int axis = 0; axis < 3; ++axis) {
        const float lo = vec3_axis(plan->box.lo, axis), hi = vec3_axis(plan->box.hi, axis);
        const float half = hi * 0.5f - lo * 0.5f, middle = lo * 0.5f + hi * 0.5f;
        const bool flat = vec3_axis(node->tight.lo, axis) == vec3_axis(node->tight.hi, axis);
        if (flat || !(half > longest) || !(lo < middle && middle < hi)) continue;
        longest = half;
        plan->axis = axis;
        plan->plane = middle;
    }
    if (plan->depth >= max_depth) plan->axis = ZHOU_NO_AXIS;
    const uint32_t levels = zhou_levels_for(node->count);
    plan->means = plan->depth + 1 + ZHOU_CUTS_MAX + levels >= max_depth;
    if (plan->axis == ZHOU_NO_AXIS || plan->depth + levels < max_depth || node->depth == 0) return;
    const float mean = node->mean[plan->axis];
    if (vec3_axis(plan->box.lo, plan->axis) < mean && mean < vec3_axis(plan->box.hi, plan->axis))
        plan->plane = mean;
}

/* Returns the growth left to the children; below 1 the node becomes a leaf. */
KD_FN float zhou_growth_left(float growth, uint32_t count, uint32_t left, uint32_t right) {
    return growth * ((float)count / (float)(left + right));
}

/* Returns on which sides of the plane a part lies; bit 0: left, bit 1: right. A part in the plane
   is on the left. */
KD_FN uint32_t zhou_sides(float lo, float hi, float plane) {
    const uint32_t sides = (lo < plane ? 1u : 0u) | (hi > plane ? 2u : 0u);
    return sides ? sides : 1u;
}

KD_FN void zhou_include(box3 *box, int axis, double at) {
    const float below = float_not_above(at), above = float_not_below(at) + 0.0f;
    if (below < vec3_axis(box->lo, axis)) vec3_set_axis(&box->lo, axis, below);
    if (above > vec3_axis(box->hi, axis)) vec3_set_axis(&box->hi, axis, above);
}

/* Extends the box by the point where an edge crosses the plane, on the other two axes. */
KD_FN void zhou_include_crossing(box3 *box, vec3 from, vec3 to, int axis, float plane) {
    const double begin = (double)vec3_axis(from, axis), end = (double)vec3_axis(to, axis);
    const double s = ((double)plane - begin) / (end - begin);
    for (int other = 0; other < 3; ++other) {
        if (other == axis) continue;
        const double p = (double)vec3_axis(from, other), q = (double)vec3_axis(to, other);
        zhou_include(box, other, p + s * (q - p));
    }
}

/* Shrinks `part`, which is already cut at the plane, to a box around the triangle's part on that
   side. Uses the original triangle, so errors do not accumulate; computes in double and rounds
   outwards. */
KD_FN box3 zhou_clip(vec3 a, vec3 b, vec3 c, int axis, float plane, bool right, box3 part) {
    const vec3 corner[3] = {a, b, c};
    box3 box = box3_empty();
    for (int i = 0; i < 3; ++i) {
        const vec3 p = corner[i], q = corner[i == 2 ? 0 : i + 1];
        const float from = vec3_axis(p, axis), to = vec3_axis(q, axis);
        if (right ? from >= plane : from <= plane) box3_include(&box, p);
        if (from < plane && to > plane) zhou_include_crossing(&box, p, q, axis, plane);
        if (from > plane && to < plane) zhou_include_crossing(&box, q, p, axis, plane);
    }
    vec3_set_axis(right ? &box.lo : &box.hi, axis, plane);
    box.lo = vec3_max(box.lo, part.lo);
    box.hi = vec3_min(box.hi, part.hi);
    return box3_is_empty(box) ? part : box; /* empty: keeps the wide box */
}

/* As sah_axis_of, with one division for both area ratios. */
KD_FN sah_axis zhou_axis_of(box3 box, int axis) {
    const int u = axis == 2 ? 0 : axis + 1, v = u == 2 ? 0 : u + 1;
    const double width = (double)vec3_axis(box.hi, u) - (double)vec3_axis(box.lo, u);
    const double height = (double)vec3_axis(box.hi, v) - (double)vec3_axis(box.lo, v);
    const double area = sah_half_area(box), inverse = area > 0 ? 1 / area : 0;
    sah_axis areas;
    areas.lo = vec3_axis(box.lo, axis);
    areas.hi = vec3_axis(box.hi, axis);
    areas.base = area > 0 ? (float)(width * height * inverse) : 1.0f;
    areas.slope = (float)((width + height) * inverse);
    return areas;
}

/* A candidate of the small-node stage. Of equal costs the first by (side, plane) wins. */
typedef struct zhou_choice {
    float cost, plane;
    int side;      /* ZHOU_SIDES: none yet */
    uint32_t from; /* the triangle whose side it is, which is the index of its masks */
} zhou_choice;

KD_FN zhou_choice zhou_choice_none(void) {
    zhou_choice none;
    none.cost = INFINITY;
    none.plane = INFINITY;
    none.side = ZHOU_SIDES;
    none.from = 0;
    return none;
}

KD_FN bool zhou_choice_better(const zhou_choice *a, const zhou_choice *b) {
    if (a->cost != b->cost) return a->cost < b->cost;
    if (a->side != b->side) return a->side < b->side;
    return a->plane < b->plane;
}

/* Returns true if a small node could cost less than a leaf. */
KD_FN bool zhou_may_split(const sah_costs *costs, uint32_t count, uint32_t depth,
                          uint32_t max_depth) {
    return costs->intersect * (float)count > costs->traversal && depth < max_depth;
}

/* Returns true if a candidate splits the node: strictly inside it, or in one of its faces, to
   separate the triangles in that face from all others. Triangles that end at the lower face or
   begin at the upper face lie in it. */
KD_FN bool zhou_is_candidate(const sah_axis *areas, float plane, int side) {
    return (areas->lo < plane && plane < areas->hi) ||
           (areas->lo < areas->hi && plane == (side & 1 ? areas->lo : areas->hi));
}

/* Returns on which sides of a candidate's plane a part lies, as zhou_sides. A part in the plane is
   on the left if the candidate is the end of a part, and on the right if it is the start of one. */
KD_FN uint32_t zhou_candidate_sides(float lo, float hi, float plane, int side) {
    const uint32_t sides = (lo < plane ? 1u : 0u) | (hi > plane ? 2u : 0u);
    return sides ? sides : side & 1 ? 1u : 2u;
}

#endif
