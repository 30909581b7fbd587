/* HDR-FLIP.
   Source: Andersson, Nilsson, Shirley, Akenine-Moller 2021, "Visualizing Errors in Rendered High
           Dynamic Range Images", Eurographics short papers.
   Idea: both radiance maps are displayed at several exposures, from the one that just keeps the
         reference's brightest pixel below white to the one that does so for its median. The error
         of a pixel is the maximum of its FLIP errors.
   Work: one FLIP evaluation per stop of exposure.
   Memory: 7 floats per pixel in addition to FLIP.
   Differs from the paper in: if the median is 0, it is replaced by the median of the non-black
                              pixels; a black reference has one exposure, 0; at most 32
                              exposures. */
#include "core/image_processing/compare.h"
#include "core/math/geometry.h"
#include "core/memory.h"
#include <string.h>

enum { EXPOSURES = 32 };

/* Narkowicz's rational fit with its input scaled by 0.6: (ax^2 + bx) / (cx^2 + dx + e). */
static const float curve_a = 0.36f * 2.51f, curve_b = 0.6f * 0.03f, curve_c = 0.36f * 2.43f,
                   curve_d = 0.6f * 0.59f, curve_e = 0.14f;

static float curve_show(float radiance) {
    const float x = radiance > 0 ? float_min(radiance, 1000) : 0; /* white from 11 on */
    return float_min(1, x * (curve_a * x + curve_b) / (x * (curve_c * x + curve_d) + curve_e));
}

/* Returns the radiance that is displayed as 0.85. */
static float curve_bright(void) {
    const float shown = 0.85f;
    const float a = curve_a - shown * curve_c, b = curve_b - shown * curve_d, c = -shown * curve_e;
    return (-b + sqrtf(b * b - 4 * a * c)) / (2 * a);
}

/* --- exposures ---------------------------------------------------------------------------------
   The median is found exactly with two histograms: non-negative floats have the same order as their
   bit patterns, so a histogram of the upper 16 bits gives the upper half of the median, and a
   histogram of the lower 16 bits of the values that share it gives the lower half. */

enum { HALVES = 1 << 16 };

typedef struct luminances {
    const image_rows *rows;
    float *row[3];
    uint64_t *upper, *lower; /* histograms of the upper and lower 16 bits */
    uint64_t dark, lit;
    float brightest;
} luminances;

/* Returns 0 for luminances below FLT_MIN. */
static float luminance_at(const luminances *luminances, size_t x) {
    const float luminance = vec3_luminance(
        vec3_make(luminances->row[0][x], luminances->row[1][x], luminances->row[2][x]));
    return luminance >= FLT_MIN ? float_min(luminance, FLT_MAX) : 0;
}

static kd_status count_upper(luminances *luminances) {
    for (int64_t y = 0; y < luminances->rows->height; ++y) {
        KD_TRY(image_rows_get(luminances->rows, y, luminances->row));
        for (size_t x = 0; x < (size_t)luminances->rows->width; ++x) {
            const float luminance = luminance_at(luminances, x);
            luminances->dark += luminance == 0;
            luminances->lit += luminance != 0;
            ++luminances->upper[float_bits(luminance) >> 16];
            luminances->brightest = float_max(luminances->brightest, luminance);
        }
    }
    return KD_OK;
}

/* Returns the 16 bits of the item with this rank, counted from 0; *rank becomes its rank among the
   items that share them. */
static uint32_t half_find(const uint64_t *counts, uint64_t *rank) {
    uint32_t half = 0;
    while (half + 1 < HALVES && *rank >= counts[half]) *rank -= counts[half++];
    return half;
}

