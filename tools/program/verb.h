/* A command of the program: one file, and a row in verbs.inc; and the options that every command
   has: threads, verbosity, colours. The table of options gives --help, the man page and the
   completion. */
#ifndef KD_TOOLS_PROGRAM_VERB_H
#define KD_TOOLS_PROGRAM_VERB_H
#include "tools/program/options.h"
#include <stdio.h>

typedef struct verb {
    const char *name;
    const char *arguments;      /* "SCENE"; "" for none */
    const char *summary;        /* one line, small letter, no full stop */
    const char *description;    /* paragraphs, parted by an empty line; may be NULL */
    const option_group *groups; /* ends with heading NULL */
    bool laboratory;            /* measures and explains; not needed to render */
    /* The line is read but not applied. The exit code is the status; the message of
       kd_last_error() is printed by the caller. */
    kd_status (*run)(const option_line *line);
} verb;

#define VERB(name) extern const verb verb_##name;
#include "tools/program/verbs.inc"
#undef VERB

extern const verb *const verbs[]; /* ends with NULL */

/* Exactly `least` to `most` arguments (most < 0: any number), else KD_ERROR_USAGE. */
kd_status verb_arguments(const option_line *line, const verb *of, int least, int most);

typedef struct general_options {
    int32_t threads; /* 0: all cores */
    bool quiet, verbose, help;
} general_options;

extern const option_row general_rows[];
#define GENERAL_GROUP(values)                                                                      \
    { "General options", general_rows, offsetof(values, general), NULL }

/* Threads, and the library's messages to stderr as loud as asked. */
void general_apply(const general_options *options);

bool general_colours(void); /* stderr is a terminal and NO_COLOR is unset or empty */

/* Lines on stderr. An error is said even when quiet, a note is not. */
void general_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
void general_error(const char *message);

/* Called before each line on stderr, to wipe what is drawn there; NULL: nothing is. */
void general_set_wipe(void (*wipe)(void));

void info_compiled(FILE *stream); /* "  name   yes or no, and which", a line each */

#endif
