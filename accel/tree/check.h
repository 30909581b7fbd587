/* The invariants of a triangle tree, executed. Knows the layout, and no builder.
     T1  each node is reached once
     T2  each split lies inside its box
     T3  every triangle that meets a leaf's interior is in that leaf, none twice; one that lies in a
         split's plane is on either side of it
     T4  references are of triangles that can be hit, each leaf's its own
     T5  no leaf is deeper than the limit
     T6  the leaves' volumes add up to that of the box of all triangles
     T7  the recomputed statistics, SAH cost included, equal the reported ones */
#ifndef KD_ACCEL_TREE_CHECK_H
#define KD_ACCEL_TREE_CHECK_H
#include "accel/tree/tritree.h"

/* KD_ERROR_CHECK and "T<n>: what is wrong where" for the first invariant that does not hold. */
kd_status tritree_check(const tritree *tree);

#endif
