/* Arrays that a caller of the public interface hands over: refused before they are read where that
   would end the process. */
#ifndef KD_CORE_DEVICE_CALLER_MEMORY_H
#define KD_CORE_DEVICE_CALLER_MEMORY_H
#include "core/status.h"
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct caller_array {
    const void *pointer; /* NULL is fine */
    const char *name;    /* for the message */
    uint32_t alignment;  /* bytes, a power of two */
} caller_array;

/* KD_ERROR_USAGE names the first array that is not aligned or, if the call works on the `host`, is
   memory of a CUDA device. */
kd_status caller_memory_check(const caller_array *arrays, int count, bool host);

/* KD_ERROR_USAGE if `count` items (`name`: "points") of `item` elements cannot lie stride_bytes
   from each other (0: packed): that is not whole elements, or one would lie over the next, or they
   are more bytes than any memory has. Otherwise no product of them leaves 64 bits. */
kd_status caller_stride_check(uint64_t count, uint64_t stride_bytes, uint64_t item,
                              uint64_t element_bytes, const char *name);

#ifdef __cplusplus
}
#endif
#endif
