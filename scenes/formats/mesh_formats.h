/* The readers of OBJ (with MTL), PLY and STL files. */
#ifndef KD_SCENES_FORMATS_MESH_FORMATS_H
#define KD_SCENES_FORMATS_MESH_FORMATS_H
#include "core/job.h"
#include "scenes/mesh/mesh.h"
#include "scenes/text/problems.h"

/* Reads `path` and the MTL files it names into `out`, which the caller closes by mesh_close;
   zeroed on failure. Runs in the job's stage "load" and leaves the stage open for the caller's
   next steps. Returns KD_ERROR_INPUT with "file:line: what was found, what was expected" for the
   first malformed line. */
kd_status obj_load(mesh *out, const char *path, const obj_options *options, job_control *job);

/* Reads `path` into `out` by the same rules as obj_load. Problems of a text file have a line
   number; those of a binary file say "byte N: " instead, and its triangles have no lines
   (*triangle_lines is NULL). A file of points alone yields positions and no triangles. */
kd_status ply_load(mesh *out, const char *path, const obj_options *options, job_control *job);

/* Reads `path` into `out` by the same rules as obj_load; problems are reported as by ply_load. A
   front face is the side from which its corners appear counter-clockwise, whatever the facet's
   normal says. A file without facets is an empty mesh. */
kd_status stl_load(mesh *out, const char *path, const obj_options *options, job_control *job);

#endif
