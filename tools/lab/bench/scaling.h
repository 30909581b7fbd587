/* A cost at growing sizes, and its slope on logarithmic axes beside the theory's. */
#ifndef KD_TOOLS_LAB_BENCH_SCALING_H
#define KD_TOOLS_LAB_BENCH_SCALING_H
#include "tools/lab/bench/bench.h"

typedef struct bench_growth {
    const char *what, *device, *theory; /* "point trees", "cuda:0", "n log n" */
    bool per_item;                      /* theory is log n an item, else n log n in all */
    double n[BENCH_LIST_MAX], seconds[BENCH_LIST_MAX];
    int count;
} bench_growth;

/* Adds the row's shortest run to the growth, and reports the row. */
kd_status bench_growth_note(bench_growth *to, const bench_request *request, bench_row *row);
/* A line: the exponent of n over all sizes and over the last two, the theory's, and what a
   difference comes from. */
void bench_growth_print(const bench_growth *of);

/* Trees of blobs of these sizes, and diffuse rays in them. By the first of --builders, `parallel`
   on the CPU and `kandela` on a device without one; sizes that do not fit end the device's rows
   with a line. */
kd_status bench_scale_triangles(const bench_request *request, const uint64_t *sizes, int count,
                                bool cuda);

#endif
