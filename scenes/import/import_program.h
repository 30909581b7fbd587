/* Runs kandela-import (scenes/import/kandela_import.c), which parses untrusted files with
   libraries that may crash, abort, hang or exhaust memory. The program is the one named by the
   environment variable KANDELA_IMPORT; otherwise it is searched next to this library or program,
   and relative to that in ../bin, ../libexec/kandela and ../../libexec/kandela. Its limits are
   IMPORT_SECONDS plus 1 s per MiB of the file (KANDELA_IMPORT_SECONDS overrides that), and an
   address space of 4 GiB plus 64 bytes per byte of the file (not in builds with sanitizers). */
#ifndef KD_SCENES_IMPORT_IMPORT_PROGRAM_H
#define KD_SCENES_IMPORT_IMPORT_PROGRAM_H
#include "core/job.h"
#include "scenes/import/import_answer.h"
#include "scenes/import/import_draco_answer.h"
#include "scenes/text/problems.h"

enum { IMPORT_SECONDS = 60 };

typedef struct import_request {
    const char *path;    /* file name for messages */
    const char *file;    /* the file that the program opens */
    const char *library; /* the library that reads it, for messages */
    const char *form;    /* last argument of the program, or NULL */
    uint64_t bytes;      /* size of the file */
    job_control *job;
} import_request;

/* Reads the program's answer from `source`. Must allocate at most `max_bytes`. */
typedef kd_status (*import_taker)(void *to, const char *path, uint64_t max_bytes,
                                  import_source source, void *from);

/* Runs the program and passes its answer to `take`. Returns KD_ERROR_INPUT if the library crashed
   on the file or took too long, or if the program does not exist; KD_INTERRUPTED soon after the
   job is cancelled; otherwise the status of `take`. Leaves no process or temporary file behind. */
kd_status import_program_run(const import_request *request, import_taker take, void *to);

/* Mesh formats without a reader of their own (readers.h): FBX, COLLADA, OFF, 3DS and so on,
   through assimp. assimp runs in kandela-import, because it crashes, aborts, hangs or exhausts
   memory on some files. This library does not link to it. */

/* In the message of a file that assimp cannot read, before assimp's reason, and in that of a build
   without assimp. */
#define IMPORT_CANNOT_READ "assimp cannot read it: "
#define IMPORT_LACKS "others need assimp"

/* Reads `path` into `out`, which the caller closes by mesh_close; zeroed on failure. Reads all
   meshes of all nodes in world space, and converts materials. A file with points and lines only
   yields positions without triangles. Returns KD_ERROR_INPUT with assimp's reason, or if assimp
   crashed, took too long or is not available; KD_INTERRUPTED soon after the job is cancelled.
   Leaves no process or temporary file behind. Thread-safe. */
kd_status assimp_load(mesh *out, const char *path, const obj_options *options, job_control *job);

/* Draco compression (KHR_draco_mesh_compression), decoded by kandela-import if it is built with
   that library. */

typedef struct draco_attribute {
    uint32_t id, components; /* components: 1 to 16 */
    float *values;           /* `components` values per point; integers are not normalised */
} draco_attribute;

typedef struct draco_mesh {
    uint32_t point_count, triangle_count, attribute_count;
    uint32_t *indices; /* 3 per triangle, all below point_count */
    draco_attribute *attributes;
} draco_mesh;

/* `path` is used in messages. Returns KD_ERROR_INPUT if Draco cannot decode the data or is not
   available. */
kd_status draco_mesh_open(draco_mesh *out, const char *path, const void *bytes, uint64_t count,
                          job_control *job);
void draco_mesh_close(draco_mesh *owned); /* accepts a zeroed struct */

#endif
