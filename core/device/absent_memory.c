/* The build without CUDA: there is no device memory. */
#include "core/device/device_memory.h"
#ifndef KD_HAVE_CUDA
#include <stddef.h>

static kd_status no_cuda(void) {
    return status_fail(KD_ERROR_DEVICE, __FILE__, __LINE__, "this build has no CUDA");
}

kd_status device_memory_free_bytes(uint64_t *bytes) {
    *bytes = 0;
    return no_cuda();
}

kd_status device_memory_reserve(void **pointer, uint64_t bytes) {
    (void)bytes;
    *pointer = NULL;
    return no_cuda();
}

uint64_t device_memory_peak_bytes(void) {
    return 0;
}

void device_memory_free(void *pointer) {
    (void)pointer;
}

kd_status device_memory_upload(void *device_pointer, const void *host, uint64_t bytes) {
    (void)device_pointer, (void)host, (void)bytes;
    return no_cuda();
}

kd_status device_memory_clear(void *device_pointer, uint64_t bytes) {
    (void)device_pointer, (void)bytes;
    return no_cuda();
}

kd_status device_memory_download(void *host, const void *device_pointer, uint64_t bytes) {
    (void)host, (void)device_pointer, (void)bytes;
    return no_cuda();
}

bool device_memory_owns(const void *pointer) {
    (void)pointer;
    return false;
}

kd_status device_wait(void) {
    return no_cuda();
}
#endif
