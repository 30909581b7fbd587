/* Mesh formats that have no reader of their own (readers.h): FBX, COLLADA, OFF, 3DS, ...
   through assimp, which runs in a process of its own (scenes/assimp/kandela_import.c): there are
   files on which it crashes, aborts, hangs or takes all memory. This library is not linked to it.
   How: import_program.h. */
#ifndef KD_SCENES_IMPORT_IMPORT_ASSIMP_H
#define KD_SCENES_IMPORT_IMPORT_ASSIMP_H
#include "scenes/import/import_program.h"

/* Reads `path` into `out` (closed by mesh_close, zeroed on failure): all meshes under all nodes, in
   world space, materials mapped to our records; points and lines alone leave positions without
   triangles. KD_ERROR_INPUT with assimp's reason if it cannot be read, if assimp came to grief or
   took too long over it, or if there is no assimp; KD_INTERRUPTED soon after the job is cancelled.
   No process and no file remains. May be called from several threads at a time. */
kd_status assimp_load(mesh *out, const char *path, job *watched);

#endif
