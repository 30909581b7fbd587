/* The surface area heuristic: what cutting a node costs the rays that come through it.
   Source: MacDonald and Booth 1990; Wald and Havran 2006, sections 3.1 to 3.3, 5. cost(plane) =
           C_t + C_i (A(left)/A n_left + A(right)/A n_right) against C_i n of a leaf. A plane
           that cuts off empty space has its C_i part multiplied by `empty_factor`.
   Differs from the paper in: the factor leaves C_t alone, which gave trees of 0.8 to 1.4 % lower
         cost (docs/notebook/triangle-trees.md). Areas enter as ratios that are computed in
         double once a node, so any scale of coordinates works. */
#ifndef KD_ACCEL_TREE_SAH_H
#define KD_ACCEL_TREE_SAH_H
#include "core/math/geometry.h"

typedef struct sah_costs {
    float traversal, intersect;
    float empty_factor; /* (0, 1] */
} sah_costs;

/* How the two sides' area ratios depend on where a node is cut across one axis. */
typedef struct sah_axis {
    float lo, hi;
    float base;  /* A(side)/A of a side without thickness */
    float slope; /* growth per length */
} sah_axis;

KD_FN double sah_half_area(box3 box) {
    const double x = (double)box.hi.x - (double)box.lo.x;
    const double y = (double)box.hi.y - (double)box.lo.y;
    const double z = (double)box.hi.z - (double)box.lo.z;
    return x * y + y * z + z * x;
}

KD_FN sah_axis sah_axis_of(box3 box, int axis) {
    const int u = axis == 2 ? 0 : axis + 1, v = u == 2 ? 0 : u + 1;
    const double width = (double)vec3_axis(box.hi, u) - (double)vec3_axis(box.lo, u);
    const double height = (double)vec3_axis(box.hi, v) - (double)vec3_axis(box.lo, v);
    const double area = sah_half_area(box);
    sah_axis of;
    of.lo = vec3_axis(box.lo, axis);
    of.hi = vec3_axis(box.hi, axis);
    of.base = area > 0 ? (float)(width * height / area) : 1.0f;
    of.slope = area > 0 ? (float)((width + height) / area) : 0.0f;
    return of;
}

KD_FN float sah_split_cost(const sah_costs *costs, const sah_axis *of, float plane,
                           uint32_t left_count, uint32_t right_count) {
    const float left = of->base + of->slope * (plane - of->lo);
    const float right = of->base + of->slope * (of->hi - plane);
    const float meets = left * (float)left_count + right * (float)right_count;
    const float factor = left_count == 0 || right_count == 0
                             ? costs->intersect * costs->empty_factor
                             : costs->intersect;
    return costs->traversal + factor * meets;
}

/* A plane to cut at. Planes are ordered by (cost, axis, position): a tree is a function of its
   input. */
typedef struct sah_split {
    float cost; /* INFINITY: there is no plane */
    float position;
    int axis;
    bool planar_left; /* the side of triangles that lie in the plane */
} sah_split;

KD_FN sah_split sah_split_none(void) {
    sah_split none;
    none.cost = INFINITY;
    none.position = 0;
    none.axis = 3;
    none.planar_left = true;
    return none;
}

#endif
