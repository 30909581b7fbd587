/* Results as one page for a browser: text, plots and tables in a single file, no network needed. */
#ifndef KD_TOOLS_BENCH_REPORT_PAGE_H
#define KD_TOOLS_BENCH_REPORT_PAGE_H
#include "tools/bench/report/results.h"

/* FOLDER/index.html, the folder made if it is not there, and each case's first chart as a file of
   its own, FOLDER/chart-BENCH-CASE.svg. KD_ERROR_RUNTIME if they cannot be written. */
kd_status page_write(const char *folder, const results *of);

#endif
