/* What a job reports, drawn on stderr as a bar or printed as JSON lines; and its end by Ctrl-C,
   SIGTERM and SIGHUP (the terminal is gone). A job that does not react within a second ends with
   the program if there is nothing to keep: while a scene is loaded or trees are built. A second
   signal ends the program at once, with 128 + its number. */
#ifndef KD_TOOLS_PROGRAM_PROGRESS_H
#define KD_TOOLS_PROGRAM_PROGRESS_H
#include "core/job.h"
#include "tools/program/options.h"

typedef enum progress_mode {
    PROGRESS_AUTO, /* a bar on a terminal, else nothing */
    PROGRESS_BAR,
    PROGRESS_JSON,
    PROGRESS_OFF
} progress_mode;

const char *progress_choice(int index); /* the modes' names, for an option's table */

/* --progress, an int32_t progress_mode of any struct. */
#define PROGRESS_ROW(type)                                                                         \
    {                                                                                              \
        .name = "progress", .argument = "MODE",                                                    \
        .help = "show progress on stderr; auto: a bar on a terminal, else nothing",                \
        .initial = "auto", .kind = OPTION_CHOICE, .choice = progress_choice,                       \
        OPTION_FIELD(type, progress)                                                               \
    }

void progress_open(progress_mode mode, job *watched);
void progress_close(void); /* wipes the bar */

/* `watched` must outlive the program's work; `keeps`: an interrupted one writes what is finished.
 */
void interrupt_watch(job *watched, bool keeps);

#endif
