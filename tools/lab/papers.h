/* Tables and figures of papers with ours beside them: what their rows share. */
#ifndef KD_TOOLS_LAB_PAPERS_H
#define KD_TOOLS_LAB_PAPERS_H
#include "tools/lab/bench/inputs.h"

enum { TABLE_CPU = 0, TABLE_CUDA = 1, TABLE_DEVICES = 2, PAPER_OTHERS = 2, PAPER_REMARK = 24 };

/* A paper's table; a ratio above 1 says how many times faster ours is than what was published. */
typedef struct paper_table {
    const bench_request *request;
    const char *name;                   /* of the JSON lines */
    const char *published_on;           /* whose figures these are, the ratio's */
    const char *other_on[PAPER_OTHERS]; /* further columns of the paper; NULL: none */
    bool is_rate;                       /* M of items a second, else ms */
    bool on_cpu, on_cuda;
    uint64_t cpu_most; /* larger ones are left to the device, unless --sizes names them */
} paper_table;

typedef struct paper_row {
    const char *what;
    double published;           /* 0: none, or a text instead */
    const char *published_text; /* "<1", "oom"; NULL: the figure */
    double others[PAPER_OTHERS];
    bench_row ours[TABLE_DEVICES];             /* runs 0: not measured, ... */
    char remarks[TABLE_DEVICES][PAPER_REMARK]; /* ... and why */
} paper_row;

paper_table paper_table_make(const bench_request *request, const char *name,
                             const char *published_on, bool is_rate, uint64_t cpu_most);
void paper_table_head(const paper_table *table, const char *title);
/* A line of the table, and a JSON line for each of ours. */
kd_status paper_table_row(const paper_table *table, const paper_row *row);
/* A row to be measured on a device. */
bench_row paper_row_ours(const paper_table *table, int on, const char *builder, uint64_t n,
                         uint32_t dims);
/* Both of them, what cannot be measured with its reason. */
void paper_row_begin(paper_row *row, const paper_table *table, const char *builder, uint64_t n,
                     uint32_t dims);
/* Instead of a figure, in a few words; the row is not measured. */
void paper_row_leave(paper_row *row, int on, const char *remark);
/* Whether --sizes names it; without --sizes every size is wanted. */
bool paper_wants_size(const bench_request *request, uint64_t n);
/* Thread counts to be measured: 1, 2, 4, ... up to what the process may use, that one too. */
enum { PAPER_THREADS = 12 };
int paper_threads(int32_t out[PAPER_THREADS]);

/* A build of one case on both devices, checked before it is timed. */
kd_status paper_measure_build(const paper_table *table, paper_row *row, const char *builder,
                              uint64_t count, uint32_t dims, const pointtree_options *options);

/* Fills dims * count floats, uniform in the unit cube. To memory_free. */
kd_status paper_uniform(float **out, uint64_t count, uint32_t dims, uint32_t seed);

/* FOLDER/name.svg or .png of the report; false (and a note in the table) without --report. */
bool paper_picture(char *out, size_t bytes, const bench_request *request, const char *name);

/* What a row of the catalogue has; `parts`: a bit for each of the tables that are wanted. */
kd_status table_wald_build(const bench_request *request, unsigned parts);
kd_status table_wald_query(const bench_request *request, unsigned parts);
kd_status table_robinson(const bench_request *request, unsigned parts);
kd_status table_wehr(const bench_request *request, unsigned parts);
kd_status table_wehr_searches(const bench_request *request, unsigned parts); /* table III */
kd_status table_wehr_figures(const bench_request *request, unsigned parts);
kd_status table_choi_ye(const bench_request *request, unsigned parts); /* choi_ye.c */

enum { WALD_TABLE_1 = 1, WALD_EXAMPLE = 2, WALD_FIGURE_1 = 4, WALD_WIDEST = 8 };
enum {
    CHOI_TABLE_1 = 1,
    CHOI_TABLE_2 = 2,
    CHOI_TABLE_3 = 4,
    CHOI_FIGURE_2 = 8,
    CHOI_FIGURE_3 = 16,
    CHOI_THREADS = 32,
    CHOI_FRAMES = 64,
    CHOI_FIGURE_1 = 128
};
enum { ROBINSON_TIMES = 1, ROBINSON_THREADS = 2, ROBINSON_FIGURE_1 = 4, ROBINSON_GPUS = 8 };

/* A paper's tables by the catalogue's name, or all that begin with it: "wehr", "wehr-figure5". */
kd_status bench_table(const char *name, const bench_request *request);
/* The catalogue, a line each. */
void bench_table_list(void);

#endif
