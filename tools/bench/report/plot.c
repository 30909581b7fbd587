#include "tools/bench/report/plot.h"
#include "core/files/file.h"
#include <math.h>
#include <stdbool.h>
#include <string.h>

/* Pixels of the picture and of the box that the curves lie in; names of the curves stand below it,
   in two columns or one, so that a telephone shows the whole at a size that can be read. */
enum { WIDTH = 520, LEFT = 66, RIGHT = 506, TOP = 44, BOTTOM = 340, LEGEND = 406, LEGEND_ROW = 22 };

/* Okabe and Ito 2008, "Color universal design", black last */
const char *const plot_colours[PLOT_SERIES] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                               "#e69f00", "#56b4e9", "#8a7a00", "#000000"};

typedef struct plot_axis {
    double low, high; /* log10 */
} plot_axis;

double plot_slope(const plot_point *points, int count) {
    double x = 0, y = 0, xx = 0, xy = 0;
    for (int i = 0; i < count; ++i) x += log(points[i].x), y += log(points[i].y);
    x /= count;
    y /= count;
    for (int i = 0; i < count; ++i) {
        const double dx = log(points[i].x) - x;
        xx += dx * dx;
        xy += dx * (log(points[i].y) - y);
    }
    return xx > 0 ? xy / xx : (double)NAN;
}

static void axis_include(plot_axis *to, double value) {
    if (!(value > 0 && isfinite(value))) return;
    to->low = fmin(to->low, log10(value));
    to->high = fmax(to->high, log10(value));
}

/* A little more than the values take, half a decade at least; an empty axis is one decade. */
static void axis_finish(plot_axis *to) {
    if (!(to->low <= to->high)) to->low = 0, to->high = 1;
    const double margin = 0.06 * (to->high - to->low) + 0.04;
    to->low -= margin;
    to->high += margin;
    const double lacking = 0.5 - (to->high - to->low);
    if (lacking > 0) to->low -= lacking / 2, to->high += lacking / 2;
}

static double axis_share(const plot_axis *of, double value) {
    return (log10(value) - of->low) / (of->high - of->low);
}

static double place_x(const plot_axis *axis, double value) {
    return LEFT + (RIGHT - LEFT) * axis_share(axis, value);
}

static double place_y(const plot_axis *axis, double value) {
    return BOTTOM - (BOTTOM - TOP) * axis_share(axis, value);
}

static bool is_shown(const plot_point *point) {
    return point->x > 0 && point->y > 0 && isfinite(point->x) && isfinite(point->y);
}

void plot_text(FILE *to, const char *text) {
    for (; *text; ++text) switch (*text) {
        case '<': fputs("&lt;", to); break;
        case '>': fputs("&gt;", to); break;
        case '&': fputs("&amp;", to); break;
        default: fputc((unsigned char)*text < 32 ? ' ' : *text, to);
        }
}

/* 2e-05, 0.002, 0.5, 20, 300K, 2M, 1G, 3e12 */
static void write_value(FILE *to, double value) {
    if (value < 1e-3 || value >= 1e12)
        fprintf(to, "%.0e", value);
    else if (value < 1e4)
        fprintf(to, "%.6g", value);
    else
        fprintf(to, "%.6g%c",
                value / (value < 1e6   ? 1e3
                         : value < 1e9 ? 1e6
                                       : 1e9),
                value < 1e6   ? 'K'
                : value < 1e9 ? 'M'
                              : 'G');
}

/* Lines of the grid at 1, 2, 5 of each decade; in a range of several decades 1 alone is named. */
static void write_grid(FILE *to, const plot_axis *axis, bool across) {
    static const double steps[] = {1, 2, 5};
    const bool wide = axis->high - axis->low > 2.2;
    for (int decade = (int)floor(axis->low); decade <= (int)ceil(axis->high); ++decade)
        for (int i = 0; i < 3; ++i) {
            const double value = steps[i] * pow(10, decade), share = axis_share(axis, value);
            if (share < 0 || share > 1) continue;
            const double at = across ? place_x(axis, value) : place_y(axis, value);
            const char *shade = i == 0 ? "#cfcfcf" : "#ececec";
            if (across)
                fprintf(to, "<path d=\"M%.1f %dV%d\" stroke=\"%s\"/>\n", at, TOP, BOTTOM, shade);
            else
                fprintf(to, "<path d=\"M%d %.1fH%d\" stroke=\"%s\"/>\n", LEFT, at, RIGHT, shade);
            if (wide && i > 0) continue;
            if (across)
                fprintf(to, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">", at, BOTTOM + 20);
            else
                fprintf(to, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">", LEFT - 8, at + 4);
            write_value(to, value);
            fputs("</text>\n", to);
        }
}

