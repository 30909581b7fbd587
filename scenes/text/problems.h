/* Problems found while reading a file, collected so that they can be reported in file order. */
#ifndef KD_SCENES_TEXT_PROBLEMS_H
#define KD_SCENES_TEXT_PROBLEMS_H
#include "core/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A problem, as passed to a callback. */
typedef struct obj_problem {
    const char *file; /* valid during the call */
    uint32_t line;    /* 1-based; 0: the whole file */
    /* static identifier: "missing-mtl", "missing-texture", "index-range", "nan", ... */
    const char *kind;
    const char *message; /* one clause: what was found, what was expected */
    bool fatal;          /* the file cannot be used */
} obj_problem;

typedef struct obj_options {
    /* Callback for each problem; NULL: warnings go to log_message. A fatal problem is also
       returned as an error. */
    void (*problem)(void *context, const obj_problem *problem);
    void *context;
    bool keep_going; /* a fatal problem does not fail the load; `out` gets all valid data */
    /* If not NULL, *triangle_lines receives an array with the line of each triangle's face, to be
       freed by memory_free. */
    uint32_t **triangle_lines;
    uint32_t chunk_bytes; /* bytes of text per task; 0: 1 MiB. The result does not depend on it. */
    bool keep_parts; /* allow `out` to have instanced parts (mesh.h), if the format supports them */
    /* Give a mesh far from (0, 0, 0) an origin (mesh.h), subtracted in double precision from the
       file's numbers before they are rounded. */
    bool recentre;
    /* glTF: name or number of the animation that is evaluated; "": the first; NULL: none. */
    const char *clip;
    double seconds; /* time of that animation */
} obj_options;

enum { PROBLEM_TEXT = 1024, PROBLEMS_KEPT = 256 };

typedef struct problem_record {
    uint64_t line; /* 0-based, relative to the text of the list */
    const char *kind;
    bool fatal;
    char message[PROBLEM_TEXT];
} problem_record;

typedef struct problem_list {
    /* the first PROBLEMS_KEPT, including the first fatal one in any case */
    problem_record *records;
    uint32_t count;
    uint64_t capacity;
    uint64_t count_all;
    bool fatal, out_of_memory;
} problem_list;

/* Adds a problem, with a printf format. Cannot fail; sets out_of_memory instead. */
void problem_add(problem_list *list, bool fatal, const char *kind, uint64_t line,
                 const char *format, ...) __attribute__((format(printf, 5, 6)));
/* The same for a warning, unless the list has this message already, for whatever line. */
void problem_add_once(problem_list *list, const char *kind, uint64_t line, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void problem_list_close(problem_list *list);

/* Reports all problems: to the callback of `options`, or warnings to the log. Returns the first
   fatal one as the status, unless options->keep_going is set. `first_line` is the 0-based line in
   `file` where the text begins; PROBLEM_NO_LINES (with records of line 0) is for files without
   lines, whose messages contain the position. */
#define PROBLEM_NO_LINES UINT64_MAX
kd_status problem_list_report(const problem_list *list, const char *file, uint64_t first_line,
                              const obj_options *options);

#endif
