/* Exposure by the picture: a photographer's light meter, for scenes in no unit in particular.
   Source: Reinhard, Stark, Shirley and Ferwerda 2002, "Photographic tone reproduction for digital
           images": the key of a picture is the mean of the logarithms of its luminances.
   Idea: what is metered are cells, of 4 x 4 pixels or of 1/64 of the longer side: their means have
         little noise, so that few samples tell the same as many. A cell weighs by the root of its
         luminance: black weighs nothing, and a dark backdrop little beside its subject. Highlights
         (the brightest HIGHLIGHTS of what is covered) count as the darkest of them does, so that
         lamps, glints and fireflies tell nothing of the rest.
   Differs from the paper in that, and in the cap: exposure ends where more than the highlights
         would be cut by white. */
#include "core/image/image.h"
#include "core/math/vec3.h"
#include "core/memory.h"
#include <stdlib.h>

enum { CELL_SIDE = 4, CELLS_ACROSS = 64 };

typedef struct meter_cell {
    double luminance, largest; /* mean of what is covered: luminance, largest channel */
    double covered;            /* pixels */
} meter_cell;

typedef struct meter {
    const image *of;
    const float *r, *g, *b, *alpha; /* alpha may be NULL */
    meter_cell *cells;
    size_t count;
} meter;

static int by_largest(const void *a, const void *b) {
    const double x = ((const meter_cell *)a)->largest, y = ((const meter_cell *)b)->largest;
    return (x > y) - (x < y);
}

static meter_cell read_cell(const meter *in, int32_t left, int32_t top, int32_t side) {
    const int32_t width = in->of->width, height = in->of->height;
    const int32_t right = width - left < side ? width : left + side;
    const int32_t bottom = height - top < side ? height : top + side;
    meter_cell cell = {0, 0, 0};
    for (int32_t y = top; y < bottom; ++y)
        for (int32_t x = left; x < right; ++x) {
            const size_t i = (size_t)y * (size_t)width + (size_t)x;
            const vec3 colour = vec3_make(in->r[i], in->g[i], in->b[i]);
            const float luminance = vec3_luminance(colour), largest = vec3_largest(colour);
            const float covered = in->alpha ? in->alpha[i] : 1;
            if (!(covered > 0) || !isfinite(luminance)) continue;
            cell.luminance += luminance > 0 ? (double)luminance : 0;
            cell.largest += largest > 0 ? (double)largest : 0;
            cell.covered += (double)covered;
        }
    if (!(cell.covered > 0)) return cell;
    cell.luminance /= cell.covered;
    cell.largest /= cell.covered;
    return cell;
}

static kd_status read_cells(meter *in) {
    const int32_t width = in->of->width, height = in->of->height;
    const int32_t longer = width > height ? width : height;
    const int32_t fair = (longer + CELLS_ACROSS - 1) / CELLS_ACROSS;
    const int32_t side = fair > CELL_SIDE ? fair : CELL_SIDE;
    const size_t across = (size_t)(width + side - 1) / (size_t)side;
    const size_t down = (size_t)(height + side - 1) / (size_t)side;
    KD_TRY(KD_RESERVE(in->cells, across * down));
    for (int32_t top = 0; top < height; top += side)
        for (int32_t left = 0; left < width; left += side) {
            const meter_cell cell = read_cell(in, left, top, side);
            if (cell.covered > 0) in->cells[in->count++] = cell;
        }
    return KD_OK;
}

/* Where the highlights begin: cells in order. */
static double highlight(const meter *in) {
    /* a cell that is white in the mean has pixels that are brighter: a fifth of the share is theirs
     */
    const double share = 0.8 * (double)IMAGE_HIGHLIGHTS;
    double all = 0, above = 0;
    for (size_t i = 0; i < in->count; ++i) all += in->cells[i].covered;
    size_t i = in->count;
    while (i > 1 && above + in->cells[i - 1].covered <= share * all)
        above += in->cells[--i].covered;
    return i ? in->cells[i - 1].largest : 0;
}

/* The weighted mean of logarithms of base 2, where there is some light. */
static double key(const meter *in, double most) {
    double sum = 0, weights = 0;
    for (size_t i = 0; i < in->count; ++i) {
        const double found = in->cells[i].luminance, luminance = found < most ? found : most;
        const double weight = in->cells[i].covered * sqrt(luminance);
        if (!(weight > 0)) continue;
        sum += weight * log2(luminance);
        weights += weight;
    }
    return weights > 0 ? sum / weights : log2(most);
}

kd_status image_exposure(float *stops, const image *of) {
    meter in = {of,
                image_plane(of, "R"),
                image_plane(of, "G"),
                image_plane(of, "B"),
                image_plane(of, "A"),
                NULL,
                0};
    *stops = 0;
    KD_REQUIRE(in.r && in.g && in.b, KD_ERROR_USAGE, "an image without R, G or B has no exposure");
    KD_TRY(read_cells(&in));
    qsort(in.cells, in.count, sizeof *in.cells, by_largest);
    double bright = highlight(&in);
    if (in.count && !(bright > 0)) bright = in.cells[in.count - 1].largest;
    if (bright > 0) {
        const double grey = log2((double)IMAGE_GREY) - key(&in, bright), cap = -log2(bright);
        const double raised = grey > 0 ? grey : 0;
        *stops = (float)(raised < cap ? raised : cap);
    }
    memory_free(in.cells);
    return KD_OK;
}
