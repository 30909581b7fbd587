/* State of the rule `zhou`: parts of triangles, work lists, buffers and counters.
   Idea: a level of large nodes reads its parts from one end of the pool and writes those of the
   next level to the other end. A large mesh is built in slabs, which use the same memory one after
   another: its first levels stop at nodes of at most slab_max parts, whose parts wait where the
   tree will be; then nodes that together have so few are taken to their leaves. */
#ifndef KD_ACCEL_ZHOU_ZHOU_STATE_CUH
#define KD_ACCEL_ZHOU_ZHOU_STATE_CUH
#include "accel/zhou/pipeline.cuh"
#include "accel/zhou/stages.h"

enum {
    ZHOU_BLOCK = 128,
    ZHOU_EACH = 4, /* references per thread */
    ZHOU_CHUNK = ZHOU_BLOCK * ZHOU_EACH,
    ZHOU_SEGMENT = 128 /* nodes or ids that a warp allocates at a time */
};

/* The results that the chunks of a node accumulate, if there are several. */
struct zhou_merge {
    /* place for the parts of both children: those of the left one from the front, those of the
       right one from the end; of a node that waits: its place in the arrays `waiting` */
    uint32_t first;
    uint32_t count[2], done;
    int box[2][6]; /* bounds of the children's parts: minima of lo and of -hi, ordered */
    unsigned long long middles[2][3]; /* sums of zhou_middle in the children's boxes */
};

/* A small root and, when it is finished, its subtree, in which indices are relative to the
   subtree. */
struct zhou_small_root {
    box3 box;
    uint32_t first, count; /* parts; finally the positions of its nodes and ids in the layout */
    uint32_t depth, at;
    tritree_node top;
    uint32_t node_first, id_first; /* first node and id in the segments */
};

struct zhou_counters {
    uint32_t valid, degenerate;
    uint32_t nodes;                    /* raw nodes */
    uint32_t level_nodes[3], tasks[3]; /* lists of three levels: read, filled, cleared */
    /* part counts of four levels: read, filled, reserved for the level after it, cleared */
    uint32_t parts[4];
    uint32_t slabs, waiting; /* nodes that wait, and their parts */
    uint32_t slab_next;      /* first node that has not been taken yet */
    uint32_t small_parts, roots, ids, leaves;
    uint32_t next_root, node_segments, id_segments;
    uint32_t exhausted;
    uint2 total;              /* inner nodes and references of the tree */
    uint32_t stop[3];         /* set for the level after the one that exceeded a capacity */
    int box_lo[3], box_hi[3]; /* ordered integers */
};

struct zhou_device : build_state {
    /* Bits of `exhausted`. Small nodes that exceed their segments are still counted. */
    enum : uint32_t { SIZES_UNKNOWN = EXHAUSTED_POOL | EXHAUSTED_LISTS };
    clipped *small_parts;
    /* Slabs. The parts that wait are in the memory of `nodes` and `references`. */
    uint32_t slab_max; /* 0: the tree is built at once */
    bool stops;        /* the first levels: smaller nodes wait */
    bool resumes;      /* the first level reads parts that wait */
    bool is_tight;     /* children of large nodes get less space than they could need */
    float4 *waiting_lo, *waiting_hi;
    zhou_node *slabs;
    clipped *slab_pool;
    zhou_node *level_nodes[2];
    uint2 *tasks[2]; /* index into level_nodes, chunk */
    zhou_merge *merges[2];
    zhou_small_root *roots;
    uint32_t *ids;                 /* ids in large leaves */
    uint32_t *leaves;              /* large leaves, as raw nodes */
    tritree_node *segments;        /* nodes below small roots */
    uint32_t *id_segments;         /* ids of their leaves */
    uint32_t *node_next, *id_next; /* the next segment of a segment */
    zhou_counters *count;
    uint32_t part_capacity, slab_part_capacity, waiting_capacity, slab_capacity, small_capacity,
        level_capacity, task_capacity, root_capacity, raw_capacity, id_capacity, leaf_capacity,
        segment_capacity, id_segment_capacity;
    uint64_t memory_bytes;
};

#endif
