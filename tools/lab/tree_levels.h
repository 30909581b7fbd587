/* A triangle tree level by level: nodes, leaves, what the surface area heuristic expects there, and
   what lines really meet.
   Source: MacDonald and Booth 1990; Santalo 1976: of all lines that meet a convex body, those that
           meet one within it are the share of the surfaces.
   Idea: a chord between two points that are uniform on a sphere is a line uniform in space. Each
         such line that meets the tree's box is followed through all nodes that it pierces. */
#ifndef KD_TOOLS_LAB_TREE_LEVELS_H
#define KD_TOOLS_LAB_TREE_LEVELS_H
#include "accel/tree/tritree.h"
#include "core/status.h"

enum { TREE_LEVELS = 64, LEAF_SIZES = 17 };

typedef struct tree_level {
    uint64_t nodes, leaves, empty_leaves, references;
    double expected;              /* nodes that a line meets: sum A(node)/A(root) */
    double inner_cost, leaf_cost; /* parts of the tree's SAH cost */
    double met;                   /* nodes that a line met, by the mean of the lines cast */
} tree_level;

typedef struct tree_levels {
    tree_level levels[TREE_LEVELS];  /* deeper ones are counted in the last */
    uint32_t count;                  /* levels that have nodes */
    uint64_t leaf_sizes[LEAF_SIZES]; /* leaves of 0, 1, ... triangles; of more in the last */
    uint64_t lines;                  /* that met the box */
    double nodes_read, leaves_read, triangles_tested; /* of the same lines as rays, to their hits */
} tree_levels;

/* `lines`: how many are drawn; those that miss the box are drawn again. */
void tree_levels_measure(tree_levels *out, const tritree *tree, uint64_t lines);

/* The part of space that a node has; for each node down to a level, parents first. */
typedef void (*tree_visitor)(void *context, uint32_t node, uint32_t level, box3 box);
void tree_visit(const tritree *tree, uint32_t most_level, tree_visitor visit, void *context);

/* By suffix: .ply (boxes as edges, coloured by level), .dot (the graph), both down to `most_level`;
   .json (all levels). KD_ERROR_USAGE for another suffix. */
kd_status tree_export(const char *path, const tritree *tree, const tree_levels *of,
                      uint32_t most_level);
bool tree_export_knows(const char *path);
/* Bars of cost, of nodes expected and met, and of leaves' sizes: FOLDER/index.html. */
kd_status tree_report(const char *folder, const tritree *tree, const tree_levels *of,
                      const char *name);

#endif
