#include "scenes/import/import_assimp.h"
#include "core/files/file.h"
#include "core/memory.h"
#include "core/status.h"
#include "scenes/text/paths.h"

static kd_status mesh_take(void *to, const char *path, uint64_t most_bytes, import_source source,
                           void *from) {
    return import_answer_read((mesh *)to, path, most_bytes, source, from);
}

/* Textures come as the file names them: the other process may not look for them. */
static kd_status textures_find(mesh *in, const char *path) {
    for (uint32_t i = 0; i < in->material_count; ++i)
        for (int map = 0; map < MESH_MAPS_PLAIN; ++map) {
            char **of = mesh_material_map(&in->materials[i], (mesh_map)map), *found = NULL;
            const char *expected;
            if (!*of) continue;
            const text_span name = {*of, strlen(*of)};
            KD_TRY(path_find(path, name, &found, &expected));
            if (!found)
                log_message(LOG_WARNING, "%s: found the texture \"%s\", expected %s", path, *of,
                            expected);
            memory_free(*of);
            *of = found;
        }
    return KD_OK;
}

kd_status assimp_load(mesh *out, const char *path, job *watched) {
    memset(out, 0, sizeof *out);
    file_view view; /* assimp's own words for a missing file are vague */
    KD_TRY(file_open(&view, path));
    const import_asked asked = {path, path, "assimp", NULL, view.count, watched};
    job_stage_begin(watched, "load", (int64_t)view.count);
    file_close(&view);
    kd_status status = import_program_run(&asked, mesh_take, out);
    if (status == KD_OK) status = textures_find(out, path);
    if (status != KD_OK) mesh_close(out);
    KD_TRY(status);
    return KD_OK;
}
