/* Troubles found while reading one file, kept until they can be told in the file's order. */
#ifndef KD_SCENES_TEXT_PROBLEMS_H
#define KD_SCENES_TEXT_PROBLEMS_H
#include "core/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
    /* line of each triangle's face, or NULL if not wanted: *triangle_lines gets triangle_count
       lines (memory_free) */
    uint32_t **triangle_lines;
    uint32_t chunk_bytes; /* of text that a thread takes at a time; 0: 1 MiB. Changes no result. */
    bool keep_parts; /* `out` may have parts that are placed (mesh.h), of formats that know them */
} obj_options;

enum { PROBLEM_TEXT = 200, PROBLEMS_KEPT = 256 };

typedef struct problem_record {
    uint64_t line; /* 0-based within the text that the list is about */
    const char *kind;
    bool fatal;
    char what[PROBLEM_TEXT];
} problem_record;

typedef struct problem_list {
    problem_record
        *records; /* the first PROBLEMS_KEPT, and the first fatal one whatever came before */
    uint32_t count, room;
    uint64_t found;
    bool fatal, out_of_memory;
} problem_list;

/* printf form; never fails: without memory the list says `out_of_memory`. */
void problem_add(problem_list *list, bool fatal, const char *kind, uint64_t line,
                 const char *format, ...) __attribute__((format(printf, 5, 6)));
void problem_list_close(problem_list *list);

/* Tells them all: to the options' listener, else warnings to the log. The first fatal one becomes
   the status that is returned, unless the options say to keep going. `first_line` is the 0-based
   line of the text's beginning in `file`; PROBLEM_NO_LINES (with records of line 0): a file without
   lines, the words say where. */
#define PROBLEM_NO_LINES UINT64_MAX
kd_status problem_list_tell(const problem_list *list, const char *file, uint64_t first_line,
                            const obj_options *options);

#endif
