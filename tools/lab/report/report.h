/* A report: a folder with pictures, the data of its plots, and a page of all of it. The plots and
   the page are made by report.py, which is written into the folder and run: by matplotlib, and
   without plots where that is not installed. Data and tables are always written. */
#ifndef KD_TOOLS_LAB_REPORT_REPORT_H
#define KD_TOOLS_LAB_REPORT_REPORT_H
#include "tools/lab/report/results.h"

enum { PLOT_SERIES = 8, BARS_PARTS = 8 }; /* colours that also the colour-blind tell apart */

typedef struct plot_point {
    double x, y;    /* above 0; others are left out */
    char label[16]; /* beside it; "": none */
} plot_point;

typedef struct plot_series {
    const char *name;
    const plot_point *points; /* joined by lines in this order */
    int count;
} plot_series;

/* Curves on two logarithmic axes, the exponent of x that each grows with in the legend. */
typedef struct plot {
    const char *title, *x_label, *y_label;
    const plot_series *series;
    int series_count; /* at most PLOT_SERIES */
} plot;

typedef struct bars_row {
    const char *name;
    double parts[BARS_PARTS];
    double mark; /* a line across at this value; 0: none */
} bars_row;

/* Horizontal bars from 0 on a linear axis, each of one part or of several side by side. */
typedef struct bars {
    const char *title, *unit;
    const char *part_names[BARS_PARTS]; /* NULL: bars of one part */
    int part_count;
    const bars_row *rows;
    int row_count;
} bars;

/* A segment of a drawing and a point with its text. */
typedef struct drawn_segment {
    double from[2], to[2], at[2];
    int colour; /* below PLOT_SERIES */
    char label[32];
} drawn_segment;

/* FOLDER/NAME.json, of which report_write draws FOLDER/NAME.svg. */
kd_status report_plot(const char *folder, const char *name, const plot *from);
kd_status report_bars(const char *folder, const char *name, const bars *from);
kd_status report_drawing(const char *folder, const char *name, const drawn_segment *segments,
                         int count);

/* FOLDER/table.md, the rows of all results, if `measured` is not NULL. */
kd_status report_table(const char *folder, const results *measured);

/* The folder's plots, and FOLDER/index.html: a title, a text, the pictures, tables and charts of
   FOLDER/results.jsonl if it is there. Logs a warning where Python or matplotlib is missing.
   KD_ERROR_RUNTIME if the script cannot be written or fails. */
kd_status report_write(const char *folder, const char *title, const char *text);

#endif
