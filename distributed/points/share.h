/* A rank's share of the points to be distributed, and the operations that all ranks perform on
   their shares simultaneously. A share is in host memory or in that of a CUDA device. */
#ifndef KD_DISTRIBUTED_POINTS_SHARE_H
#define KD_DISTRIBUTED_POINTS_SHARE_H
#include "core/device/cuda_stubs.h"
#include "core/status.h"
#include "distributed/ranks/ranks.h"
#include "points/tree/layout.h"

/* --- the upper levels of a distributed tree --------------------------------------------------
   Every inner node divides its parts into two groups by a plane.
   Invariants: a point goes left if (its coordinate on the axis, its number) is less than that of
               the plane; the number is its position in the input, so no two points are equal. */

typedef struct top_node {
    /* the first point of the right side; key: order-preserving integer of its coordinate */
    uint64_t key, number;
    uint32_t axis;
    /* children are nodes `left` and `left` + 1; 0: not divided (yet) */
    uint32_t left;
    uint32_t first, last; /* range of parts below it */
} top_node;

KD_FN uint64_t top_key(const void *point, point_scalar scalar, uint32_t axis) {
    return scalar == POINT_DOUBLE ? pointtree_order_bits_double(((const double *)point)[axis])
                                  : pointtree_order_bits(((const float *)point)[axis]);
}

/* Returns the node without children to which a point belongs. */
KD_FN uint32_t top_descend(const top_node *nodes, const void *point, point_scalar scalar,
                           uint64_t number) {
    uint32_t at = 0;
    while (nodes[at].left) {
        const uint64_t key = top_key(point, scalar, nodes[at].axis);
        const bool before =
            key < nodes[at].key || (key == nodes[at].key && number < nodes[at].number);
        at = nodes[at].left + (before ? 0 : 1);
    }
    return at;
}

/* Search interval of a plane: it lies among the values from lo to hi, which are keys or, once the
   key is known, numbers of points with that key. */
typedef struct top_bracket {
    uint64_t lo, hi, key;
    uint32_t node, axis, shift; /* (value - lo) >> shift is less than TOP_BINS */
    bool by_number;
} top_bracket;

enum { TOP_BITS = 11, TOP_BINS = 1 << TOP_BITS };

/* Returns the bin of a point of the bracket's node; TOP_BINS if it is outside. */
KD_FN uint32_t top_bin(const top_bracket *bracket, const void *point, point_scalar scalar,
                       uint64_t number) {
    uint64_t value = top_key(point, scalar, bracket->axis);
    if (bracket->by_number) {
        if (value != bracket->key) return TOP_BINS;
        value = number;
    }
    if (value < bracket->lo || value > bracket->hi) return TOP_BINS;
    return (uint32_t)((value - bracket->lo) >> bracket->shift);
}

/* --- shares ----------------------------------------------------------------------------------- */

typedef struct point_share {
    point_array points;
    uint64_t first; /* number of its first point; the others follow */
    bool wide;      /* numbers take 64 bits */
    bool on_device; /* arrays are in the current device's memory */
} point_share;

static inline uint64_t share_number_bytes(bool wide) {
    return wide ? sizeof(uint64_t) : sizeof(uint32_t);
}

/* Counts the points in each bin of each bracket: TOP_BINS counts per bracket, overwritten. `slots`:
   bracket of each node; UINT32_MAX for none. */
kd_status share_count(const point_share *share, const top_node *nodes, uint32_t node_count,
                      const uint32_t *slots, const top_bracket *brackets, uint32_t bracket_count,
                      int64_t *bins);
/* Computes the bounding box; returns KD_ERROR_INPUT if any point is not finite. */
kd_status share_scan(point_box *box, const point_share *share);

/* The points grouped by part, in input order within each part: packed coordinates, and numbers of
   32 or 64 bits. Owns its memory. */
typedef struct share_split {
    void *coordinates, *numbers; /* arrays in the memory of the share */
    uint64_t *begins;            /* parts + 1: range of each part */
    bool on_device;
} share_split;

kd_status share_divide(share_split *out, const point_share *share, const top_node *nodes,
                       uint32_t parts);
void share_split_close(share_split *owned); /* accepts a zeroed struct */

/* --- a share in memory of the current CUDA device; all work is on the default stream -------- */

#ifdef __cplusplus
extern "C" {
#endif

/* Enables direct access of the current device to the memory of another, if the hardware supports
   it; otherwise copies between them go through the host. */
KD_DEVICE_CALL(share_device_reach, (int32_t other));
/* Computes the bounding box; KD_ERROR_INPUT names the first point that is not finite. */
KD_DEVICE_CALL(share_device_scan, (point_box * box, const point_array *points));
/* As share_count; tables and bins are in host memory. */
KD_DEVICE_CALL(share_device_count,
               (const point_share *share, const top_node *nodes, uint32_t node_count,
                const uint32_t *slots, const top_bracket *brackets, uint32_t bracket_count,
                int64_t *bins));
/* As share_divide. coordinates and numbers are device memory, to be freed with device_memory_free;
   begins is host memory. */
KD_DEVICE_CALL(share_device_divide, (share_split * out, const point_share *share,
                                     const top_node *nodes, uint32_t node_count, uint32_t parts));

#ifdef __cplusplus
}
#endif

/* Number of nodes of a tree over this many parts. */
static inline uint32_t top_nodes(uint32_t parts) {
    return 2 * parts - 1;
}

/* Collective: computes top_nodes(parts) nodes, identical on all ranks. There are `count` points in
   all, with numbers from `first_number` on and bounding box `box`. */
kd_status top_select(top_node *nodes, ranks *comm, const point_share *share, const point_box *box,
                     uint64_t count, uint64_t first_number, uint32_t parts);

#endif
