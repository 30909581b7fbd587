/* Coordinates as 32-bit integers of the same order, which builders sort and compare: the bits of a
   float, the rank of a double among the coordinates of its axis (equal ones share a rank). */
#ifndef KD_POINTS_TREE_COORDINATE_KEYS_H
#define KD_POINTS_TREE_COORDINATE_KEYS_H
#include "core/status.h"
#include "points/tree/layout.h"

typedef struct point_keys {
    const float *floats; /* the coordinates, or NULL */
    uint32_t *ranks;     /* of doubles, `dims` each */
    uint32_t dims;
} point_keys;

/* `points` are packed, and live as long. */
kd_status point_keys_open(point_keys *out, const point_array *points);
void point_keys_close(point_keys *owned); /* takes a zeroed one */
uint64_t point_keys_bytes(uint64_t count, uint32_t dims, point_scalar scalar); /* at the peak */

static inline uint32_t point_key(const point_keys *keys, uint64_t i, uint32_t axis) {
    const uint64_t at = i * keys->dims + axis;
    return keys->floats ? pointtree_order_bits(keys->floats[at]) : keys->ranks[at];
}

#endif
