/* The builders behind the table. */
#ifndef KD_ACCEL_TREE_BUILD_H
#define KD_ACCEL_TREE_BUILD_H
#include "accel/tree/tritree.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Fills the statistics that follow from nodes, references and box. */
void tritree_take_stock(tritree *tree);

uint64_t build_exact_scratch_bytes(uint32_t triangle_count);
kd_status build_exact(tritree *out, const tritree_input *input, const tritree_options *options,
                      job *watched);
uint64_t build_sweep_scratch_bytes(uint32_t triangle_count);
kd_status build_sweep(tritree *out, const tritree_input *input, const tritree_options *options,
                      job *watched);
uint64_t build_parallel_scratch_bytes(uint32_t triangle_count);
kd_status build_parallel(tritree *out, const tritree_input *input, const tritree_options *options,
                         job *watched);
uint64_t build_zhou_scratch_bytes(uint32_t triangle_count);
kd_status build_zhou(tritree *out, const tritree_input *input, const tritree_options *options,
                     job *watched);
uint64_t build_median_scratch_bytes(uint32_t triangle_count);
kd_status build_median(tritree *out, const tritree_input *input, const tritree_options *options,
                       job *watched);

#ifdef __cplusplus
}
#endif
#endif
