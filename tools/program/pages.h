/* What the table of verbs and their options says, in three forms. */
#ifndef KD_TOOLS_PROGRAM_PAGES_H
#define KD_TOOLS_PROGRAM_PAGES_H
#include "tools/program/verb.h"
#include <stdio.h>

void pages_program_help(FILE *stream);
void pages_verb_help(FILE *stream, const verb *of);
void pages_man(FILE *stream);        /* kandela(1), troff with man macros */
void pages_completion(FILE *stream); /* for bash */

/* Exit codes and variables of the environment, a row each. */
typedef struct pages_pair {
    const char *name, *meaning;
} pages_pair;
extern const pages_pair pages_exit_codes[], pages_variables[]; /* end with name NULL */

#endif
