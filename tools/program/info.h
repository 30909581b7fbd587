/* What this build has in it. */
#ifndef KD_TOOLS_PROGRAM_INFO_H
#define KD_TOOLS_PROGRAM_INFO_H
#include <stdio.h>

void info_compiled(FILE *stream); /* "  name   yes or no, and which", a line each */

#endif
