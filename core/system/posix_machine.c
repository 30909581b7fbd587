#include "core/system/machine.h"
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

enum { CORES_MAX = 1 << 16 };

int machine_cores_online(void) {
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 && online < CORES_MAX ? (int)online : 0;
}

#ifdef __linux__
#include <sched.h>

static int cores_of_mask(void) {
    for (size_t bits = 1024; bits <= CORES_MAX; bits *= 2) { /* fails while too small */
        cpu_set_t *mask = CPU_ALLOC(bits);
        const size_t bytes = CPU_ALLOC_SIZE(bits);
        const int count =
            mask && sched_getaffinity(0, bytes, mask) == 0 ? CPU_COUNT_S(bytes, mask) : 0;
        CPU_FREE(mask);
        if (count > 0) return count;
    }
    return machine_cores_online();
}

/* Returns the CPU quota of a control group in cores, rounded up, from cpu.max ("QUOTA PERIOD" or
   "max PERIOD"); 0 if there is no limit or no such file. */
static int cores_of_group(const char *group) {
    char path[4200];
    snprintf(path, sizeof path, "/sys/fs/cgroup%s/cpu.max", group);
    FILE *file = fopen(path, "re");
    if (!file) return 0;
    long long quota = 0, period = 0;
    const int fields = fscanf(file, "%lld %lld", &quota, &period);
    fclose(file);
    if (fields != 2 || quota <= 0 || period <= 0) return 0;
    const long long cores = (quota - 1) / period + 1;
    return cores < CORES_MAX ? (int)cores : 0;
}

/* Returns the smallest quota of this process's control group and its ancestors; 0 if there is no
   limit. */
static int cores_of_quota(void) {
    char line[4096] = "";
    FILE *file = fopen("/proc/self/cgroup", "re");
    if (!file) return 0;
    while (fgets(line, sizeof line, file) && strncmp(line, "0::", 3) != 0) line[0] = '\0';
    fclose(file);
    char *group = line[0] ? line + 3 : line;
    group[strcspn(group, "\n")] = '\0';
    for (int minimum = 0;;) {
        const int cores = cores_of_group(group);
        if (cores > 0 && (minimum == 0 || cores < minimum)) minimum = cores;
        char *last = strrchr(group, '/');
        if (!last) return minimum;
        *last = '\0';
    }
}
#else
static int cores_of_mask(void) {
    return machine_cores_online();
}

static int cores_of_quota(void) {
    return 0;
}
#endif

int machine_cores(void) {
    const int cores = cores_of_mask(), quota = cores_of_quota();
    if (quota > 0 && quota < cores) return quota;
    return cores > 0 ? cores : 1;
}

uint64_t machine_bytes(void) {
    const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    return pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : 0;
}

uint64_t machine_peak_bytes(void) {
#ifdef __APPLE__
    const uint64_t unit = 1;
#else
    const uint64_t unit = 1024;
#endif
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? (uint64_t)usage.ru_maxrss * unit : 0;
}

void *machine_memory(size_t alignment, size_t bytes) {
    return aligned_alloc(alignment, bytes);
}

void machine_memory_free(void *memory) {
    free(memory);
}

/* Computes the whole pages inside a range. Returns false if there are none. */
static bool whole_pages(uintptr_t *first, uintptr_t *last, const void *begin, size_t bytes) {
    const long size = sysconf(_SC_PAGESIZE);
    if (size <= 0) return false;
    const uintptr_t page = (uintptr_t)size;
    *first = ((uintptr_t)begin + page - 1) / page * page;
    *last = ((uintptr_t)begin + bytes) / page * page;
    return *last > *first;
}

void machine_pages_drop(const void *begin, size_t bytes) {
    uintptr_t first, last;
    if (whole_pages(&first, &last, begin, bytes))
        madvise((void *)first, last - first, MADV_DONTNEED);
}

void machine_pages_large(void *begin, size_t bytes) {
#ifdef MADV_HUGEPAGE
    uintptr_t first, last;
    if (whole_pages(&first, &last, begin, bytes))
        (void)madvise((void *)first, last - first, MADV_HUGEPAGE);
#else
    (void)begin;
    (void)bytes;
#endif
}

enum { STACK_BYTES = 8 << 20 /* default stack size of the main thread on Linux */ };

bool threads_at_fork(void (*before)(void), void (*after)(void), void (*in_child)(void)) {
    return pthread_atfork(before, after, in_child) == 0;
}

/* Blocks all signals that are not raised by the thread itself, so that the caller's threads receive
   them. */
static void block_signals(sigset_t *before) {
    static const int kept_signals[] = {SIGSEGV, SIGBUS, SIGFPE,  SIGILL,
                                       SIGTRAP, SIGSYS, SIGABRT, SIGPROF};
    sigset_t all;
    sigfillset(&all);
    for (size_t i = 0; i < sizeof kept_signals / sizeof *kept_signals; ++i)
        sigdelset(&all, kept_signals[i]);
    pthread_sigmask(SIG_BLOCK, &all, before);
}

int threads_start(pthread_t *out, void *(*run)(void *), void *context) {
    pthread_attr_t attributes;
    sigset_t before;
    int failed = pthread_attr_init(&attributes);
    if (failed) return failed;
    failed = pthread_attr_setstacksize(&attributes, STACK_BYTES);
    block_signals(&before);
    if (!failed) failed = pthread_create(out, &attributes, run, context);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return failed;
}

void threads_process_end(void) {
    _exit(0);
}

bool threads_outlast_library(void) {
    return true;
}
