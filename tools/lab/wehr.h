/* Point sets and builds for the tables and figures of Wehr and Radkowski. */
#ifndef KD_TOOLS_LAB_WEHR_H
#define KD_TOOLS_LAB_WEHR_H
#include "tools/lab/papers.h"

typedef enum wehr_set {
    WEHR_RANDOM = 0,
    WEHR_SCAN = 1, /* simulated depth camera: walls and spheres */
    WEHR_BUNNY = 2 /* vertices of the first of --models, or of a blob */
} wehr_set;

typedef struct wehr_cloud {
    bench_cloud points;
    const char *name;
} wehr_cloud;

/* Creates the points, on the device too if the table includes it. WEHR_BUNNY gives at most the
   number of vertices. */
kd_status wehr_cloud_open(wehr_cloud *out, const paper_table *table, wehr_set set, uint64_t count);
void wehr_cloud_close(wehr_cloud *owned);

/* Builds with `wehr` and these parameters; the first build is checked. Sets seconds, hash and
   checked of the row. */
kd_status wehr_build_cpu(bench_row *row, const bench_cloud *cloud,
                         const wehr_parameters *parameters);

#endif
