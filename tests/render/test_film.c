/* The film: means, samples that are not finite, pixels without samples, the estimated error, and
   frames that --target-error ends. */
#include "core/math/sobol.h"
#include "core/parallel/parallel.h"
#include "render/api/render.h"
#include "render/frame/film.h"
#include "scenes/assembly/scene.h"
#include "test.h"
#include <stdio.h>

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
    const double expected = sqrt(1.0 / 9 / (4 + 0.1 * 0.1) / 2);
    assert_true(fabs(error_of(&negative) - expected) < 1e-12);
    film_close(&negative);
}

enum { SIDE = 32, SAMPLES = 64 };

/* A film of SIDE x SIDE pixels whose samples are `make(u, n)`, u uniform in [0, 1) and n the
   sample's number, times `factor`. */
static void fill(film *out, float (*make)(float u, uint32_t n), uint32_t seed, float factor) {
    const int32_t crop[4] = {0, 0, SIDE, SIDE};
    assert_int_equal(film_open(out, crop), KD_OK);
    for (int32_t y = 0; y < SIDE; ++y)
        for (int32_t x = 0; x < SIDE; ++x)
            for (uint32_t n = 0; n < SAMPLES; ++n) {
                const rng_key key = rng_key_make(seed, 1, (uint64_t)(y * SIDE + x));
                pixel_sample sample = grey(make(rng_draw(key, n, 0).value[0], n) * factor, 1);
                sample.radiance.y *= 0.5f;
                film_add(out, x, y, &sample);
            }
}

/* The root of the mean square error relative to the true mean (1, 1/2, 1) of all pixels. */
static double true_error(const film *negative) {
    double sum = 0;
    for (int i = 0; i < SIDE * SIDE; ++i)
        for (int c = 0; c < 3; ++c) {
            const double off = negative->pixels[i].radiance[c] / SAMPLES - (c == 1 ? 0.5 : 1);
            sum += off * off / (2.25 * (1 + 0.05 * 0.05));
        }
    return sqrt(sum / (SIDE * SIDE));
}

static float make_even(float u, uint32_t n) {
    (void)n;
    return 2 * u;
}

/* One sample in 2000 brings a tenth of the light, so that one pixel in 31 has met it. */
static float make_sparks(float u, uint32_t n) {
    (void)n;
    return u < 1.0f / 2000 ? 200.9f : 0.9f;
}

/* Stratified: sample n is in one of SAMPLES strata, those of each power of two of samples evenly
   spread, as Sobol' points are. */
static float make_stratified(float u, uint32_t n) {
    const uint32_t stratum = bits_reverse(n) >> 26;
    return 2 * ((float)stratum + u) / SAMPLES;
}

static void test_error_is_true(void **state) {
    (void)state;
    static const struct {
        float (*make)(float u, uint32_t n);
        double low, high; /* of the true error over the estimated one */
    } cases[] = {{make_even, 0.9, 1.1}, {make_sparks, 0.8, 1.25}, {make_stratified, 0.05, 1.1}};
    for (int i = 0; i < 3; ++i)
        for (uint32_t seed = 0; seed < 5; ++seed) {
            film negative;
            fill(&negative, cases[i].make, seed, 1);
            const double ratio = true_error(&negative) / error_of(&negative);
            if (!(ratio >= cases[i].low && ratio <= cases[i].high))
                fail_msg("case %d, seed %u: the ratio is %g", i, seed, ratio);
            film_close(&negative);
        }
}

/* Stratified samples are known to be better than independent ones of the same variance. */
static void test_error_of_stratified_samples(void **state) {
    (void)state;
    film even, stratified;
    fill(&even, make_even, 1, 1);
    fill(&stratified, make_stratified, 1, 1);
    assert_true(error_of(&stratified) < 0.3 * error_of(&even));
    film_close(&even);
    film_close(&stratified);
}

