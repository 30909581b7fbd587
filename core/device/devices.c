/* The functions of <kandela/machine.h>. */
#include "core/device/device.h"
#include "core/parallel/parallel.h"
#include <kandela/machine.h>
#include <stdio.h>
#include <string.h>

void kd_threads_set(int32_t threads) {
    parallel_set_threads(threads);
}

int32_t kd_threads(void) {
    return parallel_threads();
}

uint32_t kd_device_count(void) {
    return 1 + (uint32_t)device_cuda_count();
}

/* Returns false, and zeros, for an index out of range or a device that cannot be described. */
static bool describe(device *out, uint32_t index) {
    memset(out, 0, sizeof *out);
    if (index == 0) device_cpu_describe(out);
    return index == 0 ||
           (index < kd_device_count() && device_cuda_describe(out, (int)index - 1) == KD_OK);
}

const char *kd_device_id(uint32_t index) {
    static _Thread_local char id[32];
    if (index >= kd_device_count()) return "";
    if (index == 0) return "cpu";
    snprintf(id, sizeof id, "cuda:%u", index - 1);
    return id;
}

const char *kd_device_name(uint32_t index) {
    static _Thread_local device found;
    return describe(&found, index) ? found.name : "";
}

uint64_t kd_device_bytes(uint32_t index) {
    device found;
    return describe(&found, index) ? found.memory_bytes : 0;
}
