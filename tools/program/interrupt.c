#include "tools/program/interrupt.h"
#include <kandela/status.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static job *interrupted;
static volatile sig_atomic_t signals;

static void cancel(int number) {
    (void)number;
    if (signals++) _exit(KD_INTERRUPTED);
    atomic_store(&interrupted->cancelled, true);
}

void interrupt_watch(job *watched) {
    interrupted = watched;
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = cancel;
    action.sa_flags = SA_RESTART; /* files are read and written to their end */
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    struct sigaction before;
    if (sigaction(SIGHUP, NULL, &before) == 0 &&
        before.sa_handler != SIG_IGN) /* nohup ignores it */
        sigaction(SIGHUP, &action, NULL);
}
