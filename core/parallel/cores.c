#include "core/parallel/cores.h"
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MASK_BITS_MAX = 1 << 16 };

static int cores_of_mask(void) {
    for (size_t bits = 1024; bits <= MASK_BITS_MAX; bits *= 2) { /* too small a mask is refused */
        cpu_set_t *mask = CPU_ALLOC(bits);
        const size_t bytes = CPU_ALLOC_SIZE(bits);
        const int found =
            mask && sched_getaffinity(0, bytes, mask) == 0 ? CPU_COUNT_S(bytes, mask) : 0;
        CPU_FREE(mask);
        if (found > 0) return found;
    }
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 && online < MASK_BITS_MAX ? (int)online : 1;
}

/* Cores' worth of time by a group's cpu.max ("QUOTA PERIOD" or "max PERIOD"), rounded up; 0: no
   limit, or no such file. */
static int cores_of_group(const char *group) {
    char path[4200];
    snprintf(path, sizeof path, "/sys/fs/cgroup%s/cpu.max", group);
    FILE *file = fopen(path, "re");
    if (!file) return 0;
    long long quota = 0, period = 0;
    const int found = fscanf(file, "%lld %lld", &quota, &period);
    fclose(file);
    if (found != 2 || quota <= 0 || period <= 0) return 0;
    const long long cores = (quota - 1) / period + 1;
    return cores < MASK_BITS_MAX ? (int)cores : 0;
}

/* The least that this process's group and those above it grant; 0: no limit. */
static int cores_of_quota(void) {
    char line[4096] = "";
    FILE *file = fopen("/proc/self/cgroup", "re");
    if (!file) return 0;
    while (fgets(line, sizeof line, file) && strncmp(line, "0::", 3) != 0) line[0] = '\0';
    fclose(file);
    char *group = line[0] ? line + 3 : line;
    group[strcspn(group, "\n")] = '\0';
    for (int least = 0;;) {
        const int here = cores_of_group(group);
        if (here > 0 && (least == 0 || here < least)) least = here;
        char *last = strrchr(group, '/');
        if (!last) return least;
        *last = '\0';
    }
}

int cores_count(void) {
    static atomic_int known; /* all that come first find the same */
    int cores = atomic_load_explicit(&known, memory_order_relaxed);
    if (cores > 0) return cores;
    cores = cores_of_mask();
    const int quota = cores_of_quota();
    if (quota > 0 && quota < cores) cores = quota;
    atomic_store_explicit(&known, cores, memory_order_relaxed);
    return cores;
}
