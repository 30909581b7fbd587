/* Settings of CUDA for a process. For programs, before the first call of CUDA; a library must not
   use them, because they affect other code of its process. */
#ifndef KD_CORE_DEVICE_DEVICE_PROGRAM_H
#define KD_CORE_DEVICE_DEVICE_PROGRAM_H
#include "core/device/cuda_stubs.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Hides the devices behind the last one of the list from CUDA (CUDA_VISIBLE_DEVICES), because the
   driver takes tens of milliseconds to initialise each visible one. Does nothing if the list
   contains "auto", "cpu" or "cuda:all", or if the user has set the variable. */
void device_hide_others(const char *names);

/* From now on device_pool_reserve allocates by cudaMalloc: creating the pool takes 7 to 11 ms,
   which pays off only for many calls. */
KD_DEVICE_ANSWER(void, device_pool_bypass, (void), );

#ifdef __cplusplus
}
#endif

#endif
