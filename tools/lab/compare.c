/* Comparison of two files of results. Times have a lower bound (the work) and positive noise, so a
   row is represented by the mean of the logarithms of the faster half of its samples. The error of
   this mean is estimated from the spread of these samples or, if the file contains several runs of
   the row and their spread is larger, from the latter. It is at least MIN_ERROR, because clock
   rates and memory layout differ between processes, which a single run does not show. A row fails
   if its ratio exceeds the limit by SURE_ROW errors, which detects a large loss of a single row;
   the mean of all rows fails at SURE_MEAN errors, which detects a small loss of all rows. */
#include "core/memory.h"
#include "tools/lab/results.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double MIN_ERROR = 0.005, SURE_ROW = 3, SURE_MEAN = 2;
enum { NAME = 192 };

/* The logarithm of the ratio of two measurements. */
typedef struct compare_ratio {
    double log_ratio; /* logarithm of new time / old time: positive is slower */
    double error;     /* standard error, from the spread of the samples */
} compare_ratio;

typedef struct estimate {
    double log_ms, error;
} estimate;

static int by_value(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double mean_of(const double *values, int count) {
    double sum = 0;
    for (int i = 0; i < count; ++i) sum += values[i];
    return sum / count;
}

/* Standard error of the mean; 0 for a single value. */
static double error_of(const double *values, int count) {
    if (count < 2) return 0;
    const double mean = mean_of(values, count);
    double sum = 0;
    for (int i = 0; i < count; ++i) sum += (values[i] - mean) * (values[i] - mean);
    return sqrt(sum / (count - 1) / count);
}

/* Returns the logarithms of a line's samples, or of its quantiles in files of older versions. */
static int logs_of(double *out, const result_line *line) {
    const double quantiles[] = {line->minimum, line->first_quarter, line->median,
                                line->third_quarter};
    const double *from = line->sample_count ? line->samples : quantiles;
    const int count = line->sample_count ? line->sample_count : 4;
    int used = 0;
    for (int i = 0; i < count; ++i)
        if (from[i] > 0) out[used++] = log(from[i]);
    qsort(out, (size_t)used, sizeof *out, by_value);
    return used;
}

/* Scratch memory: `logs` for all samples of the largest line, `runs` for one number per line. */
static estimate estimate_lines(const result_line *const *lines, int count, double *logs,
                               double *runs) {
    double within = 0;
    for (int i = 0; i < count; ++i) {
        const int half = (logs_of(logs, lines[i]) + 1) / 2;
        runs[i] = mean_of(logs, half);
        within = fmax(within, error_of(logs, half));
    }
    const double between = error_of(runs, count);
    const estimate made = {mean_of(runs, count), fmax(within / sqrt(count), between)};
    return made;
}

static int max_samples(const result_line *const *lines, int count) {
    int maximum = 4;
    for (int i = 0; i < count; ++i)
        if (lines[i]->sample_count > maximum) maximum = lines[i]->sample_count;
    return maximum;
}

/* Compares all samples of rows that measure the same. */
static kd_status compare_lines(compare_ratio *out, const result_line *const *older, int older_count,
                               const result_line *const *newer, int newer_count) {
    const int samples = max_samples(older, older_count) +
                        max_samples(newer, newer_count); /* an upper bound for both */
    const int lines = older_count > newer_count ? older_count : newer_count;
    double *logs = NULL;
    KD_TRY(KD_RESERVE(logs, (uint64_t)(samples + lines)));
    const estimate before = estimate_lines(older, older_count, logs, logs + samples);
    const estimate after = estimate_lines(newer, newer_count, logs, logs + samples);
    memory_free(logs);
    out->log_ratio = after.log_ms - before.log_ms;
    out->error =
        sqrt(MIN_ERROR * MIN_ERROR + before.error * before.error + after.error * after.error);
    return KD_OK;
}

/* Finds the lines of `results` that measure the same as `like`; returns their number. */
static int lines_like(const result_line **out, const results *results, const result_line *like) {
    int count = 0;
    for (int i = 0; i < results->count; ++i)
        if (results_alike(results->lines + i, like)) out[count++] = results->lines + i;
    return count;
}

typedef struct tally {
    const result_line **older, **newer; /* capacity for all lines of a file */
    compare_ratio *rows;
    int row_count, slower, changed, missing;
    double limit; /* logarithm of the largest ratio allowed */
} tally;

static void print_row(const tally *tally, const result_line *line, const compare_ratio *row,
                      bool changed) {
    char name[NAME];
    results_name(name, sizeof name, line);
    const double over = row->log_ratio - tally->limit;
    const char *verdict = over > SURE_ROW * row->error ? "SLOWER"
                          : over > 0                   ? "perhaps slower: more --runs"
                                                       : "";
    printf("%8.3f +- %5.3f  %s%s%s%s\n", exp(row->log_ratio), exp(row->log_ratio) * row->error,
           name, verdict[0] ? "  " : "", verdict, changed ? "  ANSWER CHANGED" : "");
}

static kd_status compare_row(tally *tally, const results *older, const results *newer,
                             const result_line *line) {
    const int before = lines_like(tally->older, older, line),
              after = lines_like(tally->newer, newer, line);
    if (tally->newer[0] != line)
        return KD_OK; /* handled with the first line that measures the same */
    if (before == 0) {
        char name[NAME];
        results_name(name, sizeof name, line);
        printf("     new           %s\n", name);
        return KD_OK;
    }
    compare_ratio *row = tally->rows + tally->row_count++;
    KD_TRY(compare_lines(row, tally->older, before, tally->newer, after));
    const bool changed =
        line->hash[0] && tally->older[0]->hash[0] && strcmp(line->hash, tally->older[0]->hash) != 0;
    print_row(tally, line, row, changed);
    tally->changed += changed;
    tally->slower += row->log_ratio - tally->limit > SURE_ROW * row->error;
    return KD_OK;
}

static void print_missing(tally *tally, const results *older, const results *newer) {
    for (int i = 0; i < older->count; ++i) {
        if (lines_like(tally->newer, newer, older->lines + i) > 0) continue;
        lines_like(tally->older, older, older->lines + i);
        if (tally->older[0] != older->lines + i) continue;
        char name[NAME];
        results_name(name, sizeof name, older->lines + i);
        printf("    gone           %s\n", name);
        ++tally->missing;
    }
}

/* The unweighted mean of all rows, since their errors are correlated. */
static compare_ratio mean_ratio(const tally *tally) {
    compare_ratio mean = {0, 0};
    double within = 0, between = 0;
    for (int i = 0; i < tally->row_count; ++i) mean.log_ratio += tally->rows[i].log_ratio;
    mean.log_ratio /= tally->row_count;
    for (int i = 0; i < tally->row_count; ++i) {
        const double off = tally->rows[i].log_ratio - mean.log_ratio;
        within += tally->rows[i].error * tally->rows[i].error;
        between += off * off;
    }
    mean.error = sqrt(fmax(within, between)) / tally->row_count;
    return mean;
}

static kd_status judge(const tally *tally, double max_regress) {
    KD_REQUIRE(tally->row_count > 0, KD_ERROR_CHECK, "the two files have no row in common");
    const compare_ratio mean = mean_ratio(tally);
    printf("%8.3f +- %5.3f  mean of %d rows\n", exp(mean.log_ratio),
           exp(mean.log_ratio) * mean.error, tally->row_count);
    fflush(stdout);
    KD_REQUIRE(tally->changed == 0, KD_ERROR_CHECK, "the results of %d rows changed",
               tally->changed);
    KD_REQUIRE(tally->slower == 0, KD_ERROR_CHECK, "%d of %d rows are more than %g %% slower",
               tally->slower, tally->row_count, 100 * max_regress);
    KD_REQUIRE(mean.log_ratio - tally->limit <= SURE_MEAN * mean.error, KD_ERROR_CHECK,
               "the mean of %d rows is more than %g %% slower", tally->row_count,
               100 * max_regress);
    return KD_OK;
}

static kd_status compare_all(tally *tally, const results *older, const results *newer) {
    KD_TRY(KD_RESERVE_ZEROED(tally->older, (uint64_t)older->count));
    KD_TRY(KD_RESERVE_ZEROED(tally->newer, (uint64_t)newer->count));
    KD_TRY(KD_RESERVE(tally->rows, (uint64_t)newer->count));
    puts("   ratio of times, new over old");
    for (int i = 0; i < newer->count; ++i)
        KD_TRY(compare_row(tally, older, newer, newer->lines + i));
    print_missing(tally, older, newer);
    return KD_OK;
}

kd_status compare_results(const results *older, const results *newer, double max_regress) {
    tally counted;
    memset(&counted, 0, sizeof counted);
    counted.limit = log1p(max_regress);
    kd_status status = compare_all(&counted, older, newer);
    if (status == KD_OK) status = judge(&counted, max_regress);
    memory_free((void *)counted.older);
    memory_free((void *)counted.newer);
    memory_free(counted.rows);
    return status;
}
