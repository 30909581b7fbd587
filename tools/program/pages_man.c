/* The man pages, in troff with man macros: kandela(1) and one page per command. */
#include "tools/program/pages.h"
#include <ctype.h>
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

static void print_option_name(FILE *stream, const option_row *row) {
    fputs(".TP\n", stream);
    if (row->short_name) fprintf(stream, "\\fB\\-%c\\fR, ", row->short_name);
    fputs("\\fB\\-\\-", stream);
    print_text(stream, row->name);
    fputs("\\fR", stream);
    if (row->argument && row->optional)
        fprintf(stream, "[=\\fI%s\\fR]", row->argument);
    else if (row->argument)
        fprintf(stream, " \\fI%s\\fR", row->argument);
    fputc('\n', stream);
}

static void print_row(FILE *stream, const option_row *row) {
    char text[OPTION_TEXT_BYTES] = "";
    const char *initial = row->initial_help ? row->initial_help : row->initial;
    print_option_name(stream, row);
    pages_choices(text, sizeof text, row);
    print_text(stream, row->help);
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
    if (row->environment) fprintf(stream, "Environment: \\fB%s\\fR.\n", row->environment);
}

static void print_heading(FILE *stream, const char *heading) {
    fputs(".SH \"", stream);
    for (; *heading; ++heading) fputc(toupper((unsigned char)*heading), stream);
    fputs("\"\n", stream);
}

static void print_pairs(FILE *stream, const char *heading, const help_pair *pairs) {
    if (!pairs) return;
    print_heading(stream, heading);
    for (; pairs->name; ++pairs) {
        fputs(".TP\n\\fB", stream);
        print_text(stream, pairs->name);
        fputs("\\fR\n", stream);
        print_text(stream, pairs->meaning);
        fputs(".\n", stream);
    }
}

static void print_examples(FILE *stream, const help_pair *examples) {
    if (!examples) return;
    fputs(".SH EXAMPLES\n", stream);
    for (; examples->name; ++examples) {
        fprintf(stream, ".PP\n%c", toupper((unsigned char)examples->meaning[0]));
        print_text(stream, examples->meaning + 1);
        fputs(":\n.PP\n.RS 4\n.EX\n", stream);
        print_text(stream, examples->name);
        fputs("\n.EE\n.RE\n", stream);
    }
}

static void print_synopsis(FILE *stream, const subcommand *command) {
    fprintf(stream, ".B kandela %s\n[\\fIOPTION\\fR]...", command->name);
    if (command->arguments[0]) {
        fputs(" \\fI", stream);
        print_text(stream, command->arguments);
        fputs("\\fR", stream);
    }
    fputc('\n', stream);
}

void pages_command_man(FILE *stream, const subcommand *command) {
    fputs(".TH KANDELA\\-", stream);
    for (const char *c = command->name; *c; ++c) fputc(toupper((unsigned char)*c), stream);
    fprintf(stream,
            " 1 \"\" \"Kandela %s\" \"User Commands\"\n"
            ".SH NAME\nkandela\\-%s \\- ",
            kd_version(), command->name);
    print_text(stream, command->summary);
    fputs("\n.SH SYNOPSIS\n", stream);
    print_synopsis(stream, command);
    fputs(".SH DESCRIPTION\n", stream);
    print_text(stream, command->description);
    fputc('\n', stream);
    print_pairs(stream, command->items_heading, command->items);
    fputs(".SH OPTIONS\n", stream);
    const char *heading = "";
    for (const option_group *group = command->groups; group->heading; ++group) {
        if (strcmp(heading, group->heading) != 0) {
            fputs(".SS \"", stream);
            print_text(stream, group->heading);
            fputs("\"\n", stream);
        }
        heading = group->heading;
        for (const option_row *row = NULL; (row = option_next(group, row));) print_row(stream, row);
    }
    fputs(".PP\nCounts may end in K, M or G, which are powers of 1000 (20K, 1.5M, 2e6).\n", stream);
    print_examples(stream, command->examples);
    print_pairs(stream, "Exit status", pages_exit_codes);
    print_pairs(stream, "Environment", pages_variables);
    fputs(".SH \"SEE ALSO\"\n.BR kandela (1)\n", stream);
}

static void print_commands(FILE *stream, const char *heading, bool laboratory) {
    print_heading(stream, heading);
    for (const subcommand *const *row = commands; *row; ++row) {
        if ((*row)->laboratory != laboratory) continue;
        fprintf(stream, ".TP\n.BR kandela\\-%s (1)\n", (*row)->name);
        print_text(stream, (*row)->summary);
        fputs(".\n", stream);
    }
}

void pages_man(FILE *stream) {
    static const help_pair options[] = {
        {"--help", "print the commands; after a command: its options"},
        {"--version", "print the version and the libraries compiled in"},
        {"--man [COMMAND]", "print this page, or the page of a command, in troff"},
        {"--completion", "print the bash completion, to be sourced"},
        {NULL, NULL}};
    fprintf(stream,
            ".TH KANDELA 1 \"\" \"Kandela %s\" \"User Commands\"\n"
            ".SH NAME\nkandela \\- ray tracing and photon mapping on k\\-d trees\n"
            ".SH SYNOPSIS\n.B kandela\n\\fICOMMAND\\fR [\\fIOPTION\\fR]... "
            "[\\fIARGUMENT\\fR]...\n",
            kd_version());
    fputs(".SH DESCRIPTION\n"
          "Renders scenes and mesh files to pictures, by path tracing and by photon mapping, on "
          "the CPU or on CUDA devices.\n"
          "Results are printed on stdout, messages on stderr.\n"
          "Options take precedence over environment variables, and these over scene files.\n",
          stream);
    print_commands(stream, "Commands", false);
    print_commands(stream, "Laboratory commands", true);
    print_pairs(stream, "Options", options);
    print_examples(stream, command_render.examples);
    print_pairs(stream, "Exit status", pages_exit_codes);
    print_pairs(stream, "Environment", pages_variables);
    fputs(".SH \"SEE ALSO\"\n", stream);
    for (const subcommand *const *row = commands; *row; ++row)
        fprintf(stream, ".BR kandela\\-%s (1)%s\n", (*row)->name, row[1] ? "," : "");
}
