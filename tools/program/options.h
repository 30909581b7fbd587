/* The command line of a program by its tables of options: reading the line, --help, the man page
   and the completion all come from them. The command line beats the environment; a line can be
   applied to several structs, so that it also beats what a file said after the line was read. */
#ifndef KD_TOOLS_PROGRAM_OPTIONS_H
#define KD_TOOLS_PROGRAM_OPTIONS_H
#include "core/option.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct option_given {
    const option_row *row;
    const char *text; /* NULL for a flag */
    size_t base;
    bool from_environment;
} option_given;

typedef struct option_line {
    option_given *given; /* environment first, then the line from left to right */
    int given_count;
    char **arguments; /* what is no option, in order */
    int argument_count;
} option_line;

/* Sorts out argv[1..argc) by the groups (ends with heading NULL). KD_ERROR_USAGE, with the nearest
   right name, for an unknown option, a missing argument or one too many. Permutes argv. */
kd_status option_line_open(option_line *out, const option_group *groups, int argc, char **argv);
void option_line_close(option_line *owned); /* takes a zeroed one */

/* Sets the fields in `values`. KD_ERROR_USAGE for text that is no number, a number out of range or
   a name that is none of the choices. */
kd_status option_line_apply(const option_line *line, void *values);

bool option_line_has(const option_line *line, const char *name);

#ifdef __cplusplus
}
#endif

#endif
