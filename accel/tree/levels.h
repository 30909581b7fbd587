/* The nodes of a triangle tree level by level, with the numbers of nodes that the surface area
   heuristic predicts for a line.
   Source: MacDonald and Booth 1990; Santalo 1976: the fraction of the lines through a convex body
           that intersect a convex body inside it is the ratio of their surface areas. */
#ifndef KD_ACCEL_TREE_LEVELS_H
#define KD_ACCEL_TREE_LEVELS_H
#include "accel/tree/tritree.h"

enum { TREE_LEVELS = 64, LEAF_SIZES = 17 };

typedef struct tree_level {
    uint64_t nodes, leaves, empty_leaves, references;
    double expected;              /* predicted nodes per line: sum of A(node)/A(root) */
    double inner_cost, leaf_cost; /* parts of the tree's SAH cost */
    double intersected;           /* nodes per line, mean over the random lines */
} tree_level;

typedef struct tree_levels {
    tree_level levels[TREE_LEVELS];  /* the last includes deeper levels */
    uint32_t count;                  /* levels that have nodes */
    uint64_t leaf_sizes[LEAF_SIZES]; /* numbers of leaves with 0, 1, ... triangles; the last
                                        includes larger leaves */
    uint64_t lines;                  /* lines that intersect the box */
    /* per ray along the same lines, up to the hit */
    double nodes_read, leaves_read, triangles_tested;
} tree_levels;

/* The cells of all nodes down to a level, parents first. */
typedef void (*tree_visitor)(void *context, uint32_t node, uint32_t level, box3 box);
void tree_visit(const tritree *tree, uint32_t max_level, tree_visitor visit, void *context);

tree_level *tree_level_at(tree_levels *levels, uint32_t level);
/* Counts nodes, leaves and costs; the figures of lines are 0. */
void tree_levels_count(tree_levels *out, const tritree *tree);

#endif
