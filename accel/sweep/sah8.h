/* sah_split_cost (accel/tree/sah.h) of eight planes at once. */
#ifndef KD_ACCEL_SWEEP_SAH8_H
#define KD_ACCEL_SWEEP_SAH8_H
#include "accel/geometry/vector8.h"
#include "accel/tree/sah.h"

/* The same operations in the same order, so the same bits. */
VECTOR8_FN float8 sah_split_cost8(const sah_costs *costs, const sah_axis *of, const float8 plane,
                                  int8 left, int8 right) {
    const float8 left_part = of->base + of->slope * (plane - of->lo);
    const float8 right_part = of->base + of->slope * (of->hi - plane);
    const float8 meets = left_part * __builtin_convertvector(left, float8) +
                         right_part * __builtin_convertvector(right, float8);
    const float8 all = float8_all(costs->intersect);
    const float8 reduced = float8_all(costs->intersect * costs->empty_factor);
    return costs->traversal + float8_select((left == 0) | (right == 0), reduced, all) * meets;
}

#endif
