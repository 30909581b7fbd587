/* The answer of kandela-import to the library: a mesh or an error, in native byte order. The
   writer has parsed an untrusted file, so the reader validates every count, index and string
   before use. */
#ifndef KD_SCENES_IMPORT_IMPORT_ANSWER_H
#define KD_SCENES_IMPORT_IMPORT_ANSWER_H
#include "scenes/mesh/mesh.h"
#include <stdbool.h>
#include <stdio.h>

/* Reads exactly `bytes` bytes to `to`, or fails. */
typedef kd_status (*import_source)(void *context, void *to, uint64_t bytes);

/* Writes an answer. `error` is used if `status` is not KD_OK; `warnings` are lines, or NULL.
   Returns false on a write error. */
bool import_answer_write(FILE *file, kd_status status, const char *error, const char *warnings,
                         const mesh *mesh);

/* Reads an answer into `out`, which the caller closes by mesh_close; zeroed on failure. Allocates
   at most `max_bytes`. Warnings are logged; the error becomes the status. Returns KD_ERROR_INPUT
   for an invalid answer; failures of the source are passed through. */
kd_status import_answer_read(mesh *out, const char *path, uint64_t max_bytes, import_source source,
                             void *context);

#endif
