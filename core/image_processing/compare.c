#include "core/image_processing/compare.h"
#include "core/image/formats.h"
#include "core/image/tonemap.h"
#include "core/memory.h"
#include "core/parallel/parallel.h"
#include <stdatomic.h>
#include <string.h>

static const char *const colours[] = {"R", "G", "B"};

static bool is_for_display(const char *path) {
    const image_format *format = image_format_find(path);
    return format && format->display;
}

kd_status compare_metric_find(compare_metric *out, const char *name, const char *path_a,
                              const char *path_b) {
    static const struct {
        const char *name;
        compare_metric metric;
    } table[] = {{"rmse", COMPARE_RMSE},
                 {"relmse", COMPARE_RELMSE},
                 {"psnr", COMPARE_PSNR},
                 {"flip", COMPARE_FLIP_HDR},
                 {"max", COMPARE_MAX}};
    for (size_t i = 0; i < sizeof table / sizeof *table; ++i)
        if (!strcmp(name, table[i].name)) {
            *out = table[i].metric;
            if (*out == COMPARE_FLIP_HDR && is_for_display(path_a) && is_for_display(path_b))
                *out = COMPARE_FLIP;
            return KD_OK;
        }
    KD_FAIL(KD_ERROR_USAGE, "unknown metric \"%s\"; expected rmse, relmse, psnr, flip or max",
            name);
}

bool compare_is_worse(compare_metric metric, double value, double limit) {
    return metric == COMPARE_PSNR ? !(value >= limit) : !(value <= limit);
}

/* --- validation --- */

typedef struct values_found {
    uint64_t bad;
    int64_t first[3]; /* index of the first non-finite pixel of each channel; -1: none */
} values_found;

static void values_range(values_found *range, const float *row, int64_t begin, int32_t width,
                         int c) {
    for (int32_t x = 0; x < width; ++x) {
        if (isfinite(row[x])) continue;
        ++range->bad;
        if (range->first[c] < 0) range->first[c] = begin + x;
    }
}

static kd_status values_check(const image_rows *image_rows, const char *which) {
    values_found range = {0, {-1, -1, -1}};
    float *rows = NULL;
    const size_t width = (size_t)image_rows->width;
    if (image_rows->packed) return KD_OK;
    KD_TRY(KD_RESERVE(rows, 3 * width));
    float *const row[3] = {rows, rows + width, rows + 2 * width};
    kd_status status = KD_OK;
    for (int64_t y = 0; y < image_rows->height && status == KD_OK; ++y) {
        status = image_rows_get(image_rows, y, row);
        for (int c = 0; c < 3 && status == KD_OK; ++c)
            values_range(&range, row[c], y * image_rows->width, image_rows->width, c);
    }
    memory_free(rows);
    KD_TRY(status);
    if (!range.bad) return KD_OK;
    const int c = range.first[0] >= 0 ? 0 : range.first[1] >= 0 ? 1 : 2;
    KD_FAIL(KD_ERROR_INPUT,
            "%s image: %llu values are NaN or infinite, the first in channel %s of pixel (%d, %d)",
            which, (unsigned long long)range.bad, colours[c],
            (int)(range.first[c] % image_rows->width), (int)(range.first[c] / image_rows->width));
}

/* --- comparison, by strips with as many additional rows as FLIP's filters need --- */

enum { STRIP_PIXELS = 1 << 19, STRIP_ROWS = 64 };

typedef struct compare_strip {
    const image_rows *a, *b;
    compare_metric metric;
    const flip_exposures *exposures;
    double dark;          /* relmse: square of the length below which a colour counts as dark */
    int64_t begin, end;   /* rows to compare */
    int64_t above, below; /* rows in memory */
    float *planes_a[3], *planes_b[3];
    float *error;    /* one value per pixel in memory */
    double *row_sum; /* per row of the picture: the sum or the maximum of the pixels */
    atomic_int status;
} compare_strip;

/* Returns the value of a pixel in memory that the metric averages. */
static double pixel_term(const compare_strip *strip, int64_t i) {
    double sum = 0, largest = 0, length = 0;
    if (strip->metric == COMPARE_FLIP || strip->metric == COMPARE_FLIP_HDR)
        return (double)strip->error[i];
    for (int c = 0; c < 3; ++c) {
        const double a = (double)strip->planes_a[c][i], b = (double)strip->planes_b[c][i];
        const double distance = fabs(a - b);
        largest = distance > largest ? distance : largest;
        sum += distance * distance;
        length += b * b;
    }
    if (strip->metric == COMPARE_RELMSE) return sum > 0 ? sum / (length + strip->dark) : 0;
    return strip->metric == COMPARE_MAX ? largest : sum / 3;
}

