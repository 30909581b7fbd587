/* Who uses a handle of the library at a time, and Ctrl-C while the library works.
   Idea: calls that only ask share a gate, those that change what is behind it have it alone and go
   before those that come later. Work that may be long is done by a thread of its own while the
   interpreter's main thread listens; after Ctrl-C the call raises at once, and the thread, which
   keeps what it works with alive, ends its piece of the work. */
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
    /* Until the last copy of what is returned is gone, in any thread. Waits without the
       interpreter's lock, hearing Ctrl-C. UsageError, naming `what`, if this thread, inside of a
       call that uses the handle, wants it alone. */
    std::shared_ptr<void> enter(bool alone, const char *what);
    /* While it lives, this thread is inside of a call that has entered: it may enter again. */
    struct inside {
        explicit inside(const gate *of);
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
    int askers = 0, waiting = 0;
    bool taken = false;
};

/* A handle that nothing changes until it is closed: a call in progress keeps what it uses, and the
   last to let go frees it. */
template <typename c_type, void (*close_c)(c_type *)> class closable {
  public:
    explicit closable(c_type *owned) : c(owned, close_c) {}
    std::shared_ptr<c_type> use(const char *what) const {
        std::shared_ptr<c_type> used = std::atomic_load(&c);
        if (!used) check_said(KD_ERROR_USAGE, (std::string("the ") + what + " is closed").c_str());
        return used;
    }
    void close() { std::atomic_exchange(&c, std::shared_ptr<c_type>()); }

  private:
    std::shared_ptr<c_type> c;
};

/* Does work(left), which goes on without the interpreter's lock and owns by value all that it
   touches, and raises what its status says. If it may be long and this is the main thread, Ctrl-C
   is heard meanwhile: *left is true from then on, and the work should end soon. `within` (or NULL)
   is the gate that the caller has entered. */
void check_heard(std::function<kd_status(const std::atomic<bool> &left)> work, bool is_long,
                 const gate *within);

void bind_gate(nb::module_ &module);

#endif
