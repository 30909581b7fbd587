/* The kandela program: finds the command, parses its options by its tables, and exits with its
   status. */
#include "core/memory.h"
#include "core/names.h"
#include "core/status.h"
#include "core/system/files.h"
#include "core/system/process.h"
#include "tools/commit.h"
#include "tools/program/command.h"
#include "tools/program/output.h"
#include "tools/program/pages.h"
#include <cjson/cJSON.h>
#include <kandela/version.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const subcommand *const commands[] = {
#define COMMAND(name) &command_##name,
#include "tools/program/commands.inc"
#undef COMMAND
    NULL};

static kd_status refuse_command(const char *name) {
    const char *best = NULL, *hint = option_hint_find(name, NULL);
    for (const subcommand *const *row = commands; *row; ++row)
        nearest_consider(&best, name, (*row)->name);
    const bool is_path = strpbrk(name, "./:") || file_identify(NULL, name) == FILE_REGULAR;
    KD_REQUIRE(name[0] == '-' || !is_path, KD_ERROR_USAGE,
               "\"%.200s\" is not a command; to render it, run \"kandela render %.200s\"", name,
               name);
    KD_REQUIRE(!hint || strncmp(hint, "--", 2) == 0, KD_ERROR_USAGE,
               "unknown command \"%.60s\": %s", name, hint);
    KD_REQUIRE(name[0] != '-', KD_ERROR_USAGE,
               "option %.60s must follow a command, as in \"kandela render SCENE %.60s\"", name,
               name);
    KD_REQUIRE(!best, KD_ERROR_USAGE, "unknown command \"%.60s\", did you mean %s?", name, best);
    KD_FAIL(KD_ERROR_USAGE, "unknown command \"%.60s\"; kandela --help lists all commands", name);
}

static kd_status find_command(const subcommand **out, const char *name) {
    for (const subcommand *const *row = commands; *row; ++row) {
        *out = *row;
        if (strcmp(name, (*row)->name) == 0) return KD_OK;
    }
    return refuse_command(name);
}

static kd_status print_help(const subcommand *chosen, const option_given *option) {
    int32_t which = HELP_DAILY;
    KD_TRY(option_set(option->row, option->text, OPTION_BY_LINE, &which));
    pages_command_help(stdout, chosen, which == HELP_ALL);
    return KD_OK;
}

static kd_status run_command(int argc, char **argv) {
    const subcommand *chosen = NULL;
    KD_TRY(find_command(&chosen, argv[0]));
    option_line line;
    KD_TRY(option_line_open(&line, chosen->groups, argc, argv));
    const option_given *help = option_line_find(&line, "help");
    const kd_status status = help ? print_help(chosen, help) : chosen->run(&line);
    option_line_close(&line);
    return status;
}

static void print_version(void) {
    printf("kandela %s (%s, commit %s)\n", kd_version(), KD_VERSION_STATE, KD_COMMIT);
    info_compiled(stdout);
}

static kd_status print_man(const char *name) {
    const subcommand *chosen = NULL;
    if (name) KD_TRY(find_command(&chosen, name));
    if (chosen)
        pages_command_man(stdout, chosen);
    else
        pages_man(stdout);
    return KD_OK;
}

static kd_status run_program(int argc, char **argv) {
    KD_REQUIRE(argc > 1, KD_ERROR_USAGE, "a command is missing; kandela --help lists all commands");
    const char *first = argv[1];
    if (strcmp(first, "--help") == 0 || strcmp(first, "-h") == 0)
        pages_program_help(stdout);
    else if (strcmp(first, "--version") == 0)
        print_version();
    else if (strcmp(first, "--man") == 0)
        return print_man(argv[2]);
    else if (strcmp(first, "--completion") == 0)
        pages_completion(stdout);
    else
        return run_command(argc - 1, argv + 1);
    return KD_OK;
}

int main(int argc, char **argv) {
    signals_ignore_file_limit();
    output_watch_inputs();
    /* a failed allocation is reported instead of truncating a document */
    cJSON_Hooks hooks = {memory_take, free};
    cJSON_InitHooks(&hooks);
    kd_status status = run_program(argc, argv);
    if (status != KD_OK && kd_last_error()[0]) general_error(kd_last_error());
    if (fflush(stdout) != 0 || ferror(stdout)) {
        general_error("cannot write to stdout");
        if (status == KD_OK) status = KD_ERROR_RUNTIME;
    }
    return (int)status;
}
