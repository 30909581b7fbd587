/* Temporary host copies of a caller's arrays in device memory, for calls that work on the host.
   Arrays in host memory are used in place. */
#ifndef KD_POINTS_PARTS_HOST_ARRAYS_H
#define KD_POINTS_PARTS_HOST_ARRAYS_H
#include "core/status.h"
#include <kandela/points.h>

enum { HOST_ARRAYS_MOST = 8 };

typedef struct host_arrays {
    void *stream; /* the caller's */
    struct {
        void *host, *to; /* to: destination of the result, or NULL */
        uint64_t bytes;
    } taken[HOST_ARRAYS_MOST];
    int count;
} host_arrays;

/* Replaces *array by a host copy if it is in device memory. NULL and 0 bytes are allowed. */
kd_status host_arrays_in(host_arrays *of, const void **array, uint64_t bytes);
/* Replaces *array by a host buffer, which host_arrays_end copies back. */
kd_status host_arrays_out(host_arrays *of, void **array, uint64_t bytes);
kd_status host_arrays_points(host_arrays *of, kd_point_array *points);
/* Copies the results back if `status` is KD_OK, and frees the copies. */
kd_status host_arrays_end(host_arrays *of, kd_status status);

#endif
