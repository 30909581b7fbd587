#include "core/image/encode.h"
#include "core/image/image.h"
#include "core/image/tonemap.h"
#include "core/math/geometry.h"
#include "core/memory.h"
#include "core/parallel/parallel.h"
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const colours[] = {"R", "G", "B"};

/* --- encoding --- */

enum { ENCODE_GRAIN = 16384 };

static int alpha_is_used(const float *alpha, size_t count) {
    for (size_t i = 0; alpha && i < count; ++i)
        if (alpha[i] < 1) return 1;
    return 0;
}

/* Equals unit_to_byte(srgb_encode(x)) without its power function.
   Idea: exponent and upper six bits of the mantissa determine the byte up to one or two steps,
         which are resolved by comparison. steps[b] is the smallest float with byte b, found by
         bisection. */
enum { STEP_MIN = 0x3f800000 - (13 << 23), STEP_SHIFT = 17, STEP_CELLS = 13 << (23 - STEP_SHIFT) };
static float steps[257];
static uint8_t cells[STEP_CELLS];
static pthread_once_t steps_once = PTHREAD_ONCE_INIT;

static void steps_make(void) {
    uint32_t minimum = STEP_MIN; /* 2^-13 maps to byte 0 */
    for (int byte = 1; byte < 256; ++byte) {
        uint32_t below = minimum, above = 0x3f800000;
        while (above - below > 1) {
            const uint32_t middle = below + (above - below) / 2;
            if (unit_to_byte(srgb_encode(float_from_bits(middle))) >= byte)
                above = middle;
            else
                below = middle;
        }
        steps[byte] = float_from_bits(above);
        minimum = below;
    }
    steps[256] = INFINITY;
    for (uint32_t i = 0; i < STEP_CELLS; ++i)
        cells[i] = unit_to_byte(srgb_encode(float_from_bits(STEP_MIN + (i << STEP_SHIFT))));
}

static uint8_t byte_of(float x) {
    uint32_t bits;
    if (!(x >= 0x1p-13f)) return 0;
    if (x >= 1) return 255;
    memcpy(&bits, &x, sizeof bits);
    uint8_t byte = cells[(bits - STEP_MIN) >> STEP_SHIFT];
    while (x >= steps[byte + 1]) ++byte;
    return byte;
}

typedef struct encode_work {
    uint8_t *to;
    const float *r, *g, *b, *alpha; /* alpha may be NULL */
    float scale;
    kd_tonemap tonemap;
    const image *source, *background; /* the background may be NULL */
} encode_work;

static int64_t clamp_index(int64_t i, int32_t count) {
    return i < 0 ? 0 : i < count ? i : count - 1;
}

/* Puts the colour of pixel i before the background. */
static vec3 over(const encode_work *work, int64_t i, vec3 shown) {
    const image *source = work->source, *behind = work->background;
    const float covered = work->alpha[i], rest = 1 - covered;
    const int64_t x = clamp_index(i % source->width + source->left, behind->width);
    const int64_t y = clamp_index(i / source->width + source->top, behind->height);
    const int64_t at = y * behind->width + x;
    const vec3 colour =
        vec3_make(behind->planes[0][at], behind->planes[1][at], behind->planes[2][at]);
    return vec3_add(vec3_scale(shown, covered > 0 ? covered : 1), vec3_scale(colour, rest));
}

static void pixels_encode(void *context, int64_t begin, int64_t end, int worker) {
    (void)worker;
    const encode_work *work = (const encode_work *)context;
    const float *alpha = work->alpha, scale = work->scale;
    const bool opaque = work->background != NULL;
    uint8_t *to = work->to + (alpha && !opaque ? 4 : 3) * begin;
    for (int64_t i = begin; i < end; ++i) {
        const float covered = alpha && alpha[i] > 0 && alpha[i] < 1 ? alpha[i] : 1;
        vec3 shown =
            tonemap_apply(vec3_make(scale * work->r[i] / covered, scale * work->g[i] / covered,
                                    scale * work->b[i] / covered),
                          work->tonemap);
        if (alpha && opaque && alpha[i] < 1) shown = over(work, i, shown);
        *to++ = byte_of(shown.x);
        *to++ = byte_of(shown.y);
        *to++ = byte_of(shown.z);
        if (alpha && !opaque) *to++ = unit_to_byte(alpha[i]);
    }
}

