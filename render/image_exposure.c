/* Exposure by the picture: a photographer's light meter, for scenes in no unit in particular. */
#include "core/memory.h"
#include "render/image.h"
#include "shaders/vec3.h"
#include <stdlib.h>

static const float darkest_median = 0.05f, grey = 0.18f; /* mid-grey: a reflectance of 18 % */

static int by_value(const void *a, const void *b) {
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

kd_status image_exposure(float *stops, const image *of) {
    const float *r = image_plane(of, "R"), *g = image_plane(of, "G"), *b = image_plane(of, "B");
    const float *alpha = image_plane(of, "A");
    *stops = 0;
    KD_REQUIRE(r && g && b, KD_ERROR_USAGE, "an image without R, G or B has no exposure");
    const size_t pixels = (size_t)of->width * (size_t)of->height;
    float *lit = NULL;
    KD_TRY(KD_RESERVE(lit, pixels));
    size_t count = 0;
    for (size_t i = 0; i < pixels; ++i) {
        const float luminance = vec3_luminance(vec3_make(r[i], g[i], b[i]));
        if ((!alpha || alpha[i] > 0) && isfinite(luminance)) lit[count++] = luminance;
    }
    qsort(lit, count, sizeof *lit, by_value);
    const float median = count ? lit[count / 2] : 0;
    memory_free(lit);
    if (median > 0 && median < darkest_median) *stops = log2f(grey / median);
    return KD_OK;
}
