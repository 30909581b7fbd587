/* Memory limits for stb_image and stb_image_write, which do not check every allocation and may be
   made to request any amount by a malicious file. Within stb_run an allocation that fails or
   exceeds a budget aborts the run and frees everything allocated in it. */
#ifndef KD_CORE_IMAGE_STB_H
#define KD_CORE_IMAGE_STB_H
#include "core/status.h"
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define STB_UNLIMITED UINT64_MAX

/* Calls work(context), which calls stb and must not hold resources of its own, because an aborted
   run does not return to it (longjmp). Returns KD_ERROR_MEMORY if memory is exhausted,
   KD_ERROR_INPUT if more than `budget` bytes are in use at once; messages begin with `path`. Runs
   are per thread and must not be nested. */
kd_status stb_run(void (*work)(void *context), void *context, uint64_t budget, const char *path);

/* Excludes a block from the cleanup of the current run. The caller frees it with
   stbi_image_free. */
void stb_keep(void *block);

#ifdef __cplusplus
}
#endif
#endif
