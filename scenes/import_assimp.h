/* Every mesh format but OBJ: PLY, glTF, STL, FBX, ... through assimp's C interface. */
#ifndef KD_SCENES_IMPORT_ASSIMP_H
#define KD_SCENES_IMPORT_ASSIMP_H
#include "core/job.h"
#include "scenes/mesh.h"

/* Reads `path` into `out` (closed by mesh_close, zeroed on failure): all meshes under all nodes, in
   world space, materials mapped to our records. KD_ERROR_INPUT with assimp's reason if it cannot be
   read, or if this build has no assimp. */
kd_status assimp_load(mesh *out, const char *path, job *watched);

#endif
