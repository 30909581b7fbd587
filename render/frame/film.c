#include "render/frame/film.h"
#include "core/memory.h"
#include "core/parallel/parallel.h"
#include <math.h>

/* Pages that nobody has touched cost more to get than to clear: by all threads. */
static void clear_pixels(void *context, int64_t begin, int64_t end, int worker) {
    film_pixel *pixels = (film_pixel *)context;
    (void)worker;
    memset(pixels + begin, 0, (size_t)(end - begin) * sizeof *pixels);
}

kd_status film_open(film *out, const int32_t crop[4]) {
    enum { CLEAR_GRAIN = 1 << 14 };
    memset(out, 0, sizeof *out);
    out->x0 = crop[0];
    out->y0 = crop[1];
    out->width = crop[2] - crop[0];
    out->height = crop[3] - crop[1];
    const int64_t count = (int64_t)out->width * out->height;
    KD_TRY(KD_RESERVE(out->pixels, (uint64_t)count));
    parallel_for(count, CLEAR_GRAIN, clear_pixels, out->pixels);
    return KD_OK;
}

void film_close(film *owned) {
    memory_free(owned->pixels);
    memset(owned, 0, sizeof *owned);
}

bool film_add(film *to, int32_t x, int32_t y, const pixel_sample *sample) {
    const int64_t index = (int64_t)(y - to->y0) * to->width + (x - to->x0);
    return film_pixel_add(to->pixels + index, sample);
}

uint32_t film_samples(const film *of, int32_t x, int32_t y) {
    return of->pixels[(int64_t)(y - of->y0) * of->width + (x - of->x0)].samples;
}

uint32_t film_least_samples(const film *of) {
    const int64_t count = (int64_t)of->width * of->height;
    uint32_t least = count ? UINT32_MAX : 0;
    for (int64_t i = 0; i < count && least > 0; ++i)
        if (of->pixels[i].samples < least) least = of->pixels[i].samples;
    return least;
}

double film_error(const film *of) {
    const int64_t count = (int64_t)of->width * of->height;
    double sum = 0;
    for (int64_t i = 0; i < count; ++i) {
        const film_pixel *pixel = of->pixels + i;
        if (pixel->samples < 2) return (double)INFINITY;
        const double samples = pixel->samples;
        const double mean =
            (pixel->radiance[0] + pixel->radiance[1] + pixel->radiance[2]) / (3 * samples);
        const double variance = (pixel->squares / samples - mean * mean) / (samples - 1);
        if (variance > 0) sum += variance / (mean * mean + 0.01);
    }
    return sqrt(sum / (double)count);
}

enum { CHANNELS = 11 };
static const char *const channel_names[CHANNELS] = {
    "R", "G", "B", "A", "Z", "N.X", "N.Y", "N.Z", "Albedo.R", "Albedo.G", "Albedo.B"};

static void resolve_pixel(const film_pixel *pixel, int64_t at, float *const plane[CHANNELS]) {
    const double samples = pixel->samples ? (double)pixel->samples : 1;
    for (int c = 0; c < 3; ++c) plane[c][at] = (float)(pixel->radiance[c] / samples);
    plane[3][at] = (float)((double)pixel->alpha / samples);
    const float hits = (float)pixel->hits;
    plane[4][at] = hits > 0 ? pixel->depth / hits : INFINITY;
    const vec3 normal =
        vec3_normalize(vec3_make(pixel->normal[0], pixel->normal[1], pixel->normal[2]));
    plane[5][at] = normal.x;
    plane[6][at] = normal.y;
    plane[7][at] = normal.z;
    for (int c = 0; c < 3; ++c) plane[8 + c][at] = hits > 0 ? pixel->albedo[c] / hits : 0;
}

kd_status film_resolve(const film *from, image *out) {
    KD_TRY(image_open(out, from->width, from->height));
    float *plane[CHANNELS];
    kd_status status = KD_OK;
    for (int c = 0; c < CHANNELS; ++c) KD_TRY_GOTO(image_add(out, channel_names[c], plane + c));
    const int64_t count = (int64_t)from->width * from->height;
    for (int64_t i = 0; i < count; ++i) resolve_pixel(from->pixels + i, i, plane);
    return KD_OK;
done:
    image_close(out);
    return status;
}
