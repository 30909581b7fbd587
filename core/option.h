/* Table-driven options. A row describes an option once: name, type, range, unit, default and help
   text. From the rows this module parses and formats values, checks them and lists the valid ones;
   the command line, --help, the keys of scene files and Python's keyword arguments are generated
   from the same rows. */
#ifndef KD_CORE_OPTION_H
#define KD_CORE_OPTION_H
#include "core/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { OPTION_LIST_ITEMS = 16, OPTION_TEXT_BYTES = 512 /* size of a formatted value */ };

typedef enum option_kind {
    OPTION_FLAG,   /* bool or int32_t: true without a value, or "on", "off" */
    OPTION_TEXT,   /* const char *; the field borrows the caller's string */
    OPTION_LIST,   /* option_list; each occurrence appends an item */
    OPTION_NAME,   /* char[]; one of the choices, if the row has any */
    OPTION_CHOICE, /* int32_t or enum: the index of the choice */
    OPTION_UINT64, /* a count: 2000000, 2M, 2e6; K, M and G are powers of 1000 */
    OPTION_BYTES,  /* uint64_t: 4096, 500M, 1.5G; K, M, G, T (or KiB, ...) are powers of 1024 */
    OPTION_INT32,  /* array of `count`; parsed as OPTION_UINT64, with a sign */
    OPTION_FLOAT,  /* array of `count` */
    OPTION_DOUBLE
} option_kind;

/* Treatment of an option whose value differs from that of the saved state being resumed. */
typedef enum option_resume {
    OPTION_RESUME_SAME,    /* no: the hash of the state covers it */
    OPTION_RESUME_CHECKED, /* the state validates it by other means */
    OPTION_RESUME_FREE     /* yes: no sample depends on it */
} option_resume;

typedef struct option_list {
    const char *items[OPTION_LIST_ITEMS]; /* the strings are borrowed */
    int count;
} option_list;

typedef struct option_row {
    const char *name;                 /* without dashes: "max-depth" */
    const char *field;                /* name of the C field */
    const char *argument;             /* placeholder in help, such as "FILE"; NULL for a flag */
    const char *help;                 /* description for help: one or two clauses */
    const char *initial;              /* default as text; NULL: zero, not shown */
    const char *initial_help;         /* wording of the default in help; NULL: `initial` */
    const char *unit;                 /* unit of a number, such as "seconds"; NULL: none */
    const char *environment;          /* environment variable that also sets it; NULL: none */
    const char *(*choice)(int index); /* valid names, then NULL; may be NULL */
    /* Returns the replacement of a choice that no longer exists, or NULL. May be NULL. */
    const char *(*replaced)(const char *name);
    const char *automatic;   /* OPTION_FLOAT: the word that sets NAN; NULL: none */
    double minimum, maximum; /* inclusive range of a number; both 0: unlimited */
    size_t offset, bytes;    /* position and size in the group's struct: OPTION_FIELD */
    option_kind kind;
    option_resume resume;
    int count;      /* elements of an array field; 0 means 1 */
    char separator; /* between elements; 0 means ',' */
    char short_name;
    bool daily;    /* listed by --help of a command with many options; others: --help=all */
    bool optional; /* the argument may be missing; OPTION_CHOICE: then the first choice */
    bool alias;    /* sets fields of other rows; has no value itself */
    bool no_key;   /* not accepted in scene files */
    bool by_build; /* the choices depend on the build configuration */
} option_row;

/* Initialises .offset, .bytes and .field of a row. */
#define OPTION_FIELD(type, member)                                                                 \
    .offset = offsetof(type, member), .bytes = sizeof(((type *)0)->member), .field = #member
/* Initialises a row for a field. */
#define OPTION_ROW(type, option_name, option_kind, member)                                         \
    .name = option_name, .kind = option_kind, OPTION_FIELD(type, member)

typedef struct option_group {
    const char *heading;
    const option_row *rows; /* terminated by a row whose name is NULL */
    size_t base;            /* offset of the group's struct within the values */
    const char *only;       /* subset of the rows, such as "seed,photons"; NULL: all */
} option_group;

/* Returns the row after `row` in the group, or the first one if `row` is NULL; NULL at the end. */
const option_row *option_next(const option_group *group, const option_row *row);

typedef enum option_source { OPTION_BY_LINE, OPTION_BY_ENVIRONMENT, OPTION_BY_NAME } option_source;

/* Parses `text` into the field. Returns KD_ERROR_USAGE, naming the source of the text, for text
   that is not a number, a number out of range or a name that is not among the choices. */
kd_status option_set(const option_row *row, const char *text, option_source source, void *field);
/* Returns KD_ERROR_USAGE, naming the C field, if option_set could not have produced the field's
   value. */
kd_status option_check(const option_row *row, const void *field);
/* Formats the value so that option_set can parse it; a NULL text becomes "". Truncates at
   `bytes`. */
void option_print(char *out, size_t bytes, const option_row *row, const void *field);

/* Parses a count: digits with an optional K (k), M or G (B), powers of 1000, or a real number with
   an integer value ("2e6", "1.5M"). *end points past the number, or is NULL if there is none or it
   exceeds 64 bits. */
uint64_t option_read_count(const char *text, const char **end);

/* Describes the valid values: "a whole number from 1 to 16", "auto, leaves or walk". */
void option_expect(char *out, size_t bytes, const option_row *row);
/* Formats range and unit for help: "1 to 16 photons", "seconds"; "" if the row has neither. */
void option_range(char *out, size_t bytes, const option_row *row);
/* Joins the choices with `between`: "direct, path, photon"; "" without choices. */
void option_choices(char *out, size_t bytes, const option_row *row, const char *between);
/* Formats the name as a key or keyword, with underscores instead of dashes. */
void option_key(char *out, size_t bytes, const option_row *row);
/* Returns true if `name` is the row's name, where an underscore also matches a dash. */
bool option_is_called(const option_row *row, const char *name);

#ifdef __cplusplus
}
#endif

#endif
