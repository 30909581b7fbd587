/* One point tree, checked, then built again and again: for benchmarks of builders. */
#ifndef KD_TOOLS_BENCH_INPUT_TREES_H
#define KD_TOOLS_BENCH_INPUT_TREES_H
#include "points/papers/build_wehr.h"
#include "tools/bench/bench.h"

/* The points of a case, on the host and, if there is a CUDA device, there too. */
typedef struct bench_cloud {
    point_array points, device_points; /* device_points.coordinates NULL: not there */
    point_box box;
    void *memory[2]; /* theirs */
} bench_cloud;

/* `set` as in input_sets.h; `stride_bytes` 0: packed. */
kd_status bench_cloud_open(bench_cloud *out, const char *set, uint64_t count, uint32_t dims,
                           point_scalar scalar, uint64_t stride_bytes, bool on_device);
void bench_cloud_close(bench_cloud *owned); /* takes a zeroed one */

/* Both fill the row's seconds, bytes, hash and checked; its builder and runs are given. */
kd_status bench_tree_cpu(bench_row *row, const bench_cloud *cloud,
                         const pointtree_options *options);
kd_status bench_tree_cuda(bench_row *row, const bench_cloud *cloud,
                          const pointtree_options *options);

/* The same on a device by `wehr` with these parameters, checked once. */
kd_status bench_tree_cuda_wehr(bench_row *row, const bench_cloud *cloud,
                               const wehr_parameters *parameters);
/* The best parameters of `wehr` for the cloud on the device. */
kd_status bench_tune_cuda(wehr_parameters *best, const bench_cloud *cloud,
                          const pointtree_options *options);

#endif
