#include "core/parallel/call.h"
#include "core/parallel/parallel.h"
#include "core/version.h"
#include <string.h>

/* The calling thread's kd_call_set, and the number of public functions that it is in. */
static _Thread_local struct {
    int32_t threads;
    int depth;
    kd_progress progress;
    void *context;
} settings;

void kd_call_default_sized(kd_call *call, size_t struct_size) {
    kd_call defaults;
    memset(&defaults, 0, sizeof defaults);
    sized_give(call, struct_size, &defaults, sizeof defaults);
}

kd_status call_check_threads(int32_t threads) {
    KD_REQUIRE(threads >= 0, KD_ERROR_USAGE, "`threads` is %d; expected 0 or more", threads);
    return KD_OK;
}

kd_status kd_call_set(const kd_call *call) {
    kd_call taken;
    kd_call_default(&taken);
    if (call) KD_TRY(sized_take(&taken, sizeof taken, call, "kd_call_default"));
    KD_TRY(call_check_threads(taken.threads));
    settings.threads = taken.threads;
    settings.progress = taken.progress;
    settings.context = taken.context;
    return KD_OK;
}

/* Calls the callback. Calls that it makes have neither the job nor the settings of this one. */
static void report(void *context, const char *stage, int64_t done, int64_t total) {
    call_scope *scope = (call_scope *)context;
    job_control *job = job_make_current(NULL);
    ++settings.depth;
    if (scope->progress(scope->context, stage, done < total ? done : total, total))
        atomic_store(&scope->job.cancelled, true);
    --settings.depth;
    job_make_current(job);
}

static void listen(call_scope *scope, const void *reporter) {
    scope->job.report = report;
    scope->job.context = scope;
    scope->job.reporter = reporter;
}

void call_enter(call_scope *scope, int32_t threads) {
    static const int none = 0;
    scope->outermost = settings.depth++ == 0;
    scope->job_before = job_current();
    scope->progress = NULL;
    if (!scope->outermost) return;
    scope->threads_before = parallel_limit(0);
    parallel_unlimit(&none);
    call_set_threads(scope, threads);
    status_begin();
    job_make_current(NULL);
    if (!settings.progress) return;
    scope->progress = settings.progress;
    scope->context = settings.context;
    job_init(&scope->job);
    listen(scope, thread_mark());
    job_make_current(&scope->job);
}

void call_set_threads(const call_scope *scope, int32_t threads) {
    if (scope->outermost) parallel_limit(settings.threads ? settings.threads : threads);
}

job_control *call_listen(call_scope *scope, kd_progress progress, void *context) {
    job_init(&scope->job);
    if (progress) {
        scope->progress = progress;
        scope->context = context;
    }
    if (scope->progress) listen(scope, NULL);
    job_make_current(NULL); /* only functions that are given the job may end early */
    return &scope->job;
}

void call_leave(const call_scope *scope) {
    --settings.depth;
    job_make_current(scope->job_before);
    if (!scope->outermost) return;
    parallel_unlimit(&scope->threads_before);
    status_end();
}
