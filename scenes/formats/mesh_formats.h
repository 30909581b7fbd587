/* The readers of OBJ with MTL, PLY, and STL: from a path to a mesh. */
#ifndef KD_SCENES_FORMATS_MESH_FORMATS_H
#define KD_SCENES_FORMATS_MESH_FORMATS_H
#include "core/job.h"
#include "scenes/mesh/mesh.h"
#include "scenes/text/problems.h"

/* Reads `path` and the MTL files it names into `out` (closed by mesh_close, zeroed on failure).
   It runs in the job's stage "load", which it leaves running for its caller's next steps.
   KD_ERROR_INPUT with "file:line: what was found, what was expected" at the first malformed line.
 */
kd_status obj_load(mesh *out, const char *path, const obj_options *options, job *watched);

/* Reads `path` into `out` (closed by mesh_close, zeroed on failure) under the rules of obj_load.
   Faults of a text have a line; those of a binary file say "byte N: " instead, and its triangles
   have no lines (*triangle_lines is NULL). A file of points alone has positions and no triangle. */
kd_status ply_load(mesh *out, const char *path, const obj_options *options, job *watched);

/* Reads `path` into `out` (closed by mesh_close, zeroed on failure) under the rules of obj_load.
   Faults of a text have a line; those of a binary file say "byte N: " instead, and its triangles
   have no lines (*triangle_lines is NULL). Fronts are where corners turn counter-clockwise,
   whatever a facet's normal says. A file without a facet is an empty mesh. */
kd_status stl_load(mesh *out, const char *path, const obj_options *options, job *watched);

#endif
