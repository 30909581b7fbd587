/* Bash completion: commands, then the options of a command, then the choices of an option;
   otherwise file names. */
#include "tools/program/pages.h"
#include <stdio.h>
#include <string.h>

static void print_command(FILE *stream, const subcommand *command) {
    fprintf(stream, "    %s)\n        case \"$previous\" in\n", command->name);
    for (const option_group *group = command->groups; group->heading; ++group)
        for (const option_row *row = NULL; (row = option_next(group, row));) {
            char choices[OPTION_TEXT_BYTES];
            choices[0] = '\0'; /* a suffix is not a file name */
            if (row->kind != OPTION_LIST) option_choices(choices, sizeof choices, row, " ");
            if (!row->argument || row->optional) continue;
            fprintf(stream, "        --%s", row->name);
            if (row->short_name) fprintf(stream, "|-%c", row->short_name);
            fprintf(stream, ") words=\"%s\" ;;\n", choices);
        }
    fputs("        *) words=\"", stream);
    for (const option_group *group = command->groups; group->heading; ++group)
        for (const option_row *row = NULL; (row = option_next(group, row));)
            fprintf(stream, "--%s ", row->name);
    fputs("\"; [[ $current == -* ]] || words= ;;\n        esac", stream);
    if (command->first_is_item) {
        fputs("\n        ((COMP_CWORD > 2)) || [[ $current == -* ]] || words=\"", stream);
        for (const help_pair *item = command->items; item->name; ++item)
            fprintf(stream, "%.*s ", (int)strcspn(item->name, " "), item->name);
        fputs("\"", stream);
    }
    fputs(" ;;\n", stream);
}

static void print_names(FILE *stream) {
    for (const subcommand *const *row = commands; *row; ++row) fprintf(stream, "%s ", (*row)->name);
}

void pages_completion(FILE *stream) {
    fputs(
        "# bash completion for kandela\n"
        "_kandela() {\n"
        "    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} words=\n"
        "    if ((COMP_CWORD == 1)); then\n"
        "        COMPREPLY=($(compgen -W \"",
        stream);
    print_names(stream);
    fputs("--help --version --man --completion\" -- \"$current\"))\n"
          "        return\n"
          "    fi\n"
          "    case \"${COMP_WORDS[1]}\" in\n",
          stream);
    for (const subcommand *const *row = commands; *row; ++row) print_command(stream, *row);
    fputs("    --man) words=\"", stream);
    print_names(stream);
    fputs("\" ;;\n"
          "    esac\n"
          "    COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
          "}\n"
          "complete -o default -F _kandela kandela\n",
          stream);
}
