#include "tools/program/interrupt.h"
#include "core/system/signals.h"
#include <kandela/status.h>
#include <signal.h>

static job *interrupted;
static volatile sig_atomic_t signals;

static void cancel(int number) {
    (void)number;
    if (signals++) signals_leave(KD_INTERRUPTED);
    atomic_store(&interrupted->cancelled, true);
}

void interrupt_watch(job *watched) {
    interrupted = watched;
    signals_watch(cancel);
}
