/* A task as its caller watches it: progress goes out, cancellation comes in, and the seconds of
   each named stage stay in it. Every long-running function takes a job, or NULL. Stage names are
   those of the stats file: context load plan build hash film emit photon_tree surface render free
   develop save write. */
#ifndef KD_CORE_JOB_H
#define KD_CORE_JOB_H
#include <stdbool.h>
#include <stdint.h>
#ifndef __cplusplus
#include <stdatomic.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

double timing_now(void); /* monotonic wall-clock time in seconds */

typedef struct job job;

#ifndef __cplusplus /* C11 atomics: kernels' host code calls the functions below */
enum { JOB_STAGES = 32 };

typedef struct job_stage_record {
    const char *name; /* static string */
    double seconds;   /* summed over all its runs */
} job_stage_record;

struct job {
    /* Called from any thread, at most about ten times a second; may be NULL. */
    void (*report)(void *context, const char *stage, int64_t done, int64_t total);
    void *context;
    atomic_bool cancelled; /* set it from anywhere, a signal handler too */
    double deadline;       /* timing_now() after which work should end early; 0: none */
    job_stage_record stages[JOB_STAGES];
    int stage_count;
    /* the stage that runs */
    const char *stage;
    double stage_started;
    int64_t total;
    atomic_llong done;
    atomic_llong reported_at; /* microseconds of timing_now() */
};
#endif

void job_init(job *watched); /* zeroed: nobody listens, nothing cancelled */

/* Stages do not nest: beginning one ends the one that runs. `name` is a static string. */
void job_stage_begin(job *watched, const char *name, int64_t total);
void job_stage_end(job *watched);
void job_advance(job *watched, int64_t items); /* thread-safe */
bool job_cancelled(const job *watched);        /* false for NULL */
bool job_overdue(const job *watched);          /* past its deadline; false for NULL or none */
double job_seconds(const job *watched, const char *name); /* 0 if it never ran */

#ifdef __cplusplus
}
#endif

#endif
