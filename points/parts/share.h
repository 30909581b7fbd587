/* A rank's share of the points to be distributed, and the operations that all ranks perform on
   their shares simultaneously. A share is in host memory or in that of a CUDA device. */
#ifndef KD_POINTS_PARTS_SHARE_H
#define KD_POINTS_PARTS_SHARE_H
#include "core/device/absent.h"
#include "core/status.h"
#include "points/parts/top.h"

typedef struct point_share {
    point_array points;
    uint64_t first; /* number of its first point; the others follow */
    bool wide;      /* numbers take 64 bits */
    bool on_device; /* in memory of the current CUDA device */
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
    void *coordinates, *numbers; /* in the same memory as the share */
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

#endif