/* Rows of a wide film take the medians of many pixels at once, columns one by one: a film and its
   transpose have the same error. */
static void test_error_of_transposed_film(void **state) {
    (void)state;
    enum { WIDE = 150, NARROW = 3, FEW = 8 };
    const int32_t crops[2][4] = {{0, 0, WIDE, NARROW}, {0, 0, NARROW, WIDE}};
    film films[2];
    for (int i = 0; i < 2; ++i) assert_int_equal(film_open(&films[i], crops[i]), KD_OK);
    for (int32_t y = 0; y < NARROW; ++y)
        for (int32_t x = 0; x < WIDE; ++x)
            for (uint32_t n = 0; n < FEW; ++n) {
                const rng_key key = rng_key_make(5, 1, (uint64_t)(y * WIDE + x));
                const float u = rng_draw(key, n, 0).value[0];
                const pixel_sample sample = grey(u < 0.05f ? 20 * u : u * u, 1);
                film_add(&films[0], x, y, &sample);
                film_add(&films[1], y, x, &sample);
            }
    const double expected = error_of(&films[1]);
    assert_true(fabs(error_of(&films[0]) - expected) < 1e-12 * expected);
    for (int i = 0; i < 2; ++i) film_close(&films[i]);
}

/* The error is the same in other units of radiance, bit for bit for powers of two. */
static void test_error_is_independent_of_units(void **state) {
    (void)state;
    static const float factors[] = {0x1p20f, 0x1p-20f, 0x1p-1f, 100, 0.1f, 0.001f};
    film negative;
    fill(&negative, make_sparks, 3, 1);
    const double expected = error_of(&negative);
    film_close(&negative);
    for (int i = 0; i < 6; ++i) {
        fill(&negative, make_sparks, 3, factors[i]);
        const double error = error_of(&negative);
        if (i < 3) assert_memory_equal(&error, &expected, sizeof error);
        assert_true(fabs(error - expected) < 1e-5 * expected);
        film_close(&negative);
    }
}

/* Threads, pictures of one row or column, and black pictures. */
static void test_error_of_odd_films(void **state) {
    (void)state;
    film negative;
    fill(&negative, make_even, 4, 1);
    parallel_set_threads(1);
    const double alone = error_of(&negative);
    parallel_set_threads(5);
    const double threaded = error_of(&negative);
    assert_memory_equal(&alone, &threaded, sizeof alone);
    parallel_set_threads(0);
    film_close(&negative);
    static const int32_t crops[][4] = {{0, 0, 1, 1}, {0, 0, 1, 3}, {0, 0, 3, 1}};
    for (int i = 0; i < 3; ++i) {
        assert_int_equal(film_open(&negative, crops[i]), KD_OK);
        for (int n = 0; n < 32; ++n)
            for (int32_t p = 0; p < negative.width * negative.height; ++p) {
                const pixel_sample sample = grey(n % 2 ? 1 : 3, 1);
                film_pixel_add(negative.pixels + p, &sample);
            }
        assert_true(error_of(&negative) > 0 && error_of(&negative) < 0.1);
        memset(negative.pixels, 0, (size_t)(negative.width * negative.height) * sizeof(film_pixel));
        for (int32_t p = 0; p < negative.width * negative.height; ++p)
            negative.pixels[p].samples = 32;
        assert_true(error_of(&negative) == 0);
        film_close(&negative);
    }
}

