/* What all benchmarks share: what was asked for, and a measurement as one JSON line. */
#ifndef KD_TOOLS_LAB_BENCH_BENCH_H
#define KD_TOOLS_LAB_BENCH_BENCH_H
#include "core/device/device.h"
#include "core/status.h"
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { BENCH_RUNS_MAX = 99, BENCH_LIST_MAX = 32, BENCH_STAGES = 4 };

typedef struct bench_names {
    char *items[BENCH_LIST_MAX]; /* into a copy of the text */
    int count;                   /* 0: not given */
    char text[2048];
} bench_names;

typedef struct bench_request {
    bench_names sizes, builders, devices, models, sets, counts; /* counts: k */
    bench_names dims, splits; /* of points; splits: round-robin, widest */
    double radius;            /* of point queries; 0: not given */
    double traversal_cost;    /* C_t of trees whose rays are timed; 0: the default */
    uint64_t queries;         /* of knn; 0: as many as it takes by itself */
    int32_t kernel_k;         /* knn: by the kernels for this many neighbours; 0: those for k */
    int32_t runs;             /* timed, after one that is not */
    int32_t stride;           /* bytes from a point to the next; 0: packed */
    bool quick, unique, doubles, tune;
    FILE *json;         /* NULL: none wanted */
    const char *folder; /* of the report, for pictures; NULL: none wanted */
} bench_request;

/* One measurement. Fields that do not apply are left 0 and are not written. */
typedef struct bench_row {
    const char *bench, *set, *builder, *device;
    const char *variant; /* of what is measured, such as a kernel; NULL: there is one only */
    uint64_t n;
    int32_t dims, k;
    double seconds[BENCH_RUNS_MAX];
    int32_t runs;
    double items;          /* per run; rate = items / median seconds */
    const char *rate_name; /* "rays_per_second"; NULL: "rate" alone */
    uint64_t bytes;        /* scratch memory */
    uint64_t hash;
    bool checked; /* against an oracle or by the checker, before it was timed */
    double sah_cost, references_per_triangle;
    uint64_t triangles;
    double published, ratio; /* of a paper's table: its figure, and how many times faster ours is */
    const char *published_on;
    const char *published_unit;         /* "ms", "M/s" */
    int32_t threads;                    /* of the CPU, where that is what is varied; 0: all */
    double speedup, cost_ratio;         /* over the tree that the benchmark takes as its base */
    double primary_rate, diffuse_rate;  /* rays per second on the tree */
    double stage_seconds[BENCH_STAGES]; /* of builders that tell their stages apart */
    const char *const *stage_names;     /* BENCH_STAGES of them; NULL: init, large, small, other */
    double stage_bytes[BENCH_STAGES];   /* that have to be moved, predicted; 0: not known */
    double bandwidth;   /* of the device, bytes a second, for the stages' shares; 0: not known */
    uint64_t different; /* answers that differ from the oracle's, as few as are allowed */
} bench_row;

typedef struct bench_summary {
    double median, least, quarter, three_quarters; /* seconds */
} bench_summary;

bench_summary bench_summarise(const bench_row *row);

/* A line of the table on stdout, and a JSON line if one is wanted. */
kd_status bench_report(const bench_request *request, const bench_row *row);
/* The JSON line alone. */
kd_status bench_write(const bench_request *request, const bench_row *row);

/* Whether `name` was asked for: the list is empty or holds it. */
bool bench_wants(const bench_names *list, const char *name);
/* Item `index` of the list as a count ("1000000", "1M", "2e6"), KD_ERROR_USAGE if it is none. */
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

#endif
