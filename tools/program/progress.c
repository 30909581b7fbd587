/* Progress display and signal handling. */
#include "tools/program/progress.h"
#include "core/job.h"
#include "core/system/paths.h"
#include "core/system/process.h"
#include "distributed/ranks/ranks.h"
#include "tools/program/command.h"
#include <kandela/status.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATIENCE = 1 /* seconds */ };

static job_control *interrupted;
static bool keeps_results;
static volatile sig_atomic_t signals;

/* Returns true for stages before which there is no result to save. */
static bool stage_is_preparation(const char *stage) {
    static const char *const preparations[] = {"context", "load", "plan", "build", "hash"};
    for (size_t i = 0; stage && i < sizeof preparations / sizeof *preparations; ++i)
        if (strcmp(stage, preparations[i]) == 0) return true;
    return false;
}

/* Exits if a decoder or a builder does not check for cancellation and there is no result to
   save. */
static void exit_silently(int number) {
    (void)number;
    if (!keeps_results || stage_is_preparation(interrupted->stage)) signals_leave(KD_INTERRUPTED);
}

static void cancel(int number) {
    if (signals++) signals_leave(128 + number);
    atomic_store(&interrupted->cancelled, true);
    signals_after(PATIENCE, exit_silently);
}

void interrupt_watch(job_control *job, bool keep) {
    interrupted = job;
    keeps_results = keep;
    signals_watch(cancel);
}

bool interrupt_came(void) {
    return signals > 0;
}

void progress_end_ranks(const ranks *comm, kd_status status, bool agreed) {
    enum { PATIENCE_SECONDS = 2 };
    if (!ranks_shared(comm) || status == KD_OK || (status == KD_INTERRUPTED && agreed)) return;
    char message[1200];
    if (comm->rank > 0 && !signals_sleep(PATIENCE_SECONDS))
        signals_leave((int)status); /* interrupted by a signal, because all ranks are being ended */
    snprintf(message, sizeof message, "rank %d of %d: %s", comm->rank, comm->size, kd_last_error());
    general_error(message);
    ranks_abort(comm, (int32_t)status);
}

static pthread_mutex_t drawing = PTHREAD_MUTEX_INITIALIZER; /* jobs report from any thread */
static const char *running_stage;
static double running_since; /* by timing_now() */
static bool bar_drawn;

typedef struct progress_figures {
    const char *stage;
    int64_t done, total;
    double share;        /* fraction done, 0..1 */
    double rate;         /* items per second */
    double seconds;      /* elapsed in this stage */
    double seconds_left; /* negative if unknown */
} progress_figures;

const char *progress_choice(int index) {
    static const char *const names[] = {"auto", "bar", "json", "off"};
    return index < 4 ? names[index] : NULL;
}

static progress_figures measure(const char *stage, int64_t done, int64_t total) {
    const double now = timing_now();
    if (stage != running_stage || done == 0) {
        running_stage = stage;
        running_since = now;
    }
    progress_figures figures = {.stage = stage, .done = done, .total = total};
    figures.seconds = now - running_since;
    figures.share = total > 0 ? (double)done / (double)total : 0;
    if (figures.share > 1) figures.share = 1;
    figures.rate = figures.seconds > 0 ? (double)done / figures.seconds : 0;
    figures.seconds_left = figures.rate > 0 ? (double)(total - done) / figures.rate : -1;
    if (total < done) figures.seconds_left = -1;
    return figures;
}

static void print_json(void *context, const char *stage, int64_t done, int64_t total) {
    (void)context;
    pthread_mutex_lock(&drawing);
    const progress_figures now = measure(stage, done, total);
    char left[32] = "null";
    if (now.seconds_left >= 0) snprintf(left, sizeof left, "%.3f", now.seconds_left);
    fprintf(stderr,
            "{\"stage\":\"%s\",\"done\":%lld,\"total\":%lld,\"share\":%.4f,\"per_second\":%.6g,"
            "\"seconds\":%.3f,\"seconds_left\":%s}\n",
            stage, (long long)done, (long long)total, now.share, now.rate, now.seconds, left);
    pthread_mutex_unlock(&drawing);
}

/* Formats 1234567 as "1.23M". */
static void format_rate(char *out, size_t bytes, double rate) {
    static const char units[] = " kMGT";
    int unit = 0;
    while (rate >= 1000 && unit < 4) {
        rate /= 1000;
        ++unit;
    }
    snprintf(out, bytes, "%.3g%.*s/s", rate, unit > 0, units + unit);
}

static void draw_bar(void *context, const char *stage, int64_t done, int64_t total) {
    (void)context;
    pthread_mutex_lock(&drawing);
    const progress_figures now = measure(stage, done, total);
    char rate[32], left[32] = "", tail[96];
    format_rate(rate, sizeof rate, now.rate);
    if (now.seconds_left >= 0 && now.seconds_left < 1e6)
        snprintf(left, sizeof left, "%d:%02d left", (int)now.seconds_left / 60,
                 (int)now.seconds_left % 60);
    const int tail_length =
        snprintf(tail, sizeof tail, "%3d %%  %8s  %-12s", (int)(100 * now.share), rate, left);
    int width = terminal_columns() - 12 - 4 - tail_length;
    if (width < 4) width = 4;
    if (width > 60) width = 60;
    char bar[64];
    memset(bar, ' ', sizeof bar);
    memset(bar, '=', (size_t)(now.share * width));
    bar[width] = '\0';
    const bool colours = general_colours();
    if (total <= 0)
        fprintf(stderr, "\r%-12s\033[K", stage);
    else
        fprintf(stderr, "\r%-12s[%s%s%s] %s\033[K", stage, colours ? "\033[32m" : "", bar,
                colours ? "\033[0m" : "", tail);
    fflush(stderr);
    bar_drawn = true;
    pthread_mutex_unlock(&drawing);
}

static void wipe_bar(void) {
    pthread_mutex_lock(&drawing);
    if (bar_drawn) fputs("\r\033[K", stderr);
    bar_drawn = false;
    pthread_mutex_unlock(&drawing);
}

void progress_open(progress_mode mode, job_control *job) {
    if (mode == PROGRESS_AUTO) {
        const char *terminal = place_variable("TERM");
        const bool able = terminal_exists() && terminal && strcmp(terminal, "dumb") != 0;
        mode = able ? PROGRESS_BAR : PROGRESS_OFF;
    }
    job->report = mode == PROGRESS_BAR ? draw_bar : mode == PROGRESS_JSON ? print_json : NULL;
    if (mode == PROGRESS_BAR) general_set_wipe(wipe_bar);
}

void progress_close(void) {
    wipe_bar();
    general_set_wipe(NULL);
}
