/* --help of the program and of each command. */
#include "tools/program/pages.h"
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { LINE_COLUMNS = 80, HELP_COLUMN = 26 };

const help_pair pages_exit_codes[] = {{"0", "success"},
                                      {"1", "runtime failure, such as a full disk"},
                                      {"2", "invalid command line"},
                                      {"3", "invalid input file; the message names the place"},
                                      {"4", "out of memory"},
                                      {"5", "CUDA device not available, or failed"},
                                      {"6", "comparison or check failed"},
                                      {"130", "interrupted by Ctrl-C; partial results are saved"},
                                      {NULL, NULL}};

const help_pair pages_variables[] = {
    {"KANDELA_DEVICE", "default of --device"},
    {"KANDELA_DEVICE_MEMORY", "limit of the memory of each CUDA device, such as 600M"},
    {"KANDELA_NUM_THREADS", "default of --threads"},
    {"KANDELA_CPU", "instruction set: base (no AVX2) or avx2 (no AVX-512)"},
    {"KANDELA_OIDN", "shared library of Open Image Denoise"},
    {"NO_COLOR", "disable coloured messages if not empty"},
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

/* Prints `left`, and `text` from `column` on, on the next line if `left` is too long. */
static void print_columns(FILE *stream, const char *left, const char *text, int column) {
    fputs(left, stream);
    int at = (int)strlen(left);
    if (at > column - 2) {
        fputc('\n', stream);
        at = 0;
    }
    fprintf(stream, "%*s", column - at, "");
    print_wrapped(stream, text, column, column);
}

void pages_choices(char *out, size_t bytes, const option_row *row) {
    char names[OPTION_TEXT_BYTES] = "";
    if (!row->optional && row->argument && !strchr(row->argument, '|'))
        option_choices(names, sizeof names, row, ", ");
    const char *before = !names[0] ? "" : strchr(row->help, ':') ? "; values: " : ": ";
    snprintf(out, bytes, "%s%s", before, names);
}

/* Prints an option. `brief` help omits range and environment variable. */
static void print_row(FILE *stream, const option_row *row, bool brief) {
    char left[96], short_part[8] = "    ";
    if (row->short_name) snprintf(short_part, sizeof short_part, "-%c, ", row->short_name);
    const char *between = !row->argument ? "" : row->optional ? "[=" : " ";
    snprintf(left, sizeof left, "  %s--%s%s%s%s", short_part, row->name, between,
             row->argument ? row->argument : "", row->optional ? "]" : "");
    char choices[OPTION_TEXT_BYTES] = "", range[OPTION_TEXT_BYTES] = "", text[2048];
    const char *initial = row->initial_help ? row->initial_help : row->initial;
    pages_choices(choices, sizeof choices, row);
    const char *unit = row->unit ? row->unit : "", *variable = brief ? NULL : row->environment;
    if (!brief)
        option_range(range, sizeof range, row);
    else
        snprintf(range, sizeof range, "%s", unit);
    if (row->argument && strcasecmp(range, row->argument) == 0) range[0] = '\0';
    snprintf(text, sizeof text, "%s%s%s%s%s%s%s%s%s%s%s", row->help, choices, range[0] ? " (" : "",
             range, range[0] ? ")" : "", initial ? " [" : "", initial ? initial : "",
             initial ? "]" : "", variable ? " (environment: " : "", variable ? variable : "",
             variable ? ")" : "");
    print_columns(stream, left, text, HELP_COLUMN);
}

static void print_paragraphs(FILE *stream, const char *text) {
    while (*text) {
        const char *end = strstr(text, "\n\n");
        const int length = end ? (int)(end - text) : (int)strlen(text);
        char paragraph[1024];
        snprintf(paragraph, sizeof paragraph, "%.*s", length, text);
        print_wrapped(stream, paragraph, 0, 0);
        fputc('\n', stream);
        text += length + (end ? 2 : 0);
    }
}

static void print_pairs(FILE *stream, const char *heading, const help_pair *pairs) {
    char left[96];
    int column = 0;
    for (const help_pair *pair = pairs; pair->name; ++pair) {
        const int end = 2 + (int)strlen(pair->name) + 2;
        if (end > column) column = end;
    }
    fprintf(stream, "%s:\n", heading);
    for (; pairs->name; ++pairs) {
        snprintf(left, sizeof left, "  %s", pairs->name);
        print_columns(stream, left, pairs->meaning, column);
    }
}

static void print_examples(FILE *stream, const help_pair *examples) {
    if (!examples) return;
    fputs("Examples:\n", stream);
    for (; examples->name; ++examples)
        fprintf(stream, "  %s\n      %s\n", examples->name, examples->meaning);
}

/* Prints the options of all groups, or only the daily ones. Returns the number of options that
   exist. */
static int print_groups(FILE *stream, const option_group *groups, bool daily) {
    const char *heading = "";
    int count = 0;
    for (const option_group *group = groups; group->heading; ++group)
        for (const option_row *row = NULL; (row = option_next(group, row));) {
            ++count;
            if (daily && !row->daily) continue;
            if (strcmp(heading, group->heading) != 0)
                fprintf(stream, "%s%s:\n", *heading ? "\n" : "", group->heading);
            heading = group->heading;
            print_row(stream, row, daily);
        }
    fputc('\n', stream);
    return count;
}

static bool has_counts(const option_group *groups) {
    for (const option_group *group = groups; group->heading; ++group)
        for (const option_row *row = NULL; (row = option_next(group, row));)
            if (row->kind == OPTION_UINT64) return true;
    return false;
}

void pages_command_help(FILE *stream, const subcommand *command, bool all) {
    const bool daily = command->brief && !all;
    char usage[256];
    const int column = fprintf(stream, "Usage: ");
    snprintf(usage, sizeof usage, "kandela %s [OPTION]... %s", command->name, command->arguments);
    print_wrapped(stream, usage, column, column);
    fputc('\n', stream);
    print_paragraphs(stream, command->description);
    if (command->items) {
        print_pairs(stream, command->items_heading, command->items);
        fputc('\n', stream);
    }
    const int count = print_groups(stream, command->groups, daily);
    const bool counts = has_counts(command->groups);
    if (daily) fprintf(stream, "All %d options: kandela %s --help=all. ", count, command->name);
    if (counts) fputs("Counts may end in K, M or G (20K).", stream);
    if (daily || counts) fputs("\n\n", stream);
    print_examples(stream, command->examples);
}

static void list_commands(FILE *stream, const char *heading, bool laboratory) {
    fprintf(stream, "\n%s:\n", heading);
    for (const subcommand *const *row = commands; *row; ++row)
        if ((*row)->laboratory == laboratory)
            fprintf(stream, "  %-10s %s\n", (*row)->name, (*row)->summary);
}

void pages_program_help(FILE *stream) {
    fputs("Usage: kandela COMMAND [OPTION]... [ARGUMENT]...\n\n"
          "Ray tracing and photon mapping on k-d trees.\n",
          stream);
    list_commands(stream, "Commands", false);
    list_commands(stream, "Laboratory", true);
    fputs("\nOptions:\n"
          "  --help           print this help; kandela COMMAND --help: help of a command\n"
          "  --version        print the version and the libraries compiled in\n"
          "  --man [COMMAND]  print a man page, in troff (read it with man -l)\n"
          "  --completion     print the bash completion, to be sourced\n"
          "\n",
          stream);
    print_pairs(stream, "Exit status", pages_exit_codes);
    fputc('\n', stream);
    print_pairs(stream, "Environment (options take precedence)", pages_variables);
    fputs("\nExamples:\n"
          "  kandela render bunny.obj\n"
          "  kandela render scene.json --spp 256 -o picture.exr -o picture.png\n",
          stream);
}
