/* What kandela-import tells the library: a mesh, or why there is none, as bytes of this machine.
   The process that wrote it has read a file of strangers: every count, index and string of it is
   held against what it may be before it is used. */
#ifndef KD_SCENES_IMPORT_IMPORT_ANSWER_H
#define KD_SCENES_IMPORT_IMPORT_ANSWER_H
#include "scenes/mesh/mesh.h"
#include <stdbool.h>
#include <stdio.h>

/* Gives `bytes` more, or fails. */
typedef kd_status (*import_source)(void *context, void *to, uint64_t bytes);

/* `error` counts where `status` is not KD_OK; `warnings`: lines, may be NULL. False if the stream
   refuses it. */
bool import_answer_write(FILE *to, kd_status status, const char *error, const char *warnings,
                         const mesh *from);

/* Reads one into `out` (closed by mesh_close, zeroed on failure); nothing is reserved beyond
   `most_bytes`. Warnings go to the log, the error becomes the status. KD_ERROR_INPUT for an answer
   that is not sound; the source's own failures pass through. */
kd_status import_answer_read(mesh *out, const char *path, uint64_t most_bytes, import_source source,
                             void *context);

#endif
