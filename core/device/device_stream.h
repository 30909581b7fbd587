/* CUDA streams and stream-ordered operations for callers in C: the current device, the owner of a
   pointer, memory of the device's pool, copies, and timing by events. In a build without CUDA every
   call returns KD_ERROR_DEVICE. `stream` is a cudaStream_t; NULL is the default stream. */
#ifndef KD_CORE_DEVICE_DEVICE_STREAM_H
#define KD_CORE_DEVICE_DEVICE_STREAM_H
#include "core/device/cuda_stubs.h"
#include "core/status.h"
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Makes the device current for this thread until device_leave(*previous). */
KD_DEVICE_CALL(device_enter, (int32_t index, int32_t *previous));
KD_DEVICE_ANSWER(void, device_leave, (int32_t previous), );
/* Returns false if this process cannot hold device memory because the CUDA driver is not loaded.
   Does not load the driver. */
KD_DEVICE_ANSWER(bool, device_in_use, (void), false);
/* Returns the index of the device that owns the memory, or -1. */
KD_DEVICE_ANSWER(int32_t, device_of_pointer, (const void *pointer), -1);

/* Allocates from the device's memory pool (cudaMallocAsync), typically for the duration of a
   call. */
KD_DEVICE_CALL(device_pool_reserve, (void **out, uint64_t bytes, void *stream));
/* Returns the pool's unused memory to the system. Synchronises the device. */
KD_DEVICE_CALL(device_pool_trim, (void));
KD_DEVICE_ANSWER(void, device_pool_release, (void *pointer, void *stream), ); /* accepts NULL */

/* Pinned, mapped host memory that every device can access directly, for data too small to be worth
   a copy. The process keeps released blocks for later calls. */
enum { DEVICE_STAGING_BYTES = 256 << 10 };
KD_DEVICE_CALL(device_staging_take, (void **out));
KD_DEVICE_ANSWER(void, device_staging_give, (void *taken), ); /* accepts NULL */

/* Copies between host and device memory in either direction, asynchronously, except that large
   copies between pageable host memory and a device use device_cross, which blocks. */
KD_DEVICE_CALL(device_copy, (void *to, const void *from, uint64_t bytes, void *stream));
/* Returns true if device_cross is faster for this copy. */
KD_DEVICE_ANSWER(bool, device_crosses, (const void *to, const void *from, uint64_t bytes), false);
/* Copies between host memory and the current device through pinned memory on all threads, and waits
   for completion. */
KD_DEVICE_CALL(device_cross, (void *to, const void *from, uint64_t bytes, void *stream));
KD_DEVICE_CALL(device_stream_wait, (void *stream));

typedef struct device_timer {
    void *begin, *end; /* cudaEvent_t */
} device_timer;

KD_DEVICE_CALL(device_timer_open, (device_timer * out));
KD_DEVICE_ANSWER(void, device_timer_close, (device_timer * owned), ); /* accepts a zeroed struct */
KD_DEVICE_CALL(device_timer_start, (device_timer * timer, void *stream));
/* Records the end event, waits for it, and returns the seconds since device_timer_start. */
KD_DEVICE_CALL(device_timer_stop, (device_timer * timer, void *stream, double *seconds));

/* Maximum number of events in a sequence that delimits the stages of a run. */
enum { DEVICE_MARKS_MAX = 128 };
typedef struct device_marks {
    void *marks[DEVICE_MARKS_MAX]; /* cudaEvent_t */
    int count;
} device_marks;

KD_DEVICE_CALL(device_marks_open, (device_marks * out, int count));
KD_DEVICE_ANSWER(void, device_marks_close, (device_marks * owned), ); /* accepts a zeroed struct */
KD_DEVICE_CALL(device_marks_record, (const device_marks *marks, int which, void *stream));
/* Waits for the last event and sets seconds[i] to the time between events i and i + 1. All events
   must have been recorded. */
KD_DEVICE_CALL(device_marks_read, (const device_marks *marks, double *seconds));

#ifdef __cplusplus
}
#endif

#endif
