#include "render/frame/film.h"
#include "core/memory.h"
#include "core/parallel/parallel.h"
#include <math.h>
#include <stdatomic.h>

enum { ROWS_GRAIN = 8 };

/* All threads clear their part: first-touch page faults cost more than clearing. */
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
    large_pages_prefer(out->pixels, (uint64_t)count * sizeof *out->pixels);
    parallel_for(count, CLEAR_GRAIN, clear_pixels, out->pixels);
    return KD_OK;
}

void film_close(film *owned) {
    memory_free(owned->pixels);
    memset(owned, 0, sizeof *owned);
}

bool film_add(film *film, int32_t x, int32_t y, const pixel_sample *sample) {
    const int64_t index = (int64_t)(y - film->y0) * film->width + (x - film->x0);
    return film_pixel_add(film->pixels + index, sample);
}

uint32_t film_samples(const film *film, int32_t x, int32_t y) {
    return film->pixels[(int64_t)(y - film->y0) * film->width + (x - film->x0)].samples;
}

typedef struct min_found {
    const film *of;
    atomic_uint minimum; /* minimum so far */
} min_found;

static void find_min(void *context, int64_t begin, int64_t end, int worker) {
    min_found *work = (min_found *)context;
    unsigned minimum = atomic_load(&work->minimum);
    (void)worker;
    for (int64_t i = begin; i < end && minimum > 0; ++i)
        if (work->of->pixels[i].samples < minimum) minimum = work->of->pixels[i].samples;
    unsigned current = atomic_load(&work->minimum);
    while (minimum < current && !atomic_compare_exchange_weak(&work->minimum, &current, minimum))
        continue;
}

typedef struct count_compared {
    const film *of;
    uint32_t count;
    atomic_bool differs;
} count_compared;

static void compare_counts(void *context, int64_t begin, int64_t end, int worker) {
    count_compared *work = (count_compared *)context;
    (void)worker;
    for (int64_t i = begin; i < end && !atomic_load(&work->differs); ++i)
        if (work->of->pixels[i].samples != work->count) atomic_store(&work->differs, true);
}

uint32_t film_min_samples(const film *film) {
    enum { MIN_GRAIN = 1 << 14 };
    const int64_t count = (int64_t)film->width * film->height;
    min_found work = {.of = film};
    atomic_init(&work.minimum, count ? UINT32_MAX : 0);
    parallel_for(count, MIN_GRAIN, find_min, &work);
    return atomic_load(&work.minimum);
}

bool film_is_even(const film *film, uint32_t samples) {
    enum { GRAIN = 1 << 14 };
    count_compared work = {.of = film, .count = samples};
    atomic_init(&work.differs, false);
    parallel_for((int64_t)film->width * film->height, GRAIN, compare_counts, &work);
    return !atomic_load(&work.differs);
}

/* --- sums over the film -----------------------------------------------------------------------
   Threads sum rows, then the row sums are added in order, so the result does not depend on the
   number of threads. */

enum { ROW_SUMS = 3 };

typedef struct row_summing {
    const struct film *film;
    void (*add)(const film_pixel *, double sums[ROW_SUMS]);
    double *rows; /* ROW_SUMS values per row */
} row_summing;

static void sum_rows(void *context, int64_t begin, int64_t end, int worker) {
    const row_summing *work = (const row_summing *)context;
    (void)worker;
    for (int64_t y = begin; y < end; ++y) {
        const film_pixel *row = work->film->pixels + y * work->film->width;
        double sums[ROW_SUMS] = {0};
        for (int32_t x = 0; x < work->film->width; ++x) work->add(row + x, sums);
        memcpy(work->rows + ROW_SUMS * y, sums, sizeof sums);
    }
}

static kd_status sum_film(double sums[ROW_SUMS], const film *film,
                          void (*add)(const film_pixel *, double[ROW_SUMS])) {
    row_summing work = {film, add, NULL};
    memset(sums, 0, ROW_SUMS * sizeof *sums);
    KD_TRY(KD_RESERVE(work.rows, ROW_SUMS * (uint64_t)film->height));
    parallel_for(film->height, ROWS_GRAIN, sum_rows, &work);
    for (int32_t y = 0; y < film->height; ++y)
        for (int i = 0; i < ROW_SUMS; ++i) sums[i] += work.rows[ROW_SUMS * (int64_t)y + i];
    memory_free(work.rows);
    return KD_OK;
}

static void add_radiance(const film_pixel *pixel, double sums[ROW_SUMS]) {
    for (int c = 0; c < 3; ++c)
        if (pixel->samples) sums[c] += pixel->radiance[c] / pixel->samples;
}

kd_status film_mean(float mean[3], const film *film) {
    double sums[ROW_SUMS];
    KD_TRY(sum_film(sums, film, add_radiance));
    for (int c = 0; c < 3; ++c) mean[c] = (float)(sums[c] / ((double)film->width * film->height));
    return KD_OK;
}

/* --- image ------------------------------------------------------------------------------------ */

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

typedef struct resolving {
    const struct film *film;
    float *plane[CHANNELS];
} resolving;

static void resolve_rows(void *context, int64_t begin, int64_t end, int worker) {
    resolving *work = (resolving *)context;
    const int64_t width = work->film->width;
    (void)worker;
    for (int64_t i = begin * width; i < end * width; ++i)
        resolve_pixel(work->film->pixels + i, i, work->plane);
}

kd_status film_resolve(const film *film, image *out) {
    KD_TRY(image_open(out, film->width, film->height));
    resolving work = {.film = film};
    kd_status status = KD_OK;
    for (int c = 0; c < CHANNELS; ++c)
        KD_TRY_GOTO(image_add(out, channel_names[c], work.plane + c));
    parallel_for(film->height, ROWS_GRAIN, resolve_rows, &work);
    return KD_OK;
done:
    image_close(out);
    return status;
}

uint64_t film_bytes_of(uint64_t pixels) {
    return pixels * sizeof(film_pixel);
}

uint64_t film_picture_bytes(uint64_t pixels) {
    return pixels * CHANNELS * sizeof(float);
}
