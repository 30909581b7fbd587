/* Measures a cost at growing sizes, and compares its slope on logarithmic axes with theory. */
#ifndef KD_TOOLS_LAB_BENCH_SCALING_H
#define KD_TOOLS_LAB_BENCH_SCALING_H
#include "tools/lab/bench/bench.h"

typedef struct bench_growth {
    const char *subject, *device, *theory; /* "point trees", "cuda:0", "n log n" */
    bool per_item; /* theory is log n per item; otherwise n log n in total */
    double n[BENCH_LIST_MAX], seconds[BENCH_LIST_MAX];
    int count;
} bench_growth;

/* Adds the row's shortest run, and reports the row. */
kd_status bench_growth_note(bench_growth *growth, const bench_request *request, bench_row *row);
/* Prints the exponent of n over all sizes and over the last two, that of theory, and the cause of
   a difference. */
void bench_growth_print(const bench_growth *growth);

/* Measures trees of blobs of these sizes, and diffuse rays in them. Uses the first of --builders;
   by default `parallel` on the CPU and `kandela` on a device. The first size that does not fit into
   device memory ends the rows of the device with a message. */
kd_status bench_scale_triangles(const bench_request *request, const uint64_t *sizes, int count,
                                bool cuda);

#endif
