/* Work on a device beside what the caller's thread does: by a thread of its own, on a stream of its
   own, beside which the default stream and those of other threads go on. Without CUDA in the build
   beginning is KD_ERROR_DEVICE. */
#ifndef KD_CORE_DEVICE_BESIDE_H
#define KD_CORE_DEVICE_BESIDE_H
#include "core/device/absent.h"
#include "core/job.h"
#include "core/status.h"
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* `watched` is the work's own job: nobody listens, and it is cancelled as the caller's is. What the
   work launches and copies is on device_thread_stream(). */
typedef kd_status (*beside_work)(void *context, job *watched);
typedef struct beside_task beside_task;

/* On the current device. The context is the work's until the end. */
kd_status beside_begin(beside_task **out, beside_work work, void *context);
/* Waits for it, and for its stream; `watched` (may be NULL) may be cancelled meanwhile. The work's
   status and words. Takes NULL: nothing was begun. */
kd_status beside_end(beside_task *ended, const job *watched);
/* The same of work that nobody wants any more. */
void beside_drop(beside_task *dropped);

/* The cudaStream_t of this thread's work; NULL, the default one, in threads that are none of those
   above. */
KD_DEVICE_ANSWER(void *, device_thread_stream, (void), NULL);
/* A new stream of the current device that waits for no other becomes the thread's, until it ends.
 */
KD_DEVICE_CALL(device_thread_stream_begin, (void));
KD_DEVICE_CALL(device_thread_stream_end, (void)); /* after all that is on it */
KD_DEVICE_CALL(device_now, (int32_t * index));    /* the thread's current device */

#ifdef __cplusplus
}
#endif

#endif
