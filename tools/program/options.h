/* Command lines driven by tables of options: parsing, --help, the man page and shell completion
   use the same tables. The command line takes precedence over the environment. A parsed line can
   be applied to several structs, so that it also takes precedence over a file that is read
   later. */
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
    option_given
        *options; /* environment variables first, then the command line from left to right */
    int given_count;
    char **arguments; /* positional arguments, in order */
    int argument_count;
} option_line;

/* Parses argv[1..argc) by the groups (terminated by heading NULL). Returns KD_ERROR_USAGE for an
   unknown option (suggests the nearest name) or a missing or superfluous argument. Permutes
   argv. */
kd_status option_line_open(option_line *out, const option_group *groups, int argc, char **argv);
void option_line_close(option_line *owned); /* accepts a zeroed struct */

/* An option of this program and the names by which users of other programs look for it. */
typedef struct option_hint {
    const char *use;     /* "--spp", or a whole advice */
    const char *foreign; /* "--samples --quality": words separated by spaces */
} option_hint;
extern const option_hint option_hints[]; /* terminated by use NULL */

/* Returns the hint whose foreign words include `word`; NULL: none. If `groups` is not NULL, skips
   hints to options that no group has. */
const char *option_hint_find(const char *word, const option_group *groups);

/* Sets the fields in `values`. Returns KD_ERROR_USAGE for text that is not a number, a number out
   of range, or an unknown choice. */
kd_status option_line_apply(const option_line *line, void *values);

bool option_line_has(const option_line *line, const char *name);
/* Returns the first occurrence of the option, NULL if there is none. */
const option_given *option_line_find(const option_line *line, const char *name);

#ifdef __cplusplus
}
#endif

#endif
