/* A verb of the program: one file, and a row in verbs.inc. The options' table gives
   its --help, its section of the man page and its completion. */
#ifndef KD_TOOLS_PROGRAM_LINE_VERB_H
#define KD_TOOLS_PROGRAM_LINE_VERB_H
#include "tools/program/line/options.h"

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
#include "tools/program/line/verbs.inc"
#undef VERB

extern const verb *const verbs[]; /* ends with NULL */

/* Exactly `least` to `most` arguments (most < 0: any number), else KD_ERROR_USAGE. */
kd_status verb_arguments(const option_line *line, const verb *of, int least, int most);

#endif
