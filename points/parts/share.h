/* A rank's share of the points that are to be divided: what all ranks do with theirs at once.
   Shares lie in host memory, or in that of a CUDA device. */
#ifndef KD_POINTS_PARTS_SHARE_H
#define KD_POINTS_PARTS_SHARE_H
#include "core/device/absent.h"
#include "core/status.h"
#include "points/parts/top.h"

typedef struct point_share {
    point_array points;
    uint64_t first; /* number of its first point; the others follow */
    bool wide;      /* numbers take 64 bits */
    bool on_device; /* the points are in memory of the current CUDA device */
} point_share;

static inline uint64_t share_number_bytes(bool wide) {
    return wide ? sizeof(uint64_t) : sizeof(uint32_t);
}

/* Adds up what lies in each bin of each bracket: TOP_BINS counts each, zeroed by it. `slots`: of
   each node the bracket, UINT32_MAX for none. */
kd_status share_count(const point_share *share, const top_node *nodes, uint32_t node_count,
                      const uint32_t *slots, const top_bracket *brackets, uint32_t bracket_count,
                      int64_t *bins);
/* The box of points that are finite, else KD_ERROR_INPUT. */
kd_status share_scan(point_box *box, const point_share *share);

/* The points by parts, in their order within each: packed coordinates, and numbers of 32 or 64
   bits. Owner. */
typedef struct share_split {
    void *coordinates, *numbers; /* where the share is */
    uint64_t *begins;            /* size + 1: of each part's points */
    bool on_device;
} share_split;

kd_status share_divide(share_split *out, const point_share *share, const top_node *nodes,
                       uint32_t parts);
void share_split_close(share_split *owned); /* takes a zeroed one */

/* --- a slice in memory of the current CUDA device: the default stream does it all ---------------
 */

#ifdef __cplusplus
extern "C" {
#endif

/* From now on the current device reads the memory of another by itself, where the machine lets it;
   else copies between them go through the host. */
KD_DEVICE_CALL(share_device_reach, (int32_t other));
/* The box of finite points; KD_ERROR_INPUT names the first of the slice that is not. */
KD_DEVICE_CALL(share_device_scan, (point_box * box, const point_array *points));
/* As share_count, tables and bins in host memory. */
KD_DEVICE_CALL(share_device_count,
               (const point_share *share, const top_node *nodes, uint32_t node_count,
                const uint32_t *slots, const top_bracket *brackets, uint32_t bracket_count,
                int64_t *bins));
/* As share_divide: coordinates and numbers are device memory, to be freed by device_memory_free,
   begins host memory. */
KD_DEVICE_CALL(share_device_divide, (share_split * out, const point_share *share,
                                     const top_node *nodes, uint32_t node_count, uint32_t parts));

#ifdef __cplusplus
}
#endif

#endif