kd_status image_encode(uint8_t **bytes, int *samples, const image *image,
                       const image_encoding *encoding, bool alpha) {
    const size_t count = (size_t)image->width * (size_t)image->height;
    const bool opaque = encoding->background != NULL;
    const float *covered = alpha || opaque ? image_plane(image, "A") : NULL;
    if (!alpha_is_used(covered, count)) covered = NULL;
    *samples = covered && !opaque ? 4 : 3;
    KD_TRY(KD_RESERVE(*bytes, count * (size_t)*samples));
    encode_work work = {*bytes,
                        image_plane(image, "R"),
                        image_plane(image, "G"),
                        image_plane(image, "B"),
                        covered,
                        exp2f(encoding->exposure),
                        encoding->tonemap,
                        image,
                        encoding->background};
    pthread_once(&steps_once, steps_make);
    parallel_for((int64_t)count, ENCODE_GRAIN, pixels_encode, &work);
    return KD_OK;
}

/* --- decoding --- */

kd_status image_linear_open(float **linear, const picture *picture) {
    const uint32_t white = picture_white(picture);
    KD_TRY(KD_RESERVE(*linear, white + 1));
    for (uint32_t i = 0; i <= white; ++i) (*linear)[i] = srgb_decode((float)i / (float)white);
    return KD_OK;
}

void image_texels_decode(float *const planes[4], const picture *picture, uint64_t begin,
                         uint64_t count, const float *linear) {
    const uint32_t white = picture_white(picture);
    const uint64_t step = (uint64_t)picture->samples;
    const int32_t alpha_sample = picture_sample(picture, 3);
    for (uint64_t i = 0; i < count; ++i) {
        const uint64_t texel = (begin + i) * step;
        const uint32_t alpha =
            alpha_sample < 0 ? white : picture_value(picture, texel + (uint64_t)alpha_sample);
        const float covered = alpha ? (float)alpha / (float)white : 1;
        for (int32_t c = 0; c < 3; ++c)
            planes[c][i] =
                covered *
                linear[picture_value(picture, texel + (uint64_t)picture_sample(picture, c))];
        if (planes[3]) planes[3][i] = (float)alpha / (float)white;
    }
}

static bool alpha_is_opaque(const picture *picture) {
    const int32_t alpha = picture_sample(picture, 3);
    const uint64_t count = (uint64_t)picture->info.width * (uint64_t)picture->info.height;
    for (uint64_t i = 0; alpha >= 0 && i < count; ++i)
        if (picture_value(picture, i * (uint64_t)picture->samples + (uint64_t)alpha) <
            picture_white(picture))
            return false;
    return true;
}

kd_status image_decode(image *out, const picture *picture) {
    const int32_t width = picture->info.width, height = picture->info.height;
    float *linear = NULL, *planes[4] = {NULL, NULL, NULL, NULL};
    KD_TRY(image_open(out, width, height));
    for (int c = 0; c < 3; ++c) KD_TRY(image_add(out, colours[c], &planes[c]));
    if (!alpha_is_opaque(picture)) KD_TRY(image_add(out, "A", &planes[3]));
    KD_TRY(image_linear_open(&linear, picture));
    image_texels_decode(planes, picture, 0, (uint64_t)width * (uint64_t)height, linear);
    memory_free(linear);
    return KD_OK;
}

/* Automatic exposure, similar to a photographic light meter, for scenes without absolute units.
   Source: Reinhard, Stark, Shirley and Ferwerda 2002, "Photographic tone reproduction for digital
           images": the key of a picture is the mean of the logarithms of its luminances.
   Idea: measures cells of 4 x 4 pixels or 1/64 of the longer side, whose means have little noise,
         so that few samples per pixel give nearly the same exposure as many. A cell's weight is the
         square root of its luminance: black has no weight, and a dark background little compared to
         the subject. Highlights (the brightest fraction IMAGE_HIGHLIGHTS of the covered pixels) are
         clamped to the darkest highlight, so that lamps, glints and fireflies have no influence.
   Differs from the paper in: the weights and the highlights, and a limit on the exposure, which
                              clips no more than the highlights. */

enum { CELL_SIDE = 4, CELLS_ACROSS = 64 };

