/* The film: means, samples that are not finite, pixels without samples, the estimated error. */
#include "render/frame/film.h"
#include "test.h"

static pixel_sample grey(float value, float depth) {
    pixel_sample sample;
    memset(&sample, 0, sizeof sample);
    sample.radiance = vec3_all(value);
    sample.alpha = isfinite(depth) ? 1 : 0;
    sample.depth = depth;
    sample.normal = vec3_make(0, 2, 0);
    sample.albedo = vec3_all(0.25f);
    return sample;
}

static void test_means(void **state) {
    (void)state;
    const int32_t crop[4] = {10, 20, 13, 22};
    film negative;
    assert_int_equal(film_open(&negative, crop), KD_OK);
    const pixel_sample near = grey(1, 2), far = grey(3, 6), sky = grey(8, INFINITY);
    assert_true(film_add(&negative, 12, 21, &near));
    assert_true(film_add(&negative, 12, 21, &far));
    assert_true(film_add(&negative, 12, 21, &sky));
    assert_int_equal(film_min_samples(&negative), 0);
    image picture;
    assert_int_equal(film_resolve(&negative, &picture), KD_OK);
    assert_int_equal(picture.width, 3);
    assert_int_equal(picture.height, 2);
    const int last = 5;
    assert_true(image_plane(&picture, "R")[last] == 4);
    assert_true(image_plane(&picture, "Z")[last] == 4);
    assert_true(fabsf(image_plane(&picture, "A")[last] - 2.0f / 3) < 1e-6f);
    assert_true(image_plane(&picture, "N.Y")[last] == 1);
    assert_true(image_plane(&picture, "Albedo.B")[last] == 0.25f);
    for (int i = 0; i < last; ++i) { /* pixels without samples */
        assert_true(image_plane(&picture, "G")[i] == 0 && image_plane(&picture, "A")[i] == 0);
        assert_true(isinf(image_plane(&picture, "Z")[i]));
    }
    image_close(&picture);
    film_close(&negative);
    film_close(&negative);
}

static void test_non_finite_samples(void **state) {
    (void)state;
    const int32_t crop[4] = {0, 0, 1, 1};
    film negative;
    assert_int_equal(film_open(&negative, crop), KD_OK);
    const float bad[3] = {NAN, INFINITY, -INFINITY};
    for (int i = 0; i < 3; ++i) {
        pixel_sample sample = grey(1, 1);
        sample.radiance.y = bad[i];
        assert_false(film_add(&negative, 0, 0, &sample));
    }
    const pixel_sample good = grey(8, 1);
    assert_true(film_add(&negative, 0, 0, &good));
    assert_int_equal(film_min_samples(&negative), 4);
    image picture;
    assert_int_equal(film_resolve(&negative, &picture), KD_OK);
    for (int c = 0; c < 3; ++c) assert_true(picture.planes[c][0] == 2);
    image_close(&picture);
    film_close(&negative);
}

/* A million small samples are added to a large one; accumulation in float would lose them. */
static void test_many_samples(void **state) {
    (void)state;
    const int32_t crop[4] = {0, 0, 1, 1};
    film negative;
    assert_int_equal(film_open(&negative, crop), KD_OK);
    const pixel_sample large = grey(1e6f, 1), small = grey(0.01f, 1);
    film_add(&negative, 0, 0, &large);
    for (int i = 0; i < 999999; ++i) film_add(&negative, 0, 0, &small);
    image picture;
    assert_int_equal(film_resolve(&negative, &picture), KD_OK);
    assert_true(fabsf(picture.planes[0][0] - 1.00999999f) < 1e-6f);
    image_close(&picture);
    film_close(&negative);
}

static double error_of(const film *negative) {
    double error = -1;
    assert_int_equal(film_error(&error, negative), KD_OK);
    return error;
}

/* Samples of known variance: alternating 1 and 3 have the mean 2 and the variance n / (n - 1). */
static void test_error(void **state) {
    (void)state;
    const int32_t crop[4] = {0, 0, 2, 1};
    film negative;
    assert_int_equal(film_open(&negative, crop), KD_OK);
    const pixel_sample low = grey(1, 1), high = grey(3, 1), even = grey(2, 1);
    for (uint32_t n = 1; n <= 10; ++n) {
        if (n > 1) assert_true(isinf(error_of(&negative)) == (n <= 2));
        film_add(&negative, 0, 0, n % 2 ? &low : &high);
        film_add(&negative, 1, 0, &even); /* a pixel without noise */
    }
    const double expected = sqrt(1.0 / 9 / (4 + 0.01) / 2);
    assert_true(fabs(error_of(&negative) - expected) < 1e-12);
    film_close(&negative);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_means),
        cmocka_unit_test(test_error),
        cmocka_unit_test(test_non_finite_samples),
        cmocka_unit_test(test_many_samples),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
