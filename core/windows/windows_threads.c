#include "core/system/threads.h"
#include <stdlib.h>

bool threads_at_fork(void (*before)(void), void (*after)(void), void (*in_child)(void)) {
    (void)before;
    (void)after;
    (void)in_child;
    return true;
}

void threads_signals_block(void) {}

void threads_signals_restore(void) {}

void threads_process_end(void) {
    _Exit(0);
}

bool threads_outlast_library(void) {
    return false;
}