static void rows_fetch(void *context, int64_t begin, int64_t end, int thread) {
    compare_strip *strip = (compare_strip *)context;
    (void)thread;
    for (int64_t i = begin; i < end; ++i) {
        float *a[3], *b[3];
        for (int c = 0; c < 3; ++c) {
            a[c] = strip->planes_a[c] + i * strip->a->width;
            b[c] = strip->planes_b[c] + i * strip->a->width;
        }
        kd_status status = image_rows_get(strip->a, strip->above + i, a);
        if (status == KD_OK) status = image_rows_get(strip->b, strip->above + i, b);
        if (status != KD_OK) atomic_store(&strip->status, (int)status);
    }
}

static void rows_compare(void *context, int64_t begin, int64_t end, int thread) {
    const compare_strip *strip = (const compare_strip *)context;
    const bool is_squared = strip->metric == COMPARE_RMSE || strip->metric == COMPARE_PSNR;
    const int64_t width = strip->a->width;
    (void)thread;
    for (int64_t y = strip->begin + begin; y < strip->begin + end; ++y) {
        double sum = 0;
        for (int64_t i = (y - strip->above) * width; i < (y - strip->above + 1) * width; ++i) {
            const double term = pixel_term(strip, i);
            if (strip->metric != COMPARE_MAX)
                sum += term;
            else if (term > sum)
                sum = term;
            strip->error[i] = (float)(is_squared ? sqrt(term) : term);
        }
        strip->row_sum[y] = sum;
    }
}

static kd_status strip_compare(compare_strip *strip) {
    const int32_t width = strip->a->width, rows = (int32_t)(strip->below - strip->above);
    flip_picture test, reference;
    for (int c = 0; c < 3; ++c) {
        test.planes[c] = strip->planes_a[c];
        reference.planes[c] = strip->planes_b[c];
    }
    parallel_for(rows, 4, rows_fetch, strip);
    KD_REQUIRE(atomic_load(&strip->status) == KD_OK, (kd_status)atomic_load(&strip->status),
               "out of memory for rows of an image");
    if (strip->metric == COMPARE_FLIP)
        KD_TRY(flip_errors(strip->error, &test, &reference, width, rows));
    if (strip->metric == COMPARE_FLIP_HDR)
        KD_TRY(flip_errors_hdr(strip->error, &test, &reference, width, rows, strip->exposures));
    parallel_for(strip->end - strip->begin, 16, rows_compare, strip);
    return KD_OK;
}

static double rows_reduce(const compare_strip *strip) {
    double sum = 0;
    const int64_t height = strip->a->height;
    for (int64_t y = 0; y < height; ++y) {
        if (strip->metric != COMPARE_MAX)
            sum += strip->row_sum[y];
        else if (strip->row_sum[y] > sum)
            sum = strip->row_sum[y];
    }
    if (strip->metric == COMPARE_MAX) return sum;
    const double mean = sum / ((double)strip->a->width * (double)height);
    if (strip->metric == COMPARE_RMSE) return sqrt(mean);
    if (strip->metric == COMPARE_PSNR) return mean > 0 ? -10 * log10(mean) : (double)INFINITY;
    return mean;
}

/* Returns the square of 1/20 of the mean length of the colours of `rows`. */
static kd_status dark_find(double *dark, const image_rows *image_rows) {
    const size_t width = (size_t)image_rows->width;
    double sum = 0;
    float *rows = NULL;
    kd_status status = KD_OK;
    KD_TRY(KD_RESERVE(rows, 3 * width));
    float *const row[3] = {rows, rows + width, rows + 2 * width};
    for (int64_t y = 0; y < image_rows->height; ++y) {
        KD_TRY_GOTO(image_rows_get(image_rows, y, row));
        for (size_t x = 0; x < width; ++x) {
            double square = 0;
            for (int c = 0; c < 3; ++c) square += (double)row[c][x] * (double)row[c][x];
            sum += sqrt(square);
        }
    }
    sum *= COMPARE_DARK / ((double)width * (double)image_rows->height);
    *dark = sum * sum;
done:
    memory_free(rows);
    return status;
}

/* `all` receives the errors of all pixels; may be NULL. */
static kd_status strips_compare(compare_strip *strip, float *all, int64_t rows, int64_t reach) {
    const int64_t width = strip->a->width, height = strip->a->height;
    for (strip->begin = 0; strip->begin < height; strip->begin = strip->end) {
        strip->end = strip->begin + rows < height ? strip->begin + rows : height;
        strip->above = strip->begin > reach ? strip->begin - reach : 0;
        strip->below = strip->end + reach < height ? strip->end + reach : height;
        KD_TRY(strip_compare(strip));
        if (all)
            memcpy(all + strip->begin * width, strip->error + (strip->begin - strip->above) * width,
                   (size_t)((strip->end - strip->begin) * width) * sizeof *all);
    }
    return KD_OK;
}

