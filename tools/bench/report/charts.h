/* Which charts suit a set of result lines, and their drawing. */
#ifndef KD_TOOLS_BENCH_REPORT_CHARTS_H
#define KD_TOOLS_BENCH_REPORT_CHARTS_H
#include "tools/bench/report/results.h"
#include <stdio.h>

/* `lines`: those of one benchmark and one case. Where sizes differ: time against size, with the
   slope of each curve on the logarithmic axes; where the number of neighbours differs: rate against
   it; else a bar a line. Then stages, shares of the memory's bandwidth, and the paper's figure,
   where lines say them. */
kd_status charts_draw(FILE *to, const char *title, const result_line *const *lines, int count);
/* The first of these charts alone, as an SVG file. */
kd_status charts_write(const char *path, const char *title, const result_line *const *lines,
                       int count);

#endif
