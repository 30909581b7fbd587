/* The stages of `zhou` on a CPU: a subtree under construction, large nodes, small nodes. */
#ifndef KD_ACCEL_ZHOU_BUILD_ZHOU_H
#define KD_ACCEL_ZHOU_BUILD_ZHOU_H
#include "accel/tree/tritree.h"
#include "accel/tree/writer.h"
#include "accel/zhou/stages.h"
#include "core/job.h"
#include "core/parallel/tasks.h"

/* A triangle's part in a node: its bounding box. */
typedef struct zhou_part {
    box3 box;
    uint32_t id;
} zhou_part;

/* All candidates of a small node: for each side of the box of each of its triangles, the plane and
   bit masks of the triangles on its left and on its right. */
typedef struct zhou_candidates {
    float plane[ZHOU_SIDES][ZHOU_SMALL_MAX];
    uint64_t left[ZHOU_SIDES][ZHOU_SMALL_MAX], right[ZHOU_SIDES][ZHOU_SMALL_MAX];
    uint32_t count; /* triangles */
} zhou_candidates;

void zhou_candidates_make(zhou_candidates *out, const zhou_part *parts, uint32_t count);

/* A subtree under construction by one thread. */
typedef struct zhou_build {
    const tritree_input *input;
    sah_costs costs;
    uint32_t max_depth;
    const job_control *job;
    task_pool *pool;
    tree_writer writer;
    double seconds[2]; /* times of the thread in large and in small nodes */
} zhou_build;

/* The children of a large node. */
typedef struct zhou_split {
    zhou_plan plan;
    zhou_node child[2];
    zhou_part *parts[2]; /* parts of both children, in one block; the caller frees parts[0] */
    uint32_t empty_right[ZHOU_CUTS_MAX]; /* empty right children, to be written after the subtree */
    int empty_count;
} zhou_split;

/* Creates one part for each triangle that can be hit; the caller frees *parts with memory_free. */
kd_status zhou_first_parts(zhou_part **parts, uint32_t *count, const tritree_input *input);

/* Processes a large node: writes a leaf and sets *leaf, or its cuts and the inner node. */
kd_status zhou_large_step(zhou_build *build, const zhou_node *node, const zhou_part *parts,
                          bool *leaf, zhou_split *out);

#endif
