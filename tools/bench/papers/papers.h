/* Tables of papers with ours beside them: what their rows share. */
#ifndef KD_TOOLS_BENCH_PAPERS_PAPERS_H
#define KD_TOOLS_BENCH_PAPERS_PAPERS_H
#include "tools/bench/input_trees.h"

/* A paper's table; a ratio above 1 says how many times faster ours is than what was published. */
typedef struct paper_table {
    const bench_request *request;
    const char *name;
    const char *published_on; /* whose figures these are */
    bool is_rate;             /* M of items a second, else ms */
    bool on_cpu, on_cuda;
    uint64_t cpu_most; /* larger ones are left to the device */
} paper_table;

enum { TABLE_CPU = 0, TABLE_CUDA = 1, TABLE_DEVICES = 2 };

typedef struct paper_row {
    const char *what;
    double published;
    bench_row ours[TABLE_DEVICES]; /* runs 0: not measured */
} paper_row;

paper_table paper_table_make(const bench_request *request, const char *name,
                             const char *published_on, bool is_rate, uint64_t cpu_most);
void paper_table_head(const paper_table *table, const char *title);
/* A line of the table, and a JSON line for each of ours. */
kd_status paper_table_row(const paper_table *table, const paper_row *row);
/* A row to be measured on a device. */
bench_row paper_row_ours(const paper_table *table, int on, const char *builder, uint64_t n,
                         uint32_t dims);

/* A paper's table with ours beside it: wald-build, wald-query, robinson, wehr, choi-ye. */
kd_status bench_table(const char *name, const bench_request *request);

kd_status table_wald_build(const bench_request *request);
kd_status table_wald_query(const bench_request *request);
kd_status table_robinson(const bench_request *request);
kd_status table_wehr(const bench_request *request);
kd_status table_choi_ye(const bench_request *request); /* choi_ye.c */
/* Table III: closest points by the approximate search. */
kd_status table_wehr_searches(const bench_request *request);

#endif
