#include "core/system/machine.h"
#include <malloc.h>
#include <stdlib.h>
#include <windows.h>
/* requires windows.h */
#include <psapi.h>

int machine_cores_online(void) {
    return (int)GetActiveProcessorCount(ALL_PROCESSOR_GROUPS);
}

int machine_cores(void) {
    DWORD_PTR process_mask = 0, all = 0;
    int cores = 0;
    if (GetProcessAffinityMask(GetCurrentProcess(), &process_mask, &all))
        for (; process_mask; process_mask &= process_mask - 1) ++cores;
    if (cores == 0) cores = machine_cores_online();
    return cores > 0 ? cores : 1;
}

uint64_t machine_bytes(void) {
    MEMORYSTATUSEX said;
    said.dwLength = sizeof said;
    return GlobalMemoryStatusEx(&said) ? said.ullTotalPhys : 0;
}

uint64_t machine_peak_bytes(void) {
    PROCESS_MEMORY_COUNTERS said;
    said.cb = sizeof said;
    return GetProcessMemoryInfo(GetCurrentProcess(), &said, sizeof said) ? said.PeakWorkingSetSize
                                                                         : 0;
}

void *machine_memory(size_t alignment, size_t bytes) {
    return _aligned_malloc(bytes, alignment);
}

void machine_memory_free(void *memory) {
    _aligned_free(memory);
}

/* Not needed on Windows: the system evicts pages of a mapped file by itself, and large pages need a
   privilege that programs rarely have. */
void machine_pages_drop(const void *begin, size_t bytes) {
    (void)begin;
    (void)bytes;
}

void machine_pages_large(void *begin, size_t bytes) {
    (void)begin;
    (void)bytes;
}

enum { STACK_BYTES = 8 << 20 /* default stack size of the main thread on Linux */ };

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
