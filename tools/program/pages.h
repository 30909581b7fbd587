/* Documentation generated from the tables of commands and options: help, man pages, completion. */
#ifndef KD_TOOLS_PROGRAM_PAGES_H
#define KD_TOOLS_PROGRAM_PAGES_H
#include "tools/program/command.h"
#include <stdio.h>

void pages_program_help(FILE *stream);
/* `all`: every option; otherwise the daily ones, if the command distinguishes them. */
void pages_command_help(FILE *stream, const subcommand *command, bool all);
void pages_man(FILE *stream); /* kandela(1), in troff with man macros */
void pages_command_man(FILE *stream, const subcommand *command); /* kandela-NAME(1) */
/* Formats the choices of an option, to follow its help: ": auto, bar, off"; "" if there are none or
   the placeholder shows them. */
void pages_choices(char *out, size_t bytes, const option_row *row);
void pages_completion(FILE *stream); /* bash completion */

/* terminated by a row without a name */
extern const help_pair pages_exit_codes[], pages_variables[];

#endif
