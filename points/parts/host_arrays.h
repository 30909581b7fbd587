/* A caller's arrays that lie in device memory, for calls that work on the host: copies for the
   length of a call. Arrays of the host are used where they are. */
#ifndef KD_POINTS_PARTS_HOST_ARRAYS_H
#define KD_POINTS_PARTS_HOST_ARRAYS_H
#include "core/status.h"
#include <kandela/points.h>

enum { HOST_ARRAYS_MOST = 8 };

typedef struct host_arrays {
    void *stream; /* the caller's */
    struct {
        void *host, *to; /* to: where it goes in the end, or NULL */
        uint64_t bytes;
    } taken[HOST_ARRAYS_MOST];
    int count;
} host_arrays;

/* *array becomes the copy; NULL and no bytes are fine. */
kd_status host_arrays_in(host_arrays *of, const void **array, uint64_t bytes);
/* *array becomes room that host_arrays_end copies back. */
kd_status host_arrays_out(host_arrays *of, void **array, uint64_t bytes);
kd_status host_arrays_points(host_arrays *of, kd_point_array *points);
/* Copies back if all went well, and frees. */
kd_status host_arrays_end(host_arrays *of, kd_status status);

#endif
