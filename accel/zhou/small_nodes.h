/* The small-node stage of `zhou` on a CPU: one small root and all that is below it. */
#ifndef KD_ACCEL_ZHOU_SMALL_NODES_H
#define KD_ACCEL_ZHOU_SMALL_NODES_H
#include "accel/tree/tritree.h"
#include "accel/zhou/stages.h"

/* A triangle's part in a node. */
typedef struct zhou_part {
    box3 box;
    uint32_t id;
} zhou_part;

/* Nodes and references of some small roots, one root after the other. */
typedef struct zhou_output {
    tritree_node *nodes;
    uint32_t *ids;
    uint64_t node_count, node_room, id_count, id_room;
} zhou_output;

/* A small root when it is done. Children of `top` and its subtree count from node_begin, references
   from id_begin. */
typedef struct zhou_root {
    tritree_node top;
    uint64_t node_begin, id_begin;
    uint32_t node_count, id_count;
} zhou_root;

/* All candidates of a small root: for each side of each of its triangles' parts the plane, and the
   sets of triangles on the left and on the right, a bit each. */
typedef struct zhou_candidates {
    float plane[ZHOU_SIDES][ZHOU_SMALL_MOST];
    uint64_t left[ZHOU_SIDES][ZHOU_SMALL_MOST], right[ZHOU_SIDES][ZHOU_SMALL_MOST];
    uint32_t count; /* triangles */
} zhou_candidates;

void zhou_candidates_make(zhou_candidates *out, const zhou_part *parts, uint32_t count);

/* `parts`: node->count of them, ids ascending. */
kd_status zhou_small_build(zhou_root *out, zhou_output *to, const zhou_node *node,
                           const zhou_part *parts, const sah_costs *costs, uint32_t max_depth);
void zhou_output_close(zhou_output *owned); /* takes a zeroed one */

#endif