static void write_curve(FILE *to, const plot_series *of, const plot_axis *x, const plot_axis *y,
                        const char *colour) {
    bool begun = false;
    for (int i = 0; i < of->count; ++i) {
        if (!is_shown(of->points + i)) continue;
        if (!begun)
            fprintf(to, "<path fill=\"none\" stroke=\"%s\" stroke-width=\"1.8\" d=\"", colour);
        fprintf(to, "%c%.1f %.1f", begun ? 'L' : 'M', place_x(x, of->points[i].x),
                place_y(y, of->points[i].y));
        begun = true;
    }
    if (begun) fputs("\"/>\n", to);
    for (int i = 0; i < of->count; ++i) {
        const plot_point *point = of->points + i;
        if (!is_shown(point)) continue;
        const double px = place_x(x, point->x), py = place_y(y, point->y);
        fprintf(to, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3.2\" fill=\"%s\"/>\n", px, py, colour);
        if (!point->label[0]) continue;
        fprintf(to, "<text x=\"%.1f\" y=\"%.1f\" font-size=\"10\" fill=\"%s\">", px + 5, py - 5,
                colour);
        plot_text(to, point->label);
        fputs("</text>\n", to);
    }
}

/* Two, where all names are short enough for half of the width. */
static int legend_columns(const plot *of) {
    enum { HALF_CHARACTERS = 28 };
    for (int i = 0; i < of->series_count; ++i)
        if (strlen(of->series[i].name) > HALF_CHARACTERS) return 1;
    return 2;
}

static void write_frame(FILE *to, const plot *of) {
    fprintf(to,
            "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"none\" "
            "stroke=\"#666\"/>\n<text x=\"%d\" y=\"%d\" font-size=\"16\">",
            LEFT, TOP, RIGHT - LEFT, BOTTOM - TOP, 8, TOP - 18);
    plot_text(to, of->title);
    fprintf(to, "</text>\n<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">", (LEFT + RIGHT) / 2,
            BOTTOM + 40);
    plot_text(to, of->x_label);
    fprintf(to, "</text>\n<text transform=\"translate(14 %d) rotate(-90)\" text-anchor=\"middle\">",
            (TOP + BOTTOM) / 2);
    plot_text(to, of->y_label);
    fputs("</text>\n", to);
    const int columns = legend_columns(of);
    for (int i = 0; i < of->series_count; ++i) {
        const int left = i % columns ? WIDTH / 2 : 8, y = LEGEND + LEGEND_ROW * (i / columns);
        fprintf(to,
                "<path d=\"M%d %dh22\" stroke=\"%s\" stroke-width=\"1.8\"/><circle cx=\"%d\" "
                "cy=\"%d\" r=\"3.2\" fill=\"%s\"/><text x=\"%d\" y=\"%d\">",
                left, y, plot_colours[i], left + 11, y, plot_colours[i], left + 30, y + 4);
        plot_text(to, of->series[i].name);
        fputs("</text>\n", to);
    }
}

static void find_axes(plot_axis *x, plot_axis *y, const plot *of) {
    x->low = y->low = (double)INFINITY;
    x->high = y->high = -(double)INFINITY;
    for (int s = 0; s < of->series_count; ++s)
        for (int i = 0; i < of->series[s].count; ++i) {
            if (!is_shown(of->series[s].points + i)) continue;
            axis_include(x, of->series[s].points[i].x);
            axis_include(y, of->series[s].points[i].y);
        }
    axis_finish(x);
    axis_finish(y);
}

void plot_begin(FILE *to, int width, int height) {
    fprintf(to,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
            "viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" font-size=\"14\" fill=\"#222\">\n"
            "<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n",
            width, height, width, height, width, height);
}

void plot_draw(FILE *to, const plot *of) {
    plot_axis x, y;
    find_axes(&x, &y, of);
    const int columns = legend_columns(of);
    plot_begin(to, WIDTH, LEGEND + LEGEND_ROW * ((of->series_count + columns - 1) / columns));
    write_grid(to, &x, true);
    write_grid(to, &y, false);
    for (int s = 0; s < of->series_count; ++s)
        write_curve(to, of->series + s, &x, &y, plot_colours[s]);
    write_frame(to, of);
    fputs("</svg>\n", to);
}

kd_status plot_write(const char *path, const plot *of) {
    file_output output;
    KD_TRY(file_output_open(&output, path));
    plot_draw(output.stream, of);
    return file_output_commit(&output);
}
