/* Maps coordinates to 32-bit unsigned integers of the same order, which the builders sort and
   compare: a float to its reinterpreted bits, a double to its rank among the coordinates of its
   axis (equal coordinates share a rank). */
#ifndef KD_POINTS_TREE_COORDINATE_KEYS_H
#define KD_POINTS_TREE_COORDINATE_KEYS_H
#include "core/status.h"
#include "points/tree/layout.h"

typedef struct point_keys {
    const float *floats; /* the caller's coordinates, borrowed; NULL for doubles */
    uint32_t *ranks;     /* for doubles: `dims` ranks per point; else NULL */
    uint32_t dims;
} point_keys;

/* `points` must be packed and must outlive *out, which refers to its floats. */
kd_status point_keys_open(point_keys *out, const point_array *points);
void point_keys_close(point_keys *owned); /* accepts a zeroed struct */

static inline uint32_t point_key(const point_keys *keys, uint64_t i, uint32_t axis) {
    const uint64_t at = i * keys->dims + axis;
    return keys->floats ? pointtree_order_bits(keys->floats[at]) : keys->ranks[at];
}

#endif
