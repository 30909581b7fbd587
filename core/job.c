#include "core/job.h"
#include <stddef.h>
#include <string.h>
#include <time.h>

double timing_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

enum { REPORT_INTERVAL_US = 100000 };

void job_init(job_control *job) {
    memset(job, 0, sizeof *job);
}

static _Thread_local job_control *current;

job_control *job_current(void) {
    return current;
}

job_control *job_make_current(job_control *job) {
    job_control *before = current;
    current = job;
    return before;
}

const void *thread_mark(void) {
    return &current;
}

static void report(job_control *job, bool always) {
    if (!job->report || (job->reporter && job->reporter != thread_mark())) return;
    const long long now = (long long)(timing_now() * 1e6);
    long long last = atomic_load(&job->reported_at);
    if (!always && (now - last < REPORT_INTERVAL_US ||
                    !atomic_compare_exchange_strong(&job->reported_at, &last, now)))
        return;
    while (atomic_exchange(&job->reporting, true)) {
        if (!always) return;
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    }
    job->report(job->context, job->stage, atomic_load(&job->done), job->total);
    atomic_store(&job->reporting, false);
}

static void stage_add(job_control *job, const char *name, double seconds) {
    int i = 0;
    while (i < job->stage_count && strcmp(job->stages[i].name, name) != 0) ++i;
    if (i == JOB_STAGES) return;
    if (i == job->stage_count) {
        job->stages[i].name = name;
        job->stages[i].seconds = 0;
        ++job->stage_count;
    }
    job->stages[i].seconds += seconds;
}

void job_stage_begin(job_control *job, const char *name, int64_t total) {
    if (!job) return;
    job_stage_end(job);
    job->stage = name;
    job->total = total;
    atomic_store(&job->done, 0);
    job->stage_started = timing_now();
    report(job, true);
}

void job_stage_end(job_control *job) {
    if (!job || !job->stage) return;
    report(job, true);
    stage_add(job, job->stage, timing_now() - job->stage_started);
    job->stage = NULL;
}

void job_advance(job_control *job, int64_t items) {
    if (!job) return;
    atomic_fetch_add(&job->done, items);
    report(job, false);
}

bool job_cancelled(const job_control *job) {
    return job && atomic_load(&job->cancelled);
}

kd_status job_check(const job_control *job) {
    KD_REQUIRE(!job_cancelled(job), KD_INTERRUPTED, "the call was cancelled");
    return KD_OK;
}

bool job_overdue(const job_control *job) {
    return job && job->deadline > 0 && timing_now() >= job->deadline;
}

double job_seconds(const job_control *job, const char *name) {
    for (int i = 0; job && i < job->stage_count; ++i)
        if (strcmp(job->stages[i].name, name) == 0) return job->stages[i].seconds;
    return 0;
}
