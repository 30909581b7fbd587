/* Two files of results, row by row: what became slower, beyond noise. */
#ifndef KD_TOOLS_LAB_REPORT_COMPARE_H
#define KD_TOOLS_LAB_REPORT_COMPARE_H
#include "tools/lab/report/results.h"

/* The ratio of two measurements of one thing, both in logarithms. */
typedef struct compare_ratio {
    double log_ratio; /* of times, new over old: above 0 is slower */
    double error;     /* standard error of it, by the spread of the samples */
} compare_ratio;

/* Of `lines` rows of a file that measure the same, all their samples; KD_ERROR_MEMORY. */
kd_status compare_lines(compare_ratio *out, const result_line *const *older, int older_count,
                        const result_line *const *newer, int newer_count);

/* Prints a table to stdout: each row's ratio with its error, what is in one file only, and the mean
   of all. KD_ERROR_CHECK if a row, or the mean of all rows, is slower than
   1 + `most_regress` beyond noise, if an answer's hash changed, or if no row is in both files. */
kd_status compare_results(const results *older, const results *newer, double most_regress);

#endif
