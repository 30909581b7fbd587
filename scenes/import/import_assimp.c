#include "scenes/import/import_assimp.h"
#include "core/files/file.h"

static kd_status mesh_take(void *to, const char *path, uint64_t most_bytes, import_source source,
                           void *from) {
    return import_answer_read((mesh *)to, path, most_bytes, source, from);
}

kd_status assimp_load(mesh *out, const char *path, job *watched) {
    memset(out, 0, sizeof *out);
    file_view view; /* assimp's own words for a missing file are vague */
    KD_TRY(file_open(&view, path));
    const import_asked asked = {path, path, "assimp", NULL, view.count, watched};
    job_stage_begin(watched, "load", (int64_t)view.count);
    file_close(&view);
    const kd_status status = import_program_run(&asked, mesh_take, out);
    if (status != KD_OK) mesh_close(out);
    KD_TRY(status);
    return KD_OK;
}
