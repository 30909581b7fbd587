/* Child processes with a time limit, supervised by a watcher process; child.h describes the
   design. */
#include "core/files/child.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Exit codes of the watcher in addition to the program's own 0..127 and 128 + signal. */
enum { CODE_OVERDUE = 254, CODE_NOT_STARTED = 255, EXEC_FAILED = 126, LEASH = 3, POLL_MS = 10 };

/* --- watcher: a copy of this process, restricted to system calls ------------------------------ */

typedef struct watch {
    const char *path;
    char *const *arguments;
    int answer, leash; /* the watcher's ends of the pipes */
    int64_t deadline;  /* in milliseconds of CLOCK_MONOTONIC */
} watch;

static int64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void files_close_from(unsigned first) {
#ifdef SYS_close_range
    if (syscall(SYS_close_range, first, ~0u, 0u) == 0) return;
#endif
    struct rlimit files;
    unsigned last = 1024;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < 65536)
        last = (unsigned)files.rlim_cur;
    for (unsigned i = first; i < last; ++i) close((int)i);
}

/* Sets up the descriptors: 0 and 2 are /dev/null, 1 is the answer pipe, LEASH the leash pipe; all
   others are closed. Each is first duplicated to a higher number, so that none is overwritten. */
static bool files_arrange(const watch *watch) {
    const int null = open("/dev/null", O_RDWR);
    const int high = fcntl(null, F_DUPFD, 16), answer = fcntl(watch->answer, F_DUPFD, 16);
    const int leash = fcntl(watch->leash, F_DUPFD, 16);
    if (high < 0 || answer < 0 || leash < 0) return false;
    if (dup2(high, 0) < 0 || dup2(answer, 1) < 0 || dup2(high, 2) < 0) return false;
    if (dup2(leash, LEASH) < 0 || fcntl(LEASH, F_SETFD, FD_CLOEXEC) < 0) return false;
    files_close_from(LEASH + 1);
    return true;
}

static void program_become(const watch *watch) {
    struct sigaction action;
    sigset_t none;
    setpgid(0, 0);
    memset(&action, 0, sizeof action);
    action.sa_handler = SIG_DFL;
    for (int i = 1; i < 65; ++i) sigaction(i, &action, NULL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    execv(watch->path, watch->arguments);
    _exit(EXEC_FAILED);
}

/* Kills the program's process group, including its children. */
static int program_end(pid_t program) {
    int status = 0;
    kill(-program, SIGKILL);
    kill(program, SIGKILL);
    while (waitpid(program, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
}

static int watcher_main(const watch *watch) {
    if (!files_arrange(watch)) return CODE_NOT_STARTED;
    const pid_t program = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (program == 0) program_become(watch);
    if (program < 0) return CODE_NOT_STARTED;
    setpgid(program, program);
    close(1);
    int status = 0;
#ifdef SYS_pidfd_open
    const int ended = (int)syscall(SYS_pidfd_open, program, 0u);
#else
    const int ended = -1;
#endif
    while (waitpid(program, &status, WNOHANG) == 0) {
        const int64_t left = watch->deadline - now_ms();
        struct pollfd files[2] = {{LEASH, POLLIN, 0}, {ended, POLLIN, 0}};
        if (left > 0) poll(files, 2, ended < 0 ? POLL_MS : left < 60000 ? (int)left : 60000);
        if (files[0].revents || left <= 0) {
            program_end(program);
            return left <= 0 ? CODE_OVERDUE : CODE_NOT_STARTED;
        }
    }
    kill(-program, SIGKILL); /* descendants that the program left running */
    if (WIFSIGNALED(status)) return 128 + WTERMSIG(status);
    return WEXITSTATUS(status) == EXEC_FAILED ? CODE_NOT_STARTED : WEXITSTATUS(status) & 127;
}

/* --- this process ----------------------------------------------------------------------------- */

static void close_both(const int ends[2]) {
    close(ends[0]);
    close(ends[1]);
}

kd_status child_start(child *out, const char *path, char *const *arguments, double seconds) {
    int answer[2], leash[2];
    sigset_t all, before;
    out->watcher = out->answer = out->leash = -1;
    KD_REQUIRE(pipe2(answer, O_CLOEXEC) == 0, KD_ERROR_RUNTIME, "%s: cannot create a pipe: %s",
               path, strerror(errno));
    if (pipe2(leash, O_CLOEXEC) != 0) {
        close_both(answer);
        KD_FAIL(KD_ERROR_RUNTIME, "%s: cannot create a pipe: %s", path, strerror(errno));
    }
    const double maximum = 1e9;
    const watch watch = {path, arguments, answer[1], leash[0],
                         now_ms() + (int64_t)(1000 * (seconds < maximum ? seconds : maximum))};
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    /* no flags: a full copy without shared resources, and no signal to the parent when it ends */
    const long watcher = syscall(SYS_clone, 0, 0, 0, 0, 0);
    if (watcher == 0) _exit(watcher_main(&watch));
    const int reason = errno;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    close(answer[1]);
    close(leash[0]);
    out->answer = answer[0];
    out->leash = leash[1];
    out->watcher = (int)watcher;
    if (watcher > 0) {
        fcntl(out->answer, F_SETFL, O_NONBLOCK);
        return KD_OK;
    }
    close(out->answer);
    close(out->leash);
    KD_FAIL(KD_ERROR_RUNTIME, "%s: cannot start a process: %s", path, strerror(reason));
}

void child_wait(const child *child, int milliseconds) {
    struct pollfd file = {child->answer, POLLIN, 0};
    poll(&file, 1, milliseconds);
}

child_end child_close(child *owned, bool at_once, int *code) {
    int status = 0;
    close(owned->answer);
    if (at_once) close(owned->leash);
    pid_t exited;
    while ((exited = waitpid(owned->watcher, &status, __WALL)) < 0 && errno == EINTR) {
    }
    if (!at_once) close(owned->leash);
    const int said = exited > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : CODE_NOT_STARTED;
    *code = said < 128 ? said : said - 128;
    if (said == CODE_OVERDUE) return CHILD_OVERDUE;
    if (said == CODE_NOT_STARTED) return CHILD_NOT_STARTED;
    return said < 128 ? CHILD_EXITED : CHILD_SIGNALLED;
}
