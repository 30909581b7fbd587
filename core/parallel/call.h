/* The settings of public calls (<kandela/control.h>): each public function that returns a status
   begins with KD_CALL, which applies them until it returns. */
#ifndef KD_CORE_PARALLEL_CALL_H
#define KD_CORE_PARALLEL_CALL_H
#include "core/job.h"
#include <kandela/control.h>

typedef struct call_scope {
    bool outermost; /* the function was not called by another public function */
    int threads_before;
    job_control *job_before;
    kd_progress progress;
    void *context;
    job_control job;
} call_scope;

/* `threads`: those of the tree's options; 0: none. */
void call_enter(call_scope *scope, int32_t threads);
void call_leave(const call_scope *scope);
#define KD_CALL(threads)                                                                           \
    __attribute__((cleanup(call_leave))) call_scope kd_call_scope;                                 \
    call_enter(&kd_call_scope, (threads))

/* Applies the number of threads of options, which are known after KD_CALL. */
void call_set_threads(const call_scope *scope, int32_t threads);
kd_status call_check_threads(int32_t threads); /* KD_ERROR_USAGE if negative */

/* Replaces the thread's progress callback by an argument of the call unless that is NULL. Any
   thread may report. Returns the job of the call. */
job_control *call_listen(call_scope *scope, kd_progress progress, void *context);

#endif
