#include "accel/device_call.h"
#include "core/device/device_memory.h"
#include "core/device/device_stream.h"
#include <assert.h>
#include <string.h>

kd_status device_call_begin(device_call *call, int32_t device, void *stream) {
    memset(call, 0, sizeof *call);
    call->device = device;
    call->stream = stream;
    return device_enter(device, &call->previous);
}

kd_status device_call_take(device_call *call, void **out, uint64_t bytes) {
    assert(call->taken_count < DEVICE_CALL_TAKEN);
    KD_TRY(device_pool_reserve(out, bytes, call->stream));
    call->taken[call->taken_count++] = *out;
    return KD_OK;
}

void device_call_release(device_call *call) {
    while (call->taken_count > 0)
        device_pool_release(call->taken[--call->taken_count], call->stream);
    call->back_count = 0;
}

kd_status device_call_input(device_call *call, const void **out, const void *data, uint64_t bytes) {
    *out = data;
    if (!data || bytes == 0 || device_of_pointer(data) == call->device) return KD_OK;
    void *copy = NULL;
    KD_TRY(device_call_take(call, &copy, bytes));
    *out = copy;
    return device_copy(copy, data, bytes, call->stream);
}

kd_status device_call_output(device_call *call, void **out, void *target, uint64_t bytes) {
    *out = target;
    if (!target || bytes == 0 || device_of_pointer(target) == call->device) return KD_OK;
    assert(call->back_count < DEVICE_CALL_BACK);
    KD_TRY(device_call_take(call, out, bytes));
    call->back[call->back_count].to = target;
    call->back[call->back_count].from = *out;
    call->back[call->back_count++].bytes = bytes;
    return KD_OK;
}

kd_status device_call_give_back(device_call *call) {
    for (int i = 0; i < call->back_count; ++i)
        KD_TRY(
            device_copy(call->back[i].to, call->back[i].from, call->back[i].bytes, call->stream));
    return KD_OK;
}
