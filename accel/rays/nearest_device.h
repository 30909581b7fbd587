/* Nearest triangles on a CUDA device. Without CUDA in the build: KD_ERROR_DEVICE. */
#ifndef KD_ACCEL_RAYS_NEAREST_DEVICE_H
#define KD_ACCEL_RAYS_NEAREST_DEVICE_H
#include "accel/rays/nearest_tree.h"
#include "core/device/absent.h"

#ifdef __cplusplus
extern "C" {
#endif

/* nearest_find, a thread a point; the view's arrays, the points and the answers are memory of the
   current device. On the stream, not waited for. */
KD_DEVICE_CALL(nearest_find_cuda, (const nearest_view *view, const vec3 *points, uint64_t count,
                                   float max_distance, near_place *nearest, void *stream));

#ifdef __cplusplus
}
#endif
#endif
