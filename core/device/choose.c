#include "core/device/choose.h"
#include "core/device/device.h"
#include "core/device/device_stream.h"
#include "core/names.h"

kd_status device_choose(int32_t *out, const char *name, const void *memory, uint64_t items,
                        bool able) {
    *out = -1;
    if (name_is_auto(name)) {
        if (device_cuda_count() == 0 || !able) return KD_OK;
        *out = device_of_pointer(memory);
        if (*out < 0 && items >= DEVICE_ITEMS_LEAST) *out = 0;
        return KD_OK;
    }
    device found;
    KD_TRY(device_find(&found, name));
    if (found.kind == DEVICE_CUDA) *out = found.index;
    return KD_OK;
}

bool device_retreats(const char *name, kd_status failure, const void *memory) {
    return name_is_auto(name) && (failure == KD_ERROR_MEMORY || failure == KD_ERROR_DEVICE) &&
           device_of_pointer(memory) < 0;
}
