/* The machine: its cores and memory, pages of memory, and what pthreads do not offer: threads with
   a known stack and no signals, a mutex that spins briefly, fork handlers. Each header of this
   directory has one implementation for POSIX systems and one for Windows. */
#ifndef KD_CORE_SYSTEM_MACHINE_H
#define KD_CORE_SYSTEM_MACHINE_H
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

int machine_cores(void);           /* that this process may use; at least 1 */
int machine_cores_online(void);    /* that there are; 0: not known */
uint64_t machine_bytes(void);      /* of memory; 0: not known */
uint64_t machine_peak_bytes(void); /* the most that this process had at once; 0: not known */

/* `bytes` (a multiple of `alignment`, a power of two) to machine_memory_free; NULL if there are
 * none. */
void *machine_memory(size_t alignment, size_t bytes);
void machine_memory_free(void *memory); /* takes NULL */

/* Advice for whole pages of [begin, begin + bytes): they are given back, and what they held with
   them; they had better be large ones. */
void machine_pages_drop(const void *begin, size_t bytes);
void machine_pages_large(void *begin, size_t bytes);

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
