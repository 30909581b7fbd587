/* A report's plots as PNG files beside its page, by matplotlib where that is installed. */
#ifndef KD_TOOLS_BENCH_REPORT_PNG_H
#define KD_TOOLS_BENCH_REPORT_PNG_H
#include "core/status.h"
#include <stdbool.h>

/* Writes plots.py into FOLDER and runs it. *drawn is false where there is no Python or no
   matplotlib: the page's own plots do without. KD_ERROR_RUNTIME if the script cannot be written or
   fails. */
kd_status png_plots(const char *folder, bool *drawn);

#endif
