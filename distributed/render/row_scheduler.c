#include "distributed/render/row_scheduler.h"
#include "core/memory.h"
#include <string.h>

enum { TASTES = 16 }; /* a rank's first chunk is at most its even share divided by this */
static const double min_seconds = 0.02, max_seconds = 0.5; /* limits of a chunk's duration */

kd_status row_scheduler_open(row_scheduler *out, int32_t ranks) {
    memset(out, 0, sizeof *out);
    out->size = ranks;
    return KD_RESERVE_ZEROED(out->speed, (uint64_t)ranks);
}

void row_scheduler_close(row_scheduler *owned) {
    memory_free(owned->speed);
    memset(owned, 0, sizeof *owned);
}

void row_scheduler_begin(row_scheduler *scheduler, int32_t rows, double row_samples) {
    scheduler->next = 0;
    scheduler->rows = rows;
    scheduler->weight = row_samples;
}

/* Returns the rank's fraction of the total speed; ranks of unknown speed count as the mean of the
   known ones. */
static double share_of(const row_scheduler *scheduler, int32_t rank) {
    double sum = 0;
    int32_t measured = 0;
    for (int32_t r = 0; r < scheduler->size; ++r) {
        sum += scheduler->speed[r];
        measured += scheduler->speed[r] > 0;
    }
    if (!(scheduler->speed[rank] > 0)) return 1 / (double)scheduler->size;
    return scheduler->speed[rank] / (sum * scheduler->size / measured);
}

void row_scheduler_next(row_scheduler *scheduler, int32_t rank, int32_t *top, int32_t *bottom) {
    const int32_t left = scheduler->rows - scheduler->next;
    const double speed = scheduler->speed[rank] / scheduler->weight; /* rows per second */
    double rows_wanted = left * share_of(scheduler, rank) / 2;
    if (speed > 0) {
        if (rows_wanted > speed * max_seconds) rows_wanted = speed * max_seconds;
        if (rows_wanted < speed * min_seconds) rows_wanted = speed * min_seconds;
    } else {
        const double taste = scheduler->rows / ((double)TASTES * scheduler->size);
        if (rows_wanted > taste) rows_wanted = taste;
    }
    const int32_t rows = rows_wanted < 1 ? 1 : rows_wanted > left ? left : (int32_t)rows_wanted;
    *top = scheduler->next;
    *bottom = scheduler->next += rows < left ? rows : left;
}

void row_scheduler_note(row_scheduler *scheduler, int32_t rank, int32_t rows, double seconds) {
    if (rows > 0 && seconds > 0) scheduler->speed[rank] = rows * scheduler->weight / seconds;
}

double row_scheduler_slowest(const row_scheduler *scheduler) {
    double slowest = 0;
    for (int32_t r = 0; r < scheduler->size; ++r)
        if (scheduler->speed[r] > 0 && (!(slowest > 0) || scheduler->speed[r] < slowest))
            slowest = scheduler->speed[r];
    return slowest;
}

void split_even(int32_t *bounds, int32_t ranks, int32_t rows) {
    for (int32_t r = 0; r <= ranks; ++r) bounds[r] = (int32_t)((int64_t)rows * r / ranks);
}

/* Assumes that each row of a part took the same time. This includes the speed of the rank, so the
   part of a slow rank shrinks. The cost of newly assigned rows becomes known in the next pass. */
void split_again(int32_t *bounds, const int32_t *old, int32_t ranks, const double *seconds) {
    double all = 0, passed = 0;
    int32_t next = 1;
    for (int32_t r = 0; r < ranks; ++r) all += seconds[r];
    memcpy(bounds, old, ((size_t)ranks + 1) * sizeof *bounds);
    if (!(all > 0)) return;
    for (int32_t part = 0; part < ranks; ++part)
        for (int32_t row = old[part]; row < old[part + 1]; ++row) {
            passed += seconds[part] / (old[part + 1] - old[part]);
            while (next < ranks && passed >= all * next / ranks) bounds[next++] = row + 1;
        }
    while (next < ranks) bounds[next++] = old[ranks];
}

double split_imbalance(const double *seconds, int32_t ranks) {
    double all = 0, longest = 0;
    for (int32_t r = 0; r < ranks; ++r) {
        all += seconds[r];
        if (seconds[r] > longest) longest = seconds[r];
    }
    return all > 0 ? longest * ranks / all : 1;
}
