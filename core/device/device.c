/* Selection of devices by name, validation of callers' arrays, and background context creation. */
#include "core/device/device.h"
#include "core/device/device_memory.h"
#include "core/device/device_stream.h"
#include "core/names.h"
#include "core/parallel/parallel.h"
#include "core/status.h"
#include "core/system/machine.h"
#include "core/system/paths.h"
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void device_cpu_describe(device *out) {
    memset(out, 0, sizeof *out);
    out->kind = DEVICE_CPU;
    out->processors = parallel_threads();
    snprintf(out->name, sizeof out->name, "CPU, %d threads", out->processors);
    out->memory_bytes = machine_bytes();
}

enum { CAPABILITY_MIN = 75 };

const char *device_code_lacks(const char *code, int capability) {
    if (capability < CAPABILITY_MIN) return "7.5 or later is needed";
    const char *at = code;
    while (*at) {
        char *end;
        const int architecture = (int)strtol(at, &end, 10);
        if (end == at) break;
        const bool later = *end == '+';
        if (architecture <= capability && (later || architecture / 10 == capability / 10))
            return NULL;
        at = end + (later ? 1 : 0);
        while (*at == ' ') ++at;
    }
    return *code ? "this build has no code for it (KD_CUDA_ARCHITECTURES)" : NULL;
}

static bool exists(const char *root, const char *path) {
    char full[4096];
    snprintf(full, sizeof full, "%s%s", root, path);
    return place_allows(full, PLACE_EXISTS);
}

bool device_card_exists(const char *root) {
    return exists(root, "/proc/driver/nvidia/version") || exists(root, "/dev/nvidia0") ||
           exists(root, "/dev/dxg"); /* /dev/dxg: Windows Subsystem for Linux */
}

/* Logs once that "auto" found no usable CUDA device; `reason` is the first device's error, or "".
 */
static void report_fallback(const char *reason) {
    static atomic_flag reported = ATOMIC_FLAG_INIT;
    if (!*reason && !device_card_exists("")) return;
    if (atomic_flag_test_and_set(&reported)) return;
    if (!*reason) reason = device_cuda_fault();
    log_message(LOG_WARNING, "using the CPU: %s%s", *reason ? reason : "CUDA found no device",
                device_card_exists("") ? ", although an NVIDIA GPU is installed" : "");
}

static void find_any(device *out) {
    char reason[512] = "";
    const int count = device_cuda_count();
    for (int i = 0; i < count; ++i) {
        if (device_cuda_describe(out, i) == KD_OK) return;
        if (i == 0) snprintf(reason, sizeof reason, "%s", kd_last_error());
        status_clear();
    }
    report_fallback(reason);
    device_cpu_describe(out);
}

kd_status device_find(device *out, const char *name) {
    if (strcmp(name, "cpu") == 0) {
        device_cpu_describe(out);
        return KD_OK;
    }
    if (name_is_auto(name)) {
        find_any(out);
        return KD_OK;
    }
    KD_REQUIRE(strncmp(name, "cuda", 4) == 0 && (name[4] == '\0' || name[4] == ':'),
               KD_ERROR_DEVICE, "unknown device \"%s\"; expected auto, cpu or cuda:N", name);
    char *end = NULL;
    const long index = name[4] ? strtol(name + 5, &end, 10) : 0;
    KD_REQUIRE(!name[4] || (name[5] && *end == '\0'), KD_ERROR_DEVICE,
               "unknown device \"%s\"; expected auto, cpu or cuda:N", name);
    KD_REQUIRE(device_cuda_compiled(), KD_ERROR_DEVICE,
               "device \"%s\" is not available: this build has no CUDA", name);
    const int count = device_cuda_count();
    KD_REQUIRE(index >= 0 && index < count, KD_ERROR_DEVICE,
               "device \"%s\" is not available: this machine has %d CUDA devices", name, count);
    return device_cuda_describe(out, (int)index);
}

static bool is_all(const char *names) {
    return strcmp(names, "cuda:all") == 0;
}

int device_list_count(const char *names) {
    int count = 1;
    if (is_all(names)) return device_cuda_count() > 1 ? device_cuda_count() : 1;
    for (const char *at = names; *at; ++at) count += *at == ',';
    return count;
}

void device_list_name(char out[64], const char *names, int index) {
    if (is_all(names)) {
        snprintf(out, 64, "cuda:%d", index);
        return;
    }
    for (; index > 0 && strchr(names, ','); --index) names = strchr(names, ',') + 1;
    snprintf(out, 64, "%.*s", (int)strcspn(names, ","), names);
}

