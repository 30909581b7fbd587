/* All cores for one loop. Bodies must give the same result for any thread count and any order. */
#ifndef KD_CORE_PARALLEL_PARALLEL_H
#define KD_CORE_PARALLEL_PARALLEL_H
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* No loop has more threads than this, nor more than PARALLEL_EACH for each core. */
enum { PARALLEL_THREADS_MAX = 1024, PARALLEL_EACH = 8 };

/* Process-wide, from the next loop on; any thread may call it at any time. 0 and less: the first
   number in OMP_NUM_THREADS, else all cores that the process may use (its affinity mask, the quota
   of its control group). What is above the limits becomes the limit, which is said once. */
void parallel_set_threads(int threads);
int parallel_threads(void); /* 1 .. PARALLEL_THREADS_MAX */

/* Works on items [begin, end). `thread` is one number for each of the threads that work at one loop
   at the same time, less than PARALLEL_THREADS_MAX; parallel_threads() may change meanwhile. */
typedef void (*parallel_body)(void *context, int64_t begin, int64_t end, int thread);

/* Calls the body for [0, count) in pieces of at most `grain` items, handed out as threads come
   free; the caller is one of them. A loop inside a body is done by that body's thread alone.
   Several threads may call at once: each works at its own loop, helped by what workers are idle.
   After a fork the child has workers of its own. */
void parallel_for(int64_t count, int64_t grain, parallel_body body, void *context);

/* The cores that this process may use: those of its affinity mask, or fewer where its control group
   (version 2) grants less time; at least 1. Determined once. */
int cores_count(void);

#ifdef __cplusplus
}
#endif

#endif
