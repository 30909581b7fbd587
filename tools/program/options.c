/* Parses a command line with getopt_long, from the tables of options. */
#include "tools/program/options.h"
#include "core/memory.h"
#include "core/names.h"
#include "core/system/paths.h"
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONG_VALUE = 256, SHORT_LETTERS = 256 };

/* getopt's tables, and the row of each entry. */
typedef struct getopt_tables {
    struct option *longs; /* terminated by zeros; val is LONG_VALUE + index */
    option_given *rows;   /* row and base of each entry */
    int count;
    char letters[SHORT_LETTERS];
} getopt_tables;

static kd_status tables_open(getopt_tables *out, const option_group *groups) {
    int count = 0;
    for (const option_group *group = groups; group->heading; ++group)
        for (const option_row *row = NULL; (row = option_next(group, row));) ++count;
    memset(out, 0, sizeof *out);
    KD_TRY(KD_RESERVE_ZEROED(out->longs, (uint64_t)count + 1));
    KD_TRY(KD_RESERVE_ZEROED(out->rows, (uint64_t)count + 1));
    char *letter = out->letters;
    *letter++ = ':'; /* makes getopt return ':' for a missing argument */
    for (const option_group *group = groups; group->heading; ++group)
        for (const option_row *row = NULL; (row = option_next(group, row));) {
            struct option *entry = &out->longs[out->count];
            entry->name = row->name;
            entry->has_arg = !row->argument  ? no_argument
                             : row->optional ? optional_argument
                                             : required_argument;
            entry->val = LONG_VALUE + out->count;
            out->rows[out->count].row = row;
            out->rows[out->count].base = group->base;
            ++out->count;
            if (!row->short_name) continue;
            *letter++ = row->short_name;
            if (row->argument && !row->optional) *letter++ = ':';
        }
    return KD_OK;
}

static void tables_close(getopt_tables *owned) {
    memory_free(owned->longs);
    memory_free(owned->rows);
}

static int tables_find(const getopt_tables *tables, int value) {
    if (value >= LONG_VALUE) return value - LONG_VALUE;
    int i = 0;
    while (i < tables->count && tables->rows[i].row->short_name != (char)value) ++i;
    return i;
}

static const option_row *find_row(const getopt_tables *tables, const char *name) {
    for (int i = 0; i < tables->count; ++i)
        if (strcmp(tables->rows[i].row->name, name) == 0) return tables->rows[i].row;
    return NULL;
}

/* Explains an unknown long option: ambiguous, a name of another program, or misspelt. */
static kd_status refuse_long(const getopt_tables *tables, const option_group *groups,
                             const char *name) {
    char word[72];
    const char *begins[2] = {NULL, NULL}, *best = NULL;
    snprintf(word, sizeof word, "--%s", name);
    const char *hint = option_hint_find(word, groups);
    for (int i = 0; i < tables->count; ++i) {
        const char *candidate = tables->rows[i].row->name;
        if (strncmp(candidate, name, strlen(name)) == 0) begins[begins[0] ? 1 : 0] = candidate;
        nearest_consider(&best, name, candidate);
    }
    KD_REQUIRE(!begins[1], KD_ERROR_USAGE, "option --%s is ambiguous: --%s or --%s", name,
               begins[0], begins[1]);
    KD_REQUIRE(!hint || strncmp(hint, "--", 2) != 0, KD_ERROR_USAGE,
               "unknown option --%s; use %s instead", name, hint);
    KD_REQUIRE(!hint, KD_ERROR_USAGE, "unknown option --%s: %s", name, hint);
    KD_REQUIRE(!best, KD_ERROR_USAGE, "unknown option --%s, did you mean --%s?", name, best);
    KD_FAIL(KD_ERROR_USAGE, "unknown option --%s; --help=all lists all options", name);
}

/* Explains an unknown option of one letter. `argv` is searched for the word that it begins, which
   may be a long name with one dash. */
