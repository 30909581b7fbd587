/* The glTF reader: runs the steps and reports the problems. */
#include "core/memory.h"
#include "scenes/import/gltf_parts.h"
#include "scenes/mesh/origin.h"

static kd_status parts_read(gltf_file *gltf, mesh *mesh) {
    gltf_nodes nodes = {.list = NULL};
    gltf_materials materials;
    kd_status status = KD_OK;
    memset(&materials, 0, sizeof materials);
    KD_TRY_GOTO(gltf_file_open(gltf));
    KD_TRY_GOTO(gltf_poses_read(gltf));
    KD_TRY_GOTO(gltf_nodes_place(gltf, &nodes));
    KD_TRY_GOTO(gltf_materials_read(gltf, &materials));
    KD_TRY_GOTO(gltf_meshes_read(gltf, &nodes, &materials, mesh));
    KD_TRY_GOTO(gltf_stage_read(gltf, &nodes, mesh));
done:
    gltf_nodes_close(&nodes);
    gltf_materials_close(&materials);
    return status;
}

/* Converts a failure to the file's fatal problem, and reports it after the warnings. */
static kd_status gltf_problems_report(gltf_file *gltf, kd_status status) {
    if (status == KD_ERROR_INPUT) {
        const char *said = kd_last_error();
        const size_t length = strlen(gltf->path);
        if (strncmp(said, gltf->path, length) == 0) {
            said += length;
            said += strspn(said, ": ");
        }
        problem_add(&gltf->problems, true, gltf->kind, 0, "%s", said);
        status_clear();
    } else {
        KD_TRY(status);
    }
    KD_TRY(problem_list_report(&gltf->problems, gltf->path, PROBLEM_NO_LINES, gltf->options));
    return KD_OK;
}

/* Reads the file once, relative to `origin`. */
static kd_status file_read(mesh *out, const char *path, const obj_options *options,
                           job_control *job, const double origin[3], bool last) {
    gltf_file gltf;
    memset(&gltf, 0, sizeof gltf);
    memset(out, 0, sizeof *out);
    gltf.path = path;
    gltf.options = options;
    gltf.job = job;
    memcpy(gltf.origin, origin, sizeof gltf.origin);
    kd_status status = parts_read(&gltf, out);
    memcpy(out->origin, origin, sizeof out->origin);
    out->moves = gltf.poses != NULL;
    double moved[3] = {0, 0, 0};
    const bool again = status == KD_OK && !last && origin_move(moved, mesh_box(out));
    if (status != KD_OK) mesh_close(out);
    /* a file that is read again reports its problems then */
    if (!again) status = gltf_problems_report(&gltf, status);
    gltf_poses_close(&gltf);
    gltf_file_close(&gltf);
    if (status != KD_OK) mesh_close(out);
    KD_TRY(status);
    return KD_OK;
}

kd_status gltf_load(mesh *out, const char *path, const obj_options *options, job_control *job) {
    const bool recentres = options && options->recentre;
    double origin[3] = {0, 0, 0};
    if (options && options->triangle_lines) *options->triangle_lines = NULL;
    for (int i = 0;; ++i) {
        const bool last = !recentres || i == ORIGIN_MOVES;
        KD_TRY(file_read(out, path, options, job, origin, last));
        if (last || !origin_move(origin, mesh_box(out))) return KD_OK;
        mesh_close(out);
    }
}
