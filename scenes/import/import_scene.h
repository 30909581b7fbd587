/* The part of kandela-import that runs assimp and converts the result to a mesh. */
#ifndef KD_SCENES_IMPORT_IMPORT_SCENE_H
#define KD_SCENES_IMPORT_IMPORT_SCENE_H
#include "core/files/file.h"
#include "scenes/mesh/mesh.h"

/* Reads the contents `file` of the file called `path` into `out`, which the caller closes by
   mesh_close; zeroed on failure. Reads all meshes of all nodes in world space, and converts
   materials; texture paths are kept as written in the file. Opens no other file. Call it only in a
   sandboxed process: on some files assimp crashes, aborts or does not terminate. Returns
   KD_ERROR_INPUT with assimp's reason. */
kd_status import_scene(mesh *out, const char *path, const file_view *file);

#endif
