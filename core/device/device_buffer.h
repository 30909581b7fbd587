/* Memory of the current CUDA device that is kept from call to call and only ever grows. */
#ifndef KD_CORE_DEVICE_DEVICE_BUFFER_H
#define KD_CORE_DEVICE_DEVICE_BUFFER_H
#include "core/device/device_memory.h"
#include <stddef.h>

typedef struct device_buffer {
    void *memory;
    uint64_t bytes;
} device_buffer;

static inline void device_buffer_free(device_buffer *owned) { /* takes a zeroed one */
    device_memory_free(owned->memory);
    owned->memory = NULL;
    owned->bytes = 0;
}

/* Room for at least so many bytes; what was in it is lost if it has to grow. */
static inline kd_status device_buffer_reserve(device_buffer *buffer, uint64_t bytes) {
    if (bytes <= buffer->bytes && buffer->memory) return KD_OK;
    device_buffer_free(buffer);
    KD_TRY(device_memory_reserve(&buffer->memory, bytes));
    buffer->bytes = bytes;
    return KD_OK;
}

#endif
