#include "scenes/readers.h"
#include "core/file.h"
#include "scenes/import_assimp.h"
#include "scenes/obj.h"
#include "scenes/procedural.h"
#include <strings.h>

kd_status scene_load_mesh(mesh *out, const char *path, job *watched) {
    if (procedural_is_path(path)) {
        KD_TRY(procedural_load(out, path));
    } else if (strcasecmp(file_suffix(path), ".obj") == 0) {
        KD_TRY(obj_load(out, path, NULL, watched));
    } else {
        KD_TRY(assimp_load(out, path, watched));
    }
    return KD_OK;
}
