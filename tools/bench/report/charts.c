#include "tools/bench/report/charts.h"
#include "core/files/file.h"
#include "core/memory.h"
#include "tools/bench/report/bars.h"
#include "tools/bench/report/plot.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { BARS_MOST = 24, NAME = 96, TITLE = 192 };

typedef double (*line_value)(const result_line *of);

static double size_of(const result_line *of) {
    return of->triangles ? (double)of->triangles : (double)of->n;
}
static double neighbours_of(const result_line *of) {
    return of->k;
}
static double ms_of(const result_line *of) {
    return of->median;
}
static double rate_of(const result_line *of) {
    return of->rate * 1e-6;
}
static double speedup_of(const result_line *of) {
    return of->speedup;
}
static double cost_of(const result_line *of) {
    return of->sah_cost;
}

static bool one_curve(const result_line *a, const result_line *b, line_value x) {
    return strcmp(a->builder, b->builder) == 0 && strcmp(a->device, b->device) == 0 &&
           strcmp(a->variant, b->variant) == 0 && a->dims == b->dims &&
           (x == neighbours_of || a->k == b->k) && (x == size_of || size_of(a) == size_of(b));
}

static bool differ(const result_line *const *lines, int count, line_value value) {
    for (int i = 1; i < count; ++i)
        if (value(lines[i]) != value(lines[0])) return true;
    return false;
}

static bool any(const result_line *const *lines, int count, line_value value) {
    for (int i = 0; i < count; ++i)
        if (value(lines[i]) > 0) return true;
    return false;
}

/* "kandela cuda:0 walk 4-D k 8": what tells a curve or a bar from its neighbours. */
static void name_line(char *out, size_t bytes, const result_line *of, bool with_k, bool with_n) {
    char n[32] = "", k[16] = "", dims[16] = "";
    if (with_n && size_of(of) > 0) snprintf(n, sizeof n, " n %.6g", size_of(of));
    if (with_k && of->k) snprintf(k, sizeof k, " k %d", of->k);
    if (of->dims && of->dims != 3) snprintf(dims, sizeof dims, " %d-D", of->dims);
    snprintf(out, bytes, "%s %s%s%s%s%s%s", of->builder, of->device, of->variant[0] ? " " : "",
             of->variant, dims, k, n);
}

static void write_slopes(FILE *to, const plot *of) {
    fputs("<p class=\"note\">Growth with size, as the exponent of n: ", to);
    const char *between = "";
    for (int i = 0; i < of->series_count; ++i) {
        const double slope = plot_slope(of->series[i].points, of->series[i].count);
        if (!isfinite(slope)) continue;
        fputs(between, to);
        plot_text(to, of->series[i].name);
        fprintf(to, " %.2f", slope);
        between = "; ";
    }
    fputs(".</p>\n", to);
}

typedef struct curves {
    plot_point *points; /* room for all lines, a series after the other */
    plot_series series[PLOT_SERIES];
    char names[PLOT_SERIES][NAME];
    int left_out; /* lines of further series */
} curves;

static void sort_points(plot_point *points, int count) {
    for (int i = 1; i < count; ++i)
        for (int j = i; j > 0 && points[j].x < points[j - 1].x; --j) {
            const plot_point held = points[j];
            points[j] = points[j - 1];
            points[j - 1] = held;
        }
}

/* A series for each line that no earlier line's series has. */
static int gather(curves *out, const result_line *const *lines, int count, line_value x,
                  line_value y) {
    int used = 0, series = 0;
    for (int i = 0; i < count; ++i) {
        bool first = true;
        for (int j = 0; j < i; ++j) first = first && !one_curve(lines[i], lines[j], x);
        if (!first) continue;
        if (series == PLOT_SERIES) {
            ++out->left_out;
            continue;
        }
        plot_series *to = out->series + series;
        to->points = out->points + used;
        to->count = 0;
        for (int j = i; j < count; ++j)
            if (one_curve(lines[i], lines[j], x) && x(lines[j]) > 0 && y(lines[j]) > 0) {
                const plot_point point = {x(lines[j]), y(lines[j]), ""};
                out->points[used++] = point;
                ++to->count;
            }
        sort_points(out->points + used - to->count, to->count);
        name_line(out->names[series], NAME, lines[i], x != neighbours_of, x != size_of);
        to->name = out->names[series++];
    }
    return series;
}

/* `bare`: an <svg> and nothing else. */
static kd_status draw_curves(FILE *to, const plot *labels, const result_line *const *lines,
                             int count, line_value x, line_value y, bool bare) {
    curves gathered;
    memset(&gathered, 0, sizeof gathered);
    KD_TRY(KD_RESERVE(gathered.points, (uint64_t)count));
    plot made = *labels;
    made.series = gathered.series;
    made.series_count = gather(&gathered, lines, count, x, y);
    if (!bare) fputs("<figure>", to);
    plot_draw(to, &made);
    if (!bare && x == size_of && y == ms_of) write_slopes(to, &made);
    if (!bare && gathered.left_out)
        fprintf(to, "<p class=\"note\">%d more curves: see the table.</p>\n", gathered.left_out);
    if (!bare) fputs("</figure>\n", to);
    memory_free(gathered.points);
    return KD_OK;
}

typedef struct bar_rows {
    bars_row rows[BARS_MOST];
    char names[BARS_MOST][NAME];
    int count;
} bar_rows;

static bars_row *add_bar(bar_rows *to, const result_line *of) {
    if (to->count == BARS_MOST) return NULL;
    bars_row *row = to->rows + to->count;
    memset(row, 0, sizeof *row);
    name_line(to->names[to->count], NAME, of, true, true);
    row->name = to->names[to->count++];
    return row;
}

