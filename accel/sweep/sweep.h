/* Steps of the exact SAH builders, serial and parallel: one node's triangles, its best plane, its
   children's triangles.
   Source: Wald and Havran 2006, "On building fast kd-trees for ray tracing, and on doing that in
           O(n log n)", section 4: planes, costs, clipping.
   Idea: no order is kept: a node's best plane is found by bounds (search.h), and the triangles are
         shared out by comparing them to it, eight at a time.
   Invariants: a node's rows ascend by triangle id and hold each once; of planes of equal cost the
               first by (axis, position) wins, so the tree is a function of its input.
   Differs from the paper in: nothing is sorted but ends near the best plane; planes lie strictly
         inside the node, or in its own side, to part triangles that lie in that from all else (a
         floor's cell has no thickness, the air above it no triangle); triangles are clipped from
         the original to both children at once; nodes of few triangles go to small_nodes.c. */
#ifndef KD_ACCEL_SWEEP_SWEEP_H
#define KD_ACCEL_SWEEP_SWEEP_H
#include "accel/sweep/rows.h"
#include "accel/sweep/search.h"
#include "accel/tree/build_exact.h"
#include "accel/tree/sah.h"
#include "accel/tree/writer.h"
#include "core/parallel/tasks.h"

typedef struct sweep_node {
    box3 box;
    sweep_rows rows;
    uint32_t count; /* triangles */
    uint32_t at;    /* index in the writer's tree */
    int32_t depth;
    double growth; /* references of a triangle, were all nodes cut as those on the way here */
} sweep_node;

/* A subtree under construction. */
typedef struct sweep {
    const tritree_input *input;
    const job *watched;
    sah_costs costs;
    int32_t max_depth;
    task_pool *pool; /* of the threads that help; NULL: there are none */
    tree_writer writer;
    rows_stack stack;
    sweep_bins *bins; /* three, of the node at hand */
} sweep;

uint64_t sweep_scratch_bytes(uint32_t triangle_count);

/* The whole tree's work: *root holds all triangles that can be hit. */
kd_status sweep_open(sweep *out, sweep_node *root, box3 box, const tritree_input *input,
                     const tritree_options *options, task_pool *pool, const job *watched);
/* A subtree's work, apart from the tree it belongs to: *root becomes that of `node`, whose rows are
   this sweep's until they are closed. */
kd_status sweep_branch(sweep *out, sweep_node *root, const sweep *from, const sweep_node *node);
/* All but the tree that was written; the rest by sweep_close. */
void sweep_close_rows(sweep *work);
void sweep_close(sweep *owned); /* takes a zeroed one */

/* Either writes the node's leaf or whole small subtree, and *split is false; or writes an inner
   node, and left and right are to be done, in this order. */
kd_status sweep_step(sweep *work, const sweep_node *node, bool *split, sweep_node *left,
                     sweep_node *right);

#endif
