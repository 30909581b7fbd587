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

static int hear(void *context, const char *stage, int64_t done, int64_t total) {
    job *by = (job *)context;
    std::lock_guard<std::mutex> locked(by->mutex);
    by->stage = stage;
    by->done = done;
    by->total = total;
    by->news = true;
    return by->stop;
}

static void run(job *by, const std::function<kd_status(kd_progress, void *)> *work) {
    const kd_status status = (*work)(hear, by);
    std::lock_guard<std::mutex> locked(by->mutex);
    by->status = status;
    if (status != KD_OK) by->message = kd_last_error();
    by->over = true;
    by->changed.notify_all();
}

/* Waits up to 50 ms without the GIL; returns true when the work is finished. */
static bool wait_for_it(job *by) {
    nb::gil_scoped_release unlocked;
    std::unique_lock<std::mutex> locked(by->mutex);
    return by->changed.wait_for(locked, std::chrono::milliseconds(50), [&] { return by->over; });
}

static bool told_to_stop(job *by, const nb::object &progress) {
    std::unique_lock<std::mutex> locked(by->mutex);
    const std::string stage = by->stage;
    const int64_t done = by->done, total = by->total;
    const bool news = by->news;
    by->news = false;
    locked.unlock();
    check_signals();
    return news && !progress.is_none() && nb::cast<bool>(nb::bool_(progress(stage, done, total)));
}

static void tell_to_stop(job *by) {
    std::lock_guard<std::mutex> locked(by->mutex);
    by->stop = true;
}

kd_status watch(const std::function<kd_status(kd_progress hear, void *by)> &work,
                nb::object progress, const std::function<void()> &clean) {
    job by;
    std::exception_ptr raised;
    std::thread worker(run, &by, &work);
    while (!wait_for_it(&by)) {
        try {
            if (!raised && told_to_stop(&by, progress)) tell_to_stop(&by);
        } catch (...) { /* Ctrl-C or an exception of the callback: rethrown after the join */
            raised = std::current_exception();
            tell_to_stop(&by);
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
    if (by.status != KD_OK && by.status != KD_INTERRUPTED)
        check_said(by.status, by.message.c_str());
    return by.status;
}
