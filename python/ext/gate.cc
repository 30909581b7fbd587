#include "python/ext/gate.h"
#include <algorithm>
#include <chrono>
#include <kandela/control.h>
#include <thread>

static const std::chrono::milliseconds listening(20);

/* --- gates ----------------------------------------------------------------------------------- */

static std::vector<const gate *> &marks() {
    static thread_local std::vector<const gate *> of_thread;
    return of_thread;
}

gate::inside::inside(const gate *gate) {
    marks().push_back(gate);
}

gate::inside::~inside() {
    marks().pop_back();
}

/* `again`: a callback of a call that holds the gate does not wait for it. */
bool gate::is_free(bool alone, bool again) const {
    return again || (!taken && (alone ? holders == 0 : waiting == 0));
}

bool gate::try_enter(bool alone, bool again) {
    if (!is_free(alone, again)) return false;
    if (alone)
        taken = true;
    else
        ++holders;
    return true;
}

void gate::leave(bool alone) {
    std::lock_guard<std::mutex> locked(mutex);
    if (alone)
        taken = false;
    else
        --holders;
    changed.notify_all();
}

std::shared_ptr<void> gate::enter(bool alone, const char *name) {
    const bool again = std::count(marks().begin(), marks().end(), this) > 0;
    if (again && alone)
        check_said(KD_ERROR_USAGE,
                   (std::string("the ") + name + " is in use by the call that this one comes from")
                       .c_str());
    for (bool entered = false; !entered;) {
        {
            std::lock_guard<std::mutex> locked(mutex);
            entered = try_enter(alone, again);
        }
        if (entered) break;
        {
            nb::gil_scoped_release unlocked;
            std::unique_lock<std::mutex> locked(mutex);
            waiting += alone;
            changed.wait_for(locked, listening,
                             [&] { return !taken && (alone ? holders == 0 : waiting == 0); });
            waiting -= alone;
            entered = try_enter(alone, again);
            locked.unlock();
            stop_if_python_ends();
        }
        if (!entered) check_signals();
    }
    return std::shared_ptr<void>(this, [alone](void *pointer) { ((gate *)pointer)->leave(alone); });
}

/* --- Ctrl-C ---------------------------------------------------------------------------------- */

struct errand {
    std::mutex mutex;
    std::condition_variable changed;
    std::atomic<bool> left{false}; /* the caller raised after Ctrl-C and does not wait */
    bool over = false;
    kd_status status = KD_OK;
    std::string message;
    std::function<kd_status(const std::atomic<bool> &left)> work;
};

static struct {
    std::mutex mutex;
    std::condition_variable changed;
    int left = 0;                          /* running errands whose callers do not wait */
    std::atomic<bool> threads_seen{false}; /* other threads have called the library */
} all;

static void count_left(int more) {
    std::lock_guard<std::mutex> locked(all.mutex);
    all.left += more;
    all.changed.notify_all();
}

/* Cancels builds and queries whose caller does not wait; a progress callback. */
static int stop_if_left(void *context, const char *, int64_t, int64_t) {
    return *(const std::atomic<bool> *)context;
}

/* Body of the worker thread. `work` owns Python objects, so it is destroyed with the GIL held. */
static void run(std::shared_ptr<errand> task) {
    kd_call call;
    kd_call_default(&call);
    call.progress = stop_if_left;
    call.context = &task->left;
    kd_call_set(&call);
    const kd_status status = task->work(task->left);
    {
        std::lock_guard<std::mutex> locked(task->mutex);
        task->status = status;
        if (status != KD_OK) task->message = kd_last_error();
        task->over = true;
        task->changed.notify_all();
        if (!task->left) return;
    }
    {
        nb::gil_scoped_acquire attached;
        task->work = nullptr;
    }
    count_left(-1);
}

static bool is_over(errand *task) {
    nb::gil_scoped_release unlocked;
    std::unique_lock<std::mutex> locked(task->mutex);
    return task->changed.wait_for(locked, listening, [&] { return task->over; });
}

/* Abandons the errand after Ctrl-C; returns false if it has already finished. */
static bool leave(errand *task) {
    std::lock_guard<std::mutex> locked(task->mutex);
    if (task->over) return false;
    task->left = true;
    count_left(1);
    return true;
}

static unsigned long main_thread;

static bool start(const std::shared_ptr<errand> &task) {
    try {
        std::thread(run, task).detach();
        return true;
    } catch (const std::system_error &) {
        return false; /* no thread available: the caller runs the work */
    }
}

void check_with_progress(std::function<kd_status(const std::atomic<bool> &left)> work, bool is_long,
                         const gate *within) {
    const auto task = std::make_shared<errand>();
    task->work = std::move(work);
    if (!is_long || PyThread_get_thread_ident() != main_thread || !start(task)) {
        check_unlocked([&] { return task->work(task->left); });
        return;
    }
    const gate::inside marked(within);
    while (!is_over(task.get())) {
        try {
            check_signals();
        } catch (...) {
            if (!leave(task.get())) task->work = nullptr;
            throw;
        }
    }
    task->work = nullptr;
    if (task->status != KD_OK) check_said(task->status, task->message.c_str());
}

static std::atomic<bool> python_ends{false};

void stop_if_python_ends() {
    if (PyThread_get_thread_ident() == main_thread) return;
    all.threads_seen = true;
    while (python_ends) std::this_thread::sleep_for(std::chrono::hours(1));
}

/* Runs at exit of the interpreter: waits for the abandoned errands, which need the GIL to finish,
   and gives threads that are waiting for the GIL a moment to obtain it. */
static void wait_for_left() {
    nb::gil_scoped_release unlocked;
    {
        std::unique_lock<std::mutex> locked(all.mutex);
        all.changed.wait(locked, [] { return all.left == 0; });
    }
    python_ends = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(all.threads_seen ? 20 : 0));
}

void bind_gate(nb::module_ &m) {
    main_thread = nb::cast<unsigned long>(
        nb::module_::import_("threading").attr("main_thread")().attr("ident"));
    m.def("wait_for_left", wait_for_left,
          "Waits for the calls that Ctrl-C has left to end: called when Python ends.");
    nb::module_::import_("atexit").attr("register")(m.attr("wait_for_left"));
}