static void draw_bars(FILE *to, const char *title, const char *unit,
                      const result_line *const *lines, int count, line_value value, bool bare) {
    bar_rows made = {.count = 0};
    int left_out = 0;
    for (int i = 0; i < count; ++i) {
        if (!(value(lines[i]) > 0)) continue;
        bars_row *row = add_bar(&made, lines[i]);
        if (row)
            row->parts[0] = value(lines[i]);
        else
            ++left_out;
    }
    const bars drawn = {title, unit, {NULL}, 1, made.rows, made.count};
    if (made.count) bars_draw(to, &drawn);
    if (left_out && !bare) fprintf(to, "<p class=\"note\">%d more: see the table.</p>\n", left_out);
}

static double ratio_of(const result_line *of) {
    return of->published > 0 ? of->ratio : 0;
}

/* Times over the paper's, with a line at 1. */
static void draw_ratios(FILE *to, const char *title, const result_line *const *lines, int count) {
    bar_rows made = {.count = 0};
    for (int i = 0; i < count; ++i) {
        bars_row *row = ratio_of(lines[i]) > 0 ? add_bar(&made, lines[i]) : NULL;
        if (row) row->parts[0] = lines[i]->ratio, row->mark = 1;
    }
    const bars drawn = {title, "x", {NULL}, 1, made.rows, made.count};
    if (made.count) bars_draw(to, &drawn);
}

/* Of the lines whose stages have the names of `like`: their times (or shares of the bandwidth). */
static void draw_stages(FILE *to, const char *title, const result_line *const *lines, int count,
                        const result_line *like) {
    bar_rows made = {.count = 0};
    bars drawn = {title, "ms", {NULL}, like->stage_count, made.rows, 0};
    memcpy(drawn.part_names, like->stage_names, sizeof drawn.part_names);
    for (int i = 0; i < count; ++i) {
        bool alike = lines[i]->stage_count == like->stage_count;
        for (int s = 0; alike && s < like->stage_count; ++s)
            alike = strcmp(lines[i]->stage_names[s], like->stage_names[s]) == 0;
        bars_row *row = alike ? add_bar(&made, lines[i]) : NULL;
        if (row) memcpy(row->parts, lines[i]->stage_ms, sizeof row->parts);
    }
    drawn.row_count = made.count;
    if (made.count) bars_draw(to, &drawn);
}

/* The stages that move known bytes, as parts of the bandwidth that the memory has. */
static void draw_roofline(FILE *to, const char *title, const result_line *of) {
    bar_rows made = {.count = 0};
    for (int s = 0; s < of->stage_count; ++s) {
        bars_row *row = of->stage_share[s] > 0 ? add_bar(&made, of) : NULL;
        if (!row) continue;
        row->name = of->stage_names[s];
        row->parts[0] = 100 * of->stage_share[s];
        row->mark = 100;
    }
    const bars drawn = {title, "%", {NULL}, 1, made.rows, made.count};
    if (made.count) bars_draw(to, &drawn);
}

static const result_line *largest_with_stages(const result_line *const *lines, int count) {
    const result_line *best = NULL;
    for (int i = 0; i < count; ++i)
        if (lines[i]->stage_count && (!best || size_of(lines[i]) > size_of(best))) best = lines[i];
    return best;
}

static kd_status draw_main(FILE *to, const char *title, const result_line *const *lines, int count,
                           bool bare) {
    const plot by_size = {.title = title, .x_label = "size", .y_label = "milliseconds"};
    const plot by_k = {.title = title, .x_label = "neighbours k", .y_label = "million a second"};
    if (differ(lines, count, size_of))
        return draw_curves(to, &by_size, lines, count, size_of, ms_of, bare);
    if (differ(lines, count, neighbours_of))
        return draw_curves(to, &by_k, lines, count, neighbours_of, rate_of, bare);
    if (any(lines, count, rate_of))
        draw_bars(to, title, "M/s", lines, count, rate_of, bare);
    else
        draw_bars(to, title, "ms", lines, count, ms_of, bare);
    return KD_OK;
}

kd_status charts_write(const char *path, const char *title, const result_line *const *lines,
                       int count) {
    file_output output;
    KD_TRY(file_output_open(&output, path));
    const kd_status status = draw_main(output.stream, title, lines, count, true);
    if (status == KD_OK) return file_output_commit(&output);
    file_output_discard(&output);
    return status;
}

kd_status charts_draw(FILE *to, const char *title, const result_line *const *lines, int count) {
    char text[TITLE];
    fputs("<div class=\"case\">\n", to);
    KD_TRY(draw_main(to, title, lines, count, false));
    if (any(lines, count, cost_of) && strcmp(lines[0]->bench, "build") == 0) {
        snprintf(text, sizeof text, "%s: SAH cost (less is better)", title);
        draw_bars(to, text, "", lines, count, cost_of, false);
    }
    if (any(lines, count, speedup_of)) {
        snprintf(text, sizeof text, "%s: times the base (sweep or the same on one thread)", title);
        draw_bars(to, text, "x", lines, count, speedup_of, false);
    }
    const result_line *staged = largest_with_stages(lines, count);
    if (staged) {
        snprintf(text, sizeof text, "%s: stages", title);
        draw_stages(to, text, lines, count, staged);
        snprintf(text, sizeof text, "%s, n %.6g: share of the memory's bandwidth", title,
                 size_of(staged));
        draw_roofline(to, text, staged);
    }
    snprintf(text, sizeof text, "%s: times faster than published", title);
    draw_ratios(to, text, lines, count);
    fputs("</div>\n", to);
    return KD_OK;
}
