/* Documentation generated from the tables of commands and options, in three formats. */
#ifndef KD_TOOLS_PROGRAM_PAGES_H
#define KD_TOOLS_PROGRAM_PAGES_H
#include "tools/program/verb.h"
#include <stdio.h>

void pages_program_help(FILE *stream);
void pages_verb_help(FILE *stream, const verb *of);
void pages_man(FILE *stream);        /* kandela(1) in troff with man macros */
void pages_completion(FILE *stream); /* bash completion */

/* Exit codes and environment variables, one per row. */
typedef struct pages_pair {
    const char *name, *meaning;
} pages_pair;
/* terminated by a row without a name */
extern const pages_pair pages_exit_codes[], pages_variables[];

#endif
