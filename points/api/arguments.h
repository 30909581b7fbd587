/* Validation of arguments in CUDA device memory, and helper kernels for ids. Without CUDA every
   call returns KD_ERROR_DEVICE. `stream` is a cudaStream_t; NULL is the default stream. */
#ifndef KD_POINTS_API_ARGUMENTS_H
#define KD_POINTS_API_ARGUMENTS_H
#include "core/device/cuda_stubs.h"
#include "core/device/device_stream.h"
#include "points/tree/point_array.h"

#ifdef __cplusplus
extern "C" {
#endif

/* As point_scan, for points in device memory. This function and the check of offsets synchronise
   with the stream. */
KD_DEVICE_CALL(points_device_scan, (point_box * box, const point_array *points, void *stream));

/* As points_device_scan in two steps: begin enqueues the work, end waits for it. A scan that was
   begun must be ended, even after an error. */
typedef struct points_scan {
    void *staging,
        *device_copy; /* `device_copy`: copy on the device. NULL, NULL: nothing was begun */
} points_scan;
KD_DEVICE_CALL(points_device_scan_begin,
               (points_scan * out, const point_array *points, void *stream));
KD_DEVICE_CALL(points_device_scan_end,
               (points_scan * scan, point_box *box, const point_array *points, void *stream));

/* Index of the first query with a coordinate that is not finite, and of the first radius that is
   negative or NaN; all ones: none. */
typedef struct points_bad {
    uint64_t point, radius;
} points_bad;
/* Enqueues the search for invalid queries. *out, initialised to all ones, must be visible to both
   host and device (from device_staging_take). */
KD_DEVICE_CALL(points_device_find_bad, (points_bad * out, const point_array *points,
                                        const point_array *radii, void *stream));
/* Once that work has completed: returns KD_ERROR_INPUT if an invalid query or radius was found. */
KD_DEVICE_CALL(points_device_report_bad,
               (const points_bad *result, const point_array *points, const point_array *radii));
/* Returns KD_ERROR_USAGE if any of the offsets differ from the right ones. */
KD_DEVICE_CALL(points_device_check_offsets,
               (const uint64_t *given, const uint64_t *right, uint64_t count, void *stream));
/* Replaces each id except KD_NONE: ids[i] = renamed[ids[i]]. */
KD_DEVICE_CALL(points_device_rename,
               (uint32_t * ids, uint64_t count, const uint32_t *renamed, void *stream));

#ifdef __cplusplus
}
#endif
#endif
