/* The mesh doctor: reads a mesh file as far as it goes and says everything that is wrong with it.
   Faults of the text (from the OBJ and MTL readers) carry file and line, and so do faults of the
   geometry of an OBJ; other formats have no lines, and the text says which triangle it is. */
#ifndef KD_SCENES_CHECK_H
#define KD_SCENES_CHECK_H
#include "core/job.h"
#include "core/status.h"
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef enum check_severity {
    CHECK_NOTE,    /* may be meant */
    CHECK_WARNING, /* a fault that may show in a picture, or stop who wants a solid */
    CHECK_ERROR    /* it cannot be rendered as it is */
} check_severity;

typedef struct check_problem {
    char *file;       /* owned by the report */
    uint32_t line;    /* 1-based; 0: the file as a whole, or a format without lines */
    const char *kind; /* static slug, listed in the README: "index-range", "nan", ... */
    char *what;       /* one clause: what was found, what was expected; owned by the report */
    check_severity severity;
} check_problem;

/* All of one kind, those too that are not kept. */
typedef struct check_kind {
    const char *name;
    uint64_t found;
    check_severity severity; /* the gravest of them */
    uint32_t kept;
} check_kind;

enum { CHECK_PROBLEMS = 100, CHECK_KINDS = 64 /* more than there are */ };

/* Bounds of the work, for heaps of triangles at one place: this much for the whole file, and so
   much more for each open edge, shell or triangle. Who reaches one says so by a note of a kind that
   ends in "-unfinished". */
enum {
    CHECK_WORK = 1 << 22,
    CHECK_LOOKS_EACH = 64,    /* an open edge */
    CHECK_MEETINGS_EACH = 64, /* a shell */
    CHECK_PAIRS_EACH = 64     /* a triangle */
};

typedef struct check_report {
    uint64_t vertices;       /* positions */
    uint64_t faces;          /* as read, before triangulation */
    uint64_t triangles;      /* sound ones */
    uint64_t materials;      /* those that the file defines, and the default where it is needed */
    uint64_t lights;         /* triangles that emit */
    check_problem *problems; /* problem_count, in file order; geometry after text */
    uint64_t problem_count;  /* at most CHECK_PROBLEMS of each kind are kept */
    uint64_t problems_found; /* all of them */
    check_kind kinds[CHECK_KINDS]; /* kind_count, in the order of their first problem */
    uint32_t kind_count;
    bool renderable;   /* no error */
    uint64_t looks;    /* work done: vertices held against open edges, */
    uint64_t meetings; /* triangles held against the rays that ask what lies in what, */
    uint64_t pairs;    /* and pairs of triangles that share a leaf of the tree */
} check_report;

/* Fills `out`, to be closed by check_close whatever the status is. A file that is unsound is not a
   failure of the check: KD_OK, and `renderable` says it. Fails for lack of memory or when cancelled
   (KD_INTERRUPTED) only; a file that cannot be opened at all is an error in the report.
   `fixed` (NULL: none) is an OBJ file to write, whole or not at all, with what can be mended
   safely: see the README. Fails then too where `path` cannot be read to its end
   (KD_ERROR_INPUT) or `fixed` cannot be written (KD_ERROR_RUNTIME); the report is there. */
kd_status check_file(check_report *out, const char *path, const char *fixed, job *watched);
/* The same; `allowed` (NULL: always) is asked when all is read and before `fixed` is written: it
   may say no, and that status is the answer. */
kd_status check_file_if(check_report *out, const char *path, const char *fixed,
                        kd_status (*allowed)(void), job *watched);
void check_close(check_report *owned); /* takes a zeroed one */

/* {"vertices","faces","triangles","materials","lights","renderable","problems_found",
   "kinds":[{"kind","severity","count"}],"problems":[{"file","line","kind","severity","what",
   "fatal"}]} and a newline. KD_ERROR_RUNTIME if the stream refuses it. */
kd_status check_write_json(const check_report *report, FILE *stream);
/* The same for people: the counts, a line `file:line: severity: what (kind)` for each problem, and
   how many there are of each kind. */
kd_status check_write_text(const check_report *report, FILE *stream);
const char *check_severity_name(check_severity severity); /* "note", "warning", "error" */

#endif
