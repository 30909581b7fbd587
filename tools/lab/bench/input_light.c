#include "tools/lab/bench/input_light.h"
#include "accel/builders.h"
#include "core/system/paths.h"
#include <stdio.h>
#include <string.h>

#define DEMO "cornell_caustic.json"

/* Path of the demo scene in ../share/kandela/scenes relative to the program's directory. */
static const char *demo_path(void) {
    static char path[PLACE_BYTES];
    if (!place_of_program(path)) return "scenes/" DEMO;
    char *slash = strrchr(path, '/');
    const size_t capacity = slash ? sizeof path - (size_t)(slash - path) : 0;
    if (!slash || snprintf(slash, capacity, "/../share/kandela/scenes/" DEMO) >= (int)capacity)
        return "scenes/" DEMO;
    return path;
}

int bench_scene_count(const bench_request *request) {
    return request->models.count ? request->models.count : 2;
}

const char *bench_scene_path(const bench_request *request, int index) {
    if (request->models.count) return request->models.items[index];
    if (index == 0) return demo_path();
    return request->quick ? "gen:hall:20000" : "gen:hall:1000000";
}

int bench_photon_count(const bench_request *request) {
    return request->sizes.count ? request->sizes.count : 1;
}

kd_status bench_photon_target(uint64_t *out, const bench_request *request, int index) {
    *out = request->quick ? 20000 : 1000000;
    return request->sizes.count ? bench_count(out, &request->sizes, index) : KD_OK;
}

/* Returns the file name without directories. */
static void name_scene(bench_stage *stage, const char *path) {
    const char *slash = strrchr(path, '/');
    snprintf(stage->name, sizeof stage->name, "%s", slash ? slash + 1 : path);
}

kd_status bench_stage_open(bench_stage *out, const char *path, const char *device_name) {
    kd_status status = KD_OK;
    device device;
    memset(out, 0, sizeof *out);
    name_scene(out, path);
    kd_render_options_default(&out->options);
    KD_TRY_GOTO(scene_open(&out->loaded, path, &out->options, NULL));
    out->view = scene_get_view(out->loaded);
    const tritree_input input = {out->view.mesh.positions, out->view.mesh.triangles,
                                 out->view.mesh.position_count, out->view.mesh.triangle_count};
    const tritree_options options = tritree_options_default();
    KD_TRY_GOTO(tritree_open(&out->tree, &input, &options, "auto", NULL));
    out->view.tree = tritree_get_view(&out->tree);
    KD_TRY_GOTO(device_find(&device, device_name));
    if (device.kind == DEVICE_CPU) return KD_OK;
    out->on_device = true;
    KD_TRY_GOTO(frame_cuda_open(&out->device_frame, &device));
    KD_TRY_GOTO(
        frame_cuda_place_scene(&out->device_frame, &out->view, &out->tree, &options, NULL, NULL));
    KD_TRY_GOTO(frame_cuda_pack(&out->device_frame));
    return KD_OK;
done:
    bench_stage_close(out);
    return status;
}

void bench_stage_close(bench_stage *owned) {
    frame_cuda_close(&owned->device_frame);
    tritree_close(&owned->tree);
    scene_close(owned->loaded);
    memset(owned, 0, sizeof *owned);
}
