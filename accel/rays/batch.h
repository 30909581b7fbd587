/* Rays by the batch, on all cores; eight neighbours that run alike are traced together. */
#ifndef KD_ACCEL_RAYS_BATCH_H
#define KD_ACCEL_RAYS_BATCH_H
#include "accel/tree/tritree.h"
#include "accel/tree/walk.h"
#include "accel/wide/wide_tree.h"
#include "core/job.h"
#include "core/math/geometry.h"

#ifdef __cplusplus
extern "C" {
#endif

/* hits[i] is what rays[i] meets first (accel/tree/walk.h: tritree_closest). If `counts` is
   not NULL, counts[i] is what it took. KD_INTERRUPTED if the job was cancelled: some hits are
   missing then. */
kd_status trace_closest(const tritree_view *tree, const ray *rays, ray_hit *hits, uint64_t count,
                        tritree_counts *counts, job *watched);

/* blocked[i] is 1 if rays[i] meets anything, else 0. */
kd_status trace_occluded(const tritree_view *tree, const ray *rays, uint8_t *blocked,
                         uint64_t count, tritree_counts *counts, job *watched);

/* One ray by the fastest way that its tree has where this is compiled for: the wide form on a CPU
   (accel/wide), the pairs on a device (accel/tree/walk.h), else the plain walk
   (accel/tree/walk.h). The answer is that of the plain walk, to the bit. */

/* The nearest hit in the ray's range; of hits at the same t the one with the smallest id. With
   `any`, only whether the hit's triangle is KD_NONE is told. */
KD_FN ray_hit tritree_meet(const tritree_view *tree, ray cast, bool any) {
#ifdef __CUDA_ARCH__
    return tritree_device_cast(tree, cast, any);
#else
    if (tree->wide) return trace_wide_one(tree, cast, any);
    return tritree_cast(tree, cast, any, (tritree_counts *)0);
#endif
}
KD_FN ray_hit tritree_closest(const tritree_view *tree, ray cast) {
    return tritree_meet(tree, cast, false);
}
/* Whether anything is hit in the ray's range. */
KD_FN bool tritree_occluded(const tritree_view *tree, ray cast) {
    return tritree_meet(tree, cast, true).triangle != KD_NONE;
}

#ifdef __cplusplus
}
#endif

#endif
