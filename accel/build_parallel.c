/* The exact SAH builder on all cores: the same tree as build_sweep.c, bit for bit.
   Source: Wald and Havran 2006, section 4.3; tasks for subtrees as in Shevtsov, Soupikov, Kapustin
   2007; the steps are in sweep.c.
   Idea: the right child of a large node is a task with lists, places and a writer of its own, its
   nodes appended when the left child is done; in large nodes the three axes are tasks, too. Work:
   O(n log n) on all cores. Memory: that of the sweep, and a copy of the lists that branch off.
   Invariants: as in sweep.h; what is appended lands where the serial builder would have put it.
   Differs from the paper in: exact planes everywhere, no bins. */
#include "accel/build.h"
#include "accel/sweep.h"
#include "core/memory.h"
#include "core/parallel.h"
#include <stdio.h>

/* A branch is worth its memory if it keeps a thread busy for a while, and no longer than it takes
   to keep all of them busy. */
enum { BRANCH_TRIANGLES = 4096, BRANCHES_A_THREAD = 8 };

typedef struct branch {
    sweep work;
    sweep_node root;
    kd_status status;
    char message[256];
} branch;

uint64_t build_parallel_scratch_bytes(uint32_t triangle_count) {
    return 600 * (uint64_t)triangle_count;
}

static kd_status grow(sweep *work, const sweep_node *node);

static void grow_branch(branch *of) {
    of->status = grow(&of->work, &of->root);
    if (of->status != KD_OK) snprintf(of->message, sizeof of->message, "%s", kd_last_error());
}

/* Both children of a node, the right one on its own. */
static kd_status grow_apart(sweep *work, const sweep_node *left, const sweep_node *right) {
    branch *other = NULL;
    kd_status status = KD_OK;
    KD_TRY(KD_RESERVE_ZEROED(other, 1));
    KD_TRY_GOTO(sweep_branch(&other->work, &other->root, work, right));
#pragma omp task firstprivate(other)
    grow_branch(other);
    status = grow(work, left);
#pragma omp taskwait
    if (status == KD_OK && other->status != KD_OK)
        status = status_fail(other->status, __FILE__, __LINE__, "%s", other->message);
    if (status == KD_OK)
        KD_TRY_GOTO(tree_writer_append(&work->writer, right->at, &other->work.writer));
done:
    sweep_close(&other->work);
    memory_free(other);
    return status;
}

static kd_status grow(sweep *work, const sweep_node *node) {
    sweep_node left, right;
    bool split = false;
    KD_TRY(sweep_step(work, node, &split, &left, &right));
    if (!split) return KD_OK;
    if (left.count >= work->branch_least && right.count >= work->branch_least)
        return grow_apart(work, &left, &right);
    KD_TRY(grow(work, &left));
    return grow(work, &right);
}

static void grow_tree(branch *tree, box3 box, const tritree_input *input,
                      const tritree_options *options, const job *watched) {
    tree->status = sweep_open(&tree->work, &tree->root, box, input, options, true, watched);
    const uint32_t share =
        input->triangle_count / (BRANCHES_A_THREAD * (uint32_t)parallel_threads());
    tree->work.branch_least = share > BRANCH_TRIANGLES ? share : BRANCH_TRIANGLES;
    if (tree->status == KD_OK) tree->status = grow(&tree->work, &tree->root);
    if (tree->status != KD_OK) snprintf(tree->message, sizeof tree->message, "%s", kd_last_error());
}

kd_status build_parallel(tritree *out, const tritree_input *input, const tritree_options *options,
                         job *watched) {
    branch tree;
    memset(&tree, 0, sizeof tree);
#pragma omp parallel num_threads(parallel_threads())
#pragma omp single
    grow_tree(&tree, out->box, input, options, watched);
    if (tree.status == KD_OK) tree_writer_finish(&tree.work.writer, out);
    sweep_close(&tree.work);
    KD_REQUIRE(tree.status == KD_OK, tree.status, "%s", tree.message);
    return KD_OK;
}
