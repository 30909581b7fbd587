/* The error that a film's samples predict of their means.
   Idea: a mean over pixels of variance / (length^2 + floor^2), all of the means. Three things decide
         whether it is right.
         (1) The length. A pixel with a spark, a rare sample that is far too bright, has a bright
             mean as well, and its variance relative to that mean is at most 1; the pixels around it
             lack the light of the spark, and their variance is 0. So a caustic that few pixels have
   found yet seems to have converged. Relative to the pixel's final value, which is estimated from
   the median of its neighbours and from its own darker half, the variance of the few sparks is on
   average that of all pixels. (2) The gain of Sobol' samples over independent ones. With V(n) the
   variance of the mean of n = 2^k samples, the mean square of the difference between the first
   half's mean and that of all is V(n / 2) - V(n). Together with V(1), the variance of the samples,
   it gives the rate r of V(2^k) = V(1) r^k: 1/2 for independent samples, less for well distributed
   ones. (3) Scale. Nothing here has a unit: the picture of a scene with other units of radiance has
             the same error.
   Source: Owen 1997, "Scrambled net variance for integrals of smooth functions", for (2).
   Determinism: threads sum rows, which are then added in order. */
#include "core/image_processing/compare.h"
#include "core/memory.h"
#include "core/parallel/parallel.h"
#include "render/frame/film.h"
#include <math.h>
#include <string.h>

enum { ROWS_GRAIN = 8, NEIGHBOURS = 8, RATED_SAMPLES = 16, PIXELS = 64 };

typedef struct row_sums {
    double variance; /* relative variance of the mean for independent samples, over all pixels */
    double single;   /* relative variance of one sample; this and the rest: over pixels of `least`
                        samples */
    double difference, difference_squares; /* |mean of the first part - mean of the rest|^2 */
} row_sums;

typedef struct error_work {
    const struct film *film;
    uint32_t least;  /* samples of a pixel */
    double *lengths; /* lengths of the pixels' means */
    double *rows;    /* sum of a row's lengths */
    row_sums *sums;  /* sums of each row */
    double floor;    /* squared */
} error_work;

static void find_lengths(void *context, int64_t begin, int64_t end, int worker) {
    const error_work *work = (const error_work *)context;
    const int64_t width = work->film->width;
    (void)worker;
    for (int64_t y = begin; y < end; ++y) {
        double sum = 0;
        for (int64_t i = y * width; i < (y + 1) * width; ++i) {
            const film_pixel *pixel = work->film->pixels + i;
            double square = 0;
            for (int c = 0; c < 3; ++c) square += pixel->radiance[c] * pixel->radiance[c];
            work->lengths[i] = sqrt(square) / pixel->samples;
            sum += work->lengths[i];
        }
        work->rows[y] = sum;
    }
}

/* Returns the median of the lengths of the up to eight pixels around (x, y); its own if there are
   none. */
static double median_around(const error_work *work, int32_t x, int32_t y) {
    const int32_t width = work->film->width, height = work->film->height;
    double sorted[NEIGHBOURS];
    int count = 0;
    for (int32_t v = y > 0 ? y - 1 : 0; v <= y + 1 && v < height; ++v)
        for (int32_t u = x > 0 ? x - 1 : 0; u <= x + 1 && u < width; ++u) {
            if (u == x && v == y) continue;
            const double length = work->lengths[(int64_t)v * width + u];
            int at = count++;
            for (; at > 0 && sorted[at - 1] > length; --at) sorted[at] = sorted[at - 1];
            sorted[at] = length;
        }
    if (!count) return work->lengths[(int64_t)y * width + x];
    return 0.5 * (sorted[(count - 1) / 2] + sorted[count / 2]);
}

/* Largest power of two below n; n >= 2. */
static uint32_t part_below(uint32_t n) {
    uint32_t part = 1;
    while (part < n - part) part *= 2;
    return part;
}

/* As median_around, for `count` pixels from (x, y) on that all have eight neighbours: the middle
   two of eight values by the comparisons of Batcher's sorting network, for all pixels at once. */
static void medians_around(const error_work *work, int32_t x, int32_t y, int32_t count,
                           double medians[PIXELS]) {
    static const uint8_t compared[][2] = {{0, 1}, {2, 3}, {4, 5}, {6, 7}, {0, 2}, {1, 3},
                                          {4, 6}, {5, 7}, {1, 2}, {5, 6}, {0, 4}, {1, 5},
                                          {2, 6}, {3, 7}, {2, 4}, {3, 5}};
    const int64_t width = work->film->width;
    const double *row = work->lengths + (int64_t)y * width + x;
    double values[NEIGHBOURS][PIXELS];
    for (int i = 0; i < NEIGHBOURS; ++i) {
        const int place = i < 4 ? i : i + 1; /* 4: the pixel itself */
        memcpy(values[i], row + (place / 3 - 1) * width + place % 3 - 1,
               (size_t)count * sizeof(double));
    }
    for (size_t pair = 0; pair < sizeof compared / sizeof *compared; ++pair) {
        double *low = values[compared[pair][0]], *high = values[compared[pair][1]];
        for (int32_t i = 0; i < count; ++i) {
            const double a = low[i], b = high[i];
            low[i] = a < b ? a : b;
            high[i] = a < b ? b : a;
        }
    }
    for (int32_t i = 0; i < count; ++i) medians[i] = 0.5 * (values[3][i] + values[4][i]);
}

