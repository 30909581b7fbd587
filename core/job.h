/* Progress, cancellation and timing of a long-running call. Every long-running function takes a
   job, or NULL. The job reports progress to its owner, receives the cancellation request, and
   accumulates the seconds of each named stage. Stage names are those of the stats file: context,
   load, plan, build, hash, film, emit, photon_tree, surface, render, free, develop, save, write. */
#ifndef KD_CORE_JOB_H
#define KD_CORE_JOB_H
#include "core/status.h"
#include <stdbool.h>
#include <stdint.h>
#ifndef __cplusplus
#include <stdatomic.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Returns monotonic wall-clock time in seconds. */
double timing_now(void);

typedef struct job_control job_control;

#ifndef __cplusplus /* C11 atomics: .cu files call the functions below */
enum { JOB_STAGES = 32 };

typedef struct job_stage_record {
    const char *name; /* static string */
    double seconds;   /* total of all runs of the stage */
} job_stage_record;

struct job_control {
    /* Progress callback, at most about ten times a second; may be NULL. Called by the thread
       `reporter` (thread_mark) only, or, if that is NULL, by any thread, one at a time. */
    const void *reporter;
    void (*report)(void *context, const char *stage, int64_t done, int64_t total);
    void *context;
    atomic_bool cancelled; /* may be set from any thread or from a signal handler */
    double deadline;       /* timing_now() at which work should end early; 0: no deadline */
    job_stage_record stages[JOB_STAGES];
    int stage_count;
    /* the current stage */
    const char *stage;
    double stage_started;
    int64_t total;
    atomic_llong done;
    atomic_bool reporting;    /* a thread is in `report` */
    atomic_llong reported_at; /* time of the last report, in microseconds of timing_now() */
};
#endif

/* Zeroes the job: no callback, no deadline, not cancelled. */
void job_init(job_control *job);

/* The job of the public call (core/parallel/call.h) that this thread makes or works for
   (parallel_for), or NULL. Public functions pass it on. job_make_current returns the one before. */
job_control *job_current(void);
job_control *job_make_current(job_control *job);
const void *thread_mark(void); /* an address that no other running thread returns */

/* The functions below accept NULL: no progress is reported and nothing is cancelled. */

/* Begins a stage. Stages do not nest: beginning one ends the current one. `name` must be a static
   string; `total` is the number of items that job_advance will count. */
void job_stage_begin(job_control *job, const char *name, int64_t total);
void job_stage_end(job_control *job);
void job_advance(job_control *job, int64_t items); /* thread-safe */
bool job_cancelled(const job_control *job);
/* Returns KD_INTERRUPTED if the job is cancelled. */
kd_status job_check(const job_control *job);
bool job_overdue(const job_control *job); /* returns false without a deadline, and for NULL */
/* Returns the total of all runs of the stage in seconds; 0 if it never ran. */
double job_seconds(const job_control *job, const char *name);

#ifdef __cplusplus
}
#endif

#endif
