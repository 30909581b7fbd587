/* Horizontal bars as SVG, each of one part or of several side by side, from 0 on a linear axis. */
#ifndef KD_TOOLS_BENCH_REPORT_BARS_H
#define KD_TOOLS_BENCH_REPORT_BARS_H
#include <stdio.h>

enum { BARS_PARTS = 8 };

typedef struct bars_row {
    const char *name; /* above its bar */
    double parts[BARS_PARTS];
    double mark; /* a line across at this value, such as a paper's figure; 0: none */
} bars_row;

typedef struct bars {
    const char *title, *unit;           /* "ms"; stands behind each bar's sum */
    const char *part_names[BARS_PARTS]; /* of a legend; NULL: bars of one part */
    int part_count;
    const bars_row *rows;
    int row_count;
} bars;

void bars_draw(FILE *to, const bars *of); /* one <svg> */

#endif
