#include "core/system/process.h"
#include <dlfcn.h>
#include <glob.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
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

bool terminal_exists(void) {
    return isatty(STDERR_FILENO);
}

int terminal_columns(void) {
    struct winsize size;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
    return size.ws_col;
}

extern char **environ;

int process_run(char *const arguments[]) {
    pid_t child;
    int state = 0;
    if (posix_spawnp(&child, arguments[0], NULL, NULL, arguments, environ) != 0) return -1;
    if (waitpid(child, &state, 0) != child || !WIFEXITED(state)) return -1;
    return WEXITSTATUS(state);
}

#ifdef __linux__
int process_file_hold(char *name, size_t name_bytes, const void *bytes, uint64_t count) {
    const int held = memfd_create("kandela", MFD_CLOEXEC);
    const char *at = (const char *)bytes;
    while (held >= 0 && count > 0) {
        const ssize_t written = write(held, at, (size_t)count);
        if (written <= 0) {
            close(held);
            return -1;
        }
        at += written;
        count -= (uint64_t)written;
    }
    snprintf(name, name_bytes, "/proc/%d/fd/%d", (int)getpid(), held);
    return held;
}

void process_file_release(int held) {
    close(held);
}

#else

int process_file_hold(char *name, size_t name_bytes, const void *bytes, uint64_t count) {
    (void)name;
    (void)name_bytes;
    (void)bytes;
    (void)count;
    return -1;
}

void process_file_release(int held) {
    (void)held;
}

#endif

void *plugin_open(const char *path, bool global) {
    return dlopen(path, RTLD_NOW | (global ? RTLD_GLOBAL : RTLD_LOCAL));
}

void *plugin_symbol(void *plugin, const char *name) {
    return dlsym(plugin, name);
}

void plugin_close(void *plugin) {
    dlclose(plugin);
}

const char *plugin_reason(void) {
    const char *said = dlerror();
    return said ? said : "no reason given";
}

bool plugin_try_each(const char *pattern, bool (*take)(const char *path)) {
    glob_t matches;
    bool taken = false;
    if (glob(pattern, 0, NULL, &matches) != 0) return false;
    for (size_t i = 0; i < matches.gl_pathc && !taken; ++i) taken = take(matches.gl_pathv[i]);
    globfree(&matches);
    return taken;
}
