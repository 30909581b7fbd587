/* --help of the program and of each command. */
#include "tools/program/pages.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { LINE_COLUMNS = 80, HELP_COLUMN = 28 };

const pages_pair pages_exit_codes[] = {
    {"0", "done"},
    {"1", "something failed while running: a full disk, a lost file"},
    {"2", "usage: an argument or option that makes no sense"},
    {"3", "bad input; the message says where, what was found and what was expected"},
    {"4", "not enough memory"},
    {"5", "the device is absent or failed"},
    {"6", "a comparison or check did not hold"},
    {"130", "interrupted; what was finished is kept"},
    {NULL, NULL}};

const pages_pair pages_variables[] = {
    {"KANDELA_DEVICE", "device for verbs that compute, as --device"},
    {"KANDELA_NUM_THREADS", "threads of the CPU, as --threads"},
    {"KANDELA_CPU", "base: no AVX2, avx2: no AVX-512; for the same results more slowly"},
    {"NO_COLOR", "if set and not empty, messages are not coloured"},
    {NULL, NULL}};

/* Prints `text` word-wrapped, from column `at` on, with following lines indented by `indent`; ends
   the line. */
static void print_wrapped(FILE *stream, const char *text, int at, int indent) {
    while (*text) {
        const int length = (int)strcspn(text, " ");
        if (at > indent && at + 1 + length > LINE_COLUMNS) {
            fprintf(stream, "\n%*s", indent, "");
            at = indent;
        } else if (at > indent) {
            fputc(' ', stream);
            ++at;
        }
        fprintf(stream, "%.*s", length, text);
        at += length;
        text += length;
        text += strspn(text, " ");
    }
    fputc('\n', stream);
}

static void print_row(FILE *stream, const option_row *row) {
    char left[96], short_part[8] = "    ";
    if (row->short_name) snprintf(short_part, sizeof short_part, "-%c, ", row->short_name);
    int at = snprintf(left, sizeof left, "  %s--%s%s%s", short_part, row->name,
                      row->argument ? " " : "", row->argument ? row->argument : "");
    fputs(left, stream);
    if (at >= HELP_COLUMN - 1) {
        fputc('\n', stream);
        at = 0;
    }
    fprintf(stream, "%*s", HELP_COLUMN - at, "");
    char choices[OPTION_TEXT_BYTES], range[OPTION_TEXT_BYTES], text[2048];
    const char *initial = row->initial_help ? row->initial_help : row->initial;
    option_choices(choices, sizeof choices, row, ", ");
    option_range(range, sizeof range, row);
    snprintf(text, sizeof text, "%s%s%s%s%s%s%s%s%s%s%s", row->help, choices[0] ? ": " : "",
             choices, range[0] ? " (" : "", range, range[0] ? ")" : "", initial ? " [" : "",
             initial ? initial : "", initial ? "]" : "", row->environment ? "; also " : "",
             row->environment ? row->environment : "");
    print_wrapped(stream, text, HELP_COLUMN, HELP_COLUMN);
}

void pages_verb_help(FILE *stream, const verb *of) {
    fprintf(stream, "Usage: kandela %s [OPTION]...%s%s\n\n", of->name, of->arguments[0] ? " " : "",
            of->arguments);
    if (!of->description) fprintf(stream, "Purpose: %s.\n\n", of->summary);
    const char *text = of->description ? of->description : "";
    while (*text) { /* paragraphs are separated by an empty line */
        const char *end = strstr(text, "\n\n");
        const int length = end ? (int)(end - text) : (int)strlen(text);
        char paragraph[1024];
        snprintf(paragraph, sizeof paragraph, "%.*s", length, text);
        print_wrapped(stream, paragraph, 0, 0);
        fputc('\n', stream);
        text += length + (end ? 2 : 0);
    }
    for (const option_group *group = of->groups; group->heading; ++group) {
        fprintf(stream, "%s:\n", group->heading);
        for (const option_row *row = NULL; (row = option_next(group, row));) print_row(stream, row);
        fputc('\n', stream);
    }
}

static void print_pairs(FILE *stream, const char *heading, const pages_pair *pairs) {
    fprintf(stream, "\n%s:\n", heading);
    for (; pairs->name; ++pairs) fprintf(stream, "  %-20s %s\n", pairs->name, pairs->meaning);
}

static void print_verbs(FILE *stream, const char *heading, bool laboratory) {
    fprintf(stream, "\n%s:\n", heading);
    for (const verb *const *row = verbs; *row; ++row)
        if ((*row)->laboratory == laboratory)
            fprintf(stream, "  %-10s %s\n", (*row)->name, (*row)->summary);
}

void pages_program_help(FILE *stream) {
    fputs("Usage: kandela VERB [OPTION]... [ARGUMENT]...\n\n"
          "Ray tracing and photon mapping on k-d trees.\n",
          stream);
    print_verbs(stream, "Verbs", false);
    print_verbs(stream, "Laboratory", true);
    fputs("\nkandela VERB --help says more about one of them. Also:\n"
          "  --help       this text\n"
          "  --version    the version and what is compiled in\n"
          "  --man        the man page, for man -l\n"
          "  --completion the completion for bash, to be sourced\n",
          stream);
    print_pairs(stream, "Exit codes", pages_exit_codes);
    print_pairs(stream, "Environment (the command line beats it)", pages_variables);
}
