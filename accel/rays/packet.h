/* Eight coherent rays at a time. */
#ifndef KD_ACCEL_RAYS_PACKET_H
#define KD_ACCEL_RAYS_PACKET_H
#include "accel/tree/walk.h"

enum { TRACE_PACKET = 8 };

/* How much of a packet's work each of its rays would have had alone. */
typedef struct packet_use {
    uint32_t tests, useful; /* of a ray and a triangle, those of rays that meet the leaf */
} packet_use;

/* Casts the eight rays together if they are much alike (origins, directions, octant), else returns
   false and does nothing. The tree has rows. hits[i] is what tritree_closest(rays[i])
   answers, to the bit; with `any`, only whether hits[i].triangle is KD_NONE is told. Adds to `use`.
 */
bool trace_packet(const tritree_view *tree, const ray rays[TRACE_PACKET], bool any,
                  ray_hit hits[TRACE_PACKET], packet_use *use);

#endif