typedef struct meter_cell {
    double luminance, largest; /* means over the covered pixels: luminance, largest channel */
    double covered;            /* number of covered pixels */
} meter_cell;

typedef struct meter {
    const struct image *image;
    const float *r, *g, *b, *alpha, *depth; /* the last two may be NULL */
    meter_cell *cells;
    size_t count;
} meter;

static int by_largest(const void *a, const void *b) {
    const double x = ((const meter_cell *)a)->largest, y = ((const meter_cell *)b)->largest;
    return (x > y) - (x < y);
}

static meter_cell read_cell(const meter *meter, int32_t left, int32_t top, int32_t side) {
    const int32_t width = meter->image->width, height = meter->image->height;
    const int32_t right = width - left < side ? width : left + side;
    const int32_t bottom = height - top < side ? height : top + side;
    meter_cell cell = {0, 0, 0};
    for (int32_t y = top; y < bottom; ++y)
        for (int32_t x = left; x < right; ++x) {
            const size_t i = (size_t)y * (size_t)width + (size_t)x;
            const vec3 colour = vec3_make(meter->r[i], meter->g[i], meter->b[i]);
            const float luminance = vec3_luminance(colour), largest = vec3_largest(colour);
            const float covered = meter->alpha ? meter->alpha[i] : 1;
            const bool empty = meter->depth && isinf(meter->depth[i]) && !(largest > 0);
            if (!(covered > 0) || empty || !isfinite(luminance)) continue;
            cell.luminance += luminance > 0 ? (double)luminance : 0;
            cell.largest += largest > 0 ? (double)largest : 0;
            cell.covered += (double)covered;
        }
    if (!(cell.covered > 0)) return cell;
    cell.luminance /= cell.covered;
    cell.largest /= cell.covered;
    return cell;
}

static kd_status read_cells(meter *meter) {
    const int32_t width = meter->image->width, height = meter->image->height;
    const int32_t longer = width > height ? width : height;
    const int32_t fair = (longer + CELLS_ACROSS - 1) / CELLS_ACROSS;
    const int32_t side = fair > CELL_SIDE ? fair : CELL_SIDE;
    const size_t across = (size_t)(width + side - 1) / (size_t)side;
    const size_t down = (size_t)(height + side - 1) / (size_t)side;
    KD_TRY(KD_RESERVE(meter->cells, across * down));
    for (int32_t top = 0; top < height; top += side)
        for (int32_t left = 0; left < width; left += side) {
            const meter_cell cell = read_cell(meter, left, top, side);
            if (cell.covered > 0) meter->cells[meter->count++] = cell;
        }
    return KD_OK;
}

/* Returns the threshold of the highlights; the cells are sorted. */
static double highlight(const meter *meter) {
    /* a cell whose mean is white contains brighter pixels: reserves a fifth of the share for
       these */
    const double share = 0.8 * (double)IMAGE_HIGHLIGHTS;
    double all = 0, above = 0;
    for (size_t i = 0; i < meter->count; ++i) all += meter->cells[i].covered;
    size_t i = meter->count;
    while (i > 1 && above + meter->cells[i - 1].covered <= share * all)
        above += meter->cells[--i].covered;
    return i ? meter->cells[i - 1].largest : 0;
}

/* Returns the weighted mean of log2 of the luminances, ignoring black cells. */
static double key(const meter *meter, double maximum) {
    double sum = 0, weights = 0;
    for (size_t i = 0; i < meter->count; ++i) {
        const double cell_luminance = meter->cells[i].luminance,
                     luminance = cell_luminance < maximum ? cell_luminance : maximum;
        const double weight = meter->cells[i].covered * sqrt(luminance);
        if (!(weight > 0)) continue;
        sum += weight * log2(luminance);
        weights += weight;
    }
    return weights > 0 ? sum / weights : log2(maximum);
}

kd_status image_exposure(float *stops, const image *image) {
    meter in = {image,
                image_plane(image, "R"),
                image_plane(image, "G"),
                image_plane(image, "B"),
                image_plane(image, "A"),
                image_plane(image, "Z"),
                NULL,
                0};
    *stops = 0;
    KD_REQUIRE(in.r && in.g && in.b, KD_ERROR_USAGE,
               "cannot determine the exposure of an image without the channels R, G and B");
    if (image->exposed) return KD_OK;
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
