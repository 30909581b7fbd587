/* Which reader reads a mesh file: one row a format, found by the path's suffix; what has no row
   goes to assimp. */
#ifndef KD_SCENES_DESCRIBE_READERS_H
#define KD_SCENES_DESCRIBE_READERS_H
#include "scenes/formats/mesh_formats.h"

typedef struct mesh_reader {
    const char *suffix; /* ".obj", any case; NULL: the last resort */
    const char *name;
    kd_status (*load)(mesh *out, const char *path, const obj_options *options, job *watched);
} mesh_reader;

/* Never NULL. */
const mesh_reader *mesh_reader_find(const char *path);

/* Reads the mesh file `path` by its reader, or makes what the generator gen:NAME:N says, into `out`
   (closed by mesh_close, zeroed on failure). `options` may be NULL; a reader without lines leaves
   *triangle_lines NULL. KD_ERROR_INPUT with `file:line: what was found, what was expected`. */
kd_status mesh_load(mesh *out, const char *path, const obj_options *options, job *watched);
/* The same without options. */
kd_status scene_load_mesh(mesh *out, const char *path, job *watched);

#endif
