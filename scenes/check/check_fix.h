/* A file with its faults mended, as far as that is safe. */
#ifndef KD_SCENES_CHECK_FIX_H
#define KD_SCENES_CHECK_FIX_H
#include "scenes/check/check_parts.h"

/* Writes the OBJ file `to`, whole or not at all. An OBJ keeps its lines (groups, materials, texture
   coordinates, polygons, comments between them) but for the vertices and faces that are mended;
   any other format becomes an OBJ first. KD_ERROR_INPUT if an error is in the report, or the file
   has no triangle; KD_ERROR_RUNTIME if it cannot be written. */
kd_status check_fix(examination *of, const char *to);

/* check_mesh_text.c: the mesh as the text of an OBJ file, and the line of each triangle there; both
   to memory_free. Materials are groups there: their looks stay behind. */
kd_status check_mesh_text(const mesh *body, char **text, uint64_t *bytes, uint32_t **lines);

#endif
