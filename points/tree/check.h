/* Proof that a point tree is what it should be. Knows no builder.
   P1 the tree is a permutation of the input: each id once, each point bit for bit that of its id
      (if equal points were removed: each id at most once);
   P2 left <= node <= right on the node's axis in the order that the tree states, -0 equal to +0,
      for every node against all of its ancestors;
   P3 a stored axis is the widest side of the box clipped along the ancestors (first of equals). */
#ifndef KD_POINTS_TREE_CHECK_H
#define KD_POINTS_TREE_CHECK_H
#include "core/status.h"
#include "points/tree/layout.h"

/* KD_ERROR_CHECK with the invariant, the node and the values. `input` are the points it was built
   from. */
kd_status pointtree_check_nd(const pointtree_nd_view *tree, const point_array *input);
/* The same of a tree of three floats. */
kd_status pointtree_check(const pointtree_view *tree, const vec3 *input, uint64_t count);

#endif
