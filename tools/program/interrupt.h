/* Ctrl-C, SIGTERM and SIGHUP (the terminal is gone) end a job early. What does not hear them within
   a second ends the program if there is nothing to keep: while a scene is loaded or trees are
   built. The second signal ends the program at once, with 128 + its number. */
#ifndef KD_TOOLS_PROGRAM_INTERRUPT_H
#define KD_TOOLS_PROGRAM_INTERRUPT_H
#include "core/job.h"

/* `watched` must outlive the program's work; `keeps`: an interrupted one writes what is finished.
 */
void interrupt_watch(job *watched, bool keeps);

#endif
