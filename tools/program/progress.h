/* What a job reports, drawn on stderr as a bar or printed as JSON lines. */
#ifndef KD_TOOLS_PROGRAM_PROGRESS_H
#define KD_TOOLS_PROGRAM_PROGRESS_H
#include "core/job.h"
#include "tools/program/line/options.h"

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

#endif
