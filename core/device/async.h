/* Asynchronous device work: a task runs on a thread and a CUDA stream of its own, concurrently with
   the caller's thread, the default stream and other tasks. In a build without CUDA async_begin
   returns KD_ERROR_DEVICE. */
#ifndef KD_CORE_DEVICE_ASYNC_H
#define KD_CORE_DEVICE_ASYNC_H
#include "core/device/cuda_stubs.h"
#include "core/job.h"
#include "core/status.h"
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The function that a task executes. `job` is the task's job: it has no progress callback and
   is cancelled when the caller's job is. All launches and copies must use
   device_thread_stream(). */
typedef kd_status (*async_work)(void *context, job_control *job);
typedef struct async_task async_task;

/* Starts a task on the current device. `context` must stay valid until the task has ended. */
kd_status async_begin(async_task **out, async_work work, void *context);
/* Waits for the task and its stream, frees the task, and returns its status with its error message.
   Cancels the task if `job` (may be NULL) is cancelled meanwhile. Accepts NULL. */
kd_status async_end(async_task *ended, const job_control *job);
/* Cancels the task, waits for it and ignores its result. Accepts NULL. */
void async_drop(async_task *dropped);

/* Returns the cudaStream_t of the task that this thread executes; NULL, the default stream, in all
   other threads. */
KD_DEVICE_ANSWER(void *, device_thread_stream, (void), NULL);
/* Creates a non-blocking stream on the current device and makes it this thread's until
   device_thread_stream_end. */
KD_DEVICE_CALL(device_thread_stream_begin, (void));
KD_DEVICE_CALL(device_thread_stream_end, (void)); /* waits for the stream's work */
KD_DEVICE_CALL(device_now, (int32_t * index));    /* returns the thread's current device */

#ifdef __cplusplus
}
#endif

#endif
