/* Accounting of the memory that this process holds on CUDA devices, pools included, and its limit:
   if the environment variable KANDELA_DEVICE_MEMORY is set to a size such as 600M, this process
   holds at most as much memory of each device, and device_memory_free_bytes reports what is left
   of it. For the allocators of this directory. */
#ifndef KD_CORE_DEVICE_DEVICE_LIMIT_H
#define KD_CORE_DEVICE_DEVICE_LIMIT_H
#include "core/status.h"
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Counts `bytes` as held by the current device, unless they exceed the limit (*fits). Must then be
   followed by device_limit_note with the memory, NULL if it could not be allocated. */
kd_status device_limit_admit(uint64_t bytes, bool *fits, int32_t *device);
void device_limit_note(void *at, uint64_t bytes, int32_t device);
/* Must be called before the memory is freed. */
void device_limit_forget(void *at);
/* Returns KD_ERROR_MEMORY with the bytes needed and the bytes free. */
kd_status device_limit_lacks(uint64_t bytes);

#ifdef __cplusplus
}
#endif

#endif
