/* A mesh on its way into a CUDA device. Without CUDA every call is KD_ERROR_DEVICE. */
#ifndef KD_ACCEL_TREE_INPUT_H
#define KD_ACCEL_TREE_INPUT_H
#include "accel/tree/tritree.h"
#include "core/device/absent.h"

#ifdef __cplusplus
extern "C" {
#endif

/* positions[i] = the three floats at vertices + i * stride bytes; all in device memory. */
KD_DEVICE_CALL(triangles_device_pack, (vec3 * positions, const void *vertices, uint64_t count,
                                       uint64_t stride, void *stream));
/* indices[i] = i. */
KD_DEVICE_CALL(triangles_device_number, (uint32_t * indices, uint64_t count, void *stream));
/* As tritree_open refuses triangles: KD_ERROR_INPUT names the first one with an index out of range
   or a corner that is not finite. Waits for the answer. */
KD_DEVICE_CALL(triangles_device_check, (const tritree_input *input, void *stream));

#ifdef __cplusplus
}
#endif
#endif
