/* Seconds that a CUDA device spends on what is put on a stream between two marks. */
#ifndef KD_CORE_DEVICE_DEVICE_TIMER_H
#define KD_CORE_DEVICE_DEVICE_TIMER_H
#include "core/device/absent.h"
#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

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
