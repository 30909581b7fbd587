/* core/image_processing/compare.h and flip.c. The expected values come from an independent program
   in double precision, which applies the 2D kernels of the papers directly. */
#include "core/image/encode.h"
#include "core/image/picture.h"
#include "core/image_processing/compare.h"
#include "core/parallel/parallel.h"
#include "tests/test.h"
#include <math.h>

enum { WIDTH = 40, HEIGHT = 24 };

static image colour_image(int32_t width, int32_t height) {
    static const char *const names[] = {"R", "G", "B"};
    image made;
    float *plane;
    assert_int_equal(image_open(&made, width, height), KD_OK);
    for (int c = 0; c < 3; ++c) assert_int_equal(image_add(&made, names[c], &plane), KD_OK);
    return made;
}

static image uniform_image(int32_t width, int32_t height, float r, float g, float b) {
    image made = colour_image(width, height);
    for (int32_t i = 0; i < width * height; ++i) {
        made.planes[0][i] = r;
        made.planes[1][i] = g;
        made.planes[2][i] = b;
    }
    return made;
}

/* Three related pictures: stripes; the same with a checkerboard of other stripes; the same with an
   inverted disc. Values are multiples of 1/16 or 1/8. */
static image pattern(int which) {
    image made = colour_image(WIDTH, HEIGHT);
    for (int y = 0; y < HEIGHT; ++y)
        for (int x = 0; x < WIDTH; ++x)
            for (int c = 0; c < 3; ++c) {
                float v = (float)((x * (3 + c) + y * (5 - c)) % 17) / 16;
                if (which == 1 && (x / 4 + y / 4) % 2) v = (float)((x + 2 * y + c) % 9) / 8;
                if (which == 2 && (x - 20) * (x - 20) + (y - 10) * (y - 10) < 50) v = 1 - v;
                made.planes[c][y * WIDTH + x] = v;
            }
    return made;
}

/* Gives the picture radiance whose range exceeds a factor of a thousand. */
static void cube_times_ten(image *image) {
    for (int c = 0; c < 3; ++c)
        for (int i = 0; i < WIDTH * HEIGHT; ++i) {
            const float v = image->planes[c][i];
            image->planes[c][i] = 10 * v * v * v;
        }
}

static double metric_value(const image *a, const image *b, compare_metric metric, int32_t block) {
    double value = -1;
    assert_int_equal(compare_images(&value, a, b, metric, block, NULL), KD_OK);
    return value;
}

static void assert_near(double value, double expected, double relative) {
    if (!(fabs(value - expected) <= relative * fabs(expected)))
        fail_msg("%.12g, expected %.12g", value, expected);
}

typedef struct expectation {
    int a, b;
    double rmse, relmse, psnr, flip, flip_middle, flip_hdr, block_relmse, block_rmse;
} expectation;
static const expectation expectations[] = {
    {0, 1, 0.316465722291, 0.822686186438, 9.993466466543, 0.287943786, 0.526117272, 0.374279040,
     0.008218926046, 0.044093111412},
    {0, 2, 0.239390774067, 0.505899214682, 12.417851819533, 0.085903410, 0.400383690, 0.090499649,
     0.002620986520, 0.025359909306},
    {1, 2, 0.359237216945, 0.988128268747, 8.892373536061, 0.305527446, 0.280769355, 0.392537682,
     0.010062056724, 0.049369296875}};

static void test_known_values(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof expectations / sizeof *expectations; ++i) {
        const expectation *e = &expectations[i];
        image a = pattern(e->a), b = pattern(e->b);
        assert_near(metric_value(&a, &b, COMPARE_RMSE, 0), e->rmse, 1e-10);
        assert_near(metric_value(&a, &b, COMPARE_RELMSE, 1), e->relmse, 1e-10);
        assert_near(metric_value(&a, &b, COMPARE_PSNR, 0), e->psnr, 1e-10);
        assert_near(metric_value(&a, &b, COMPARE_MAX, 0), 1, 0);
        assert_near(metric_value(&a, &b, COMPARE_RELMSE, 5), e->block_relmse,
                    1e-5); /* 24 rows are four blocks of 5 and one of 4 */
        assert_near(metric_value(&a, &b, COMPARE_RMSE, 5), e->block_rmse, 1e-5);
        image_close(&a);
        image_close(&b);
    }
}

