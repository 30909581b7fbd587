#include "core/compare/compare.h"
#include "core/compare/flip.h"
#include "core/image/formats.h"
#include "core/image/tonemap.h"
#include "core/memory.h"
#include "core/parallel/parallel.h"
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
    KD_FAIL(KD_ERROR_USAGE, "metric \"%s\", expected rmse, relmse, psnr, flip or max", name);
}

bool compare_is_worse(compare_metric metric, double value, double limit) {
    return metric == COMPARE_PSNR ? !(value >= limit) : !(value <= limit);
}

/* --- what is compared --- */

static kd_status values_check(const image *of, const char *which) {
    uint64_t bad = 0;
    int32_t bad_x = 0, bad_y = 0;
    const char *bad_channel = "";
    for (int c = 2; c >= 0; --c) {
        const float *plane = image_plane(of, colours[c]);
        KD_REQUIRE(plane, KD_ERROR_INPUT, "%s image has no channel %s", which, colours[c]);
        for (int64_t i = (int64_t)of->width * of->height; i-- > 0;)
            if (!isfinite(plane[i])) {
                ++bad;
                bad_x = (int32_t)(i % of->width);
                bad_y = (int32_t)(i / of->width);
                bad_channel = colours[c];
            }
    }
    KD_REQUIRE(!bad, KD_ERROR_INPUT,
               "%s image: %llu values are NaN or infinite, the first in channel %s of pixel (%d, "
               "%d), expected finite ones",
               which, (unsigned long long)bad, bad_channel, bad_x, bad_y);
    return KD_OK;
}

/* R, G, B of `from`, or their means over blocks: planes to image_close. */
static kd_status blocks_open(image *out, const image *from, int32_t block) {
    const int32_t width = (int32_t)(((int64_t)from->width + block - 1) / block);
    const int32_t height = (int32_t)(((int64_t)from->height + block - 1) / block);
    KD_TRY(image_open(out, width, height));
    for (int c = 0; c < 3; ++c) {
        const float *plane = image_plane(from, colours[c]);
        float *mean;
        KD_TRY(image_add(out, colours[c], &mean));
        for (int64_t y = 0; y < height; ++y)
            for (int64_t x = 0; x < width; ++x) {
                const int64_t x0 = x * block, y0 = y * block;
                const int64_t x1 = x0 + block < from->width ? x0 + block : from->width;
                const int64_t y1 = y0 + block < from->height ? y0 + block : from->height;
                double sum = 0;
                for (int64_t j = y0; j < y1; ++j)
                    for (int64_t i = x0; i < x1; ++i) sum += (double)plane[j * from->width + i];
                mean[y * width + x] = (float)(sum / (double)((x1 - x0) * (y1 - y0)));
            }
    }
    return KD_OK;
}

/* --- the comparison --- */

typedef struct compare_rows {
    const float *a[3], *b[3];
    compare_metric metric;
    int64_t width;
    float *error;    /* a pixel */
    double *row_sum; /* a row: of what the metric averages, or the largest */
} compare_rows;

/* What the metric averages, of one pixel. */
static double pixel_term(const compare_rows *of, int64_t i) {
    double sum = 0, largest = 0;
    if (of->metric == COMPARE_FLIP || of->metric == COMPARE_FLIP_HDR) return (double)of->error[i];
    for (int c = 0; c < 3; ++c) {
        const double a = (double)of->a[c][i], b = (double)of->b[c][i];
        const double distance = fabs(a - b);
        largest = distance > largest ? distance : largest;
        sum += distance * distance / (of->metric == COMPARE_RELMSE ? b * b + 0.01 : 1);
    }
    return of->metric == COMPARE_MAX ? largest : sum / 3;
}

static void rows_compare(void *context, int64_t begin, int64_t end, int thread) {
    const compare_rows *of = (const compare_rows *)context;
    const bool is_squared = of->metric == COMPARE_RMSE || of->metric == COMPARE_PSNR;
    (void)thread;
    for (int64_t y = begin; y < end; ++y) {
        double sum = 0;
        for (int64_t i = y * of->width; i < (y + 1) * of->width; ++i) {
            const double term = pixel_term(of, i);
            if (of->metric != COMPARE_MAX)
                sum += term;
            else if (term > sum)
                sum = term;
            of->error[i] = (float)(is_squared ? sqrt(term) : term);
        }
        of->row_sum[y] = sum;
    }
}

