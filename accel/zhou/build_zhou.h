/* The stages of `zhou` on a CPU. Small-node stage: a small root and everything below it. */
#ifndef KD_ACCEL_ZHOU_BUILD_ZHOU_H
#define KD_ACCEL_ZHOU_BUILD_ZHOU_H
#include "accel/tree/tritree.h"
#include "accel/zhou/stages.h"

/* A triangle in a node: the box of its part there. */
typedef struct zhou_part {
    box3 box;
    uint32_t id;
} zhou_part;

/* Nodes and references of some small roots, one root after another. */
typedef struct zhou_output {
    tritree_node *nodes;
    uint32_t *ids;
    uint64_t node_count, node_room, id_count, id_room;
} zhou_output;

/* A finished small root. In `top` and its subtree, children are relative to node_begin and
   references to id_begin. */
typedef struct zhou_root {
    tritree_node top;
    uint64_t node_begin, id_begin;
    uint32_t node_count, id_count;
} zhou_root;

/* All candidates of a small root: for each side of the box of each of its triangles, the plane and
   bit masks of the triangles on its left and on its right. */
typedef struct zhou_candidates {
    float plane[ZHOU_SIDES][ZHOU_SMALL_MOST];
    uint64_t left[ZHOU_SIDES][ZHOU_SMALL_MOST], right[ZHOU_SIDES][ZHOU_SMALL_MOST];
    uint32_t count; /* triangles */
} zhou_candidates;

void zhou_candidates_make(zhou_candidates *out, const zhou_part *parts, uint32_t count);

/* Builds the subtree of a small root. `parts`: node->count of them, ascending by id. */
kd_status zhou_small_build(zhou_root *out, zhou_output *to, const zhou_node *node,
                           const zhou_part *parts, const sah_costs *costs, uint32_t max_depth);
void zhou_output_close(zhou_output *owned); /* accepts a zeroed one */

/* Large-node stage: from all triangles to small roots. */

/* A piece of a node's references. */
typedef struct zhou_chunk {
    uint32_t node; /* index in the level's list */
    uint32_t first, count;
    uint32_t left, right;   /* number of parts that go there; later, where they are stored */
    box3 tight[2];          /* bounds of the parts that go left and right */
    uint64_t middles[2][3]; /* sums of zhou_middle in the children's boxes, if plan.means */
} zhou_chunk;

/* The result of processing a node of the level. */
typedef struct zhou_split {
    zhou_plan plan;
    zhou_node child[2];
    uint64_t middles[2][3];
    bool leaf;
} zhou_split;

/* Growable lists. They only grow between levels. */
#define ZHOU_LIST(name, type)                                                                      \
    typedef struct name {                                                                          \
        type *items;                                                                               \
        uint64_t count, room;                                                                      \
    } name
ZHOU_LIST(zhou_parts, zhou_part);
ZHOU_LIST(zhou_nodes, zhou_node);
ZHOU_LIST(zhou_chunks, zhou_chunk);
ZHOU_LIST(zhou_splits, zhou_split);
ZHOU_LIST(zhou_raws, zhou_raw);
ZHOU_LIST(zhou_ids, uint32_t);

typedef struct zhou_large {
    const tritree_input *input;
    uint32_t max_depth;
    const job *watched;
    zhou_parts parts, next_parts; /* of the level's nodes and of their children */
    zhou_parts small_parts;       /* of small roots */
    zhou_nodes nodes, next_nodes, roots;
    zhou_chunks chunks; /* of the level */
    zhou_splits splits; /* of the level's nodes */
    zhou_raws raw;      /* children after their parents */
    zhou_ids ids;       /* of large leaves */
} zhou_large;

/* Initialises the stage: one part for each triangle that can be hit, and the root with the given
   box. */
kd_status zhou_large_open(zhou_large *out, const tritree_input *input, box3 box, uint32_t max_depth,
                          const job *watched);
/* Processes all levels. */
kd_status zhou_large_run(zhou_large *stage);
void zhou_large_close(zhou_large *owned); /* accepts a zeroed one */

#endif
