/* What is asked of a system beyond pthreads: threads with a known stack and no signals, a mutex
   that is tried for a while, forks. */
#ifndef KD_CORE_SYSTEM_THREADS_H
#define KD_CORE_SYSTEM_THREADS_H
#include <pthread.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Held for some hundred instructions: who finds it locked tries again for a while, where that is
 * offered. */
#ifdef PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP
#define THREADS_MUTEX PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP
#else
#define THREADS_MUTEX PTHREAD_MUTEX_INITIALIZER
#endif

/* False if a child that is forked would not be told; true where there are no forks. */
bool threads_at_fork(void (*before)(void), void (*after)(void), void (*in_child)(void));
/* Starts a thread with a stack of 8 MB, whatever the process's limit of stacks is, which takes no
   signals but those that it raises by a fault. 0, or what pthread_create says. */
int threads_start(pthread_t *out, void *(*run)(void *), void *context);
/* Ends this process, of which only a worker is left, without a word. */
void threads_process_end(void);
/* Whether threads can be waited for when the library is unloaded: not on Windows, where they are
   gone by then or wait for the unloading themselves. */
bool threads_outlast_library(void);

#ifdef __cplusplus
}
#endif
#endif