static void test_known_flip_errors(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof expectations / sizeof *expectations; ++i) {
        const expectation *e = &expectations[i];
        image a = pattern(e->a), b = pattern(e->b), difference;
        double value;
        assert_int_equal(compare_images(&value, &a, &b, COMPARE_FLIP, 0, &difference), KD_OK);
        assert_near(value, e->flip, 2e-5);
        const float *error = image_plane(&difference, "Error");
        assert_non_null(error);
        assert_near((double)error[10 * WIDTH + 20], e->flip_middle, 1e-4);
        if (e->a == 0 && e->b == 2) assert_true(error[0] == 0 && error[WIDTH * HEIGHT - 1] == 0);
        assert_near(metric_value(&b, &a, COMPARE_FLIP, 0), value, 1e-12);
        cube_times_ten(&a);
        cube_times_ten(&b);
        assert_near(metric_value(&a, &b, COMPARE_FLIP_HDR, 0), e->flip_hdr, 2e-5);
        image_close(&a);
        image_close(&b);
        image_close(&difference);
    }
}

/* The extremes: pure green and pure blue differ most. */
static void test_flip_extremes(void **state) {
    (void)state;
    image green = uniform_image(8, 8, 0, 1, 0), blue = uniform_image(8, 8, 0, 0, 1);
    image black = uniform_image(8, 8, 0, 0, 0), white = uniform_image(8, 8, 1, 1, 1);
    assert_near(metric_value(&green, &blue, COMPARE_FLIP, 0), 1, 1e-4);
    assert_near(metric_value(&black, &white, COMPARE_FLIP, 0), 0.967379762, 1e-4);
    assert_true(metric_value(&black, &black, COMPARE_FLIP_HDR, 0) == 0);
    assert_true(metric_value(&white, &black, COMPARE_FLIP_HDR, 0) > 0.5);
    image_close(&green);
    image_close(&blue);
    image_close(&black);
    image_close(&white);
}

static void test_equal_pictures_have_zero_error(void **state) {
    (void)state;
    for (int32_t block = 0; block < 60; block += 7) {
        image a = pattern(1);
        for (int metric = COMPARE_RMSE; metric <= COMPARE_MAX; ++metric) {
            const double value = metric_value(&a, &a, (compare_metric)metric, block);
            assert_true(metric == COMPARE_PSNR ? isinf(value) && value > 0 : value == 0);
        }
        image_close(&a);
    }
}

static void test_symmetric_metrics(void **state) {
    (void)state;
    image a = uniform_image(3, 3, 1, 1, 1), b = uniform_image(3, 3, 3, 3, 3);
    static const compare_metric symmetric[] = {COMPARE_RMSE, COMPARE_PSNR, COMPARE_MAX,
                                               COMPARE_FLIP};
    for (int i = 0; i < 4; ++i)
        assert_true(metric_value(&a, &b, symmetric[i], 0) == metric_value(&b, &a, symmetric[i], 0));
    assert_near(metric_value(&a, &b, COMPARE_RELMSE, 0), 4 / (9 * 1.0025), 1e-12);
    assert_near(metric_value(&b, &a, COMPARE_RELMSE, 0), 4 / 1.0025, 1e-12);
    image_close(&a);
    image_close(&b);
}

static void scale(image *image, float factor) {
    for (int c = 0; c < 3; ++c)
        for (int32_t i = 0; i < image->width * image->height; ++i) image->planes[c][i] *= factor;
}

/* relMSE has no unit: two pictures in other units of radiance have the same value, bit for bit if
   the factor is a power of two. */
