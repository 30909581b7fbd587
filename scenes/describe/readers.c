#include "scenes/describe/readers.h"
#include "core/files/file.h"
#include "scenes/formats/mesh_formats.h"
#include "scenes/import/gltf.h"
#include "scenes/import/import_program.h"
#include "scenes/mesh/generate.h"
#include "scenes/mesh/origin.h"
#include <strings.h>

/* assimp reports no lines, and logs its problems. */
static kd_status others_load(mesh *out, const char *path, const obj_options *options,
                             job_control *job) {
    if (options && options->triangle_lines) *options->triangle_lines = NULL;
    return assimp_load(out, path, options, job);
}

static const mesh_reader readers[] = {
    {".obj", "obj", obj_load, true},   {".ply", "ply", ply_load, true},
    {".stl", "stl", stl_load, false},  {".gltf", "gltf", gltf_load, true},
    {".glb", "gltf", gltf_load, true}, {NULL, "assimp", others_load, false}};

const mesh_reader *mesh_reader_find(const char *path) {
    const mesh_reader *row = readers;
    const char *suffix = file_suffix(path);
    while (row->suffix && strcasecmp(suffix, row->suffix) != 0) ++row;
    return row;
}

kd_status mesh_load(mesh *out, const char *path, const obj_options *options, job_control *job) {
    if (!procedural_is_path(path)) {
        const mesh_reader *row = mesh_reader_find(path);
        KD_TRY(row->load(out, path, options, job));
        /* after a reader that does it by itself this would only measure the mesh again */
        if (options && options->recentre && !row->recentres) mesh_recentre(out);
        return KD_OK;
    }
    if (options && options->triangle_lines) *options->triangle_lines = NULL;
    return procedural_load(out, path);
}