/* A room with a glass ball, lit by a lamp of the radiance `factor`. */
static scene *lit_room(double factor) {
    static const char format[] =
        "{\"kandela\": 1, \"meshes\": ["
        "{\"box\": {\"lo\": [-1, 0, -1], \"hi\": [1, 2, 1]}, \"inward\": true,"
        " \"material\": {\"diffuse\": [0.7, 0.6, 0.3]}},"
        "{\"sphere\": {\"centre\": [0, 0.4, 0], \"radius\": 0.4, \"triangles\": 500},"
        " \"material\": {\"kind\": \"glass\", \"ior\": 1.5}}],"
        "\"camera\": {\"eye\": [0, 1, 0.95], \"look_at\": [0, 0.5, -1], \"fov\": 70},"
        "\"lights\": [{\"kind\": \"area\", \"corner\": [-0.3, 1.99, -0.3], \"edge_u\": [0.6, 0, 0],"
        " \"edge_v\": [0, 0, 0.6], \"radiance\": %.17g}]}";
    char text[sizeof format + 40];
    kd_render_options unused;
    scene *made = NULL;
    const int length = snprintf(text, sizeof text, format, factor);
    kd_render_options_default(&unused);
    assert_int_equal(scene_parse(&made, text, (uint64_t)length, NULL, NULL, 0, &unused, NULL),
                     KD_OK);
    return made;
}

static kd_render_options options_for(double target) {
    kd_render_options options;
    kd_render_options_default(&options);
    strcpy(options.integrator, "path");
    options.width = options.height = 16;
    options.spp = 800;
    options.target_error = target;
    return options;
}

static void shoot_room(render_result *out, double factor, const kd_render_options *options) {
    scene *made = lit_room(factor);
    assert_int_equal(render_run(out, made, options, NULL), KD_OK);
    scene_close(made);
}

static void test_samples_are_independent_of_brightness(void **state) {
    (void)state;
    static const double factors[] = {8, 8 * 1048576.0, 8 / 1048576.0, 800, 0.8, 0.008};
    static const double targets[] = {0.5, 0.3};
    for (int t = 0; t < 2; ++t) {
        const kd_render_options options = options_for(targets[t]);
        render_result first, other;
        shoot_room(&first, factors[0], &options);
        assert_true(first.on_target && first.samples_done >= 16 && first.samples_done < 800);
        assert_true(first.error <= targets[t]);
        for (int i = 1; i < 6; ++i) {
            shoot_room(&other, factors[i], &options);
            assert_int_equal(other.samples_done, first.samples_done);
            if (i < 3) assert_memory_equal(&other.error, &first.error, sizeof other.error);
            assert_true(fabs(other.error - first.error) < 1e-4 * first.error);
            render_close(&other);
        }
        render_close(&first);
    }
}

/* A frame may end after 16, 32, 48, 64, 96, ... samples, and after its last. */
static void test_target_is_tested_at_few_samples(void **state) {
    (void)state;
    render_result result;
    for (double target = 1; target > 0.3; target *= 0.8) {
        const kd_render_options options = options_for(target);
        shoot_room(&result, 1, &options);
        uint32_t odd = (uint32_t)result.samples_done;
        while (odd % 2 == 0) odd /= 2;
        assert_true(odd == 1 || odd == 3 || result.samples_done == options.spp);
        assert_true(result.on_target == (result.error <= target));
        render_close(&result);
    }
    kd_render_options options = options_for(10);
    static const int32_t spp[] = {2, 15, 16, 17, 40};
    for (int i = 0; i < 5; ++i) {
        options.spp = spp[i];
        shoot_room(&result, 1, &options);
        assert_int_equal(result.samples_done, spp[i] < 16 ? spp[i] : 16);
        assert_true(result.on_target == (spp[i] >= 16));
        render_close(&result);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_means),
        cmocka_unit_test(test_error),
        cmocka_unit_test(test_error_is_true),
        cmocka_unit_test(test_error_of_stratified_samples),
        cmocka_unit_test(test_error_of_transposed_film),
        cmocka_unit_test(test_error_is_independent_of_units),
        cmocka_unit_test(test_error_of_odd_films),
        cmocka_unit_test(test_samples_are_independent_of_brightness),
        cmocka_unit_test(test_target_is_tested_at_few_samples),
        cmocka_unit_test(test_non_finite_samples),
        cmocka_unit_test(test_many_samples),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