static void test_relative_error_is_independent_of_units(void **state) {
    (void)state;
    static const float factors[] = {1024, 0.0009765625f, 1e-12f * 0x1p-20f, 100, 0.1f, 0.001f};
    for (int32_t block = 1; block <= 5; block += 4)
        for (int i = 0; i < 6; ++i) {
            image a = pattern(1), b = pattern(2);
            const double value = metric_value(&a, &b, COMPARE_RELMSE, block);
            scale(&a, factors[i]);
            scale(&b, factors[i]);
            const double other = metric_value(&a, &b, COMPARE_RELMSE, block);
            if (i < 2) assert_memory_equal(&value, &other, sizeof value);
            assert_near(other, value, 1e-6);
            image_close(&a);
            image_close(&b);
        }
}

static void test_relative_error_of_black_pictures(void **state) {
    (void)state;
    image black = uniform_image(3, 3, 0, 0, 0), dim = uniform_image(3, 3, 0, 1e-9f, 0);
    assert_true(metric_value(&black, &black, COMPARE_RELMSE, 0) == 0);
    assert_true(isinf(metric_value(&dim, &black, COMPARE_RELMSE, 0)));
    assert_near(metric_value(&black, &dim, COMPARE_RELMSE, 0), 1 / 1.0025, 1e-12);
    image_close(&black);
    image_close(&dim);
}

/* Averaging over blocks removes noise of mean zero, but not a shift of all values. */
static void test_blocks_average_out_noise(void **state) {
    (void)state;
    image a = uniform_image(16, 16, 0.5f, 0.5f, 0.5f), b = uniform_image(16, 16, 0.5f, 0.5f, 0.5f);
    for (int i = 0; i < 256; ++i)
        for (int c = 0; c < 3; ++c) a.planes[c][i] += (i + i / 16) % 2 ? 0.25f : -0.25f;
    assert_near(metric_value(&a, &b, COMPARE_RMSE, 0), 0.25, 1e-12);
    assert_true(metric_value(&a, &b, COMPARE_RMSE, 4) == 0);
    assert_true(metric_value(&a, &b, COMPARE_MAX, 16) == 0);
    assert_true(metric_value(&a, &b, COMPARE_MAX, 1000) == 0);
    assert_near(metric_value(&a, &b, COMPARE_MAX, 3), 0.25,
                1e-6); /* the corner block is one pixel */
    image_close(&a);
    image_close(&b);
}

static void test_alpha_is_ignored(void **state) {
    (void)state;
    image a = pattern(0), b = pattern(0);
    float *plane;
    assert_int_equal(image_add(&a, "A", &plane), KD_OK);
    plane[7] = NAN;
    for (int metric = COMPARE_RMSE; metric <= COMPARE_MAX; ++metric)
        if (metric != COMPARE_PSNR)
            assert_true(metric_value(&a, &b, (compare_metric)metric, 0) == 0);
    image_close(&a);
    image_close(&b);
}

static void test_incomparable_pictures_are_rejected(void **state) {
    (void)state;
    double value;
    image a = pattern(0), b = pattern(0), small = uniform_image(WIDTH, HEIGHT - 1, 0, 0, 0),
          difference;
    assert_int_equal(compare_images(&value, &a, &small, COMPARE_RMSE, 0, &difference),
                     KD_ERROR_INPUT);
    assert_non_null(strstr(kd_last_error(), "40 x 24 and 40 x 23"));
    assert_null(difference.planes[0]);
    b.planes[1][2 * WIDTH + 5] = NAN;
    b.planes[1][3 * WIDTH + 1] = -INFINITY;
    b.planes[2][0] = INFINITY;
    assert_int_equal(compare_images(&value, &a, &b, COMPARE_RMSE, 0, NULL), KD_ERROR_INPUT);
    assert_non_null(strstr(kd_last_error(), "the second image: 3 values"));
    assert_non_null(strstr(kd_last_error(), "channel G of pixel (5, 2)"));
    assert_int_equal(compare_images(&value, &b, &a, COMPARE_FLIP, 0, NULL), KD_ERROR_INPUT);
    assert_non_null(strstr(kd_last_error(), "the first image: 3 values"));
    assert_int_equal(compare_images(&value, &a, &a, COMPARE_RMSE, -1, NULL), KD_ERROR_USAGE);
    image_close(&a);
    image_close(&b);
    image_close(&small);
}

