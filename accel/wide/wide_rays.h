/* Rays through a wide tree: one, or many that need not be alike. */
#ifndef KD_ACCEL_WIDE_WIDE_RAYS_H
#define KD_ACCEL_WIDE_WIDE_RAYS_H
#include "accel/wide/wide_tree.h"
#include "core/math/geometry.h"

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

/* What packets took, and what their rays would have taken in a stream: cycles, reckoned by what
   nodes, cells and triangles take on the average. */
typedef struct packet_use {
    uint32_t together, apart;
} packet_use;

enum { WIDE_PACKET = 16 };

/* Casts the rays together if they are much alike (origins, directions, octant), else returns false
   and does nothing. hits[i] is what tritree_cast(rays[i]) answers, to the bit; with `any`, only
   whether hits[i].triangle is KD_NONE is told. Adds to `use`. */
bool trace_wide_packet(const tritree_view *tree, const ray rays[WIDE_PACKET], bool any,
                       ray_hit hits[WIDE_PACKET], packet_use *use);

#ifdef __cplusplus
}
#endif

#endif
