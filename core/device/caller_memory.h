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

#ifdef __cplusplus
}
#endif
#endif