static void test_metric_names(void **state) {
    (void)state;
    compare_metric metric;
    assert_int_equal(compare_metric_find(&metric, "relmse", "a.exr", "b.exr"), KD_OK);
    assert_int_equal(metric, COMPARE_RELMSE);
    assert_int_equal(compare_metric_find(&metric, "flip", "a.PNG", "b.png"), KD_OK);
    assert_int_equal(metric, COMPARE_FLIP);
    assert_int_equal(compare_metric_find(&metric, "flip", "a.png", "b.exr"), KD_OK);
    assert_int_equal(metric, COMPARE_FLIP_HDR);
    assert_int_equal(compare_metric_find(&metric, "ssim", "a.png", "b.png"), KD_ERROR_USAGE);
    assert_non_null(strstr(kd_last_error(), "relmse"));
    assert_true(compare_is_worse(COMPARE_RMSE, 2, 1));
    assert_false(compare_is_worse(COMPARE_RMSE, 1, 1));
    assert_true(compare_is_worse(COMPARE_PSNR, 29, 30));
    assert_false(compare_is_worse(COMPARE_PSNR, (double)INFINITY, 30));
    assert_true(compare_is_worse(COMPARE_RMSE, (double)NAN, 1));
}

/* The luminance of the colour map grows with the error; black means equal. */
static void test_difference_picture(void **state) {
    (void)state;
    image a = uniform_image(1024, 1, 0, 0, 0), b = uniform_image(1024, 1, 0, 0, 0), difference;
    for (int i = 0; i < 1024; ++i)
        for (int c = 0; c < 3; ++c) a.planes[c][i] = (float)i / 1023;
    double value;
    assert_int_equal(compare_images(&value, &a, &b, COMPARE_MAX, 0, &difference), KD_OK);
    assert_int_equal(difference.width, 1024);
    float before = -1;
    for (int i = 0; i < 1024; ++i) {
        float *const *rgb = difference.planes;
        const float shown = 0.2126f * rgb[0][i] + 0.7152f * rgb[1][i] + 0.0722f * rgb[2][i];
        assert_true(shown > before);
        before = shown;
        assert_true(image_plane(&difference, "Error")[i] == a.planes[0][i]);
    }
    assert_true(difference.planes[0][0] == 0);
    assert_near((double)difference.planes[2][1023], 1, 1e-5);
    image_close(&difference);
    assert_int_equal(compare_images(&value, &a, &b, COMPARE_RELMSE, 100, &difference), KD_OK);
    assert_int_equal(difference.width, 11);
    assert_int_equal(difference.height, 1);
    image_close(&difference);
    image_close(&a);
    image_close(&b);
}

static void test_results_are_independent_of_threads(void **state) {
    (void)state;
    image a = pattern(1), b = pattern(2);
    for (int metric = COMPARE_RMSE; metric <= COMPARE_MAX; ++metric) {
        parallel_set_threads(1);
        const double one = metric_value(&a, &b, (compare_metric)metric, 0);
        for (int threads = 2; threads <= 8; threads += 3) {
            parallel_set_threads(threads);
            const double many = metric_value(&a, &b, (compare_metric)metric, 0);
            assert_memory_equal(&one, &many, sizeof one);
        }
    }
    parallel_set_threads(0);
    image_close(&a);
    image_close(&b);
}

