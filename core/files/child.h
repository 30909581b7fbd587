/* Runs a program with a time limit and reads its standard output from a pipe. The caller may be a
   library in a multithreaded program with children and signal handlers of its own, hence the
   design:
   - Between this process and the program runs a small watcher process, created by clone without a
     termination signal: the caller's SIGCHLD handler is not called, and its wait(-1) does not
     return the watcher.
   - The watcher makes system calls only, with all signals blocked. It kills the program when the
     time limit expires, when this process closes the leash pipe, or when this process ends. It
     reaps the program, so that no zombie remains.
   - The program is started by exec with default signal handlers, in a process group of its own,
     with no open file except /dev/null and the pipe. Running code in a forked copy of a
     multithreaded process without exec could deadlock on a lock held by another thread. */
#ifndef KD_CORE_FILES_CHILD_H
#define KD_CORE_FILES_CHILD_H
#include "core/status.h"
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct child {
    int answer; /* read end of the program's standard output, non-blocking */
    int leash;  /* write end of a pipe; closing it kills the program */
    int watcher;
} child;

typedef enum child_end {
    CHILD_EXITED,     /* `code` is the exit code */
    CHILD_SIGNALLED,  /* `code` is the signal */
    CHILD_OVERDUE,    /* the time limit expired */
    CHILD_NOT_STARTED /* no such program, or no process could be created */
} child_end;

/* Starts the program at `path` with a limit of `seconds`. arguments[0] is the program's name; NULL
   ends the list. Returns KD_ERROR_RUNTIME if a pipe or process cannot be created. */
kd_status child_start(child *out, const char *path, char *const *arguments, double seconds);
/* Waits for output or the end of the program, for about `milliseconds` at most. */
void child_wait(const child *child, int milliseconds);
/* Kills the program (`at_once`) or waits until it ends or its time limit expires, then releases
   everything. Sets *code. */
child_end child_close(child *owned, bool at_once, int *code);

#ifdef __cplusplus
}
#endif
#endif
