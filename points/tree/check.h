/* Checks that a point tree is valid, independently of the builder that made it:
   P1 the tree is a permutation of the input: each id occurs exactly once (at most once if equal
      points were removed), and each point is bit for bit the input point of its id;
   P2 left <= node <= right on the node's axis in the total order that the tree states, with -0
      equal to +0, for every node against each of its ancestors;
   P3 a stored axis is the widest side of the bounding box clipped along the ancestors; of equally
      wide sides it is the first. */
#ifndef KD_POINTS_TREE_CHECK_H
#define KD_POINTS_TREE_CHECK_H
#include "core/status.h"
#include "points/tree/layout.h"

/* Checks P1 to P3 against `input`, the points from which the tree was built. Returns
   KD_ERROR_CHECK with the violated invariant and the node in the message. */
kd_status pointtree_check_nd(const pointtree_nd_view *tree, const point_array *input);

#endif
