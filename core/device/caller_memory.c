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

kd_status caller_stride_check(uint64_t count, uint64_t stride_bytes, uint64_t item,
                              uint64_t element_bytes, const char *name) {
    const uint64_t each = item * element_bytes, stride = stride_bytes ? stride_bytes : each;
    uint64_t bytes = 0;
    KD_REQUIRE(stride >= each && stride % element_bytes == 0, KD_ERROR_USAGE,
               "stride of %llu bytes between %s, expected a multiple of %llu of at least %llu",
               (unsigned long long)stride_bytes, name, (unsigned long long)element_bytes,
               (unsigned long long)each);
    KD_REQUIRE(!__builtin_mul_overflow(count, stride, &bytes) && bytes <= INT64_MAX, KD_ERROR_USAGE,
               "%llu %s with a stride of %llu bytes are more than memory can hold",
               (unsigned long long)count, name, (unsigned long long)stride);
    return KD_OK;
}
