/* The mesh doctor: reads a mesh file as far as it goes and says everything that is wrong with it.
   Faults of the text (from the OBJ and MTL readers) carry file and line, and so do faults of the
   geometry of an OBJ; other formats have no lines. */
#ifndef KD_SCENES_CHECK_H
#define KD_SCENES_CHECK_H
#include "core/job.h"
#include "core/status.h"
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct check_problem {
    char *file;       /* owned by the report */
    uint32_t line;    /* 1-based; 0: the file as a whole, or a format without lines */
    const char *kind; /* static slug, listed in scenes/README.md: "index-range", "nan", ... */
    char *what;       /* one clause: what was found, what was expected; owned by the report */
    bool fatal;       /* it cannot be rendered as it is */
} check_problem;

typedef struct check_report {
    uint64_t vertices;       /* positions */
    uint64_t faces;          /* as read, before triangulation */
    uint64_t triangles;      /* sound ones */
    uint64_t materials;      /* those that the file defines, and the default where it is needed */
    uint64_t lights;         /* triangles that emit */
    check_problem *problems; /* problem_count, in file order; geometry after text */
    uint64_t problem_count;  /* at most CHECK_PROBLEMS of each kind are kept */
    uint64_t problems_found; /* all of them */
    bool renderable;         /* no fatal problem */
} check_report;

enum { CHECK_PROBLEMS = 100 };

/* Fills `out`, to be closed by check_close whatever the status is. A file that is unsound is not a
   failure of the check: KD_OK, and `renderable` says it. Fails for lack of memory or when cancelled
   (KD_INTERRUPTED) only; a file that cannot be opened at all is a fatal problem in the report. */
kd_status check_file(check_report *out, const char *path, job *watched);
void check_close(check_report *owned); /* takes a zeroed one */

/* {"vertices","faces","triangles","materials","lights","renderable","problems":[{"file","line","kind","what",
   "fatal"}]} and a newline. KD_ERROR_RUNTIME if the stream refuses it. */
kd_status check_write_json(const check_report *report, FILE *stream);
/* The same for people: the counts, then a line `file:line: what (kind)` for each problem. */
kd_status check_write_text(const check_report *report, FILE *stream);

#endif
