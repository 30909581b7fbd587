/* Times builds of a triangle tree on a device, for the benchmarks of builders and of scaling. */
#ifndef KD_TOOLS_LAB_BENCH_BUILD_H
#define KD_TOOLS_LAB_BENCH_BUILD_H
#include "accel/build_memory.h"
#include "tools/lab/bench/bench.h"

/* Builds the tree of `memory`, which has been built once, row->runs more times, and sets
   row->seconds by the device's clock. Mesh and tree stay in device memory. */
kd_status bench_build_time(bench_row *row, const tritree_builder_cuda *builder,
                           const tritree_build_memory *memory);

#endif