static void add_pixel(const error_work *work, int32_t x, int32_t y, double median, row_sums *sums) {
    const int64_t at = (int64_t)y * work->film->width + x;
    const film_pixel *pixel = work->film->pixels + at;
    const double samples = pixel->samples, part = part_below(pixel->samples);
    double own = 0, first_square = 0, rest_square = 0, difference = 0;
    for (int c = 0; c < 3; ++c) {
        const double mean = pixel->radiance[c] / samples, first = (double)pixel->first[c] / part;
        const double rest = (pixel->radiance[c] - first * part) / (samples - part);
        own += mean * mean;
        first_square += first * first;
        rest_square += rest * rest;
        difference += (first - rest) * (first - rest);
    }
    const double low = first_square < rest_square ? first_square : rest_square;
    double shown = median * median > low ? median * median : low;
    if (shown > own) shown = own;
    const double scale = shown + work->floor;
    const double single = (pixel->squares / samples - own) * samples / (samples - 1);
    if (!(scale > 0)) return;
    if (single > 0) sums->variance += single / (scale * samples);
    if (pixel->samples != work->least) return;
    if (single > 0) sums->single += single / scale;
    sums->difference += difference / scale;
    sums->difference_squares += (difference / scale) * (difference / scale);
}

static void sum_rows(void *context, int64_t begin, int64_t end, int worker) {
    const error_work *work = (const error_work *)context;
    (void)worker;
    for (int64_t y = begin; y < end; ++y) {
        const int32_t width = work->film->width, row = (int32_t)y;
        const bool inside = row > 0 && row + 1 < work->film->height;
        row_sums sums = {0, 0, 0, 0};
        double medians[PIXELS];
        for (int32_t x = 0, count = 0; x < width; x += count) {
            count = !inside || x == 0 || x + 1 == width ? 1
                    : width - 1 - x < PIXELS            ? width - 1 - x
                                                        : PIXELS;
            if (count > 1)
                medians_around(work, x, row, count, medians);
            else
                medians[0] = median_around(work, x, row);
            for (int32_t i = 0; i < count; ++i) add_pixel(work, x + i, row, medians[i], &sums);
        }
        work->sums[y] = sums;
    }
}

/* V(count) / V(1) for the rate r, with the samples divided into runs of powers of two. */
static double variance_at(uint32_t count, double rate) {
    double sum = 0, power = 1;
    for (uint32_t run = 1; run <= count; run *= 2, power *= rate) {
        const double share = (double)run / count;
        if (count & run) sum += share * share * power;
        if (run > UINT32_MAX / 2) break;
    }
    return sum;
}

/* Expected `difference` / V(1) of a pixel. */
static double difference_at(uint32_t count, double rate) {
    const uint32_t part = part_below(count);
    if (count == 2 * part) return 4 * (1 - rate) * variance_at(part, rate);
    return variance_at(part, rate) + variance_at(count - part, rate);
}

/* Finds the rate by bisection. Half a standard error is added to the difference, because with few
   sparks it is by chance too small as easily as too large, and only the former does harm. */
static double find_rate(const row_sums *sums, uint32_t count) {
    enum { STEPS = 40 };
    const double difference = sums->difference + 0.5 * sqrt(sums->difference_squares);
    const uint32_t part = part_below(count);
    double low = 0.2, high = 0.5;
    /* The rest must be long enough to determine the rate of the whole. */
    if (count < RATED_SAMPLES || count - part < part / 2) return high;
    if (!(difference < sums->single * difference_at(count, high))) return high;
    for (int i = 0; i < STEPS; ++i) {
        const double middle = 0.5 * (low + high);
        if (sums->single * difference_at(count, middle) < difference)
            low = middle;
        else
            high = middle;
    }
    return high;
}

static double error_of(error_work *work) {
    const int32_t height = work->film->height;
    const double pixels = (double)work->film->width * height;
    double length = 0;
    row_sums all = {0, 0, 0, 0};
    parallel_for(height, ROWS_GRAIN, find_lengths, work);
    for (int32_t y = 0; y < height; ++y) length += work->rows[y];
    const double dark = COMPARE_DARK * length / pixels;
    work->floor = dark * dark;
    parallel_for(height, ROWS_GRAIN, sum_rows, work);
    for (int32_t y = 0; y < height; ++y) {
        all.variance += work->sums[y].variance;
        all.single += work->sums[y].single;
        all.difference += work->sums[y].difference;
        all.difference_squares += work->sums[y].difference_squares;
    }
    const double rate = find_rate(&all, work->least);
    return sqrt(all.variance / pixels * (work->least * variance_at(work->least, rate)));
}

kd_status film_error(double *error, const film *film) {
    error_work work = {.film = film, .least = film_min_samples(film)};
    kd_status status = KD_OK;
    *error = (double)INFINITY;
    if (work.least < 2) return KD_OK;
    KD_TRY_GOTO(KD_RESERVE(work.lengths, (uint64_t)film->width * (uint64_t)film->height));
    KD_TRY_GOTO(KD_RESERVE(work.rows, (uint64_t)film->height));
    KD_TRY_GOTO(KD_RESERVE(work.sums, (uint64_t)film->height));
    *error = error_of(&work);
done:
    memory_free(work.lengths);
    memory_free(work.rows);
    memory_free(work.sums);
    return status;
}
