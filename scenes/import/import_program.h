/* Runs kandela-import (scenes/import/kandela_import.c), which reads bytes of strangers by libraries
   that may crash, abort, hang or take all memory over them. It is looked for where the
   environment's KANDELA_IMPORT says, else beside this library or program, and from there in ../bin,
   ../libexec/kandela and ../../libexec/kandela. It has IMPORT_SECONDS and one more for each MiB of
   the file (the environment's KANDELA_IMPORT_SECONDS: so many instead), and 4 GiB of address space
   and 64 bytes more for each of the file's; builds with sanitizers do not limit address space. */
#ifndef KD_SCENES_IMPORT_IMPORT_PROGRAM_H
#define KD_SCENES_IMPORT_IMPORT_PROGRAM_H
#include "core/job.h"
#include "scenes/import/import_answer.h"
#include "scenes/import/import_draco_answer.h"

enum { IMPORT_SECONDS = 60 };

typedef struct import_asked {
    const char *path;    /* for messages */
    const char *file;    /* what the program opens */
    const char *library; /* that reads it, for messages */
    const char *form;    /* the program's last argument; NULL: none */
    uint64_t bytes;      /* of the file */
    job *watched;
} import_asked;

/* Takes the program's answer; nothing is to be reserved beyond `most_bytes`. */
typedef kd_status (*import_taker)(void *to, const char *path, uint64_t most_bytes,
                                  import_source source, void *from);

/* KD_ERROR_INPUT if the library came to grief over the file or took too long, if there is no such
   program; KD_INTERRUPTED soon after the job is cancelled; what the taker says. No process and no
   file remains. */
kd_status import_program_run(const import_asked *asked, import_taker take, void *to);

/* Mesh formats that have no reader of their own (readers.h): FBX, COLLADA, OFF, 3DS, ...
   through assimp, which runs in a process of its own (scenes/import/kandela_import.c): there are
   files on which it crashes, aborts, hangs or takes all memory. This library is not linked to it.
   How: import_program.h. */

/* Reads `path` into `out` (closed by mesh_close, zeroed on failure): all meshes under all nodes, in
   world space, materials mapped to our records; points and lines alone leave positions without
   triangles. KD_ERROR_INPUT with assimp's reason if it cannot be read, if assimp came to grief or
   took too long over it, or if there is no assimp; KD_INTERRUPTED soon after the job is cancelled.
   No process and no file remains. May be called from several threads at a time. */
kd_status assimp_load(mesh *out, const char *path, job *watched);

/* Meshes packed by Draco (KHR_draco_mesh_compression), unpacked by kandela-import where it is built
   with that library. */

typedef struct draco_attribute {
    uint32_t id, components; /* 1 to 16 */
    float *values;           /* components a point; integers as they are, normalized or not */
} draco_attribute;

typedef struct draco_mesh {
    uint32_t point_count, triangle_count, attribute_count;
    uint32_t *indices; /* 3 a triangle, below point_count */
    draco_attribute *attributes;
} draco_mesh;

/* `path` is for messages. KD_ERROR_INPUT if Draco cannot unpack the bytes or is not there. */
kd_status draco_mesh_open(draco_mesh *out, const char *path, const void *bytes, uint64_t count,
                          job *watched);
void draco_mesh_close(draco_mesh *owned); /* takes a zeroed one */

#endif
