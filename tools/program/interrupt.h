/* Ctrl-C, SIGTERM and SIGHUP (the terminal is gone) end a job early; the second one ends the
   program at once. */
#ifndef KD_TOOLS_PROGRAM_INTERRUPT_H
#define KD_TOOLS_PROGRAM_INTERRUPT_H
#include "core/job.h"

void interrupt_watch(job *watched); /* which must outlive the program's work */

#endif
