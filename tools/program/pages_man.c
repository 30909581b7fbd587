/* The man page, in troff with man macros. */
#include "tools/program/pages.h"
#include <kandela/version.h>
#include <stdio.h>
#include <string.h>

/* Escapes text for troff: '-' prints as a minus, and no line begins with a control character. */
static void print_text(FILE *stream, const char *text) {
    if (*text == '.' || *text == '\'') fputs("\\&", stream);
    for (; *text; ++text) {
        if (text[0] == '\n' && text[1] == '\n') {
            fputs("\n.PP\n", stream);
            ++text;
        } else if (*text == '\\') {
            fputs("\\e", stream);
        } else if (*text == '-') {
            fputs("\\-", stream);
        } else {
            fputc(*text, stream);
        }
    }
}

static void print_row(FILE *stream, const option_row *row) {
    fputs(".TP\n", stream);
    if (row->short_name) fprintf(stream, "\\fB\\-%c\\fR, ", row->short_name);
    fputs("\\fB\\-\\-", stream);
    print_text(stream, row->name);
    fputs("\\fR", stream);
    if (row->argument) fprintf(stream, " \\fI%s\\fR", row->argument);
    fputc('\n', stream);
    char text[OPTION_TEXT_BYTES];
    const char *initial = row->initial_help ? row->initial_help : row->initial;
    option_choices(text, sizeof text, row, ", ");
    print_text(stream, row->help);
    if (text[0]) fputs(": ", stream);
    print_text(stream, text);
    option_range(text, sizeof text, row);
    if (text[0]) fputs(" (", stream);
    print_text(stream, text);
    fputs(text[0] ? ").\n" : ".\n", stream);
    if (initial) {
        fputs("Default: ", stream);
        print_text(stream, initial);
        fputs(".\n", stream);
    }
    if (row->environment)
        fprintf(stream, "Also from the environment: \\fB%s\\fR.\n", row->environment);
}

static void print_verb(FILE *stream, const verb *of) {
    fprintf(stream, ".SS kandela %s [\\fIOPTION\\fR]... \\fI%s\\fR\n", of->name, of->arguments);
    print_text(stream, of->description ? of->description : of->summary);
    fputc('\n', stream);
    for (const option_group *group = of->groups; group->heading; ++group)
        for (const option_row *row = NULL; (row = option_next(group, row));) print_row(stream, row);
}

static void print_pairs(FILE *stream, const char *heading, const pages_pair *pairs) {
    fprintf(stream, ".SH \"%s\"\n", heading);
    for (; pairs->name; ++pairs) {
        fprintf(stream, ".TP\n\\fB%s\\fR\n", pairs->name);
        print_text(stream, pairs->meaning);
        fputs(".\n", stream);
    }
}

void pages_man(FILE *stream) {
    fprintf(stream,
            ".TH KANDELA 1 \"\" \"Kandela %s\" \"User Commands\"\n"
            ".SH NAME\nkandela \\- ray tracing and photon mapping on k\\-d trees\n"
            ".SH SYNOPSIS\n",
            kd_version());
    for (const verb *const *row = verbs; *row; ++row)
        fprintf(stream, "%s.B kandela %s\n[\\fIOPTION\\fR]... \\fI%s\\fR\n",
                row == verbs ? "" : ".br\n", (*row)->name, (*row)->arguments);
    fputs(".SH DESCRIPTION\n"
          "Results go to stdout, everything else to stderr.\n"
          "The command line beats the environment, and the environment beats a scene file.\n"
          ".SH VERBS\n",
          stream);
    for (const verb *const *row = verbs; *row; ++row) print_verb(stream, *row);
    fputs(".SH \"OTHER OPTIONS\"\n"
          ".TP\n\\fB\\-\\-help\\fR\nNames the verbs; after a verb: its options.\n"
          ".TP\n\\fB\\-\\-version\\fR\nThe version and what is compiled in.\n"
          ".TP\n\\fB\\-\\-man\\fR\nThis page in troff.\n"
          ".TP\n\\fB\\-\\-completion\\fR\nThe completion for bash, to be sourced.\n",
          stream);
    print_pairs(stream, "EXIT STATUS", pages_exit_codes);
    print_pairs(stream, "ENVIRONMENT", pages_variables);
}
