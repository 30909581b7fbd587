/* Tables and figures of papers with Kandela's results: common rows and helpers. */
#ifndef KD_TOOLS_LAB_PAPERS_H
#define KD_TOOLS_LAB_PAPERS_H
#include "tools/lab/bench/inputs.h"

enum { TABLE_CPU = 0, TABLE_CUDA = 1, TABLE_DEVICES = 2, PAPER_PEERS = 2, PAPER_REMARK = 24 };

/* A paper's table; the ratio is the speed-up over the published result. */
typedef struct paper_table {
    const bench_request *request;
    const char *name;                  /* name in the JSON lines */
    const char *published_on;          /* hardware of the published results */
    const char *other_on[PAPER_PEERS]; /* further columns of the paper; NULL: none */
    bool is_rate;                      /* results in M/s, else in ms */
    bool on_cpu, on_cuda;
    uint64_t cpu_threads_max; /* larger cases run on the CPU only if --sizes names them */
} paper_table;

typedef struct paper_row {
    const char *description;
    double published;           /* 0: none, or a text instead */
    const char *published_text; /* text instead of a number: "<1", "oom"; NULL: none */
    double peers[PAPER_PEERS];
    bench_row measured[TABLE_DEVICES];         /* runs 0: not measured, ... */
    char remarks[TABLE_DEVICES][PAPER_REMARK]; /* ... and why */
} paper_row;

paper_table paper_table_make(const bench_request *request, const char *name,
                             const char *published_on, bool is_rate, uint64_t cpu_threads_max);
void paper_table_head(const paper_table *table, const char *title);
/* Prints a line of the table, and writes a JSON line for each measurement. */
kd_status paper_table_row(const paper_table *table, const paper_row *row);
/* Returns a row to be measured on device `on`. */
bench_row paper_row_measured(const paper_table *table, int on, const char *builder, uint64_t n,
                             uint32_t dims);
/* Initialises the row for both devices; sets a remark for those that cannot be measured. */
void paper_row_begin(paper_row *row, const paper_table *table, const char *builder, uint64_t n,
                     uint32_t dims);
/* Sets a remark in place of a measurement. */
void paper_row_leave(paper_row *row, int on, const char *remark);
/* Returns true if --sizes contains `n` or is not given. */
bool paper_selects_size(const bench_request *request, uint64_t n);
/* Thread counts to measure: 1, 2, 4, ... and the number available to the process. */
enum { PAPER_THREADS = 12 };
int paper_threads(int32_t out[PAPER_THREADS]);

/* Measures builds of one case on both devices; each is checked before timing. */
kd_status paper_measure_build(const paper_table *table, paper_row *row, const char *builder,
                              uint64_t count, uint32_t dims, const pointtree_options *options);

/* Allocates dims * count floats, uniform in the unit cube; the caller frees them with memory_free.
 */
kd_status paper_uniform(float **out, uint64_t count, uint32_t dims, uint32_t seed);

/* Sets `out` to FOLDER/NAME of a picture for the report. Returns false, and prints a note, without
   --report. */
bool paper_picture(char *out, size_t bytes, const bench_request *request, const char *name);

/* The functions of the catalogue; `parts` is a bit mask of tables. */
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

/* Runs the table of that name, or all tables of a paper: "wehr-figure5", "wehr". */
kd_status bench_table(const char *name, const bench_request *request);
/* Prints the catalogue. */
void bench_table_list(void);

#endif
