#include "core/device/device.h"
#include "core/log.h"
#include "core/names.h"
#include "core/parallel/parallel.h"
#include "core/system/machine.h"
#include "core/system/place.h"
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

enum { CAPABILITY_LEAST = 75 };

const char *device_code_lacks(const char *code, int capability) {
    if (capability < CAPABILITY_LEAST) return "7.5 or later is needed";
    const char *at = code;
    while (*at) {
        char *end;
        const int of = (int)strtol(at, &end, 10);
        if (end == at) break;
        const bool later = *end == '+';
        if (of <= capability && (later || of / 10 == capability / 10)) return NULL;
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

bool device_card_is_there(const char *root) {
    return exists(root, "/proc/driver/nvidia/version") || exists(root, "/dev/nvidia0") ||
           exists(root, "/dev/dxg"); /* the last one: Windows' subsystem for Linux */
}

/* "auto" without a CUDA device that can be used; `why` is the first one's fault, or empty. */
static void tell_retreat(const char *why) {
    static atomic_flag told = ATOMIC_FLAG_INIT;
    if (!*why && !device_card_is_there("")) return;
    if (atomic_flag_test_and_set(&told)) return;
    if (!*why) why = device_cuda_fault();
    log_message(LOG_WARNING, "on the CPU: %s%s", *why ? why : "CUDA finds no device",
                device_card_is_there("") ? ", though an NVIDIA card is there" : "");
}

static void find_any(device *out) {
    char why[512] = "";
    const int count = device_cuda_count();
    for (int i = 0; i < count; ++i) {
        if (device_cuda_describe(out, i) == KD_OK) return;
        if (i == 0) snprintf(why, sizeof why, "%s", kd_last_error());
        status_clear();
    }
    tell_retreat(why);
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
               KD_ERROR_DEVICE, "unknown device \"%s\", expected auto, cpu or cuda:N", name);
    char *end = NULL;
    const long index = name[4] ? strtol(name + 5, &end, 10) : 0;
    KD_REQUIRE(!name[4] || (name[5] && *end == '\0'), KD_ERROR_DEVICE,
               "unknown device \"%s\", expected auto, cpu or cuda:N", name);
    KD_REQUIRE(device_cuda_compiled(), KD_ERROR_DEVICE,
               "device \"%s\" is absent: this build has no CUDA", name);
    const int count = device_cuda_count();
    KD_REQUIRE(index >= 0 && index < count, KD_ERROR_DEVICE,
               "device \"%s\" is absent: this machine has %d CUDA devices", name, count);
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
