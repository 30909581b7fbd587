/* The packed form made on a CUDA device. Without CUDA in the build every call is KD_ERROR_DEVICE.
 */
#ifndef KD_ACCEL_PACKED_PACKED_DEVICE_H
#define KD_ACCEL_PACKED_PACKED_DEVICE_H
#include "accel/packed/packed_form.h"
#include "core/device/absent.h"

#ifdef __cplusplus
extern "C" {
#endif

/* *units: device memory that device_memory_free takes, of so many bytes, written once the stream
   has come so far; NULL if the tree has no packed form (packed_form.h). The tree's nodes,
   references, positions and triangles are device memory. Scratch (packed_cuts.cuh,
   packed_stages.cuh) is of the device's pool. Waits for the stream once, or again
   where it turns out that there was not enough room. */
KD_DEVICE_CALL(packed_device_open,
               (void **units, uint64_t *bytes, const tritree_view *tree, void *stream));

#ifdef __cplusplus
}
#endif
#endif
