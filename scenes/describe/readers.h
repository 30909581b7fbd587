/* Selects the reader of a mesh file by the path's suffix: one row per format. Files of all other
   formats are read by assimp. */
#ifndef KD_SCENES_DESCRIBE_READERS_H
#define KD_SCENES_DESCRIBE_READERS_H
#include "scenes/formats/mesh_formats.h"

typedef struct mesh_reader {
    const char *suffix; /* ".obj", in any case; NULL: all other files */
    const char *name;
    kd_status (*load)(mesh *out, const char *path, const obj_options *options, job_control *job);
    bool recentres; /* `load` obeys obj_options.recentre; the others have floats only */
} mesh_reader;

/* Returns the reader for the suffix of `path`; never NULL. */
const mesh_reader *mesh_reader_find(const char *path);

/* Reads the mesh file `path`, or runs the generator gen:NAME:N, into `out`, which the caller
   closes by mesh_close; zeroed on failure. `options` may be NULL. A reader without line numbers
   sets *triangle_lines to NULL. Returns KD_ERROR_INPUT with `file:line: what was found, what was
   expected`. */
kd_status mesh_load(mesh *out, const char *path, const obj_options *options, job_control *job);

#endif
