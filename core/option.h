/* Options, described once: a row says an option's name, type, range, unit, default and help. Text
   becomes the value of a field and back, values are checked, and lists of what is allowed are
   written, all from the row; so are the command line, --help, keys of scene files and Python's
   keyword arguments. */
#ifndef KD_CORE_OPTION_H
#define KD_CORE_OPTION_H
#include "core/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { OPTION_LIST_ITEMS = 16, OPTION_TEXT_BYTES = 512 /* of a value, or of what is expected */ };

typedef enum option_kind {
    OPTION_FLAG,   /* bool or int32_t: true without a text, or by "on", "off" */
    OPTION_TEXT,   /* const char *, borrowed from whoever sets it */
    OPTION_LIST,   /* option_list, grows with each use */
    OPTION_NAME,   /* char[]; one of the choices if there are any */
    OPTION_CHOICE, /* int32_t or an enum: the number of the choice */
    OPTION_UINT64, /* 2000000, 2M, 2e6 */
    OPTION_BYTES,  /* uint64_t: 4096, 500M, 1.5G; K, M, G, T (or KiB, ...) are powers of 1024 */
    OPTION_INT32,  /* `count` of them */
    OPTION_FLOAT,  /* `count` of them */
    OPTION_DOUBLE
} option_kind;

/* Whether an option may change between a rendering and its continuation from a saved state. */
typedef enum option_resume {
    OPTION_RESUME_SAME,    /* no: the state's hash covers it */
    OPTION_RESUME_CHECKED, /* the state checks it by other means */
    OPTION_RESUME_FREE     /* yes: no sample depends on it */
} option_resume;

typedef struct option_list {
    const char *items[OPTION_LIST_ITEMS]; /* borrowed */
    int count;
} option_list;

typedef struct option_row {
    const char *name;                 /* without the dashes: "max-depth" */
    const char *field;                /* the C name of the field */
    const char *argument;             /* as help shows it: "FILE"; NULL for a flag */
    const char *help;                 /* one clause or two: what it is */
    const char *initial;              /* the default as text; NULL: zero, nothing to show */
    const char *initial_help;         /* how help says the default; NULL: by `initial` */
    const char *unit;                 /* of a number: "seconds"; NULL: none */
    const char *environment;          /* variable that gives it too; NULL: none */
    const char *(*choice)(int index); /* the names allowed, NULL after the last; may be NULL */
    const char *automatic;            /* OPTION_FLOAT: the word that sets NAN; NULL: none */
    double least, most;               /* of a number, inclusive; both 0: any */
    size_t offset, bytes;             /* of the field in the group's struct: OPTION_FIELD */
    option_kind kind;
    option_resume resume;
    int count;      /* numbers in a row of fields; 0 is one */
    char separator; /* between them; 0: ',' */
    char short_name;
    bool alias;    /* another way to set fields of other rows: no value of its own */
    bool no_key;   /* not a key of scene files */
    bool by_build; /* the choices depend on what is compiled in */
} option_row;

/* .offset, .bytes and .field of a row */
#define OPTION_FIELD(type, member)                                                                 \
    .offset = offsetof(type, member), .bytes = sizeof(((type *)0)->member), .field = #member

typedef struct option_group {
    const char *heading;
    const option_row *rows; /* ends with name NULL */
    size_t base;            /* offset of the group's struct in the values */
    const char *only;       /* "seed,photons": these rows alone; NULL: all */
} option_group;

/* The group's row after `row`, the first one after NULL; NULL: there is none. */
const option_row *option_next(const option_group *group, const option_row *row);

typedef enum option_source { OPTION_BY_LINE, OPTION_BY_ENVIRONMENT, OPTION_BY_NAME } option_source;

/* Sets the row's field from text. KD_ERROR_USAGE, which says where the text came from, for text
   that is no number, a number out of range or a name that is none of the choices. */
kd_status option_set(const option_row *row, const char *text, option_source source, void *field);
/* KD_ERROR_USAGE, by the field's C name, if its value is none that option_set could give it. */
kd_status option_check(const option_row *row, const void *field);
/* The value as option_set takes it; "" for a text that is NULL. Cut after `bytes`. */
void option_print(char *out, size_t bytes, const option_row *row, const void *field);

/* What the row takes: "a whole number from 1 to 16", "auto, leaves or walk". */
void option_expect(char *out, size_t bytes, const option_row *row);
/* Range and unit for help: "1 to 16 photons", "seconds"; "" where there is nothing to say. */
void option_range(char *out, size_t bytes, const option_row *row);
/* The choices as one string, "direct, path, photon"; "" without choices. */
void option_choices(char *out, size_t bytes, const option_row *row, const char *between);
/* The name as a key or a keyword: with _ for -. */
void option_key(char *out, size_t bytes, const option_row *row);
/* Whether `name` is the row's, with - or _. */
bool option_is_called(const option_row *row, const char *name);

#ifdef __cplusplus
}
#endif

#endif
