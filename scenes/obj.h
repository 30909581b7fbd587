/* The OBJ reader: our front door. */
#ifndef KD_SCENES_OBJ_H
#define KD_SCENES_OBJ_H
#include "core/job.h"
#include "scenes/mesh.h"

/* One trouble found while reading, in file order. */
typedef struct obj_problem {
    const char *file; /* valid during the call */
    uint32_t line;    /* 1-based; 0: the file as a whole */
    const char *kind; /* static slug: "missing-mtl", "missing-texture", "index-range", "nan", ... */
    const char *what; /* one clear clause: what was found, what was expected */
    bool fatal;       /* the file cannot be used */
} obj_problem;

typedef struct obj_options {
    /* Hears every problem; NULL: warnings go to log_message. A fatal one is also the error. */
    void (*problem)(void *context, const obj_problem *found);
    void *context;
    bool keep_going; /* a fatal problem does not fail the load: `out` gets what is sound */
    /* line of each triangle's face, or NULL if nobody asks: *triangle_lines gets triangle_count
       lines (memory_free) */
    uint32_t **triangle_lines;
    uint32_t chunk_bytes; /* of text that a thread takes at a time; 0: 1 MiB. Changes no result. */
} obj_options;

/* Reads `path` and the MTL files it names into `out` (closed by mesh_close, zeroed on failure).
   It runs in the job's stage "load", which it leaves running for its caller's next steps.
   KD_ERROR_INPUT with "file:line: what was found, what was expected" at the first malformed line.
 */
kd_status obj_load(mesh *out, const char *path, const obj_options *options, job *watched);

#endif
