/* Rays through a wide tree: one, or many that need not be alike. */
#ifndef KD_ACCEL_WIDE_WIDE_RAYS_H
#define KD_ACCEL_WIDE_WIDE_RAYS_H
#include "accel/wide/wide_tree.h"
#include "core/math/ray.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How many cells the nodes must have that rays walk on the CPU that this runs on. */
uint32_t wide_cells_best(void);

/* What tritree_cast answers, to the bit; with `any`, only whether the hit's triangle is KD_NONE is
   told. The tree has a wide form. */
ray_hit trace_wide_one(const tritree_view *tree, ray cast, bool any);

/* The rays whose numbers are listed: hits[i] is rays[i]'s. */
void trace_wide(const tritree_view *tree, const ray *rays, const uint32_t *listed, uint32_t count,
                ray_hit *hits);
/* The same for any hit: blocked[i] is 1 if rays[i] meets anything, else 0. */
void trace_wide_any(const tritree_view *tree, const ray *rays, const uint32_t *listed,
                    uint32_t count, uint8_t *blocked);

#ifdef __cplusplus
}
#endif

#endif