/* Images smaller than FLIP's filters can be compared. */
static void test_flip_of_small_images(void **state) {
    (void)state;
    for (int32_t width = 1; width < 24; width += 5)
        for (int32_t height = 1; height < 24; height += 5) {
            image a = uniform_image(width, height, 0, 1, 0),
                  b = uniform_image(width, height, 0, 0, 1);
            assert_near(metric_value(&a, &b, COMPARE_FLIP, 0), 1, 1e-4);
            image_close(&a);
            image_close(&b);
        }
}

/* 8-bit pictures with more rows than are in memory at a time: each metric gives the same values as
   on a picture in one piece. */
static void test_strips_match_whole_pictures(void **state) {
    (void)state;
    enum { WIDE = 24, HIGH = 22000 };
    uint8_t *bytes[2];
    struct picture packed[2];
    image whole[2];
    image_rows rows[2];
    for (int p = 0; p < 2; ++p) {
        bytes[p] = (uint8_t *)malloc(3 * WIDE * HIGH);
        assert_non_null(bytes[p]);
        for (uint32_t i = 0; i < 3 * WIDE * HIGH; ++i)
            bytes[p][i] = (uint8_t)((i / 97 * i >> 7) + (i % 5 ? 0 : 9 * (uint32_t)p));
        memset(&packed[p], 0, sizeof packed[p]);
        packed[p].info.width = WIDE;
        packed[p].info.height = HIGH;
        packed[p].samples = 3;
        packed[p].sample_bytes = 1;
        packed[p].texels = bytes[p];
        assert_int_equal(image_decode(&whole[p], &packed[p]), KD_OK);
        assert_int_equal(image_rows_of_picture(&rows[p], &packed[p]), KD_OK);
    }
    for (int metric = COMPARE_RMSE; metric <= COMPARE_MAX; ++metric)
        for (int32_t block = 1; block < 8; block += 6) {
            double one, other;
            if (metric == COMPARE_FLIP_HDR && block == 1) continue; /* too slow for a quick test */
            assert_int_equal(
                compare_rows(&one, &rows[0], &rows[1], (compare_metric)metric, block, NULL), KD_OK);
            assert_int_equal(
                compare_images(&other, &whole[0], &whole[1], (compare_metric)metric, block, NULL),
                KD_OK);
            assert_true(one == other);
        }
    image difference;
    double value;
    flip_picture pictures[2];
    float *errors = (float *)malloc(WIDE * HIGH * sizeof *errors);
    for (int p = 0; p < 2; ++p)
        for (int c = 0; c < 3; ++c) pictures[p].planes[c] = whole[p].planes[c];
    assert_int_equal(compare_images(&value, &whole[0], &whole[1], COMPARE_FLIP, 1, &difference),
                     KD_OK);
    assert_int_equal(flip_errors(errors, &pictures[0], &pictures[1], WIDE, HIGH), KD_OK);
    assert_memory_equal(errors, image_plane(&difference, "Error"), WIDE * HIGH * sizeof *errors);
    free(errors);
    image_close(&difference);
    for (int p = 0; p < 2; ++p) {
        image_rows_close(&rows[p]);
        image_close(&whole[p]);
        free(bytes[p]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_values),
        cmocka_unit_test(test_known_flip_errors),
        cmocka_unit_test(test_flip_extremes),
        cmocka_unit_test(test_equal_pictures_have_zero_error),
        cmocka_unit_test(test_symmetric_metrics),
        cmocka_unit_test(test_relative_error_is_independent_of_units),
        cmocka_unit_test(test_relative_error_of_black_pictures),
        cmocka_unit_test(test_blocks_average_out_noise),
        cmocka_unit_test(test_alpha_is_ignored),
        cmocka_unit_test(test_incomparable_pictures_are_rejected),
        cmocka_unit_test(test_metric_names),
        cmocka_unit_test(test_difference_picture),
        cmocka_unit_test(test_results_are_independent_of_threads),
        cmocka_unit_test(test_flip_of_small_images),
        cmocka_unit_test(test_strips_match_whole_pictures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
