#include "core/system/process.h"
#include <process.h>

int process_run(char *const arguments[]) {
    return (int)_spawnvp(_P_WAIT, arguments[0], (const char *const *)arguments);
}

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
