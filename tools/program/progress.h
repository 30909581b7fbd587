/* Progress of a job, as a bar or as JSON lines on stderr; and cancellation by SIGINT (Ctrl-C),
   SIGTERM and SIGHUP. If a job does not react within a second and there is no result to save,
   because it is still loading the scene or building trees, the program exits. A second signal ends
   the program immediately with status 128 + signal number. */
#ifndef KD_TOOLS_PROGRAM_PROGRESS_H
#define KD_TOOLS_PROGRAM_PROGRESS_H
#include "core/job.h"
#include "tools/program/options.h"

typedef enum progress_mode {
    PROGRESS_AUTO, /* a bar if stderr is a terminal, else nothing */
    PROGRESS_BAR,
    PROGRESS_JSON,
    PROGRESS_OFF
} progress_mode;

const char *progress_choice(int index); /* names of the modes, for a table of options */

/* Row for --progress; `progress` is an int32_t with a progress_mode. */
#define PROGRESS_ROW(type)                                                                         \
    {                                                                                              \
        .name = "progress", .argument = "MODE",                                                    \
        .help = "progress on stderr; auto: a bar if it is a terminal", .initial = "auto",          \
        .kind = OPTION_CHOICE, .choice = progress_choice, OPTION_FIELD(type, progress)             \
    }

void progress_open(progress_mode mode, job_control *job);
void progress_close(void); /* erases the bar */

/* Cancels `job` on a signal. It must live until the program ends. `keep`: the job saves
   partial results when it is cancelled. */
void interrupt_watch(job_control *job, bool keep);
bool interrupt_came(void); /* returns true after the first interruption by the user */

struct ranks;
/* Aborts all ranks after a failure of this one, because they would wait for it. If all ranks fail
   alike, only rank 0 should report, so the others wait a while first. */
void progress_end_ranks(const struct ranks *comm, kd_status status, bool agreed);

#endif
