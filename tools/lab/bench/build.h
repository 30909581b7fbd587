/* Measures builds of triangle trees, for the benchmarks of builders, of scaling and of papers. */
#ifndef KD_TOOLS_LAB_BENCH_BUILD_H
#define KD_TOOLS_LAB_BENCH_BUILD_H
#include "accel/build_memory.h"
#include "tools/lab/bench/inputs.h"

/* Records hash and statistics of the tree, and checks it if `checked`. */
kd_status bench_take_tree(bench_row *row, const tritree *tree, bool checked);
/* Builds by row->builder on this number of CPU threads and sets row->seconds; one more build before
   is checked, not timed. */
kd_status bench_build_on_threads(bench_row *row, const bench_model *model,
                                 const tritree_options *options, int32_t threads);
/* Builds the tree of `memory`, which has been built once, row->runs more times, and sets
   row->seconds by the device's clock. Mesh and tree stay in device memory. */
kd_status bench_build_time(bench_row *row, const tritree_builder_cuda *builder,
                           const tritree_build_memory *memory);
/* Builds once more and sets row->stage_seconds, if the builder reports its stages. */
kd_status bench_build_stages(bench_row *row, const tritree_builder_cuda *builder,
                             const tritree_build_memory *memory);

#endif