kd_status device_choose(int32_t *out, const char *name, const void *memory, uint64_t items,
                        bool able) {
    *out = -1;
    if (name_is_auto(name)) {
        if (device_cuda_count() == 0 || !able) return KD_OK;
        *out = device_of_pointer(memory);
        if (*out < 0 && items >= DEVICE_ITEMS_MIN) *out = 0;
        return KD_OK;
    }
    device device;
    KD_TRY(device_find(&device, name));
    if (device.kind == DEVICE_CUDA) *out = device.index;
    return KD_OK;
}

bool device_retreats(const char *name, kd_status failure, const void *memory) {
    return name_is_auto(name) && (failure == KD_ERROR_MEMORY || failure == KD_ERROR_DEVICE) &&
           device_of_pointer(memory) < 0;
}

kd_status caller_memory_check(const caller_array *arrays, int count, bool host) {
    const bool check_owner = host && device_in_use();
    for (int i = 0; i < count; ++i) {
        const caller_array *a = &arrays[i];
        KD_REQUIRE((uintptr_t)a->pointer % a->alignment == 0, KD_ERROR_USAGE,
                   "`%s` is %p; it must be aligned to %u bytes", a->name, a->pointer, a->alignment);
        if (!a->pointer || !check_owner) continue;
        const int32_t owner = device_of_pointer(a->pointer);
        KD_REQUIRE(owner < 0, KD_ERROR_USAGE,
                   "`%s` (%p) is memory of cuda:%d; it must be host memory, because the tree is on "
                   "the CPU",
                   a->name, a->pointer, owner);
    }
    return KD_OK;
}

kd_status caller_stride_check(uint64_t count, uint64_t stride_bytes, uint64_t item,
                              uint64_t element_bytes, const char *name) {
    const uint64_t each = item * element_bytes, stride = stride_bytes ? stride_bytes : each;
    uint64_t bytes = 0;
    KD_REQUIRE(stride >= each && stride % element_bytes == 0, KD_ERROR_USAGE,
               "`stride_bytes` is %llu for `%s`; it must be a multiple of %llu and at least %llu",
               (unsigned long long)stride_bytes, name, (unsigned long long)element_bytes,
               (unsigned long long)each);
    KD_REQUIRE(!__builtin_mul_overflow(count, stride, &bytes) && bytes <= INT64_MAX, KD_ERROR_USAGE,
               "%llu `%s` with a stride of %llu bytes exceed the address space",
               (unsigned long long)count, name, (unsigned long long)stride);
    return KD_OK;
}

/* Validates each device of the list and initialises the driver on the first one. */
static kd_status find_devices(const char *names) {
    device device;
    for (int i = device_list_count(names) - 1; i >= 0; --i) {
        char name[64];
        device_list_name(name, names, i);
        KD_TRY(device_find(&device, name));
    }
    if (device.kind == DEVICE_CPU) return KD_OK;
    int32_t before;
    void *memory = NULL;
    if (device_enter(device.index, &before) != KD_OK) return KD_OK; /* reported on first use */
    if (device_memory_reserve(&memory, 1) == KD_OK) device_memory_free(memory);
    device_leave(before);
    return KD_OK;
}

static void *wake(void *context) {
    context_init *init = (context_init *)context;
    init->found = find_devices(init->names);
    return NULL;
}

void context_init_begin(context_init *out, const char *names) {
    out->names = names;
    out->found = KD_OK;
    out->has_thread = threads_start(&out->thread, wake, out) == 0;
}

kd_status context_init_end(context_init *ended, job_control *job) {
    if (!ended->has_thread) return KD_OK;
    job_stage_begin(job, "context", 0);
    pthread_join(ended->thread, NULL);
    ended->has_thread = false;
    const kd_status status = ended->found == KD_OK ? KD_OK : find_devices(ended->names);
    job_stage_end(job);
    return status;
}

static void *retire(void *context) {
    const retiring *retired = (const retiring *)context;
    device device;
    for (int i = device_list_count(retired->names) - 1; i >= 0; --i) {
        char name[64];
        device_list_name(name, retired->names, i);
        if (device_find(&device, name) == KD_OK && device.kind == DEVICE_CUDA)
            device_retire(device.index);
    }
    return NULL;
}

void retiring_begin(retiring *out, const char *names) {
    if (out->has_thread) return;
    out->names = names;
    out->has_thread = threads_start(&out->thread, retire, out) == 0;
}

void retiring_end(retiring *ended) {
    if (ended->has_thread) pthread_join(ended->thread, NULL);
    ended->has_thread = false;
}
