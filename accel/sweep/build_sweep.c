/* Builder `sweep`: exact SAH, serial. Builds the same tree as `exact`, bit for bit.
   Source: Wald and Havran 2006, "On building fast kd-trees for ray tracing, and on doing that in
   O(n log n)", section 4; the steps are in sweep.c.
   Idea: depth first, left before right.
   Work: O(n log n) if triangles are spread evenly; at most O(n log^2 n).
   Memory: 28 bytes for each triangle of a node and of its ancestors' left children, and the tree:
   about 150 bytes per triangle.
   Invariants: see sweep.h.
   Differs from the paper: see sweep.h. */
#include "accel/sweep/sweep.h"
#include "accel/tree/build.h"
#include "core/memory.h"
#include "core/parallel/tasks.h"
#include <stdio.h>

static uint64_t build_sweep_scratch_bytes(uint32_t triangle_count) {
    return sweep_scratch_bytes(triangle_count);
}

static kd_status subdivide(sweep *work, const sweep_node *node) {
    const rows_stack before = work->stack;
    sweep_node left, right;
    bool split = false;
    KD_TRY(sweep_step(work, node, &split, &left, &right));
    if (!split) return KD_OK;
    KD_TRY(subdivide(work, &left));
    KD_TRY(subdivide(work, &right));
    rows_release(&work->stack, before);
    return KD_OK;
}

static kd_status build_sweep(tritree *out, const tritree_input *input,
                             const tritree_options *options, job_control *job) {
    sweep work;
    sweep_node root;
    kd_status status = KD_OK;
    KD_TRY_GOTO(sweep_open(&work, &root, out->box, input, options, NULL, job));
    KD_TRY_GOTO(subdivide(&work, &root));
    tree_writer_finish(&work.writer, out);
done:
    sweep_close(&work);
    return status;
}

const tritree_builder tritree_builder_sweep = {
    .name = "sweep",
    .source = "Wald and Havran 2006: exact SAH; cost bounds of bins limit the search",
    .scratch_bytes = build_sweep_scratch_bytes,
    .references = 4,
    .build = build_sweep,
    .exact = true};

/* Builder `parallel`: exact SAH on all cores. Builds the same tree as `sweep`, bit for bit.
   Source: Wald and Havran 2006, section 4; parallel subtrees as in Shevtsov, Soupikov, Kapustin
   2007; the steps are in sweep.c.
   Idea: the right child of a node is offered to other threads (core/parallel/tasks.h). A thread
   that takes it works on its rows with a separate stack and writer, whose nodes are appended once
   the left child is done; otherwise it is processed in place, as in the serial builder. In large
   nodes the three axes and pieces of the triangles are offered, too.
   Work: O(n log n) on all cores.
   Memory: that of `sweep`, and as much again for branches taken by other threads.
   Invariants: as in sweep.h; appended nodes are stored where the serial builder would store them.
   Differs from the papers in: planes are exact everywhere; bins only guide the search. */

enum { BRANCH_TRIANGLES = 1024 }; /* minimum size for a task */

/* A child offered to other threads. */
typedef struct branch {
    task base;
    sweep *from;
    const sweep_node *node;
    sweep work; /* state of the thread that builds it */
    sweep_node root;
    kd_status status;
    char message[256];
} branch;

static uint64_t build_parallel_scratch_bytes(uint32_t triangle_count) {
    return 350 * (uint64_t)triangle_count;
}

static kd_status grow(sweep *work, const sweep_node *node);

static void grow_branch(task *self) {
    branch *job = (branch *)(void *)self;
    job->status = sweep_branch(&job->work, &job->root, job->from, job->node);
    if (job->status == KD_OK) job->status = grow(&job->work, &job->root);
    if (job->status == KD_OK) sweep_close_rows(&job->work);
    if (job->status != KD_OK) snprintf(job->message, sizeof job->message, "%s", kd_last_error());
}

static kd_status append(sweep *work, const sweep_node *node, branch *grown) {
    KD_REQUIRE(grown->status == KD_OK, grown->status, "%s", grown->message);
    return tree_writer_append(&work->writer, node->at, &grown->work.writer, work->pool);
}

/* Processes both children of a node; the right one on another thread if one is idle. */
static kd_status grow_apart(sweep *work, const sweep_node *left, const sweep_node *right) {
    branch other;
    memset(&other, 0, sizeof other);
    other.base.run = grow_branch;
    other.base.kind = TASK_BRANCH;
    other.from = work;
    other.node = right;
    task_offer(work->pool, &other.base);
    kd_status status = grow(work, left);
    const bool taken = task_join(work->pool, &other.base);
    if (status == KD_OK) status = taken ? append(work, right, &other) : grow(work, right);
    if (taken) sweep_close(&other.work);
    return status;
}

static kd_status grow(sweep *work, const sweep_node *node) {
    const rows_stack before = work->stack;
    sweep_node left, right;
    bool split = false;
    KD_TRY(sweep_step(work, node, &split, &left, &right));
    if (!split) return KD_OK;
    if (left.count >= BRANCH_TRIANGLES && right.count >= BRANCH_TRIANGLES) {
        KD_TRY(grow_apart(work, &left, &right));
    } else {
        KD_TRY(grow(work, &left));
        KD_TRY(grow(work, &right));
    }
    rows_release(&work->stack, before);
    return KD_OK;
}

typedef struct whole_tree {
    sweep work;
    const tritree *out;
    const tritree_input *input;
    const tritree_options *options;
    job_control *job;
    kd_status status;
    char message[256];
} whole_tree;

static void grow_tree(task_pool *pool, void *context) {
    whole_tree *tree = (whole_tree *)context;
    sweep_node root;
    tree->status =
        sweep_open(&tree->work, &root, tree->out->box, tree->input, tree->options, pool, tree->job);
    if (tree->status == KD_OK) tree->status = grow(&tree->work, &root);
    if (tree->status == KD_OK) sweep_close_rows(&tree->work);
    if (tree->status != KD_OK) snprintf(tree->message, sizeof tree->message, "%s", kd_last_error());
}

static kd_status build_parallel(tritree *out, const tritree_input *input,
                                const tritree_options *options, job_control *job) {
    whole_tree tree;
    memset(&tree, 0, sizeof tree);
    tree.out = out;
    tree.input = input;
    tree.options = options;
    tree.job = job;
    task_pool_run(grow_tree, &tree);
    if (tree.status == KD_OK) tree_writer_finish(&tree.work.writer, out);
    sweep_close(&tree.work);
    KD_REQUIRE(tree.status == KD_OK, tree.status, "%s", tree.message);
    return KD_OK;
}

const tritree_builder tritree_builder_parallel = {
    .name = "parallel",
    .source = "Wald and Havran 2006: the same, on all cores",
    .scratch_bytes = build_parallel_scratch_bytes,
    .references = 4,
    .build = build_parallel,
    .exact = true,
    .all_cores = true};
