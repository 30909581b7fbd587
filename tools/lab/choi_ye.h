/* Models and measured trees for the tables and figures of Choi and Ye. */
#ifndef KD_TOOLS_LAB_CHOI_YE_H
#define KD_TOOLS_LAB_CHOI_YE_H
#include "accel/builders.h"
#include "tools/lab/bench/inputs.h"
#include "tools/lab/papers.h"

typedef struct choi_model {
    const char *name, *stand_in, *quick;
    double triangles;
    double serial_ms, gpu_ms, threads8_ms;
    double share[TRITREE_STAGES]; /* in per cent of the GPU's time */
} choi_model;

enum { CHOI_RESULTS = 6, CHOI_LEVELS = 64 };

/* A measured tree of a model. */
typedef struct choi_tree {
    bench_row row;
    double median;
    uint32_t depth;
    uint64_t hits; /* hash of the diffuse rays' hits; hash of the tree */
} choi_tree;

typedef struct choi_column {
    const choi_model *model; /* NULL: a model that is not in the paper */
    char name[64], label[128];
    const char *path;
    uint32_t triangles;
    choi_tree results[CHOI_RESULTS];
    int count;
    uint32_t level_nodes[CHOI_LEVELS];   /* nodes per level of the first tree */
    double level_triangles[CHOI_LEVELS]; /* total references below the nodes of each level */
} choi_column;

/* Returns NULL if this was not measured. */
const choi_tree *choi_find(const choi_column *column, const char *builder, const char *device_name);
/* Returns the tree's row with the figure of the paper, 0: none, measured on `on`. */
bench_row choi_row(const choi_column *column, const choi_tree *tree, double published_ms,
                   const char *on);
kd_status choi_measure(const bench_request *request, choi_column *column, const char *path);

/* Prints the tables and figures in `parts` (CHOI_...). */
kd_status choi_print(const bench_request *request, const choi_column *columns, int count,
                     unsigned parts);
/* choi_ye_figures.c */
kd_status choi_figures(const bench_request *request, const choi_column *columns, int count,
                       unsigned parts);
/* Prints the build times of the CPU builders for several numbers of threads. `path`: file of the
   model. */
kd_status choi_threads(const bench_request *request, const choi_column *column, const char *path);

#endif
