/* Devices that wake up while files are read: a driver's start takes as long as a scene of some
 * size. */
#ifndef KD_CORE_DEVICE_WAKING_H
#define KD_CORE_DEVICE_WAKING_H
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

#endif
