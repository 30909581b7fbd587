/* Source: Andersson, Nilsson, Shirley, Akenine-Moller 2021, "Visualizing Errors in Rendered High
           Dynamic Range Images", Eurographics short papers.
   Idea: both radiance maps are shown at several exposures, from the one that just keeps the
         reference's brightest pixel below white to the one that does so for its median; a
         pixel's error is the largest FLIP error over them.
   Work: FLIP per stop of exposure.
   Memory: 7 floats a pixel beside FLIP's.
   Differs from the paper in: where the median is 0, that of the pixels with light in them stands
         for it; a black reference has one exposure, 0; at most 32 exposures. */
#include "core/compare/flip.h"
#include "core/math/vec3.h"
#include "core/memory.h"
#include <stdlib.h>

enum { EXPOSURES = 32 };

/* Narkowicz's rational fit with the input scaled by 0.6: (ax^2 + bx) / (cx^2 + dx + e). */
static const float curve_a = 0.36f * 2.51f, curve_b = 0.6f * 0.03f, curve_c = 0.36f * 2.43f,
                   curve_d = 0.6f * 0.59f, curve_e = 0.14f;

static float curve_show(float radiance) {
    const float x = radiance > 0 ? float_min(radiance, 1000) : 0; /* white from 11 on */
    return float_min(1, x * (curve_a * x + curve_b) / (x * (curve_c * x + curve_d) + curve_e));
}

/* The radiance that is shown as 0.85. */
static float curve_bright(void) {
    const float shown = 0.85f;
    const float a = curve_a - shown * curve_c, b = curve_b - shown * curve_d, c = -shown * curve_e;
    return (-b + sqrtf(b * b - 4 * a * c)) / (2 * a);
}

static int floats_compare(const void *left, const void *right) {
    const float a = *(const float *)left, b = *(const float *)right;
    return (a > b) - (a < b);
}

static float median_of(const float *sorted, size_t count) {
    return 0.5f * sorted[(count - 1) / 2] + 0.5f * sorted[count / 2];
}

/* In stops; returns their number. */
static int exposures_find(float *first, float *last, const flip_picture *reference, size_t count,
                          float *scratch) {
    size_t dark = 0;
    for (size_t i = 0; i < count; ++i) {
        const float luminance = vec3_luminance(
            vec3_make(reference->planes[0][i], reference->planes[1][i], reference->planes[2][i]));
        const bool is_lit = luminance >= FLT_MIN;
        scratch[i] = is_lit ? float_min(luminance, FLT_MAX) : 0;
        dark += !is_lit;
    }
    *first = *last = 0;
    if (dark == count) return 1;
    qsort(scratch, count, sizeof *scratch, floats_compare);
    float median = median_of(scratch, count);
    if (!(median > 0)) median = median_of(scratch + dark, count - dark);
    *first = log2f(curve_bright()) - log2f(scratch[count - 1]);
    *last = log2f(curve_bright()) - log2f(median);
    const int stops = (int)ceilf(*last - *first);
    return stops < 2 ? 2 : stops < EXPOSURES ? stops : EXPOSURES;
}

static flip_picture picture_show(float *to, const flip_picture *from, size_t count, float stops) {
    flip_picture shown;
    for (size_t c = 0; c < 3; ++c) {
        float *plane = to + c * count;
        for (size_t i = 0; i < count; ++i)
            plane[i] = curve_show(
                ldexpf(exp2f(stops - floorf(stops)) * from->planes[c][i], (int)floorf(stops)));
        shown.planes[c] = plane;
    }
    return shown;
}

kd_status flip_errors_hdr(float *error, const flip_picture *test, const flip_picture *reference,
                          int32_t width, int32_t height) {
    const size_t count = (size_t)width * (size_t)height;
    float *block = NULL, first, last;
    KD_TRY(KD_RESERVE(block, 7 * count));
    float *one = block + 6 * count;
    kd_status status = KD_OK;
    const int exposures = exposures_find(&first, &last, reference, count, one);
    for (size_t i = 0; i < count; ++i) error[i] = 0;
    for (int e = 0; e < exposures; ++e) {
        const float share = exposures > 1 ? (float)e / (float)(exposures - 1) : 0;
        const float stops = first + share * (last - first);
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
