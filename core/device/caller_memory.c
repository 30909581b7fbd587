#include "core/device/caller_memory.h"
#include "core/device/device_stream.h"

kd_status caller_memory_check(const caller_array *arrays, int count, bool host) {
    const bool ask = host && device_in_use();
    for (int i = 0; i < count; ++i) {
        const caller_array *a = &arrays[i];
        KD_REQUIRE((uintptr_t)a->pointer % a->alignment == 0, KD_ERROR_USAGE,
                   "%s at %p, expected them aligned to %u bytes", a->name, a->pointer,
                   a->alignment);
        if (!a->pointer || !ask) continue;
        const int32_t device = device_of_pointer(a->pointer);
        KD_REQUIRE(device < 0, KD_ERROR_USAGE,
                   "%s at %p is memory of cuda:%d, expected host memory: the tree is on the CPU",
                   a->name, a->pointer, device);
    }
    return KD_OK;
}
