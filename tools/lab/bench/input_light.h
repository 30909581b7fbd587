/* Input of the photon mapping benchmarks: a scene, prepared on the CPU and on a CUDA device. */
#ifndef KD_TOOLS_LAB_BENCH_INPUT_LIGHT_H
#define KD_TOOLS_LAB_BENCH_INPUT_LIGHT_H
#include "accel/tree/tritree.h"
#include "render/frame/frame.h"
#include "scenes/assembly/scene.h"
#include "tools/lab/bench/bench.h"

typedef struct bench_stage {
    scene *loaded;
    char name[64];
    kd_render_options options; /* of the scene's file */
    scene_view view;           /* including its tree */
    tritree tree;
    frame_cuda device_frame;
    bool on_device;
} bench_stage;

/* The scenes of the request; by default the demo (in ../share/kandela/scenes relative to the
   program's directory) and a hall of a million triangles. */
int bench_scene_count(const bench_request *request);
const char *bench_scene_path(const bench_request *request, int index);
kd_status bench_stage_open(bench_stage *out, const char *path, const char *device_name);
void bench_stage_close(bench_stage *owned);
/* Total numbers of photons to store, from --sizes; a million by default. */
int bench_photon_count(const bench_request *request);
kd_status bench_photon_target(uint64_t *out, const bench_request *request, int index);

#endif
