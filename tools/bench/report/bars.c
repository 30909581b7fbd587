#include "tools/bench/report/bars.h"
#include "tools/bench/report/plot.h"
#include <math.h>
#include <stdbool.h>

/* pixels; VALUE is the room for the number behind the longest bar */
enum { WIDTH = 520, LEFT = 8, VALUE = 100, TOP = 42, ROW = 38, BAR = 15, LEGEND_ROW = 22 };

static double sum_of(const bars *of, const bars_row *row) {
    double sum = 0;
    for (int i = 0; i < of->part_count; ++i) sum += fmax(0, row->parts[i]);
    return sum;
}

static double longest(const bars *of) {
    double most = 0;
    for (int i = 0; i < of->row_count; ++i)
        most = fmax(most, fmax(sum_of(of, of->rows + i), of->rows[i].mark));
    return most > 0 && isfinite(most) ? most : 1;
}

static void draw_row(FILE *to, const bars *of, const bars_row *row, int y, double scale) {
    fprintf(to, "<text x=\"%d\" y=\"%d\">", LEFT, y - 3);
    plot_text(to, row->name);
    fputs("</text>\n", to);
    double at = LEFT;
    for (int i = 0; i < of->part_count; ++i) {
        const double width = scale * fmax(0, row->parts[i]);
        if (width > 0)
            fprintf(to, "<rect x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill=\"%s\"/>\n",
                    at, y, width, BAR, plot_colours[i]);
        at += width;
    }
    fprintf(to, "<text x=\"%.1f\" y=\"%d\">%.4g ", at + 6, y + BAR - 3, sum_of(of, row));
    plot_text(to, of->unit);
    fputs("</text>\n", to);
    if (row->mark > 0)
        fprintf(to, "<path d=\"M%.1f %dv%d\" stroke=\"#000\" stroke-width=\"2\"/>\n",
                LEFT + scale * row->mark, y - 2, BAR + 4);
}

static void draw_legend(FILE *to, const bars *of, int y) {
    for (int i = 0; i < of->part_count; ++i) {
        const int x = i % 2 ? WIDTH / 2 : LEFT, row = y + LEGEND_ROW * (i / 2);
        fprintf(to,
                "<rect x=\"%d\" y=\"%d\" width=\"12\" height=\"12\" fill=\"%s\"/><text x=\"%d\" "
                "y=\"%d\">",
                x, row, plot_colours[i], x + 18, row + 11);
        plot_text(to, of->part_names[i]);
        fputs("</text>\n", to);
    }
}

void bars_draw(FILE *to, const bars *of) {
    const bool legend = of->part_count > 1;
    const int legend_y = TOP + ROW * of->row_count + 12;
    const double scale = (WIDTH - LEFT - VALUE) / longest(of);
    plot_begin(to, WIDTH, legend ? legend_y + LEGEND_ROW * ((of->part_count + 1) / 2) : legend_y);
    fprintf(to, "<text x=\"%d\" y=\"20\" font-size=\"16\">", LEFT);
    plot_text(to, of->title);
    fputs("</text>\n", to);
    for (int i = 0; i < of->row_count; ++i)
        draw_row(to, of, of->rows + i, TOP + 16 + ROW * i, scale);
    if (legend) draw_legend(to, of, legend_y);
    fputs("</svg>\n", to);
}
