/* The mesh checker: reads a mesh file as far as possible and reports all its problems. Problems of
   the text (from the OBJ and MTL readers) and of the geometry of an OBJ have a file and a line.
   Other formats have no lines; their messages contain the index of the triangle or vertex. */
#ifndef KD_SCENES_CHECK_H
#define KD_SCENES_CHECK_H
#include "core/job.h"
#include "core/status.h"
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef enum check_severity {
    CHECK_NOTE,    /* may be intended */
    CHECK_WARNING, /* may be visible in an image, or a problem if a solid is required */
    CHECK_ERROR    /* the file cannot be rendered */
} check_severity;

typedef struct check_problem {
    char *file;       /* owned by the report */
    uint32_t line;    /* 1-based; 0: the whole file, or a format without lines */
    const char *kind; /* static identifier, listed in the README: "index-range", "nan", ... */
    char *message;    /* one clause: what was found, what was expected; owned by the report */
    check_severity severity;
} check_problem;

/* All problems of one kind, including those that are not listed. */
typedef struct check_kind {
    const char *name;
    uint64_t count;
    check_severity severity; /* the highest severity among them */
    uint32_t kept;
} check_kind;

enum { CHECK_PROBLEMS = 100, CHECK_KINDS = 64 /* more kinds than exist */ };

/* Limits of the work, for degenerate input with many triangles in one place: CHECK_WORK per file,
   plus a number per open edge, shell or triangle. A check that reaches its limit adds a note of a
   kind that ends in "-unfinished". */
enum {
    CHECK_WORK = 1 << 22,
    CHECK_TESTS_EACH = 64,     /* per open edge */
    CHECK_RAY_TESTS_EACH = 64, /* per shell */
    CHECK_PAIRS_EACH = 64      /* per triangle */
};

typedef struct check_report {
    uint64_t vertices;       /* positions */
    uint64_t faces;          /* faces in the file, before triangulation */
    uint64_t triangles;      /* valid triangles */
    uint64_t materials;      /* materials of the file, and the default material if it is used */
    uint64_t lights;         /* emissive triangles */
    check_problem *problems; /* problem_count elements in file order, geometry after text */
    uint64_t problem_count;  /* at most CHECK_PROBLEMS are listed of each kind */
    uint64_t problems_found; /* including those not listed */
    check_kind kinds[CHECK_KINDS]; /* kind_count elements, in order of their first problem */
    uint32_t kind_count;
    bool renderable;    /* no problem is an error */
    uint64_t tests;     /* work done: vertices tested against open edges */
    uint64_t ray_tests; /* triangles tested against rays, for nesting of shells */
    uint64_t pairs;     /* pairs of triangles in a leaf of the tree */
} check_report;

/* Checks the file `path` and fills in `out`, which the caller closes by check_close whatever the
   status. An invalid file is not a failure: the status is KD_OK and out->renderable is false; the
   same holds if the file cannot be opened. Fails only if memory runs out or the job is cancelled
   (KD_INTERRUPTED). `fixed` (NULL: none) is an OBJ file to write, completely or not at all, with
   everything repaired that can be repaired safely (see the README). In that case also fails if
   `path` cannot be read completely (KD_ERROR_INPUT) or `fixed` cannot be written
   (KD_ERROR_RUNTIME); the report is valid then, too. */
kd_status check_file(check_report *out, const char *path, const char *fixed, job_control *job);
/* As check_file, but calls `allowed` (if not NULL) after reading all files and before writing
   `fixed`; if it fails, nothing is written and its status is returned. */
kd_status check_file_if(check_report *out, const char *path, const char *fixed,
                        kd_status (*allowed)(void), job_control *job);
void check_close(check_report *owned); /* accepts a zeroed struct */

/* Writes the report as JSON with a final newline:
   {"vertices","faces","triangles","materials","lights","renderable","problems_found",
   "kinds":[{"kind","severity","count"}],"problems":[{"file","line","kind","severity","what",
   "fatal"}]}. Returns KD_ERROR_RUNTIME on a write error. */
kd_status check_write_json(const check_report *report, FILE *stream);
/* Writes the report as text: the counts, a line `file:line: severity: what (kind)` per problem,
   and the number of problems of each kind. */
kd_status check_write_text(const check_report *report, FILE *stream);
const char *check_severity_name(check_severity severity); /* returns "note", "warning" or "error" */

#endif
