/* What a tree on a CUDA device needs beside its builder and its queries: checks of what lies in
   device memory. Without CUDA every call is KD_ERROR_DEVICE. `stream` is a cudaStream_t, NULL the
   default one. */
#ifndef KD_POINTS_API_ARGUMENTS_H
#define KD_POINTS_API_ARGUMENTS_H
#include "core/device/absent.h"
#include "core/device/device_stream.h"
#include "points/tree/point_array.h"

#ifdef __cplusplus
extern "C" {
#endif

/* As point_scan, of points in device memory; this one and the check of offsets wait for their
   answer. */
KD_DEVICE_CALL(points_device_scan, (point_box * box, const point_array *points, void *stream));

/* The same in two steps: put on the stream, and waited for, which has to come whatever happens. */
typedef struct points_scan {
    void *staging, *there; /* NULL, NULL: nothing was begun */
} points_scan;
KD_DEVICE_CALL(points_device_scan_begin,
               (points_scan * out, const point_array *points, void *stream));
KD_DEVICE_CALL(points_device_scan_end,
               (points_scan * scan, point_box *box, const point_array *points, void *stream));

/* The first query with a coordinate that is not finite, the first radius that is negative or NaN;
   all ones: none. */
typedef struct points_bad {
    uint64_t point, radius;
} points_bad;
/* Puts the search on the stream; *out, all ones, is memory that host and device see (of
   device_staging_take). */
KD_DEVICE_CALL(points_device_find_bad, (points_bad * out, const point_array *points,
                                        const point_array *radii, void *stream));
/* When that is done: KD_ERROR_INPUT names what was found. */
KD_DEVICE_CALL(points_device_tell_bad,
               (const points_bad *found, const point_array *points, const point_array *radii));
/* KD_ERROR_USAGE if any of the offsets differ. */
KD_DEVICE_CALL(points_device_check_offsets,
               (const uint64_t *given, const uint64_t *right, uint64_t count, void *stream));
/* ids[i] = renamed[ids[i]], but for KD_NONE. */
KD_DEVICE_CALL(points_device_rename,
               (uint32_t * ids, uint64_t count, const uint32_t *renamed, void *stream));

#ifdef __cplusplus
}
#endif
#endif
