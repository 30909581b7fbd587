/* Runs long work in a worker thread; the calling thread handles signals and progress. */
#include "python/ext/render.h"
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

/* State shared by the worker and the waiting thread, guarded by `mutex`. */
struct job {
    std::mutex mutex;
    std::condition_variable changed;
    bool over = false, news = false, stop = false;
    std::string stage, message;
    int64_t done = 0, total = 0;
    kd_status status = KD_OK;
};

static int on_progress(void *context, const char *stage, int64_t done, int64_t total) {
    job *job_state = (job *)context;
    std::lock_guard<std::mutex> locked(job_state->mutex);
    job_state->stage = stage;
    job_state->done = done;
    job_state->total = total;
    job_state->news = true;
    return job_state->stop;
}

static void run(job *job, const std::function<kd_status(kd_progress, void *)> *work) {
    const kd_status status = (*work)(on_progress, job);
    std::lock_guard<std::mutex> locked(job->mutex);
    job->status = status;
    if (status != KD_OK) job->message = kd_last_error();
    job->over = true;
    job->changed.notify_all();
}

/* Waits up to 50 ms without the GIL; returns true when the work is finished. */
static bool wait_for_it(job *job) {
    nb::gil_scoped_release unlocked;
    std::unique_lock<std::mutex> locked(job->mutex);
    return job->changed.wait_for(locked, std::chrono::milliseconds(50), [&] { return job->over; });
}

static bool stop_requested(job *job, const nb::object &progress) {
    std::unique_lock<std::mutex> locked(job->mutex);
    const std::string stage = job->stage;
    const int64_t done = job->done, total = job->total;
    const bool news = job->news;
    job->news = false;
    locked.unlock();
    check_signals();
    return news && !progress.is_none() && nb::cast<bool>(nb::bool_(progress(stage, done, total)));
}

static void stop_request(job *job) {
    std::lock_guard<std::mutex> locked(job->mutex);
    job->stop = true;
}

kd_status watch(const std::function<kd_status(kd_progress on_progress, void *by)> &work,
                nb::object progress, const std::function<void()> &clean) {
    job job;
    std::exception_ptr raised;
    std::thread worker(run, &job, &work);
    while (!wait_for_it(&job)) {
        try {
            if (!raised && stop_requested(&job, progress)) stop_request(&job);
        } catch (...) { /* Ctrl-C or an exception of the callback: rethrown after the join */
            raised = std::current_exception();
            stop_request(&job);
        }
    }
    {
        nb::gil_scoped_release unlocked;
        worker.join();
    }
    if (raised) {
        clean();
        std::rethrow_exception(raised);
    }
    if (job.status != KD_OK && job.status != KD_INTERRUPTED)
        check_said(job.status, job.message.c_str());
    return job.status;
}
