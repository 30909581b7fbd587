/* Rays by the batch, on all cores; eight neighbours that run alike are traced together. */
#ifndef KD_ACCEL_RAYS_BATCH_H
#define KD_ACCEL_RAYS_BATCH_H
#include "accel/tree/tritree.h"
#include "accel/tree/walk.h"
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

#ifdef __cplusplus
}
#endif
#endif
