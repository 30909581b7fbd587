/* Results of `kandela bench` in a file: one JSON object per line, written by bench.c. Repeated
   measurements are kept separately: a file may contain several runs. */
#ifndef KD_TOOLS_LAB_RESULTS_H
#define KD_TOOLS_LAB_RESULTS_H
#include "core/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One line. Absent strings are "" and absent numbers 0. Strings belong to `results`. */
typedef struct result_line {
    const char *bench, *set, *builder, *device, *variant;
    uint64_t n;
    int32_t dims, k;
    double median, minimum, first_quarter, third_quarter; /* in milliseconds */
    const double *samples;                                /* in milliseconds, in measured order */
    int sample_count; /* 0: the line has quantiles only (older versions) */
    double rate;      /* items per second */
    double sah_cost;
    double published, ratio; /* the figure of a paper, and our speed-up over it */
    const char *published_on;
    const char *hash;
    bool checked;
} result_line;

typedef struct results {
    result_line *lines; /* in file order */
    int count;
    struct results_owned *owned;
} results;

/* Returns KD_ERROR_INPUT with "file:line: what, expected what", also for a file without lines. */
kd_status results_open(results *out, const char *path);
void results_close(results *owned); /* accepts a zeroed struct */

/* Returns true if both lines measure the same: bench, case, builder, device, variant, n, dims,
   k. */
bool results_alike(const result_line *a, const result_line *b);

/* Describes what a line measures: "points uniform kandela cpu n 10000 k 8". */
void results_name(char *out, size_t bytes, const result_line *line);

/* Compares two files of results, and reports slowdowns beyond noise. */

/* Prints a table: the ratio of each row with its error, rows in one file only, and the mean.
   Returns KD_ERROR_CHECK if a row, or the mean of all rows, is slower than 1 + `max_regress`
   beyond noise, or if the hash of an answer has changed. */
kd_status compare_results(const results *older, const results *newer, double max_regress);

#endif
