#include "core/system/signals.h"
#include <signal.h>
#include <string.h>
#include <unistd.h>

void signals_watch(void (*handler)(int number)) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    struct sigaction before;
    if (sigaction(SIGHUP, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
        sigaction(SIGHUP, &action, NULL);
}

void signals_after(int seconds, void (*handler)(int number)) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    sigaction(SIGALRM, &action, NULL);
    alarm((unsigned)seconds);
}

void signals_ignore_file_limit(void) {
    signal(SIGXFSZ, SIG_IGN);
}

void signals_leave(int code) {
    _exit(code);
}

bool signals_sleep(int seconds) {
    return sleep((unsigned)seconds) == 0;
}
