/* The exact tree's definition where Wald and Havran 2006 leave it open: no level of the tree has
   more than about 2 EXACT_GROWTH_MOST references a triangle. */
#ifndef KD_ACCEL_TREE_BUILD_EXACT_H
#define KD_ACCEL_TREE_BUILD_EXACT_H

/* A node of more than EXACT_SMALL_MOST triangles and of more growth than EXACT_GROWTH_MOST is a
   leaf. Its growth is how many references a triangle had if all nodes were cut as those on the way
   to it: since the sum of count / growth over the nodes of a level is never more than the number of
   all triangles, no level has more than 2 x 16 times as many. Real models stay below 5. */
enum { EXACT_GROWTH_MOST = 16, EXACT_SMALL_MOST = 80 };

#endif
