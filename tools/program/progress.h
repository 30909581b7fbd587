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

void progress_open(progress_mode mode, job *watched);
void progress_close(void); /* wipes the bar */

#endif
