/* All cores for one loop. Bodies must give the same result for any thread count and any order. */
#ifndef KD_CORE_PARALLEL_H
#define KD_CORE_PARALLEL_H
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* 0 takes what OpenMP offers (OMP_NUM_THREADS, else all cores). Process-wide. */
void parallel_set_threads(int threads);
int parallel_threads(void);

/* Works on items [begin, end); `thread` < parallel_threads() picks scratch memory. */
typedef void (*parallel_body)(void *context, int64_t begin, int64_t end, int thread);

/* Calls the body for [0, count) in pieces of at most `grain` items, handed out as threads come
 * free. */
void parallel_for(int64_t count, int64_t grain, parallel_body body, void *context);

#ifdef __cplusplus
}
#endif
#endif
