/* A slice of the input in memory of the current CUDA device: what share.h does on the host. The
   default stream does it all. */
#ifndef KD_POINTS_PARTS_SHARE_DEVICE_H
#define KD_POINTS_PARTS_SHARE_DEVICE_H
#include "core/device/absent.h"
#include "points/parts/share.h"

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
