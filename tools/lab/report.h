/* A report: a directory with images, data of plots, and an HTML page. report.py, which is written
   to the directory and run, draws the plots and writes the page. Data are always written. */
#ifndef KD_TOOLS_LAB_REPORT_H
#define KD_TOOLS_LAB_REPORT_H
#include "tools/lab/results.h"

enum { PLOT_SERIES = 8, BARS_PARTS = 8 }; /* limited by the colour-blind-safe palette */

typedef struct plot_point {
    double x, y;    /* must be above 0; other points are left out */
    char label[16]; /* next to the point; "": none */
} plot_point;

typedef struct plot_series {
    const char *name;
    const plot_point *points; /* connected by lines in this order */
    int count;
} plot_series;

/* Curves on two logarithmic axes; the legend contains the exponent of x of each. */
typedef struct plot {
    const char *title, *x_label, *y_label;
    const plot_series *series;
    int series_count; /* at most PLOT_SERIES */
    bool scattered;   /* points without lines and exponents */
} plot;

typedef struct bars_row {
    const char *name;
    double parts[BARS_PARTS];
    double mark; /* draws a line across at this value; 0: none */
} bars_row;

/* Horizontal bars on a linear axis from 0, each with one part or several side by side. */
typedef struct bars {
    const char *title, *unit, *mark_name; /* mark_name: what `mark` of the rows is; NULL: none */
    const char *part_names[BARS_PARTS];   /* NULL: bars with one part */
    int part_count;
    const bars_row *rows;
    int row_count;
} bars;

/* A segment of a drawing, and a point with a label. */
typedef struct drawn_segment {
    double from[2], to[2], at[2];
    int colour; /* below PLOT_SERIES */
    char label[32];
} drawn_segment;

/* Write FOLDER/NAME.json, from which report_write draws FOLDER/NAME.svg. */
kd_status report_plot(const char *folder, const char *name, const plot *plot);
kd_status report_bars(const char *folder, const char *name, const bars *bars);
kd_status report_drawing(const char *folder, const char *name, const drawn_segment *segments,
                         int count);

/* Writes FOLDER/NAME.json, which gives the grey picture FOLDER/NAME.png a scale from 0 to `most`.
 */
kd_status report_scale(const char *folder, const char *name, const char *title, double most);

/* Writes FOLDER/table.md with all results, if `measured` is not NULL. */
kd_status report_table(const char *folder, const results *measured);

/* Draws the plots and writes FOLDER/index.html: a title, a text, images, and the tables and charts
   of FOLDER/results.jsonl, estimates.csv and experiment.csv if they exist. Logs a warning if Python
   is missing. Returns KD_ERROR_RUNTIME if the script cannot be written or fails. */
kd_status report_write(const char *folder, const char *title, const char *text);

#endif
