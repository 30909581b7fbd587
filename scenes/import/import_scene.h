/* The inside of kandela-import: what assimp reads, as a mesh. */
#ifndef KD_SCENES_IMPORT_IMPORT_SCENE_H
#define KD_SCENES_IMPORT_IMPORT_SCENE_H
#include "core/files/file.h"
#include "scenes/mesh/mesh.h"

/* Reads the bytes of `file`, whose name is `path`, into `out` (closed by mesh_close, zeroed on
   failure): all meshes under all nodes, in world space, materials mapped to our records, whose maps
   are the names of textures as they stand in the file. No other file is opened. It runs in a
   process of its own: on some files assimp crashes, aborts or does not end. KD_ERROR_INPUT with
   assimp's reason. */
kd_status import_scene(mesh *out, const char *path, const file_view *file);

#endif
