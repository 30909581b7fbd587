/* The build without CUDA: there is no device to work on. */
#include "core/device/device_stream.h"
#ifndef KD_HAVE_CUDA
#include <stddef.h>

static kd_status no_cuda(void) {
    return status_fail(KD_ERROR_DEVICE, __FILE__, __LINE__, "this build has no CUDA");
}

kd_status device_enter(int32_t index, int32_t *previous) {
    (void)index;
    *previous = 0;
    return no_cuda();
}

void device_leave(int32_t previous) {
    (void)previous;
}

bool device_in_use(void) {
    return false;
}

int32_t device_of_pointer(const void *pointer) {
    (void)pointer;
    return -1;
}

kd_status device_pool_reserve(void **out, uint64_t bytes, void *stream) {
    (void)bytes, (void)stream;
    *out = NULL;
    return no_cuda();
}

kd_status device_pool_trim(void) {
    return no_cuda();
}

void device_pool_release(void *pointer, void *stream) {
    (void)pointer, (void)stream;
}

kd_status device_copy(void *to, const void *from, uint64_t bytes, void *stream) {
    (void)to, (void)from, (void)bytes, (void)stream;
    return no_cuda();
}

kd_status device_stream_wait(void *stream) {
    (void)stream;
    return no_cuda();
}
#endif
