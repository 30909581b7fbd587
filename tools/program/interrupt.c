#include "tools/program/interrupt.h"
#include "core/system/process.h"
#include <kandela/status.h>
#include <signal.h>
#include <string.h>

enum { PATIENCE = 1 /* seconds */ };

static job *interrupted;
static bool keeps_results;
static volatile sig_atomic_t signals;

/* Stages before which nothing has been made that would be kept. */
static bool stage_is_preparation(const char *stage) {
    static const char *const preparations[] = {"context", "load", "plan", "build", "hash"};
    for (size_t i = 0; stage && i < sizeof preparations / sizeof *preparations; ++i)
        if (strcmp(stage, preparations[i]) == 0) return true;
    return false;
}

/* A decoder or a builder that does not look at the job. */
static void leave_unheard(int number) {
    (void)number;
    if (!keeps_results || stage_is_preparation(interrupted->stage)) signals_leave(KD_INTERRUPTED);
}

static void cancel(int number) {
    if (signals++) signals_leave(128 + number);
    atomic_store(&interrupted->cancelled, true);
    signals_after(PATIENCE, leave_unheard);
}

void interrupt_watch(job *watched, bool keeps) {
    interrupted = watched;
    keeps_results = keeps;
    signals_watch(cancel);
}
