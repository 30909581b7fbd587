/* Results of `kandela bench` as they stand in a file: one JSON object a line (bench.c writes them).
   Lines about the same thing, measured again, are kept side by side: a file may hold several runs.
 */
#ifndef KD_TOOLS_LAB_BENCH_REPORT_RESULTS_H
#define KD_TOOLS_LAB_BENCH_REPORT_RESULTS_H
#include "core/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RESULT_STAGES = 8 };

/* One line. Texts are "" and numbers 0 where the line does not say. They belong to `results`. */
typedef struct result_line {
    const char *bench, *set, *builder, *device, *variant;
    uint64_t n, triangles;
    int32_t dims, k;
    double median, least, first_quarter, third_quarter; /* milliseconds */
    const double *samples;                              /* milliseconds, in the order measured */
    int sample_count; /* 0: the line says quantiles alone (those of older versions) */
    double rate;      /* items a second */
    double sah_cost, references_per_triangle;
    double speedup;          /* over the benchmark's base; 0: none */
    double published, ratio; /* a paper's figure, and how many times faster ours is */
    const char *published_on;
    const char *stage_names[RESULT_STAGES];
    double stage_ms[RESULT_STAGES], stage_share[RESULT_STAGES]; /* share of the bandwidth, 0 to 1 */
    int stage_count;
    const char *machine; /* of the GPU, else of the CPU */
    const char *commit, *hash;
    bool checked;
} result_line;

typedef struct results {
    result_line *lines; /* in the order of the file */
    int count;
    struct results_owned *owned;
} results;

/* KD_ERROR_INPUT with "file:line: what, expected what"; a file without lines is refused, too. */
kd_status results_open(results *out, const char *path);
void results_close(results *owned); /* takes a zeroed one */

/* Whether both lines measure the same thing: bench, case, builder, device, variant, n, dims, k. */
bool results_alike(const result_line *a, const result_line *b);

/* "points uniform kandela cpu n 10000 k 8": what a line measures, in words. */
void results_name(char *out, size_t bytes, const result_line *of);

#endif
