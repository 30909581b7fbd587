#include "core/system/process.h"
#include <spawn.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

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
