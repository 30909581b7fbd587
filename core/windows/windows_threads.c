#include "core/system/threads.h"
#include <stdlib.h>

enum { STACK_BYTES = 8 << 20 /* what Linux gives to main */ };

bool threads_at_fork(void (*before)(void), void (*after)(void), void (*in_child)(void)) {
    (void)before;
    (void)after;
    (void)in_child;
    return true;
}

int threads_start(pthread_t *out, void *(*run)(void *), void *context) {
    pthread_attr_t attributes;
    int failed = pthread_attr_init(&attributes);
    if (failed) return failed;
    failed = pthread_attr_setstacksize(&attributes, STACK_BYTES);
    if (!failed) failed = pthread_create(out, &attributes, run, context);
    pthread_attr_destroy(&attributes);
    return failed;
}

void threads_process_end(void) {
    _Exit(0);
}

bool threads_outlast_library(void) {
    return false;
}
