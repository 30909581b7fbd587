/* Properties of the machine (cores, memory), memory pages, and what pthreads lack: threads with a
   defined stack size and blocked signals, a briefly spinning mutex, fork handlers. Each header of
   this directory has one implementation for POSIX systems and one for Windows. */
#ifndef KD_CORE_SYSTEM_MACHINE_H
#define KD_CORE_SYSTEM_MACHINE_H
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

int machine_cores(void);           /* cores that this process may use; at least 1 */
int machine_cores_online(void);    /* cores of the machine; 0: unknown */
uint64_t machine_bytes(void);      /* physical memory in bytes; 0: unknown */
uint64_t machine_peak_bytes(void); /* peak resident memory of this process in bytes; 0: unknown */

/* Allocates `bytes` (a multiple of `alignment`, a power of two), to be freed with
   machine_memory_free. Returns NULL on failure. */
void *machine_memory(size_t alignment, size_t bytes);
void machine_memory_free(void *memory); /* accepts NULL */

/* Advise the system about the whole pages of [begin, begin + bytes): machine_pages_drop releases
   them, which discards their contents; machine_pages_large requests large pages. */
void machine_pages_drop(const void *begin, size_t bytes);
void machine_pages_large(void *begin, size_t bytes);

/* Initialiser for mutexes held for a few hundred instructions: a waiting thread spins for a while
   before it sleeps, where the system supports that. */
#ifdef PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP
#define THREADS_MUTEX PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP
#else
#define THREADS_MUTEX PTHREAD_MUTEX_INITIALIZER
#endif

/* Registers handlers for fork. Returns false if they could not be registered; returns true on
   systems without fork. */
bool threads_at_fork(void (*before)(void), void (*after)(void), void (*in_child)(void));
/* Starts a thread with a stack of 8 MB, regardless of the process's stack limit. The thread blocks
   all signals except those raised by its own faults. Returns 0 or the error of pthread_create. */
int threads_start(pthread_t *out, void *(*run)(void *), void *context);
/* Ends a forked child whose only thread is a worker, without running exit handlers. */
void threads_process_end(void);
/* Returns true if threads can be joined while the library is unloaded. False on Windows, where they
   have already ended or wait for the unloading themselves. */
bool threads_outlast_library(void);

#ifdef __cplusplus
}
#endif

#endif
