/* Meshes that are measured with: files, generators. */
#ifndef KD_TOOLS_LAB_BENCH_INPUT_MODELS_H
#define KD_TOOLS_LAB_BENCH_INPUT_MODELS_H
#include "accel/tree/tritree.h"
#include "scenes/mesh/mesh.h"
#include "tools/lab/bench/bench.h"

typedef struct bench_model {
    mesh shape;
    char name[64]; /* the file's name without folder and suffix; "blob:300000" */
    tritree_input input;
} bench_model;

kd_status bench_model_open(bench_model *out, const char *path);
void bench_model_close(bench_model *owned); /* takes a zeroed one */

/* How many models a request names, and which: the usual generators if it names none. */
int bench_model_count(const bench_request *request);
const char *bench_model_path(const bench_request *request, int index);

/* "cuda:0" if the request wants it and it is there. */
bool bench_wants_cuda(const bench_request *request);

#endif
