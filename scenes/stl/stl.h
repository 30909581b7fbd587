/* The STL reader: text (several solids) and binary, corners at one place made one vertex. */
#ifndef KD_SCENES_STL_STL_H
#define KD_SCENES_STL_STL_H
#include "scenes/obj/obj.h"

/* Reads `path` into `out` (closed by mesh_close, zeroed on failure) under the rules of obj_load.
   Faults of a text have a line; those of a binary file say "byte N: " instead, and its triangles
   have no lines (*triangle_lines is NULL). Fronts are where corners turn counter-clockwise,
   whatever a facet's normal says. A file without a facet is an empty mesh. */
kd_status stl_load(mesh *out, const char *path, const obj_options *options, job *watched);

#endif
