/* The exact SAH builder, serial: the oracle of all others.
   Source: Wald and Havran 2006, "On building fast kd-trees for ray tracing, and on doing that in
           O(n log n)", section 4; the steps are in sweep.c.
   Idea: depth first, left before right.
   Work: O(n log n) where parts are spread; no more than O(n log^2 n).
   Memory: 28 bytes for each triangle of a node and of its ancestors' left children, and the tree:
           about 150 bytes a triangle.
   Invariants: as in sweep.h.
   Differs from the paper in: as in sweep.h. */
#include "accel/sweep/sweep.h"
#include "accel/tree/build.h"

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
                             const tritree_options *options, job *watched) {
    sweep work;
    sweep_node root;
    kd_status status = KD_OK;
    KD_TRY_GOTO(sweep_open(&work, &root, out->box, input, options, NULL, watched));
    KD_TRY_GOTO(subdivide(&work, &root));
    tree_writer_finish(&work.writer, out);
done:
    sweep_close(&work);
    return status;
}

const tritree_builder tritree_builder_sweep = {
    .name = "sweep",
    .source = "Wald and Havran 2006: exact SAH; bins bounded from below",
    .scratch_bytes = build_sweep_scratch_bytes,
    .references = 4,
    .build = build_sweep,
    .exact = true};
