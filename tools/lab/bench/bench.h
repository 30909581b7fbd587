/* Shared by all benchmarks: the request (parsed options), and a measurement, written as one JSON
   line. */
#ifndef KD_TOOLS_LAB_BENCH_BENCH_H
#define KD_TOOLS_LAB_BENCH_BENCH_H
#include "core/device/device.h"
#include "core/status.h"
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { BENCH_RUNS_MAX = 99, BENCH_LIST_MAX = 32, BENCH_STAGES = 4 };

typedef struct bench_names {
    char *items[BENCH_LIST_MAX]; /* point into `text` */
    int count;                   /* 0: not given */
    char text[2048];
} bench_names;

typedef struct bench_request {
    bench_names sizes, builders, devices, models, sets, counts; /* counts: values of k */
    bench_names dims, splits; /* dims: dimensions of points; splits: round-robin, widest */
    double radius;            /* radius of point queries; 0: not given */
    double traversal_cost;    /* C_t of the trees for timed rays; 0: the default */
    uint64_t queries;         /* number of knn queries; 0: chosen automatically */
    int32_t kernel_k;         /* knn: use the kernels for this many neighbours; 0: those for k */
    int32_t runs;             /* timed runs, after one warm-up run */
    int32_t stride;           /* bytes between points; 0: packed */
    bool quick, unique, doubles, tune;
    FILE *json;         /* NULL: no JSON */
    const char *folder; /* directory of the report; NULL: no report */
} bench_request;

/* A measurement. Fields that do not apply are 0 and are not written. */
typedef struct bench_row {
    const char *bench, *set, *builder, *device;
    /* variant of the measured code, such as a kernel; NULL if there is only one */
    const char *variant;
    uint64_t n;
    int32_t dims, k;
    double seconds[BENCH_RUNS_MAX];
    int32_t runs;
    double items;          /* items per run; rate = items / median seconds */
    const char *rate_name; /* "rays_per_second"; NULL: only "rate" */
    uint64_t bytes;        /* scratch memory */
    uint64_t hash;
    bool checked; /* verified against a reference or by the checker before timing */
    double sah_cost, references_per_triangle;
    uint64_t triangles;
    double published, ratio; /* the figure of a paper, and our speed-up over it */
    const char *published_on;
    const char *published_unit;         /* "ms", "M/s" */
    int32_t threads;                    /* CPU threads, if the benchmark varies them; 0: all */
    double speedup, cost_ratio;         /* relative to the benchmark's baseline tree */
    double primary_rate, diffuse_rate;  /* rays per second on the tree */
    double stage_seconds[BENCH_STAGES]; /* valid for builders that report their stages */
    const char *const *stage_names;     /* BENCH_STAGES names; NULL: init, large, small, other */
    double stage_bytes[BENCH_STAGES];   /* predicted memory traffic; 0: unknown */
    /* bandwidth of the device in bytes per second, for the utilisation of the stages; 0: unknown */
    double bandwidth;
} bench_row;

typedef struct bench_summary {
    double median, minimum, quarter, three_quarters; /* in seconds */
} bench_summary;

bench_summary bench_summarise(const bench_row *row);

/* Sets row->seconds by the device's clock: calls `call` row->runs times, and, if `warm`, once
   before them, untimed. */
kd_status bench_time_device(bench_row *row, bool warm, kd_status (*call)(void *context),
                            void *context);

/* Prints a row of the table on stdout, and writes a JSON line if requested. */
kd_status bench_report(const bench_request *request, const bench_row *row);
/* Writes only the JSON line, if requested. */
kd_status bench_write(const bench_request *request, const bench_row *row);

/* Returns true if the list is empty or contains `name`. */
bool bench_selects(const bench_names *list, const char *name);
/* Parses item `index` of the list as a count ("1000000", "1M", "2e6"). Returns KD_ERROR_USAGE if
   it is not one. */
kd_status bench_count(uint64_t *out, const bench_names *list, int index);

kd_status bench_points(const bench_request *request);
kd_status bench_build(const bench_request *request);
kd_status bench_trace(const bench_request *request);
kd_status bench_knn(const bench_request *request);
kd_status bench_load(const bench_request *request);
kd_status bench_photons(const bench_request *request);
kd_status bench_frame(const bench_request *request);
kd_status bench_scaling(const bench_request *request);
kd_status bench_changes(const bench_request *request);
kd_status bench_calls(const bench_request *request);
kd_status bench_worlds(const bench_request *request);

#endif
