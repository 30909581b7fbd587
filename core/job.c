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

void job_init(job *watched) {
    memset(watched, 0, sizeof *watched);
}

static void report(job *watched, bool always) {
    if (!watched->report) return;
    const long long now = (long long)(timing_now() * 1e6);
    long long last = atomic_load(&watched->reported_at);
    if (!always && (now - last < REPORT_INTERVAL_US ||
                    !atomic_compare_exchange_strong(&watched->reported_at, &last, now)))
        return;
    watched->report(watched->context, watched->stage, atomic_load(&watched->done), watched->total);
}

static void stage_add(job *watched, const char *name, double seconds) {
    int i = 0;
    while (i < watched->stage_count && strcmp(watched->stages[i].name, name) != 0) ++i;
    if (i == JOB_STAGES) return;
    if (i == watched->stage_count) {
        watched->stages[i].name = name;
        watched->stages[i].seconds = 0;
        ++watched->stage_count;
    }
    watched->stages[i].seconds += seconds;
}

void job_stage_begin(job *watched, const char *name, int64_t total) {
    if (!watched) return;
    job_stage_end(watched);
    watched->stage = name;
    watched->total = total;
    atomic_store(&watched->done, 0);
    watched->stage_started = timing_now();
    report(watched, true);
}

void job_stage_end(job *watched) {
    if (!watched || !watched->stage) return;
    report(watched, true);
    stage_add(watched, watched->stage, timing_now() - watched->stage_started);
    watched->stage = NULL;
}

void job_advance(job *watched, int64_t items) {
    if (!watched) return;
    atomic_fetch_add(&watched->done, items);
    report(watched, false);
}

bool job_cancelled(const job *watched) {
    return watched && atomic_load(&watched->cancelled);
}

bool job_overdue(const job *watched) {
    return watched && watched->deadline > 0 && timing_now() >= watched->deadline;
}

double job_seconds(const job *watched, const char *name) {
    for (int i = 0; watched && i < watched->stage_count; ++i)
        if (strcmp(watched->stages[i].name, name) == 0) return watched->stages[i].seconds;
    return 0;
}
