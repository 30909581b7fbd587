/* Steps of the exact SAH builders, serial and parallel: one node's triangles as three sorted
   lists of events, and what becomes of them.
   Source: Wald and Havran 2006, "On building fast kd-trees for ray tracing, and on doing that in
           O(n log n)", section 4.3.
   Idea: events (where clipped boxes begin and end) are sorted once for each axis; a node's best
         plane is found by one sweep over its three lists; lists of children are filtered from
         their parent's, and only what is cut anew is sorted and merged in.
   Invariants: lists are sorted by (position, type) and hold each triangle once; of planes of
               equal cost the first by (axis, position) wins, so the tree is a function of its
               input; ids in a leaf ascend.
   Differs from the paper in: planes lie strictly inside the node, or in its own side, to part
         triangles that lie in that from all else (a floor's cell has no thickness, the air above
         it no triangle); triangles are clipped from the original to both children at once; nodes
         of few triangles go to small_nodes.c. */
#ifndef KD_ACCEL_SWEEP_SWEEP_H
#define KD_ACCEL_SWEEP_SWEEP_H
#include "accel/sweep/search.h"
#include "accel/tree/build_exact.h"
#include "accel/tree/sah.h"
#include "accel/tree/writer.h"
#include "core/parallel/tasks.h"

typedef struct event_list { /* in the axis' stack */
    uint64_t first;
    uint32_t count;
} event_list;

typedef struct sweep_node {
    box3 box;
    event_list list[3];
    uint32_t count; /* triangles */
    uint32_t at;    /* index in the writer's tree */
    int32_t depth;
    double growth; /* references of a triangle, were all nodes cut as those on the way here */
} sweep_node;

typedef struct event_stack { /* a node's list lies above those of its ancestors */
    sweep_event *events;
    uint64_t room;
} event_stack;

typedef struct fresh_list { /* of triangles cut anew, for one child and one axis */
    sweep_event *events;    /* behind them one that is after all others */
    uint64_t count;
} fresh_list;

typedef struct sweep_cut { /* a straddler's parts on both sides */
    box3 part[2];
    int parts; /* bit 0: the left one exists, bit 1: the right one */
} sweep_cut;

/* A subtree under construction. Events name triangles by their place in `ids`. */
typedef struct sweep {
    const tritree_input *input;
    const job *watched;
    sah_costs costs;
    int32_t max_depth;
    task_pool *pool; /* of the threads that help; NULL: there are none */
    tree_writer writer;
    uint32_t *ids; /* ascending */
    uint32_t id_count;
    event_stack stack[3];
    pthread_mutex_t moving; /* held while lists are moved, or read by another thread */
    sweep_blocks blocks[3];
    uint8_t *sides;       /* of each triangle (or its slot), for the node at hand */
    uint32_t *straddlers; /* of the node at hand */
    sweep_cut *cuts;      /* of the straddlers */
    uint32_t straddler_count;
    fresh_list fresh[2][3];
    sweep_event *scratch[3];
    uint64_t fresh_room; /* triangles */
} sweep;

uint64_t sweep_scratch_bytes(uint32_t triangle_count);

/* The whole tree's work: *root holds all triangles that can be hit. */
kd_status sweep_open(sweep *out, sweep_node *root, box3 box, const tritree_input *input,
                     const tritree_options *options, task_pool *pool, const job *watched);
/* A subtree's work, apart from the tree it belongs to: *root becomes the copy of `node`. Another
   thread may meanwhile work on what lies above the node's lists. */
kd_status sweep_branch(sweep *out, sweep_node *root, sweep *from, const sweep_node *node);
/* The lists, once the tree is written; the rest by sweep_close. */
void sweep_close_lists(sweep *work);
void sweep_close(sweep *owned); /* takes a zeroed one */

/* Either writes the node's leaf or whole small subtree, and *split is false; or writes an inner
   node, and left and right are to be done, in this order. */
kd_status sweep_step(sweep *work, const sweep_node *node, bool *split, sweep_node *left,
                     sweep_node *right);

#endif
