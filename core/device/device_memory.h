/* Memory of a CUDA device, for callers in C. In a build without CUDA every call returns
   KD_ERROR_DEVICE; freeing NULL is always valid. */
#ifndef KD_CORE_DEVICE_DEVICE_MEMORY_H
#define KD_CORE_DEVICE_DEVICE_MEMORY_H
#include "core/device/cuda_stubs.h"
#include "core/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Allocates on the current device, within the limit KANDELA_DEVICE_MEMORY (device_limit.h). The
   message of KD_ERROR_MEMORY gives the bytes requested and the bytes free. */
KD_DEVICE_CALL(device_memory_reserve, (void **pointer, uint64_t bytes));
KD_DEVICE_ANSWER(void, device_memory_free, (void *pointer), );
KD_DEVICE_CALL(device_memory_upload, (void *device_pointer, const void *host, uint64_t bytes));
KD_DEVICE_CALL(device_memory_clear, (void *device_pointer, uint64_t bytes)); /* sets to zero */
KD_DEVICE_CALL(device_memory_download, (void *host, const void *device_pointer, uint64_t bytes));
/* Returns the free memory of the current device, within that limit. */
KD_DEVICE_CALL(device_memory_free_bytes, (uint64_t * bytes));
/* Returns true for device or managed memory; false for host memory, NULL or without CUDA. */
KD_DEVICE_ANSWER(bool, device_memory_owns, (const void *pointer), false);
/* Returns the peak number of bytes allocated by device_memory_reserve and device_pool_reserve in
   this process; 0 without CUDA. */
KD_DEVICE_ANSWER(uint64_t, device_memory_peak_bytes, (void), 0);
/* Waits for all work on the current device and returns its errors. */
KD_DEVICE_CALL(device_wait, (void));

typedef struct device_buffer {
    void *memory;
    uint64_t bytes;
} device_buffer;

static inline void device_buffer_free(device_buffer *owned) { /* accepts a zeroed struct */
    device_memory_free(owned->memory);
    owned->memory = NULL;
    owned->bytes = 0;
}

/* Ensures a capacity of at least `bytes`. The contents are lost if the buffer has to grow. */
static inline kd_status device_buffer_reserve(device_buffer *buffer, uint64_t bytes) {
    if (bytes <= buffer->bytes && buffer->memory) return KD_OK;
    device_buffer_free(buffer);
    KD_TRY(device_memory_reserve(&buffer->memory, bytes));
    buffer->bytes = bytes;
    return KD_OK;
}

#ifdef __cplusplus
}
#endif

#endif
