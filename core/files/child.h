/* A program that runs beside this process, watched: it has so many seconds, and what it says is
   read from a pipe. Whoever calls this may be a library inside a program of many threads with
   children and signal handlers of its own, so
   - between this process and the program stands a small watcher, made by clone with no signal for
     its end: the caller's SIGCHLD handler does not run, its wait(-1) does not find it;
   - the watcher does system calls only, with all signals blocked; it ends the program when its time
     is over, and when this process closes the leash or is no more; it waits for it, so that no
     zombie is left;
   - the program begins by exec, with default signal handlers, a process group of its own, and no
     file but /dev/null and the pipe: a copy of a process of several threads by fork alone could
   hang in any lock that another thread held. */
#ifndef KD_CORE_FILES_CHILD_H
#define KD_CORE_FILES_CHILD_H
#include "core/status.h"
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct child {
    int answer; /* read end of the program's standard output; not blocking */
    int leash;  /* closed: the program ends */
    int watcher;
} child;

typedef enum child_end {
    CHILD_EXITED,     /* `code` is its exit code */
    CHILD_SIGNALLED,  /* `code` is the signal */
    CHILD_OVERDUE,    /* its time was over */
    CHILD_NOT_STARTED /* there is no such program, or a process cannot be started */
} child_end;

/* Starts the program at this path (arguments[0] is its name, NULL ends them). KD_ERROR_RUNTIME if
   pipes or processes cannot be made. */
kd_status child_start(child *out, const char *path, char *const *arguments, double seconds);
/* Waits until there is something to read, the end among it, or about so long. */
void child_wait(const child *of, int milliseconds);
/* Ends it: at once, or when it ends by itself (which its time limits). Nothing of it remains. */
child_end child_close(child *owned, bool at_once, int *code);

#ifdef __cplusplus
}
#endif
#endif
