#include "core/system/threads.h"
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

enum { STACK_BYTES = 8 << 20 /* what Linux gives to main */ };

bool threads_at_fork(void (*before)(void), void (*after)(void), void (*in_child)(void)) {
    return pthread_atfork(before, after, in_child) == 0;
}

/* Signals are for the caller's threads. */
static void block_signals(sigset_t *before) {
    static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT, SIGPROF};
    sigset_t all;
    sigfillset(&all);
    for (size_t i = 0; i < sizeof own / sizeof *own; ++i) sigdelset(&all, own[i]);
    pthread_sigmask(SIG_BLOCK, &all, before);
}

int threads_start(pthread_t *out, void *(*run)(void *), void *context) {
    pthread_attr_t attributes;
    sigset_t before;
    int failed = pthread_attr_init(&attributes);
    if (failed) return failed;
    failed = pthread_attr_setstacksize(&attributes, STACK_BYTES);
    block_signals(&before);
    if (!failed) failed = pthread_create(out, &attributes, run, context);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return failed;
}

void threads_process_end(void) {
    _exit(0);
}

bool threads_outlast_library(void) {
    return true;
}
