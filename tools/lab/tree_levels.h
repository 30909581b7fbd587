/* Statistics of a triangle tree level by level: nodes, leaves, the numbers of nodes that the
   surface area heuristic predicts for a line, and the numbers counted for random lines.
   Source: MacDonald and Booth 1990; Santalo 1976: the fraction of the lines through a convex body
           that intersect a convex body inside it is the ratio of their surface areas.
   Idea: a chord between two uniform points of a sphere is a uniformly distributed line. Each line
         that intersects the tree's box is traced through all nodes on it. */
#ifndef KD_TOOLS_LAB_TREE_LEVELS_H
#define KD_TOOLS_LAB_TREE_LEVELS_H
#include "accel/tree/levels.h"
#include "core/status.h"

/* `lines`: number of random lines that intersect the box. */
void tree_levels_measure(tree_levels *out, const tritree *tree, uint64_t lines);

/* Writes by suffix: .ply (boxes as edges, coloured by level) and .dot (graph), both down to
   `max_level`; .json (all levels). Adds the scene's origin, three numbers, to positions. Returns
   KD_ERROR_USAGE for other suffixes. */
kd_status tree_export(const char *path, const tritree *tree, const double origin[3],
                      const tree_levels *levels, uint32_t max_level);
bool tree_export_knows(const char *path);
/* Writes FOLDER/index.html: bars of cost, of predicted and counted nodes, and of leaf sizes. */
kd_status tree_report(const char *folder, const tritree *tree, const tree_levels *levels,
                      const char *name);

#endif