static kd_status ranked(float *out, luminances *luminances, uint64_t rank) {
    const uint32_t upper = half_find(luminances->upper, &rank);
    memset(luminances->lower, 0, HALVES * sizeof *luminances->lower);
    for (int64_t y = 0; y < luminances->rows->height; ++y) {
        KD_TRY(image_rows_get(luminances->rows, y, luminances->row));
        for (size_t x = 0; x < (size_t)luminances->rows->width; ++x) {
            const uint32_t bits = float_bits(luminance_at(luminances, x));
            if (bits >> 16 == upper) ++luminances->lower[bits & (HALVES - 1)];
        }
    }
    *out = float_from_bits(upper << 16 | half_find(luminances->lower, &rank));
    return KD_OK;
}

static kd_status median_of(float *out, luminances *luminances, uint64_t before, uint64_t count) {
    float below, above;
    KD_TRY(ranked(&below, luminances, before + (count - 1) / 2));
    KD_TRY(ranked(&above, luminances, before + count / 2));
    *out = 0.5f * below + 0.5f * above;
    return KD_OK;
}

static kd_status exposures_of(flip_exposures *out, luminances *luminances) {
    float median;
    out->first = out->last = 0;
    out->count = 1;
    KD_TRY(count_upper(luminances));
    if (luminances->lit == 0) return KD_OK;
    KD_TRY(median_of(&median, luminances, 0, luminances->dark + luminances->lit));
    if (!(median > 0)) KD_TRY(median_of(&median, luminances, luminances->dark, luminances->lit));
    out->first = log2f(curve_bright()) - log2f(luminances->brightest);
    out->last = log2f(curve_bright()) - log2f(median);
    const int stops = (int)ceilf(out->last - out->first);
    out->count = stops < 2 ? 2 : stops < EXPOSURES ? stops : EXPOSURES;
    return KD_OK;
}

kd_status flip_exposures_find(flip_exposures *out, const image_rows *reference) {
    luminances from = {.rows = reference, .upper = NULL};
    const size_t width = (size_t)reference->width;
    float *rows = NULL;
    kd_status status = KD_OK;
    KD_TRY_GOTO(KD_RESERVE(rows, 3 * width));
    KD_TRY_GOTO(KD_RESERVE_ZEROED(from.upper, 2 * HALVES));
    from.lower = from.upper + HALVES;
    for (size_t c = 0; c < 3; ++c) from.row[c] = rows + c * width;
    KD_TRY_GOTO(exposures_of(out, &from));
done:
    memory_free(rows);
    memory_free(from.upper);
    return status;
}

/* --- errors --- */

static flip_picture picture_show(float *to, const flip_picture *picture, size_t count,
                                 float stops) {
    flip_picture shown;
    for (size_t c = 0; c < 3; ++c) {
        float *plane = to + c * count;
        for (size_t i = 0; i < count; ++i)
            plane[i] = curve_show(
                ldexpf(exp2f(stops - floorf(stops)) * picture->planes[c][i], (int)floorf(stops)));
        shown.planes[c] = plane;
    }
    return shown;
}

kd_status flip_errors_hdr(float *error, const flip_picture *test, const flip_picture *reference,
                          int32_t width, int32_t height, const flip_exposures *exposures) {
    const size_t count = (size_t)width * (size_t)height;
    float *block = NULL;
    KD_TRY(KD_RESERVE(block, 7 * count));
    float *one = block + 6 * count;
    kd_status status = KD_OK;
    for (size_t i = 0; i < count; ++i) error[i] = 0;
    for (int e = 0; e < exposures->count; ++e) {
        const float share = exposures->count > 1 ? (float)e / (float)(exposures->count - 1) : 0;
        const float stops = exposures->first + share * (exposures->last - exposures->first);
        const flip_picture shown_test = picture_show(block, test, count, stops);
        const flip_picture shown_reference =
            picture_show(block + 3 * count, reference, count, stops);
        KD_TRY_GOTO(flip_errors(one, &shown_test, &shown_reference, width, height));
        for (size_t i = 0; i < count; ++i) error[i] = float_max(error[i], one[i]);
    }
done:
    memory_free(block);
    return status;
}
