/* Batches of rays on all cores of a CPU; sixteen coherent neighbours are traced as a packet. */
#ifndef KD_ACCEL_RAYS_BATCH_H
#define KD_ACCEL_RAYS_BATCH_H
#include "accel/tree/tritree.h"
#include "accel/tree/walk.h"
#include "accel/wide/compressed_single.cuh"
#include "accel/wide/wide_tree.h"
#include "core/job.h"
#include "core/math/geometry.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Finds the nearest hit of each ray (tritree_closest_counted in accel/tree/walk.h). If `counts` is
   not NULL, counts[i] is the work of rays[i]. Returns KD_INTERRUPTED if the job was cancelled; some
   hits are then missing. */
kd_status trace_closest(const tritree_view *tree, const ray *rays, ray_hit *hits, uint64_t count,
                        tritree_counts *counts, job_control *job);

/* Occlusion queries: blocked[i] is 1 if rays[i] hits anything, else 0. */
kd_status trace_occluded(const tritree_view *tree, const ray *rays, uint8_t *blocked,
                         uint64_t count, tritree_counts *counts, job_control *job);

/* Single rays, by the fastest traversal that the tree supports on the target processor: the wide
   form on a CPU (accel/wide), `nodes` or the compressed form on a device
   (accel/wide/compressed_single.cuh), else the reference traversal. The result equals that of the
   reference, bit for bit. */

/* Returns the nearest hit in the ray's interval; of equally near hits the one with the smallest id.
   With `any`, only whether the hit's triangle is KD_NONE is defined. */
KD_FN ray_hit tritree_intersect(const tritree_view *tree, ray ray, bool any) {
#ifdef __CUDA_ARCH__
    return tritree_device_single(tree, ray, any);
#else
    if (tree->wide) return trace_wide_one(tree, ray, any);
    return tritree_cast(tree, ray, any, (tritree_counts *)0);
#endif
}
KD_FN ray_hit tritree_closest(const tritree_view *tree, ray ray) {
    return tritree_intersect(tree, ray, false);
}
/* Returns true if anything is hit in the ray's interval. */
KD_FN bool tritree_occluded(const tritree_view *tree, ray ray) {
    return tritree_intersect(tree, ray, true).triangle != KD_NONE;
}

#ifdef __cplusplus
}
#endif

#endif
