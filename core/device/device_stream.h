/* Streams of a CUDA device: the current device, whose memory a pointer is, memory of the device's
   pool, copies either way, and the seconds that the device spends between two marks on a stream.
   Without CUDA in the build every call is KD_ERROR_DEVICE. `stream` is a cudaStream_t, NULL the
   default one. */
#ifndef KD_CORE_DEVICE_DEVICE_STREAM_H
#define KD_CORE_DEVICE_DEVICE_STREAM_H
#include "core/device/absent.h"
#include "core/status.h"
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Makes the device the thread's current one until device_leave(*previous). */
KD_DEVICE_CALL(device_enter, (int32_t index, int32_t *previous));
KD_DEVICE_ANSWER(void, device_leave, (int32_t previous), );
/* Whether this process can hold device memory at all: its CUDA driver is loaded. Loads nothing. */
KD_DEVICE_ANSWER(bool, device_in_use, (void), false);
/* The device whose memory the pointer is, or -1. */
KD_DEVICE_ANSWER(int32_t, device_of_pointer, (const void *pointer), -1);

/* Memory of the device's pool, for the length of a call. */
KD_DEVICE_CALL(device_pool_reserve, (void **out, uint64_t bytes, void *stream));
/* Gives back to the system what the pool keeps of freed memory. Waits for the device. */
KD_DEVICE_CALL(device_pool_trim, (void));
KD_DEVICE_ANSWER(void, device_pool_release, (void *pointer, void *stream), ); /* takes NULL */

/* Host memory that every device reads and writes where it is, for what is too little to be worth a
   copy; taken for a call, kept by the process for the next. */
enum { DEVICE_STAGING_BYTES = 256 << 10 };
KD_DEVICE_CALL(device_staging_take, (void **out));
KD_DEVICE_ANSWER(void, device_staging_give, (void *taken), ); /* takes NULL */

/* Host or device memory to host or device memory; much of it, between pageable memory of the host
   and a device, by device_cross. */
KD_DEVICE_CALL(device_copy, (void *to, const void *from, uint64_t bytes, void *stream));
/* Whether so much crosses sooner by device_cross. */
KD_DEVICE_ANSWER(bool, device_crosses, (const void *to, const void *from, uint64_t bytes), false);
/* The same bytes, between memory of the host and of the current device, by all threads and pinned
   memory; waited for. */
KD_DEVICE_CALL(device_cross, (void *to, const void *from, uint64_t bytes, void *stream));
KD_DEVICE_CALL(device_stream_wait, (void *stream));

typedef struct device_timer {
    void *begin, *end; /* cudaEvent_t */
} device_timer;

KD_DEVICE_CALL(device_timer_open, (device_timer * out));
KD_DEVICE_ANSWER(void, device_timer_close, (device_timer * owned), ); /* takes a zeroed one */
KD_DEVICE_CALL(device_timer_start, (device_timer * timer, void *stream));
/* Marks the end, waits for it, and gives the seconds since start. */
KD_DEVICE_CALL(device_timer_stop, (device_timer * timer, void *stream, double *seconds));

/* Marks between which the stages of one run lie. */
enum { DEVICE_MARKS_MAX = 128 };
typedef struct device_marks {
    void *marks[DEVICE_MARKS_MAX]; /* cudaEvent_t */
    int count;
} device_marks;

KD_DEVICE_CALL(device_marks_open, (device_marks * out, int count));
KD_DEVICE_ANSWER(void, device_marks_close, (device_marks * owned), ); /* takes a zeroed one */
KD_DEVICE_CALL(device_marks_record, (const device_marks *to, int which, void *stream));
/* Waits for the last mark; seconds[i] lie between marks i and i + 1. All must have been recorded.
 */
KD_DEVICE_CALL(device_marks_read, (const device_marks *from, double *seconds));

#ifdef __cplusplus
}
#endif

#endif
