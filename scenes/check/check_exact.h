/* Signs that are never wrong, of points that are floats.
   Idea: a determinant in double with a bound on its error; where the bound says nothing, the exact
   sum of the exact products of coordinates.
   Source: Shewchuk 1997, "Adaptive Precision Floating-Point Arithmetic and Fast Robust Geometric
           Predicates". Must be compiled without contraction. */
#ifndef KD_SCENES_CHECK_EXACT_H
#define KD_SCENES_CHECK_EXACT_H
#include "core/math/geometry.h"

/* Of the area of a, b, c in the plane of the axes i and j: 1 counter-clockwise, -1, 0. */
int exact_turn(vec3 a, vec3 b, vec3 c, int i, int j);
/* On which side of the plane of a, b, c is d? 1: where the triangle is seen clockwise. */
int exact_side(vec3 a, vec3 b, vec3 c, vec3 d);
/* No area, not the least. */
bool exact_is_flat(vec3 a, vec3 b, vec3 c);

#endif
