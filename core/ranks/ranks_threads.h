/* Ranks that are threads of one process: each has a device of its own, for example. */
#ifndef KD_CORE_RANKS_RANKS_THREADS_H
#define KD_CORE_RANKS_RANKS_THREADS_H
#include "core/ranks/ranks.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Runs `body` as ranks 0 .. size - 1, rank 0 in the caller's thread, and waits for all. The status
   is that of the first rank to fail (its message becomes the caller's), which makes the others'
   calls fail. */
typedef kd_status (*ranks_body)(void *context, ranks *among);
kd_status ranks_threads_run(int32_t size, ranks_body body, void *context);

#ifdef __cplusplus
}
#endif
#endif
