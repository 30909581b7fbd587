/* Troubles found while reading one file, kept until they can be told in the file's order. */
#ifndef KD_SCENES_PROBLEMS_H
#define KD_SCENES_PROBLEMS_H
#include "core/status.h"
#include "scenes/obj.h"
#include <stddef.h>

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
