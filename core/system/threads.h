/* What the pool asks of a system beyond pthreads: a mutex that is tried for a while, forks,
 * signals. */
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
/* Threads that are started in between take no signals, but for those that they raise by a fault. */
void threads_signals_block(void);
void threads_signals_restore(void);
/* Ends this process, of which only a worker is left, without a word. */
void threads_process_end(void);
/* Whether threads can be waited for when the library is unloaded: not on Windows, where they are
   gone by then or wait for the unloading themselves. */
bool threads_outlast_library(void);

#ifdef __cplusplus
}
#endif
#endif
