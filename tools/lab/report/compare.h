/* Compares two files of results, and reports slowdowns beyond noise. */
#ifndef KD_TOOLS_LAB_REPORT_COMPARE_H
#define KD_TOOLS_LAB_REPORT_COMPARE_H
#include "tools/lab/report/results.h"

/* The logarithm of the ratio of two measurements. */
typedef struct compare_ratio {
    double log_ratio; /* of times, new over old: positive is slower */
    double error;     /* its standard error, from the spread of the samples */
} compare_ratio;

/* Compares all samples of rows that measure the same. May return KD_ERROR_MEMORY. */
kd_status compare_lines(compare_ratio *out, const result_line *const *older, int older_count,
                        const result_line *const *newer, int newer_count);

/* Prints a table: the ratio of each row with its error, rows in one file only, and the mean.
   Returns KD_ERROR_CHECK if a row, or the mean of all rows, is slower than 1 + `most_regress`
   beyond noise, or if the hash of an answer has changed. */
kd_status compare_results(const results *older, const results *newer, double most_regress);

#endif
