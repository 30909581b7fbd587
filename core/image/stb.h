/* stb_image and stb_image_write in memory that can run out: stb does not look at every answer of
   its allocator, and a file may make it ask for any amount. Within stb_run an allocation that
   fails, or goes beyond a budget, ends the run, and everything that it holds is freed. */
#ifndef KD_CORE_IMAGE_STB_H
#define KD_CORE_IMAGE_STB_H
#include "core/status.h"
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define STB_UNLIMITED UINT64_MAX

/* Calls work(context), which calls stb and holds nothing of its own that would be lost if it does
   not come back. KD_ERROR_MEMORY if there was none; KD_ERROR_INPUT beyond `budget` bytes at once.
   `path` is for messages. Runs are not nested; each thread has its own. */
kd_status stb_run(void (*work)(void *context), void *context, uint64_t budget, const char *path);

/* Within a run: this block of stb's outlives it; to be freed by stbi_image_free. */
void stb_keep(void *block);

#ifdef __cplusplus
}
#endif
#endif
