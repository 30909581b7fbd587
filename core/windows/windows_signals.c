#include "core/system/signals.h"
#include <signal.h>
#include <stdlib.h>
#include <windows.h>

static void (*watcher)(int number);

/* A handler is forgotten when it is called. */
static void pass_on(int number) {
    signal(number, pass_on);
    watcher(number);
}

void signals_watch(void (*handler)(int number)) {
    watcher = handler;
    signal(SIGINT, pass_on);
    signal(SIGTERM, pass_on);
#ifdef SIGBREAK
    signal(SIGBREAK, pass_on);
#endif
}

void signals_after(int seconds, void (*handler)(int number)) {
    (void)seconds;
    (void)handler;
}

void signals_ignore_file_limit(void) {}

void signals_leave(int code) {
    _Exit(code);
}

bool signals_sleep(int seconds) {
    Sleep((DWORD)seconds * 1000);
    return true;
}
