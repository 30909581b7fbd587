#include "core/system/threads.h"
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

static _Thread_local sigset_t signals_before;

bool threads_at_fork(void (*before)(void), void (*after)(void), void (*in_child)(void)) {
    return pthread_atfork(before, after, in_child) == 0;
}

void threads_signals_block(void) {
    static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT, SIGPROF};
    sigset_t all;
    sigfillset(&all);
    for (size_t i = 0; i < sizeof own / sizeof *own; ++i) sigdelset(&all, own[i]);
    pthread_sigmask(SIG_BLOCK, &all, &signals_before);
}

void threads_signals_restore(void) {
    pthread_sigmask(SIG_SETMASK, &signals_before, NULL);
}

void threads_process_end(void) {
    _exit(0);
}

bool threads_outlast_library(void) {
    return true;
}