static kd_status refuse_short(const getopt_tables *tables, const option_group *groups, char letter,
                              int argc, char **argv) {
    const char word[3] = {'-', letter, '\0'};
    for (int i = 1; i < argc; ++i) {
        if (argv[i][0] != '-' || argv[i][1] != letter || !argv[i][2]) continue;
        char longer[72];
        snprintf(longer, sizeof longer, "-%.60s", argv[i]);
        const char *name = argv[i] + 1, *long_option = option_hint_find(longer, groups);
        KD_REQUIRE(!find_row(tables, name), KD_ERROR_USAGE,
                   "unknown option -%s; long options begin with two dashes: --%s", name, name);
        KD_REQUIRE(!long_option, KD_ERROR_USAGE, "unknown option -%.60s; use %s instead", name,
                   long_option);
    }
    const char *hint = option_hint_find(word, groups);
    KD_REQUIRE(!hint || strncmp(hint, "--", 2) != 0, KD_ERROR_USAGE,
               "unknown option -%c; use %s instead", letter, hint);
    KD_REQUIRE(!hint, KD_ERROR_USAGE, "unknown option -%c: %s", letter, hint);
    KD_FAIL(KD_ERROR_USAGE, "unknown option -%c; --help=all lists all options", letter);
}

/* Explains why getopt returned '?': unknown option, ambiguous abbreviation, or argument for a
   flag. */
static kd_status refuse(const getopt_tables *tables, const option_group *groups, int argc,
                        char **argv) {
    if (optopt >= LONG_VALUE)
        KD_FAIL(KD_ERROR_USAGE, "option --%s takes no argument",
                tables->rows[optopt - LONG_VALUE].row->name);
    if (optopt) return refuse_short(tables, groups, (char)optopt, argc, argv);
    char name[64];
    const char *word = argv[optind - 1] + 2;
    snprintf(name, sizeof name, "%.*s", (int)strcspn(word, "="), word);
    return refuse_long(tables, groups, name);
}

static void read_environment(option_line *out, const getopt_tables *tables) {
    for (int i = 0; i < tables->count; ++i) {
        const option_row *row = tables->rows[i].row;
        const char *text = row->environment ? place_variable(row->environment) : NULL;
        if (!text || !*text) continue;
        option_given *option = &out->options[out->given_count++];
        *option = tables->rows[i];
        option->text = text;
        option->from_environment = true;
    }
}

static kd_status read_words(option_line *out, const getopt_tables *tables,
                            const option_group *groups, int argc, char **argv) {
    opterr = 0;
    optind = 0; /* GNU getopt: reset its state */
    for (;;) {
        const int value = getopt_long(argc, argv, tables->letters, tables->longs, NULL);
        if (value == -1) break;
        if (value == ':') {
            const int i = tables_find(tables, optopt);
            KD_FAIL(KD_ERROR_USAGE, "option --%s needs an argument: --%s %s",
                    tables->rows[i].row->name, tables->rows[i].row->name,
                    tables->rows[i].row->argument);
        }
        if (value == '?') return refuse(tables, groups, argc, argv);
        option_given *option = &out->options[out->given_count++];
        *option = tables->rows[tables_find(tables, value)];
        option->text = optarg;
    }
    out->arguments = argv + optind;
    out->argument_count = argc - optind;
    return KD_OK;
}

kd_status option_line_open(option_line *out, const option_group *groups, int argc, char **argv) {
    memset(out, 0, sizeof *out);
    getopt_tables tables;
    kd_status status = KD_OK;
    KD_TRY_GOTO(tables_open(&tables, groups));
    /* Short flags can share a word, so there are at most as many options as characters. */
    uint64_t maximum = (uint64_t)tables.count;
    for (int i = 1; i < argc; ++i) maximum += strlen(argv[i]);
    KD_TRY_GOTO(KD_RESERVE_ZEROED(out->options, maximum));
    read_environment(out, &tables);
    KD_TRY_GOTO(read_words(out, &tables, groups, argc, argv));
done:
    tables_close(&tables);
    if (status != KD_OK) option_line_close(out);
    return status;
}

void option_line_close(option_line *owned) {
    memory_free(owned->options);
    memset(owned, 0, sizeof *owned);
}

kd_status option_line_apply(const option_line *line, void *values) {
    for (int i = 0; i < line->given_count; ++i) {
        const option_given *option = &line->options[i];
        const option_source source =
            option->from_environment ? OPTION_BY_ENVIRONMENT : OPTION_BY_LINE;
        KD_TRY(option_set(option->row, option->text, source,
                          (char *)values + option->base + option->row->offset));
    }
    return KD_OK;
}

const option_given *option_line_find(const option_line *line, const char *name) {
    for (int i = 0; i < line->given_count; ++i)
        if (strcmp(line->options[i].row->name, name) == 0) return &line->options[i];
    return NULL;
}

bool option_line_has(const option_line *line, const char *name) {
    return option_line_find(line, name) != NULL;
}
