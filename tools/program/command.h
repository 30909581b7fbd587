/* A command of the program: one source file and a row in commands.inc. Also the options that all
   commands share (threads, verbosity) and output to stderr. --help, the man pages and shell
   completion are generated from the tables of options. */
#ifndef KD_TOOLS_PROGRAM_COMMAND_H
#define KD_TOOLS_PROGRAM_COMMAND_H
#include "tools/program/options.h"
#include <stdio.h>

/* A term and its description, in tables terminated by a row without a name. */
typedef struct help_pair {
    const char *name, *meaning;
} help_pair;

typedef struct subcommand {
    const char *name;
    const char *arguments;   /* "SCENE"; "" if there are none */
    const char *summary;     /* one line, starting with a verb in lower case, without a full stop */
    const char *description; /* paragraphs separated by an empty line */
    const char *items_heading;  /* such as "Metrics"; NULL: no items */
    const help_pair *items;     /* actions, metrics, ... that the description refers to */
    bool first_is_item;         /* the first argument is the first word of an item */
    const help_pair *examples;  /* command lines, and what they do */
    const option_group *groups; /* terminated by heading NULL; neighbours may share a heading */
    bool brief;                 /* --help lists the daily options only; --help=all lists all */
    bool laboratory;            /* command for measurements and experiments */
    /* Runs the command. The line is parsed but not applied. The caller prints kd_last_error() and
       exits with the status. */
    kd_status (*run)(const option_line *line);
} subcommand;

#define COMMAND(name) extern const subcommand command_##name;
#include "tools/program/commands.inc"
#undef COMMAND

extern const subcommand *const commands[]; /* terminated by NULL */

/* Returns KD_ERROR_USAGE unless there are `minimum` to `maximum` arguments (maximum < 0: no
   limit). */
kd_status command_arguments(const option_line *line, const subcommand *command, int minimum,
                            int maximum);

enum { HELP_DAILY, HELP_ALL };

typedef struct general_options {
    int32_t threads; /* 0: all cores */
    int32_t help;    /* HELP_DAILY or HELP_ALL, if --help is given */
    bool quiet, verbose;
} general_options;

extern const option_row general_rows[];
#define GENERAL_GROUP(values)                                                                      \
    { "General", general_rows, offsetof(values, general), NULL }

/* Sets the number of threads, and directs the library's log to stderr with the given verbosity. */
void general_apply(const general_options *options);

bool general_colours(void); /* true if stderr is a terminal and NO_COLOR is unset or empty */

/* Print a line on stderr; --quiet suppresses notes but not errors. */
void general_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
void general_error(const char *message);

/* Registers a function that erases the progress bar; it is called before each line on stderr.
   NULL: none. */
void general_set_wipe(void (*wipe)(void));

/* Prints "  name   yes or no, and which" for each library, one per line. */
void info_compiled(FILE *stream);

#endif
