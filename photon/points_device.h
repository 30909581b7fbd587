/* What a tree on a CUDA device needs beside its builder and its queries: the current device, copies
   either way, checks of what lies in device memory. Without CUDA every call is KD_ERROR_DEVICE.
   `stream` is a cudaStream_t, NULL the default one. */
#ifndef KD_PHOTON_POINTS_DEVICE_H
#define KD_PHOTON_POINTS_DEVICE_H
#include "core/status.h"
#include "shaders/points.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Makes the device the thread's current one until points_device_leave(*previous). */
kd_status points_device_enter(int32_t index, int32_t *previous);
void points_device_leave(int32_t previous);
/* The device whose memory the pointer is, or -1. */
int32_t points_device_of(const void *pointer);

/* Memory of the device's pool, for the length of a call. */
kd_status points_device_reserve(void **out, uint64_t bytes, void *stream);
void points_device_release(void *pointer, void *stream); /* takes NULL */

/* Host or device memory to host or device memory. */
kd_status points_device_copy(void *to, const void *from, uint64_t bytes, void *stream);
kd_status points_device_wait(void *stream);

/* As point_scan, of points in device memory; these three wait for their answer. */
kd_status points_device_scan(point_box *box, const point_array *points, void *stream);
/* KD_ERROR_INPUT names the first radius that is negative or NaN. */
kd_status points_device_check_radii(const point_array *radii, void *stream);
/* KD_ERROR_USAGE if any of the offsets differ. */
kd_status points_device_check_offsets(const uint64_t *given, const uint64_t *right, uint64_t count,
                                      void *stream);
/* ids[i] = renamed[ids[i]], but for KD_NONE. */
kd_status points_device_rename(uint32_t *ids, uint64_t count, const uint32_t *renamed,
                               void *stream);

#ifdef __cplusplus
}
#endif
#endif
