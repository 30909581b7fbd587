/* Options of a program, described once: a table says each option's name, argument, help, variable
   of the environment, default and range; reading them, --help, the man page and the completion all
   come from it. The command line beats the environment; a line can be applied to several structs,
   so that it also beats what a file said after the line was read. */
#ifndef KD_TOOLS_PROGRAM_LINE_OPTIONS_H
#define KD_TOOLS_PROGRAM_LINE_OPTIONS_H
#include "core/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { OPTION_LIST_ITEMS = 16 };

typedef enum option_kind {
    OPTION_FLAG,   /* bool, set to true */
    OPTION_TEXT,   /* const char *, borrowed from the line or the environment */
    OPTION_LIST,   /* option_list, grows with each use */
    OPTION_NAME,   /* char[]; one of the choices if there are any */
    OPTION_CHOICE, /* int32_t or an enum: the number of the choice */
    OPTION_UINT64, /* 2000000, 2M, 2e6 */
    OPTION_BYTES,  /* uint64_t: 4096, 500M, 1.5G; K, M, G, T (or KiB, ...) are powers of 1024 */
    OPTION_INT32,  /* `count` of them */
    OPTION_FLOAT,  /* `count` of them */
    OPTION_DOUBLE
} option_kind;

typedef struct option_list {
    const char *items[OPTION_LIST_ITEMS]; /* borrowed */
    int count;
} option_list;

typedef struct option_row {
    const char *name;                 /* without the dashes */
    const char *argument;             /* as help shows it: "FILE"; NULL for a flag */
    const char *help;                 /* a clause or two */
    const char *initial;              /* the default as help shows it; NULL: nothing to say */
    const char *environment;          /* variable that gives it too; NULL: none */
    const char *(*choice)(int index); /* the names allowed, NULL after the last; may be NULL */
    const char *automatic;            /* OPTION_FLOAT: the word that sets NAN; NULL: none */
    double least, most;               /* of a number, inclusive; both 0: any */
    size_t offset, bytes;             /* of the field in the group's struct: OPTION_FIELD */
    option_kind kind;
    int count;      /* numbers in a row of fields; 0 is one */
    char separator; /* between them; 0: ',' */
    char short_name;
} option_row;

/* .offset and .bytes of a row */
#define OPTION_FIELD(type, member)                                                                 \
    .offset = offsetof(type, member), .bytes = sizeof(((type *)0)->member)

typedef struct option_group {
    const char *heading;
    const option_row *rows; /* ends with name NULL */
    size_t base;            /* offset of the group's struct in the values */
} option_group;

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