static double rows_reduce(const compare_rows *of, int64_t height) {
    double sum = 0;
    for (int64_t y = 0; y < height; ++y) {
        if (of->metric != COMPARE_MAX)
            sum += of->row_sum[y];
        else if (of->row_sum[y] > sum)
            sum = of->row_sum[y];
    }
    if (of->metric == COMPARE_MAX) return sum;
    const double mean = sum / ((double)of->width * (double)height);
    if (of->metric == COMPARE_RMSE) return sqrt(mean);
    if (of->metric == COMPARE_PSNR) return mean > 0 ? -10 * log10(mean) : (double)INFINITY;
    return mean;
}

static kd_status errors_find(double *value, float *error, const image *a, const image *b,
                             compare_metric metric) {
    compare_rows of = {.metric = metric, .width = a->width, .error = error, .row_sum = NULL};
    flip_picture test, reference;
    for (int c = 0; c < 3; ++c) {
        of.a[c] = test.planes[c] = image_plane(a, colours[c]);
        of.b[c] = reference.planes[c] = image_plane(b, colours[c]);
    }
    if (metric == COMPARE_FLIP) KD_TRY(flip_errors(error, &test, &reference, a->width, a->height));
    if (metric == COMPARE_FLIP_HDR)
        KD_TRY(flip_errors_hdr(error, &test, &reference, a->width, a->height));
    KD_TRY(KD_RESERVE(of.row_sum, (uint64_t)a->height));
    parallel_for(a->height, 16, rows_compare, &of);
    *value = rows_reduce(&of, a->height);
    memory_free(of.row_sum);
    return KD_OK;
}

/* --- the difference image --- */

/* Black, violet, red, orange, yellow, white as shown by sRGB; returned linear. */
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

static kd_status difference_fill(image *difference, const float *error) {
    float *planes[4];
    for (int c = 0; c < 4; ++c)
        KD_TRY(image_add(difference, c < 3 ? colours[c] : "Error", &planes[c]));
    const size_t count = (size_t)difference->width * (size_t)difference->height;
    for (size_t i = 0; i < count; ++i) {
        const vec3 colour = map_colour(log2f(1 + 1023 * error[i]) / 10);
        planes[0][i] = colour.x;
        planes[1][i] = colour.y;
        planes[2][i] = colour.z;
        planes[3][i] = error[i];
    }
    return KD_OK;
}

kd_status compare_images(double *value, const image *a, const image *b, compare_metric metric,
                         int32_t block, image *difference) {
    if (difference) memset(difference, 0, sizeof *difference);
    KD_REQUIRE(block >= 0, KD_ERROR_USAGE, "blocks of %d pixels, expected 0 or more", block);
    KD_REQUIRE(a->width == b->width && a->height == b->height, KD_ERROR_INPUT,
               "the images have %d x %d and %d x %d pixels, expected the same size", a->width,
               a->height, b->width, b->height);
    KD_TRY(values_check(a, "the first"));
    KD_TRY(values_check(b, "the second"));
    image means_a, means_b;
    float *error = NULL;
    kd_status status = KD_OK;
    memset(&means_a, 0, sizeof means_a);
    memset(&means_b, 0, sizeof means_b);
    if (block > 1) {
        KD_TRY_GOTO(blocks_open(&means_a, a, block));
        KD_TRY_GOTO(blocks_open(&means_b, b, block));
        a = &means_a;
        b = &means_b;
    }
    KD_TRY_GOTO(KD_RESERVE(error, (uint64_t)a->width * (uint64_t)a->height));
    KD_TRY_GOTO(errors_find(value, error, a, b, metric));
    if (difference) {
        KD_TRY_GOTO(image_open(difference, a->width, a->height));
        KD_TRY_GOTO(difference_fill(difference, error));
    }
done:
    if (status != KD_OK && difference) image_close(difference);
    memory_free(error);
    image_close(&means_a);
    image_close(&means_b);
    return status;
}
