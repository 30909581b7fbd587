/* Threads that wait for work, shared by all callers of the process: started when they are first
   wanted, asleep when there is nothing to do.
   Idea: whoever has pieces to do opens a list of them on its own stack and does them itself;
   workers that are idle take pieces from it, too. So nobody waits for a worker that has not come:
   where cores are busy with another process, the caller does what would have been the worker's. A
   worker that finds nothing looks again for some microseconds, for the next loop often follows at
   once, and then sleeps. */
#ifndef KD_CORE_PARALLEL_WORKERS_H
#define KD_CORE_PARALLEL_WORKERS_H
#include <stdbool.h>
#include <stdint.h>

/* Does run(context, piece, thread) for [0, pieces) on at most `threads` threads, and returns when
   all are done. `thread` is the number of the caller's own or of a worker's within this call: 0 up
   to threads - 1. Not for use inside of run: see workers_inside. */
void workers_run(int64_t pieces, int threads, void (*run)(void *context, int64_t piece, int thread),
                 void *context);

/* Whether this thread is within a call of run, and then its number there, else 0. */
bool workers_inside(void);
int workers_thread(void);

#endif
