/* What the tables and figures of Choi and Ye share: the models, and each builder's tree of them. */
#ifndef KD_TOOLS_LAB_CHOI_YE_H
#define KD_TOOLS_LAB_CHOI_YE_H
#include "accel/builders.h"
#include "tools/lab/bench/inputs.h"
#include "tools/lab/papers.h"

typedef struct choi_model {
    const char *name, *stand_in, *quick;
    double triangles;
    double serial_ms, gpu_ms, threads8_ms;
    double share[TRITREE_STAGES]; /* of the GPU's time, per cent */
} choi_model;

enum { CHOI_RESULTS = 6, CHOI_LEVELS = 64 };

/* A builder's tree of a model, as measured. */
typedef struct choi_tree {
    const char *builder, *device;
    double seconds[BENCH_RUNS_MAX];
    double median;
    double stages[TRITREE_STAGES];
    double sah_cost, references;
    uint32_t depth;
    double primary, diffuse; /* rays per second */
    uint64_t hits, hash;     /* hashes of the diffuse rays' hits and of the tree */
} choi_tree;

typedef struct choi_column {
    const choi_model *from; /* NULL: a model that the paper does not have */
    char name[64], label[128];
    const char *path;
    uint32_t triangles;
    choi_tree results[CHOI_RESULTS];
    int count;
    uint32_t level_nodes[CHOI_LEVELS];   /* of the first tree */
    double level_triangles[CHOI_LEVELS]; /* references below the nodes of each level, in all */
} choi_column;

/* NULL: not measured. */
const choi_tree *choi_find(const choi_column *of, const char *builder, const char *device_name);
kd_status choi_measure(const bench_request *request, choi_column *to, const char *path);
double choi_median(const double *seconds, int32_t runs);

/* The tables and figures that `parts` names (CHOI_...). */
kd_status choi_print(const bench_request *request, const choi_column *columns, int count,
                     unsigned parts);
/* choi_ye_figures.c */
kd_status choi_figures(const bench_request *request, const choi_column *columns, int count,
                       unsigned parts);
/* Builders of the CPU by threads; `path` of the model. */
kd_status choi_threads(const bench_request *request, const choi_column *of, const char *path);

#endif
