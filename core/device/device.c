#include "core/device/device.h"
#include "core/names.h"
#include "core/parallel/parallel.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void device_cpu_describe(device *out) {
    memset(out, 0, sizeof *out);
    out->kind = DEVICE_CPU;
    out->processors = parallel_threads();
    snprintf(out->name, sizeof out->name, "CPU, %d threads", out->processors);
    const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGE_SIZE);
    out->memory_bytes = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : 0;
}

kd_status device_find(device *out, const char *name) {
    const int count = device_cuda_count();
    if (strcmp(name, "cpu") == 0 || (name_is_auto(name) && count == 0)) {
        device_cpu_describe(out);
        return KD_OK;
    }
    if (name_is_auto(name)) {
        if (device_cuda_describe(out, 0) == KD_OK) return KD_OK;
        status_clear(); /* too old a device is as good as none */
        device_cpu_describe(out);
        return KD_OK;
    }
    KD_REQUIRE(strncmp(name, "cuda", 4) == 0 && (name[4] == '\0' || name[4] == ':'),
               KD_ERROR_DEVICE, "unknown device \"%s\", expected auto, cpu or cuda:N", name);
    char *end = NULL;
    const long index = name[4] ? strtol(name + 5, &end, 10) : 0;
    KD_REQUIRE(!name[4] || (name[5] && *end == '\0'), KD_ERROR_DEVICE,
               "unknown device \"%s\", expected auto, cpu or cuda:N", name);
    KD_REQUIRE(device_cuda_compiled(), KD_ERROR_DEVICE,
               "device \"%s\" is absent: this build has no CUDA", name);
    KD_REQUIRE(index >= 0 && index < count, KD_ERROR_DEVICE,
               "device \"%s\" is absent: this machine has %d CUDA devices", name, count);
    return device_cuda_describe(out, (int)index);
}
