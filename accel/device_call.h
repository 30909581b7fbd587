/* A call of the public interface on a CUDA device: the caller's arrays in device memory, and
   results copied back to the host. */
#ifndef KD_ACCEL_DEVICE_CALL_H
#define KD_ACCEL_DEVICE_CALL_H
#include "core/status.h"
#include <stdint.h>

enum { DEVICE_CALL_TAKEN = 20, DEVICE_CALL_BACK = 6 };

/* Work on one stream: temporary memory from the device's pool, and copies back to the host at the
   end. */
typedef struct device_call {
    int32_t device, previous;
    void *stream;
    void *taken[DEVICE_CALL_TAKEN];
    int taken_count;
    struct {
        void *to, *from;
        uint64_t bytes;
    } back[DEVICE_CALL_BACK];
    int back_count;
} device_call;

/* Makes the device current; the caller ends the call by device_leave(call->previous). */
kd_status device_call_begin(device_call *call, int32_t device, void *stream);
/* Reserves memory until device_call_release. */
kd_status device_call_take(device_call *call, void **out, uint64_t bytes);
void device_call_release(device_call *call);

/* Returns the caller's array in device memory; copies it if necessary. */
kd_status device_call_input(device_call *call, const void **out, const void *data, uint64_t bytes);
/* Returns device memory for a result that the caller wants; registers the copy back if
   necessary. */
kd_status device_call_output(device_call *call, void **out, void *target, uint64_t bytes);
/* Enqueues the copies back to the host. */
kd_status device_call_give_back(device_call *call);

#endif
