/* Points and builds that the tables and figures of Wehr and Radkowski share. */
#ifndef KD_TOOLS_LAB_WEHR_H
#define KD_TOOLS_LAB_WEHR_H
#include "tools/lab/papers.h"

typedef enum wehr_set {
    WEHR_RANDOM = 0,
    WEHR_SCAN = 1, /* what a camera sees of walls and spheres */
    WEHR_BUNNY = 2 /* the corners of the first of --models, or of a blob */
} wehr_set;

typedef struct wehr_cloud {
    bench_cloud points;
    const char *name;
} wehr_cloud;

/* Of the bunny at most as many points as there are. On the device, too, if the table asks it. */
kd_status wehr_cloud_open(wehr_cloud *out, const paper_table *table, wehr_set set, uint64_t count);
void wehr_cloud_close(wehr_cloud *owned);

/* Builds by `wehr` with these parameters, the first checked: seconds, hash, checked of the row. */
kd_status wehr_build_cpu(bench_row *row, const bench_cloud *cloud,
                         const wehr_parameters *parameters);

#endif
