/* For .cu files: a device that is the current one, and memory of its pool, for as long as a
   variable lives. */
#ifndef KD_CORE_DEVICE_BORROWED_CUH
#define KD_CORE_DEVICE_BORROWED_CUH
#include "core/device/device_stream.h"

/* The thread's current device; the one before is it again in the end. */
struct entered {
    int32_t previous = 0;
    bool in = false;
    ~entered() {
        if (in) device_leave(previous);
    }
    kd_status enter(int32_t device) {
        KD_TRY(device_enter(device, &previous));
        in = true;
        return KD_OK;
    }
};

/* Of the current device, which is it again when this ends; on the default stream. */
struct borrowed {
    void *memory = NULL;
    ~borrowed() { device_pool_release(memory, NULL); }
    kd_status take(uint64_t bytes) { return device_pool_reserve(&memory, bytes ? bytes : 1, NULL); }
    template <class T> T *as() const { return (T *)memory; }
};

#endif
