/* The surface area heuristic (SAH): the expected cost of a split for rays that enter the node.
   Source: MacDonald and Booth 1990; Wald and Havran 2006, sections 3.1 to 3.3, 5. cost(plane) = C_t
   + C_i (A(left)/A n_left + A(right)/A n_right), against C_i n of a leaf. For a plane that cuts off
   empty space the C_i term is multiplied by `empty_factor`.
   Differs from the paper in: the factor does not apply to C_t, which gave trees of 0.8 to 1.4 %
   lower cost (docs/notebook/triangle-trees.md). Areas enter as ratios that are computed in double
   once per node, so any scale of coordinates works. */
#ifndef KD_ACCEL_TREE_SAH_H
#define KD_ACCEL_TREE_SAH_H
#include "core/math/geometry.h"

typedef struct sah_costs {
    float traversal, intersect;
    float empty_factor; /* (0, 1] */
} sah_costs;

/* The relative areas of the two children as linear functions of the position of a split across one
   axis. */
typedef struct sah_axis {
    float lo, hi;
    float base;  /* A(child)/A of a child without thickness */
    float slope; /* growth per unit of thickness */
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
    sah_axis areas;
    areas.lo = vec3_axis(box.lo, axis);
    areas.hi = vec3_axis(box.hi, axis);
    areas.base = area > 0 ? (float)(width * height / area) : 1.0f;
    areas.slope = area > 0 ? (float)((width + height) / area) : 0.0f;
    return areas;
}

KD_FN float sah_split_cost(const sah_costs *costs, const sah_axis *areas, float plane,
                           uint32_t left_count, uint32_t right_count) {
    const float left = areas->base + areas->slope * (plane - areas->lo);
    const float right = areas->base + areas->slope * (areas->hi - plane);
    const float expected = left * (float)left_count + right * (float)right_count;
    const float factor = left_count == 0 || right_count == 0
                             ? costs->intersect * costs->empty_factor
                             : costs->intersect;
    return costs->traversal + factor * expected;
}

/* A splitting plane. Planes are ordered by (cost, axis, position), so that the tree is a function
   of the input. */
typedef struct sah_split {
    float cost; /* INFINITY: no plane */
    float position;
    int axis;
    bool planar_left; /* triangles that lie in the plane go to the left */
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
