/* Devices that wake up while files are read: a driver's start takes as long as a scene of some
   size. And those that a program is done with, which retire while the picture is written: else the
   driver takes their contexts apart when the process ends, and nothing else is done meanwhile. */
#ifndef KD_CORE_DEVICE_WAKING_H
#define KD_CORE_DEVICE_WAKING_H
#include "core/device/absent.h"
#include "core/job.h"
#include "core/status.h"
#include <pthread.h>
#include <stdbool.h>

typedef struct waking {
    pthread_t thread;
    bool has_thread;
    const char *names; /* "cuda:0,cuda:1" */
    kd_status found;
} waking;

/* Beside what follows, if there is a thread to be had. `names` stays the caller's, until the end.
 */
void waking_begin(waking *out, const char *names);
/* Waits for it, as the stage "context". A device that is absent is said by the caller's thread.
   Takes one that has ended, or never begun (all zero). */
kd_status waking_end(waking *ended, job *watched);

typedef struct retiring {
    pthread_t thread;
    bool has_thread;
    const char *names;
} retiring;

/* The contexts of these devices end, if there is a thread to be had: whatever is there is lost, and
   nobody may use them again in this process. `names` stays the caller's, until the end. One that
   has begun goes on. */
void retiring_begin(retiring *out, const char *names);
/* Waits for it. Takes one that has ended, or never begun (all zero). */
void retiring_end(retiring *ended);

#ifdef __cplusplus
extern "C" {
#endif
/* Ends the context of a device. */
KD_DEVICE_ANSWER(void, device_retire, (int index), );
#ifdef __cplusplus
}
#endif

#endif