static kd_status errors_find(double *value, float *all, const image_rows *a, const image_rows *b,
                             compare_metric metric) {
    flip_exposures exposures;
    compare_strip strip = {
        .a = a, .b = b, .metric = metric, .exposures = &exposures, .row_sum = NULL};
    const int64_t height = a->height, fitting = STRIP_PIXELS / a->width;
    int64_t rows = fitting < STRIP_ROWS ? STRIP_ROWS : fitting;
    if (rows > height) rows = height;
    const bool is_flip = metric == COMPARE_FLIP || metric == COMPARE_FLIP_HDR;
    const int64_t reach = is_flip ? FLIP_REACH : 0;
    const uint64_t pixels = (uint64_t)(rows + 2 * reach) * (uint64_t)a->width;
    float *block = NULL;
    kd_status status = KD_OK;
    KD_TRY_GOTO(KD_RESERVE(block, 7 * pixels));
    KD_TRY_GOTO(KD_RESERVE(strip.row_sum, (uint64_t)height));
    for (uint64_t c = 0; c < 3; ++c) {
        strip.planes_a[c] = block + c * pixels;
        strip.planes_b[c] = block + (3 + c) * pixels;
    }
    strip.error = block + 6 * pixels;
    if (metric == COMPARE_FLIP_HDR) KD_TRY_GOTO(flip_exposures_find(&exposures, b));
    if (metric == COMPARE_RELMSE) KD_TRY_GOTO(dark_find(&strip.dark, b));
    KD_TRY_GOTO(strips_compare(&strip, all, rows, reach));
    *value = rows_reduce(&strip);
done:
    memory_free(block);
    memory_free(strip.row_sum);
    return status;
}

/* --- difference image --- */

/* Maps [0, 1] to black, violet, red, orange, yellow, white. The colours are defined in sRGB and
   returned as linear values. */
static vec3 map_colour(float t) {
    static const float stops[][3] = {
        {0, 0, 0},           {0.28f, 0.06f, 0.47f}, {0.73f, 0.18f, 0.35f},
        {0.96f, 0.5f, 0.2f}, {0.99f, 0.86f, 0.4f},  {1, 1, 1}};
    const float at = 5 * float_min(float_max(t, 0), 1);
    const int i = at < 4 ? (int)at : 4;
    const float s = at - (float)i;
    return vec3_make(srgb_decode(stops[i][0] + s * (stops[i + 1][0] - stops[i][0])),
                     srgb_decode(stops[i][1] + s * (stops[i + 1][1] - stops[i][1])),
                     srgb_decode(stops[i][2] + s * (stops[i + 1][2] - stops[i][2])));
}

/* Opens the image and sets *error to its plane of errors, which the caller fills. */
static kd_status difference_open(image *difference, float **error, const image_rows *rows) {
    float *plane;
    KD_TRY(image_open(difference, rows->width, rows->height));
    for (int c = 0; c < 4; ++c)
        KD_TRY(image_add(difference, c < 3 ? colours[c] : "Error", c < 3 ? &plane : error));
    return KD_OK;
}

static void difference_colour(image *difference, const float *error) {
    const size_t count = (size_t)difference->width * (size_t)difference->height;
    for (size_t i = 0; i < count; ++i) {
        const vec3 colour = map_colour(log2f(1 + 1023 * error[i]) / 10);
        difference->planes[0][i] = colour.x;
        difference->planes[1][i] = colour.y;
        difference->planes[2][i] = colour.z;
    }
}

kd_status compare_rows(double *value, const image_rows *a, const image_rows *b,
                       compare_metric metric, int32_t block, image *difference) {
    if (difference) memset(difference, 0, sizeof *difference);
    KD_REQUIRE(block >= 0, KD_ERROR_USAGE, "the block size is %d pixels; expected 0 or more",
               block);
    KD_REQUIRE(a->width == b->width && a->height == b->height, KD_ERROR_INPUT,
               "the images have %d x %d and %d x %d pixels; their sizes must be equal", a->width,
               a->height, b->width, b->height);
    KD_TRY(values_check(a, "the first"));
    KD_TRY(values_check(b, "the second"));
    image_rows means_a, means_b;
    float *error = NULL;
    kd_status status = KD_OK;
    if (block > 1) {
        image_rows_of_blocks(&means_a, a, block);
        image_rows_of_blocks(&means_b, b, block);
        a = &means_a;
        b = &means_b;
    }
    if (difference) KD_TRY_GOTO(difference_open(difference, &error, a));
    KD_TRY_GOTO(errors_find(value, error, a, b, metric));
    if (difference) difference_colour(difference, error);
done:
    if (status != KD_OK && difference) image_close(difference);
    return status;
}

kd_status compare_images(double *value, const image *a, const image *b, compare_metric metric,
                         int32_t block, image *difference) {
    image_rows rows_a, rows_b;
    if (difference) memset(difference, 0, sizeof *difference);
    KD_TRY(image_rows_of_image(&rows_a, a, "the first"));
    KD_TRY(image_rows_of_image(&rows_b, b, "the second"));
    KD_TRY(compare_rows(value, &rows_a, &rows_b, metric, block, difference));
    return KD_OK;
}
