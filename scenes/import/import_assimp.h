/* Mesh formats that have no reader of their own (readers.h): FBX, COLLADA, OFF, 3DS, ...
   through assimp, which runs in a process of its own (scenes/assimp/kandela_import.c): there are
   files on which it crashes, aborts, hangs or takes all memory. This library is not linked to it.

   kandela-import is looked for where the environment's KANDELA_IMPORT says, else beside this
   library or program, and from there in ../bin, ../libexec/kandela and ../../libexec/kandela. It
   has IMPORT_SECONDS and one more for each MiB of the file (the environment's
   KANDELA_IMPORT_SECONDS: so many instead), and 4 GiB of address space and 64 bytes more for each
   of the file's; builds with sanitizers do not limit address space. */
#ifndef KD_SCENES_IMPORT_IMPORT_ASSIMP_H
#define KD_SCENES_IMPORT_IMPORT_ASSIMP_H
#include "core/job.h"
#include "scenes/mesh/mesh.h"

enum { IMPORT_SECONDS = 60 };

/* Reads `path` into `out` (closed by mesh_close, zeroed on failure): all meshes under all nodes, in
   world space, materials mapped to our records; points and lines alone leave positions without
   triangles. KD_ERROR_INPUT with assimp's reason if it cannot be read, if assimp came to grief or
   took too long over it, or if there is no assimp; KD_INTERRUPTED soon after the job is cancelled.
   No process and no file remains. May be called from several threads at a time. */
kd_status assimp_load(mesh *out, const char *path, job *watched);

#endif
