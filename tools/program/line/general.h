/* What every verb has: threads, the amount of talk, colours. */
#ifndef KD_TOOLS_PROGRAM_LINE_GENERAL_H
#define KD_TOOLS_PROGRAM_LINE_GENERAL_H
#include "tools/program/line/options.h"

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

#endif
