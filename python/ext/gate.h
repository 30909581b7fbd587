/* Synchronisation of calls on one library handle, and Ctrl-C during long calls.
   Idea: a gate is a readers-writer lock: queries share it, calls that change the handle hold it
         exclusively and take precedence over later queries. Long work runs in a worker thread while
         Python's main thread polls for signals. After Ctrl-C the call raises at once; the worker,
         which keeps its data alive, finishes its piece of the work and ends. */
#ifndef PYTHON_GATE_H
#define PYTHON_GATE_H
#include "python/ext/bind.h"
#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>

class gate {
  public:
    /* Locks the gate, exclusively if `alone`, until the last copy of the returned token is
       destroyed, by any thread. Waits without the GIL and raises KeyboardInterrupt on Ctrl-C.
       Raises UsageError, naming `what`, if a callback of a call that holds the gate requests it
       exclusively, which would deadlock. */
    std::shared_ptr<void> enter(bool alone, const char *name);
    /* Marks that this thread runs a callback of a call that holds the gate: it may re-enter. */
    struct inside {
        explicit inside(const gate *gate);
        ~inside();
        inside(const inside &) = delete;
        inside &operator=(const inside &) = delete;
    };

  private:
    bool is_free(bool alone, bool again) const;
    bool try_enter(bool alone, bool again);
    void leave(bool alone);
    std::mutex mutex;
    std::condition_variable changed;
    int holders = 0, waiting = 0; /* shared holders; waiting requests for exclusive access */
    bool taken = false;           /* held exclusively */
};

/* An immutable handle that can be closed while calls use it: each call holds a reference, and the
   last one to be released frees the handle. */
template <typename c_type, void (*close_c)(c_type *)> class closable {
  public:
    explicit closable(c_type *owned) : c(owned, close_c) {}
    std::shared_ptr<c_type> use(const char *name) const {
        std::shared_ptr<c_type> used = std::atomic_load(&c);
        if (!used) check_said(KD_ERROR_USAGE, (std::string("the ") + name + " is closed").c_str());
        return used;
    }
    void close() { std::atomic_exchange(&c, std::shared_ptr<c_type>()); }

  private:
    std::shared_ptr<c_type> c;
};

/* Runs work(left) without the GIL and raises the exception of its status. If `is_long` and this is
   Python's main thread, a worker thread runs it and Ctrl-C raises KeyboardInterrupt at once; `left`
   is then true and the work should end soon. Since it may outlive the call, `work` must own by
   value everything that it uses. `within` is the gate that the caller holds, or NULL. */
void check_with_progress(std::function<kd_status(const std::atomic<bool> &left)> work, bool is_long,
                         const gate *within);

void bind_gate(nb::module_ &module);

#endif
