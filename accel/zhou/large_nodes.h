/* The large-node stage of `zhou` on a CPU: from all triangles to small roots. */
#ifndef KD_ACCEL_ZHOU_LARGE_NODES_H
#define KD_ACCEL_ZHOU_LARGE_NODES_H
#include "accel/zhou/small_nodes.h"

/* A piece of a node's references. */
typedef struct zhou_chunk {
    uint32_t node; /* in the level's list */
    uint32_t first, count;
    uint32_t left, right;   /* how many of its parts go there; then, where they go */
    box3 tight[2];          /* around what goes left and right */
    uint64_t middles[2][3]; /* sums of zhou_middle in the children's boxes, if they may ask */
} zhou_chunk;

/* What becomes of a node of the level. */
typedef struct zhou_split {
    zhou_plan plan;
    zhou_node child[2];
    uint64_t middles[2][3];
    bool leaf;
} zhou_split;

/* Lists that grow between levels, never inside one. */
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
    zhou_raws raw;      /* children behind their parents */
    zhou_ids ids;       /* of large leaves */
} zhou_large;

/* Initialization: a part for each triangle that can be hit, and the root, whose box is given. */
kd_status zhou_large_open(zhou_large *out, const tritree_input *input, box3 box, uint32_t max_depth,
                          const job *watched);
/* All levels. */
kd_status zhou_large_run(zhou_large *stage);
void zhou_large_close(zhou_large *owned); /* takes a zeroed one */

#endif
