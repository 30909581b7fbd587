/* Parallel loops over all cores. A loop body must give the same result for any number of threads
   and any order of the pieces. */
#ifndef KD_CORE_PARALLEL_PARALLEL_H
#define KD_CORE_PARALLEL_PARALLEL_H
#include "core/status.h"
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A loop uses at most this many threads, and at most PARALLEL_EACH per core. */
enum { PARALLEL_THREADS_MAX = 1024, PARALLEL_EACH = 8 };

/* Sets the number of threads of the process from the next loop on. Thread-safe. 0 or less selects
   the default: the first number in OMP_NUM_THREADS, else cores_count(). A number above the limits
   is clamped, with one warning per process. */
void parallel_set_threads(int threads);
int parallel_threads(void); /* returns 1 to PARALLEL_THREADS_MAX */
/* Sets the number of threads of the calling thread's loops; 0 changes nothing. Returns the number
   before (0: that of the process), for parallel_unlimit, which restores it. */
int parallel_limit(int threads);
void parallel_unlimit(const int *before);
#define KD_PARALLEL_LIMIT(threads)                                                                 \
    __attribute__((cleanup(parallel_unlimit), unused)) const int kd_limit_before =                 \
        parallel_limit(threads)

/* Processes items [begin, end). `thread` identifies the executing thread: it is below
   PARALLEL_THREADS_MAX and unique among the threads that execute the same loop concurrently. It may
   exceed parallel_threads(), which can change during a loop. */
typedef void (*parallel_body)(void *context, int64_t begin, int64_t end, int thread);

/* Calls `body` for [0, count) in pieces of at most `grain` items, which are scheduled dynamically;
   the calling thread participates. A nested loop runs serially on its thread. Thread-safe:
   concurrent callers share the pool's idle workers. After a fork the child creates new workers. */
void parallel_for(int64_t count, int64_t grain, parallel_body body, void *context);

/* As parallel_for, for a stage of the call: reports the items as progress, and begins no further
   pieces once the call's job is cancelled; then returns KD_INTERRUPTED. `stage` is static. */
kd_status parallel_for_stage(const char *stage, int64_t count, int64_t grain, parallel_body body,
                             void *context);

/* Returns the number of cores that this process may use, at least 1: those of its affinity mask, or
   fewer if its control group (cgroup v2) has a smaller CPU quota. Determined once per process. */
int cores_count(void);

#ifdef __cplusplus
}
#endif

#endif
