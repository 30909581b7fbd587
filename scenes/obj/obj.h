/* The OBJ reader: our front door. */
#ifndef KD_SCENES_OBJ_OBJ_H
#define KD_SCENES_OBJ_OBJ_H
#include "core/job.h"
#include "scenes/mesh/mesh.h"
#include "scenes/text/problems.h"

/* Reads `path` and the MTL files it names into `out` (closed by mesh_close, zeroed on failure).
   It runs in the job's stage "load", which it leaves running for its caller's next steps.
   KD_ERROR_INPUT with "file:line: what was found, what was expected" at the first malformed line.
 */
kd_status obj_load(mesh *out, const char *path, const obj_options *options, job *watched);

#endif
