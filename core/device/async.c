#include "core/device/async.h"
#include "core/device/device_stream.h"
#include "core/memory.h"
#include "core/parallel/parallel.h"
#include "core/system/machine.h"
#include <string.h>
#include <time.h>

enum {
    POLL_NANOSECONDS = 10 * 1000 * 1000
}; /* interval at which async_end polls for cancellation */

struct async_task {
    pthread_t thread;
    int32_t device;
    int threads;
    async_work work;
    void *context;
    job_control job;
    kd_status status;
    char words[1024]; /* error message of a failed task */
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool is_over;
};

static kd_status do_work(async_task *task) {
    int32_t before;
    KD_TRY(device_enter(task->device, &before));
    kd_status status = device_thread_stream_begin();
    if (status == KD_OK) {
        status = task->work(task->context, &task->job);
        const kd_status ended = device_thread_stream_end();
        if (status == KD_OK) status = ended;
    }
    device_leave(before);
    return status;
}

static void *run(void *context) {
    async_task *task = (async_task *)context;
    parallel_limit(task->threads);
    task->status = do_work(task);
    if (task->status != KD_OK) strncpy(task->words, kd_last_error(), sizeof task->words - 1);
    pthread_mutex_lock(&task->mutex);
    task->is_over = true;
    pthread_cond_signal(&task->changed);
    pthread_mutex_unlock(&task->mutex);
    return NULL;
}

static void async_close(async_task *owned) {
    pthread_mutex_destroy(&owned->mutex);
    pthread_cond_destroy(&owned->changed);
    memory_free(owned);
}

kd_status async_begin(async_task **out, async_work work, void *context) {
    async_task *made = NULL;
    *out = NULL;
    KD_TRY(KD_RESERVE_ZEROED(made, 1));
    made->work = work;
    made->context = context;
    made->threads = parallel_threads();
    job_init(&made->job);
    pthread_mutex_init(&made->mutex, NULL);
    pthread_cond_init(&made->changed, NULL);
    kd_status status = device_now(&made->device);
    if (status == KD_OK) {
        if (threads_start(&made->thread, run, made) != 0)
            status =
                status_fail(KD_ERROR_RUNTIME, __FILE__, __LINE__,
                            "cannot start a thread; the limit of threads or memory may be reached");
    }
    if (status == KD_OK)
        *out = made;
    else
        async_close(made);
    return status;
}

/* Waits until the task is over or the polling interval has passed. Returns true if it is over. */
static bool wait_a_while(async_task *task) {
    struct timespec deadline;
    clock_gettime(CLOCK_REALTIME, &deadline);
    deadline.tv_nsec += POLL_NANOSECONDS;
    if (deadline.tv_nsec >= 1000000000) {
        deadline.tv_nsec -= 1000000000;
        ++deadline.tv_sec;
    }
    pthread_mutex_lock(&task->mutex);
    if (!task->is_over) pthread_cond_timedwait(&task->changed, &task->mutex, &deadline);
    const bool over = task->is_over;
    pthread_mutex_unlock(&task->mutex);
    return over;
}

kd_status async_end(async_task *ended, const job_control *job) {
    if (!ended) return KD_OK;
    while (!wait_a_while(ended))
        if (job_cancelled(job)) atomic_store(&ended->job.cancelled, true);
    pthread_join(ended->thread, NULL);
    const kd_status status = ended->status;
    if (status != KD_OK) status_fail(status, __FILE__, __LINE__, "%s", ended->words);
    async_close(ended);
    return status;
}

void async_drop(async_task *dropped) {
    if (!dropped) return;
    atomic_store(&dropped->job.cancelled, true);
    if (async_end(dropped, NULL) != KD_OK) status_clear();
}
