/* Positional arguments of a command. */
#include "tools/program/command.h"
#include <string.h>

/* Explains superfluous arguments, which may be switches of POV-Ray, such as +W640. */
static kd_status refuse_arguments(const option_line *line, const subcommand *command, int maximum) {
    for (int i = 0; i < line->argument_count; ++i) {
        char word[4];
        snprintf(word, sizeof word, "%.2s", line->arguments[i]);
        const char *hint = word[0] == '+' ? option_hint_find(word, command->groups) : NULL;
        KD_REQUIRE(!hint, KD_ERROR_USAGE, "%s: unexpected argument \"%.200s\"; use %s instead",
                   command->name, line->arguments[i], hint);
    }
    const char *text = line->arguments[maximum];
    KD_FAIL(KD_ERROR_USAGE, "%s: unexpected argument \"%.200s\"; usage: kandela %s %s",
            command->name, text, command->name, command->arguments);
}

kd_status command_arguments(const option_line *line, const subcommand *command, int minimum,
                            int maximum) {
    KD_REQUIRE(line->argument_count >= minimum, KD_ERROR_USAGE,
               "%s: an argument is missing; usage: kandela %s %s", command->name, command->name,
               command->arguments);
    if (maximum >= 0 && line->argument_count > maximum)
        return refuse_arguments(line, command, maximum);
    return KD_OK;
}
