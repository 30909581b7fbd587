/* The part of the assimp import that is about materials. */
#ifndef KD_SCENES_ASSIMP_IMPORT_MATERIALS_H
#define KD_SCENES_ASSIMP_IMPORT_MATERIALS_H
#include "scenes/mesh/mesh.h"
#include <assimp/scene.h>

/* All materials of the scene, in its order, into `out`, which has none yet. Pictures inside the
   file and those that are not there are told to the log and left out. */
kd_status import_materials(mesh *out, const struct aiScene *from, const char *path);

#endif
