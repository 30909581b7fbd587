/* Plots as SVG files: curves on two logarithmic axes, with a grid, labels and a legend. */
#ifndef KD_TOOLS_BENCH_REPORT_PLOT_H
#define KD_TOOLS_BENCH_REPORT_PLOT_H
#include "core/status.h"
#include <stdio.h>

enum { PLOT_SERIES = 8 }; /* colours that can be told apart, also by the colour-blind */

typedef struct plot_point {
    double x, y;    /* above 0; others are left out */
    char label[16]; /* beside it; "": none */
} plot_point;

typedef struct plot_series {
    const char *name;
    const plot_point *points; /* joined by lines in this order */
    int count;
} plot_series;

typedef struct plot {
    const char *title, *x_label, *y_label;
    const plot_series *series;
    int series_count; /* at most PLOT_SERIES */
} plot;

/* Of the straight line through the points on logarithmic axes, by least squares: the exponent of x
   that y grows with. NaN if they have one x. */
double plot_slope(const plot_point *points, int count);

extern const char *const plot_colours[PLOT_SERIES];

/* <svg> of so many pixels, white; the caller ends it. */
void plot_begin(FILE *to, int width, int height);
void plot_text(FILE *to, const char *text); /* any characters, as text of SVG or HTML */

void plot_draw(FILE *to, const plot *of); /* one <svg> */
/* The same as a file. Written to a temporary file and renamed. Texts may hold any characters. */
kd_status plot_write(const char *path, const plot *of);

#endif
