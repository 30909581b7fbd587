#include "tools/lab/bench/input_models.h"
#include "scenes/describe/readers.h"
#include <string.h>

static const char *const usual[] = {"gen:blob:300000", "gen:blob:1000000", "gen:room:1000000"};
static const char *const quick[] = {"gen:blob:20000"};

int bench_model_count(const bench_request *request) {
    if (request->models.count) return request->models.count;
    return request->quick ? 1 : 3;
}

const char *bench_model_path(const bench_request *request, int index) {
    if (request->models.count) return request->models.items[index];
    return request->quick ? quick[index] : usual[index];
}

bool bench_wants_cuda(const bench_request *request) {
    return device_cuda_count() > 0 && bench_wants(&request->devices, "cuda:0");
}

static void name_of(char *out, size_t room, const char *path) {
    if (strncmp(path, "gen:", 4) == 0) {
        snprintf(out, room, "%s", path + 4);
        return;
    }
    const char *slash = strrchr(path, '/');
    snprintf(out, room, "%s", slash ? slash + 1 : path);
    char *dot = strrchr(out, '.');
    if (dot) *dot = '\0';
}

kd_status bench_model_open(bench_model *out, const char *path) {
    memset(out, 0, sizeof *out);
    name_of(out->name, sizeof out->name, path);
    KD_TRY(scene_load_mesh(&out->shape, path, NULL));
    out->input.positions = out->shape.positions;
    out->input.triangles = out->shape.triangles;
    out->input.position_count = out->shape.position_count;
    out->input.triangle_count = out->shape.triangle_count;
    return KD_OK;
}

void bench_model_close(bench_model *owned) {
    mesh_close(&owned->shape);
    memset(owned, 0, sizeof *owned);
}
