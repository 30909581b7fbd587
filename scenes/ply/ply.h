/* The PLY reader: text and both byte orders, faces, triangle strips, or points alone. */
#ifndef KD_SCENES_PLY_PLY_H
#define KD_SCENES_PLY_PLY_H
#include "scenes/obj/obj.h"

/* Reads `path` into `out` (closed by mesh_close, zeroed on failure) under the rules of obj_load.
   Faults of a text have a line; those of a binary file say "byte N: " instead, and its triangles
   have no lines (*triangle_lines is NULL). A file of points alone has positions and no triangle. */
kd_status ply_load(mesh *out, const char *path, const obj_options *options, job *watched);

#endif
