#include "core/device/waking.h"
#include "core/device/device.h"
#include "core/device/device_memory.h"
#include "core/device/device_stream.h"
#include "core/system/threads.h"

/* Each device that was asked for; the first one's driver starts. */
static kd_status find_devices(const char *names) {
    device where;
    for (int i = device_list_count(names) - 1; i >= 0; --i) {
        char name[64];
        device_list_name(name, names, i);
        KD_TRY(device_find(&where, name));
    }
    if (where.kind == DEVICE_CPU) return KD_OK;
    int32_t before;
    void *memory = NULL;
    if (device_enter(where.index, &before) != KD_OK) return KD_OK; /* said where it is used */
    if (device_memory_reserve(&memory, 1) == KD_OK) device_memory_free(memory);
    device_leave(before);
    return KD_OK;
}

static void *wake(void *context) {
    waking *of = (waking *)context;
    of->found = find_devices(of->names);
    return NULL;
}

void waking_begin(waking *out, const char *names) {
    out->names = names;
    out->found = KD_OK;
    out->has_thread = threads_start(&out->thread, wake, out) == 0;
}

kd_status waking_end(waking *ended, job *watched) {
    if (!ended->has_thread) return KD_OK;
    job_stage_begin(watched, "context", 0);
    pthread_join(ended->thread, NULL);
    ended->has_thread = false;
    const kd_status status = ended->found == KD_OK ? KD_OK : find_devices(ended->names);
    job_stage_end(watched);
    return status;
}

static void *retire(void *context) {
    const retiring *of = (const retiring *)context;
    device where;
    for (int i = device_list_count(of->names) - 1; i >= 0; --i) {
        char name[64];
        device_list_name(name, of->names, i);
        if (device_find(&where, name) == KD_OK && where.kind == DEVICE_CUDA)
            device_retire(where.index);
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
