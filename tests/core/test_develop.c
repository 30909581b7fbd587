/* core/image_processing/develop.h and the code it uses: 8-bit files, tone curves, resizing. */
#include "core/image/encode.h"
#include "core/image/tonemap.h"
#include "core/image_processing/develop.h"
#include "core/image_processing/finish.h"
#include "core/math/rng.h"
#include "core/memory.h"
#include "core/parallel/parallel.h"
#include "tests/test.h"
#include <math.h>
#include <unistd.h>

static const char *const colours[] = {"R", "G", "B"};

static image make_image(int32_t width, int32_t height,
                        float (*value)(int c, int32_t x, int32_t y)) {
    image made;
    assert_int_equal(image_open(&made, width, height), KD_OK);
    for (int c = 0; c < 3; ++c) {
        float *plane;
        assert_int_equal(image_add(&made, colours[c], &plane), KD_OK);
        for (int32_t i = 0; i < width * height; ++i) plane[i] = value(c, i % width, i / width);
    }
    return made;
}

static double mean_of(const float *plane, const image *image) {
    double sum = 0;
    for (int64_t i = 0; i < (int64_t)image->width * image->height; ++i) sum += (double)plane[i];
    return sum / ((double)image->width * image->height);
}

static float one(int c, int32_t x, int32_t y) {
    (void)x, (void)y;
    return (float)(c + 1);
}

static float noise(int c, int32_t x, int32_t y) {
    const rng_block r = rng_draw(rng_key_make(3, (uint32_t)c, (uint64_t)(y * 1000 + x)), 0, 0);
    return r.value[0] * r.value[0] * 4;
}

static float spark(int c, int32_t x, int32_t y) {
    (void)c;
    return x == 17 && y == 11 ? 1000 : 0;
}

static float ramp(int c, int32_t x, int32_t y) {
    return (float)(x + 3 * y + c);
}

/* --- sizes ------------------------------------------------------------------------------------ */

/* Resizing by definition, in double precision: a tent filter around the output pixel's centre, over
   the existing input pixels. */
static double tent_of(const image *image, int c, int32_t width, int32_t height, int32_t x,
                      int32_t y) {
    const double sx = (double)image->width / width, sy = (double)image->height / height;
    const double rx = fmax(sx, 1), ry = fmax(sy, 1);
    const double cx = (x + 0.5) * sx - 0.5, cy = (y + 0.5) * sy - 0.5;
    double sum = 0, weights = 0;
    for (int32_t j = 0; j < image->height; ++j)
        for (int32_t i = 0; i < image->width; ++i) {
            const double w = fmax(0, 1 - fabs(i - cx) / rx) * fmax(0, 1 - fabs(j - cy) / ry);
            sum += w * (double)image->planes[c][j * image->width + i];
            weights += w;
        }
    return sum / weights;
}

static void test_resize_uses_a_tent_filter(void **state) {
    (void)state;
    static const int32_t sizes[][2] = {{40, 30}, {13, 30}, {7, 5}, {1, 1}, {80, 61}, {40, 90}};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; ++s) {
        const int32_t w = sizes[s][0], h = sizes[s][1];
        image from = make_image(40, 30, noise), to = make_image(40, 30, noise);
        float *plane;
        assert_int_equal(image_add(&to, "A", &plane), KD_OK);
        assert_int_equal(image_add(&to, "N.X", &plane), KD_OK);
        assert_int_equal(image_resize(&to, w, h), KD_OK);
        assert_int_equal(to.width, w);
        assert_int_equal(to.height, h);
        /* R, G, B and A; a single component of a normal is dropped */
        assert_int_equal(to.channel_count, 4);
        for (int c = 0; c < 3; ++c)
            for (int32_t i = 0; i < w * h; ++i) {
                const double meant = tent_of(&from, c, w, h, i % w, i / w);
                assert_true(fabs((double)to.planes[c][i] - meant) <= 1e-5 * (1 + meant));
            }
        image_close(&from);
        image_close(&to);
    }
}

static void test_resize_preserves_means_without_ringing(void **state) {
    (void)state;
    image image = make_image(64, 48, spark);
    assert_int_equal(image_resize(&image, 16, 0), KD_OK);
    assert_int_equal(image.height, 12);
    assert_true(fabs(mean_of(image.planes[0], &image) - 1000.0 / (64 * 48)) < 1e-4);
    for (int i = 0; i < 16 * 12; ++i) assert_true(image.planes[1][i] >= 0);
    image_close(&image);
    image = make_image(50, 20, one);
    assert_int_equal(image_resize(&image, 0, 33), KD_OK);
    assert_int_equal(image.width, 83); /* 82.5, rounded up */
    for (int c = 0; c < 3; ++c)
        for (int i = 0; i < image.width * image.height; ++i)
            assert_true(fabsf(image.planes[c][i] - (float)(c + 1)) < 1e-5f);
    assert_int_equal(image_resize(&image, 0, 0), KD_ERROR_USAGE);
    assert_int_equal(image_resize(&image, 70000, 1), KD_ERROR_USAGE);
    image_close(&image);
}

static void test_resize_is_independent_of_threads(void **state) {
    (void)state;
    image first = make_image(90, 70, noise), second = make_image(90, 70, noise);
    parallel_set_threads(1);
    assert_int_equal(image_resize(&first, 33, 29), KD_OK);
    parallel_set_threads(5);
    assert_int_equal(image_resize(&second, 33, 29), KD_OK);
    parallel_set_threads(0);
    assert_true(image_hash(&first) == image_hash(&second));
    image_close(&first);
    image_close(&second);
}

static void test_crop_keeps_pixels(void **state) {
    (void)state;
    static const int32_t inside[4] = {3, 2, 9, 7}, outside[4] = {0, 0, 13, 4},
                         none[4] = {2, 2, 2, 3};
    image image = make_image(12, 8, ramp);
    assert_int_equal(image_crop(&image, outside), KD_ERROR_USAGE);
    assert_int_equal(image_crop(&image, none), KD_ERROR_USAGE);
    assert_int_equal(image_crop(&image, inside), KD_OK);
    assert_int_equal(image.width, 6);
    assert_int_equal(image.height, 5);
    for (int c = 0; c < 3; ++c)
        for (int32_t i = 0; i < 30; ++i)
            assert_true(image.planes[c][i] == ramp(c, 3 + i % 6, 2 + i / 6));
    image_close(&image);
}

/* --- curves ----------------------------------------------------------------------------------- */

static vec3 curve(float r, float g, float b, kd_tonemap tonemap) {
    return tonemap_apply(vec3_make(r, g, b), tonemap);
}

static bool is_near(float actual, double meant, double by) {
    return fabs((double)actual - meant) <= by;
}

/* The design points of AgX: mid-grey maps to the middle of a display of gamma 2.2, ten stops below
   and six and a half above it map to the ends, and very bright colours become white. */
static void test_agx_design_points(void **state) {
    (void)state;
    const vec3 grey = curve(0.18f, 0.18f, 0.18f, KD_TONEMAP_AGX);
    assert_true(is_near(powf(grey.x, 1 / 2.2f), 0.5, 0.01));
    assert_true(is_near(grey.y, (double)grey.x, 1e-3) && is_near(grey.z, (double)grey.x, 1e-3));
    assert_true(curve(1e-6f, 1e-6f, 1e-6f, KD_TONEMAP_AGX).x < 1e-5f);
    assert_true(curve(17, 17, 17, KD_TONEMAP_AGX).x > 0.99f);
    const vec3 lamp = curve(0, 0, 1e4f, KD_TONEMAP_AGX), deep = curve(0, 0, 0.1f, KD_TONEMAP_AGX);
    assert_true(lamp.x > 0.6f && lamp.y > 0.6f && lamp.z > 0.9f);
    assert_true(deep.z > 3 * deep.x && deep.z > 3 * deep.y);
    float before = -1;
    for (float x = 1e-5f; x < 100; x *= 1.01f) {
        const float now = curve(x, x, x, KD_TONEMAP_AGX).y;
        assert_true(now >= before);
        before = now;
    }
}

/* Computed by hand from the specification: subtract F90 of 0.04, then 1 - d^2 / (peak + d - 0.76)
   with d = 0.24, and desaturate by 0.15. */
static void test_neutral_matches_specification(void **state) {
    (void)state;
    const vec3 grey = curve(0.5f, 0.5f, 0.5f, KD_TONEMAP_NEUTRAL);
    assert_true(is_near(grey.x, 0.46, 1e-6) && is_near(grey.z, 0.46, 1e-6));
    const vec3 dark = curve(0.04f, 0.04f, 0.04f, KD_TONEMAP_NEUTRAL);
    assert_true(is_near(dark.y, 6.25 * 0.04 * 0.04, 1e-7));
    const vec3 white = curve(1, 1, 1, KD_TONEMAP_NEUTRAL);
    assert_true(is_near(white.x, 1 - 0.0576 / 0.44, 1e-6));
    const vec3 red =
        curve(2.04f, 0.24f, 0.08f, KD_TONEMAP_NEUTRAL); /* 2, 0.2, 0.04 after the subtraction */
    const double peak = 1 - 0.0576 / (2 + 0.24 - 0.76);
    const double desaturation = 1 - 1 / (0.15 * (2 - peak) + 1);
    assert_true(is_near(red.x, peak, 1e-6));
    assert_true(is_near(red.y, 0.2 * peak / 2 * (1 - desaturation) + peak * desaturation, 1e-6));
    assert_true(is_near(red.z, 0.04 * peak / 2 * (1 - desaturation) + peak * desaturation, 1e-6));
}

/* --- 8-bit files ------------------------------------------------------------------------------ */

static float some_floats(int c, int32_t x, int32_t y) {
    const uint32_t bits = (uint32_t)(c * 3 + y) * 0x05000000u + (uint32_t)x * 100003u;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* The lookup table equals the curve, for floats of all sizes and next to each of its steps. */
static void test_lookup_table_equals_curve(void **state) {
    (void)state;
    enum { WIDTH = 50000, HEIGHT = 13 };
    image image = make_image(WIDTH, HEIGHT, some_floats);
    for (int k = 0; k < 255; ++k) { /* the boundary between two bytes, and the floats next to it */
        float at = srgb_decode(((float)k + 0.5f) / 255);
        for (int i = 0; i < 8; ++i) at = nextafterf(at, 0);
        for (int i = 0; i < 16; ++i, at = nextafterf(at, 1)) image.planes[1][16 * k + i] = at;
    }
    const image_encoding plain = {.exposure = 0, .tonemap = KD_TONEMAP_LINEAR};
    uint8_t *bytes = NULL;
    int samples = 0;
    assert_int_equal(image_encode(&bytes, &samples, &image, &plain, true), KD_OK);
    assert_int_equal(samples, 3);
    for (int i = 0; i < WIDTH * HEIGHT; ++i)
        for (int c = 0; c < 3; ++c)
            if (bytes[3 * i + c] != unit_to_byte(srgb_encode(image.planes[c][i])))
                fail_msg("%a", (double)image.planes[c][i]);
    memory_free(bytes);
    image_close(&image);
}

static float smooth(int c, int32_t x, int32_t y) {
    return 0.5f + 0.4f * sinf(0.05f * (float)x + (float)c) * cosf(0.04f * (float)y);
}

/* Lossy formats return the picture with errors of a few of the 256 steps. */
static void test_lossy_formats_are_close(void **state) {
    (void)state;
    static const char *const paths[] = {"/tmp/kandela-develop.jpg", "/tmp/kandela-develop.jpeg",
                                        "/tmp/kandela-develop.webp"};
    for (int i = 0; i < 3; ++i) {
        /* the library for this format is missing */
        if (image_writable(paths[i]) != KD_OK) continue;
        char path[64];
        snprintf(path, sizeof path, "%s%d%s", "/tmp/kandela-develop-", (int)getpid(),
                 strrchr(paths[i], '.'));
        image a = make_image(131, 77, smooth), b;
        assert_int_equal(image_write(&a, path, NULL), KD_OK);
        assert_int_equal(image_read(&b, path), KD_OK);
        assert_int_equal(b.width, 131);
        assert_int_equal(b.height, 77);
        assert_int_equal(b.channel_count, 3);
        double error = 0;
        for (int c = 0; c < 3; ++c)
            for (int k = 0; k < 131 * 77; ++k)
                error += fabs((double)(srgb_encode(a.planes[c][k]) - srgb_encode(b.planes[c][k])));
        assert_true(error / (3 * 131 * 77) < 1.5 / 255);
        image_close(&a);
        image_close(&b);
        unlink(path);
    }
}

/* --- finish ----------------------------------------------------------------------------------- */

static float glint(int c, int32_t x, int32_t y) {
    return x == 20 && y == 3 ? 300.0f * (float)(c + 1) : 0;
}

static float middle_grey(int c, int32_t x, int32_t y) {
    (void)c, (void)x, (void)y;
    return IMAGE_GREY;
}

static image finished(float (*value)(int c, int32_t x, int32_t y), float exposure,
                      image_finish finish) {
    image from = make_image(70, 40, value), made;
    assert_false(image_finish_is_none(&finish));
    assert_int_equal(image_finish_make(&made, &from, exposure, &finish), KD_OK);
    image_close(&from);
    return made;
}

static void expect_close(double a, double b, double error) {
    if (!(fabs(a - b) <= error)) print_error("found %g, expected %g\n", a, b);
    assert_true(fabs(a - b) <= error);
}

/* The sum stays the same, also near an edge; the glow falls off and has the share's light. */
static void test_bloom(void **state) {
    (void)state;
    image made = finished(glint, 0, (image_finish){.bloom = 0.25f, .bloom_radius = 0.2f});
    for (int c = 0; c < 3; ++c) {
        const float *plane = image_plane(&made, colours[c]);
        expect_close(mean_of(plane, &made) * 70 * 40, 300 * (c + 1), 0.01 * (c + 1));
        assert_true(plane[3 * 70 + 20] > 0.75f * 300 * (float)(c + 1));
        for (int x = 21; x < 69; ++x) assert_true(plane[3 * 70 + x] >= plane[3 * 70 + x + 1]);
        expect_close((double)plane[3 * 70 + 14], (double)plane[3 * 70 + 26], 1e-3);
        assert_true(plane[3 * 70 + 26] > 0);
    }
    image_close(&made);
    parallel_set_threads(1);
    image alone = finished(noise, 0, (image_finish){.bloom = 0.5f, .bloom_radius = 1});
    parallel_set_threads(0);
    image again = finished(noise, 0, (image_finish){.bloom = 0.5f, .bloom_radius = 1});
    assert_true(image_hash(&alone) == image_hash(&again));
    image_close(&alone);
    image_close(&again);
}

static void test_vignette(void **state) {
    (void)state;
    image made = finished(one, 1, (image_finish){.vignette = 0.5f});
    const float *red = image_plane(&made, "R");
    expect_close((double)red[20 * 70 + 35], 2, 1e-3);
    expect_close((double)red[0], 1, 0.05);
    expect_close((double)red[0], (double)red[70 * 40 - 1], 1e-6);
    image_close(&made);
}

static float lamp(int c, int32_t x, int32_t y) {
    (void)x, (void)y;
    return c == 0 ? 0.8f : c == 1 ? 0.5f : 0.2f;
}

static void test_colours(void **state) {
    (void)state;
    /* what is shown as white becomes grey of the same luminance */
    image_finish finish = {.white_balance = "0.8,0.5,0.2"};
    image made = finished(lamp, 0, finish);
    const double luminance = 0.2126390 * 0.8 + 0.7151687 * 0.5 + 0.0721923 * 0.2;
    for (int c = 0; c < 3; ++c)
        expect_close((double)image_plane(&made, colours[c])[5], luminance, 1e-4);
    image_close(&made);
    made = finished(lamp, 0, (image_finish){.white_balance = "6504K"}); /* nearly D65 */
    expect_close((double)*image_plane(&made, "R"), 0.8, 0.002);
    expect_close((double)*image_plane(&made, "B"), 0.2, 0.002);
    image_close(&made);
    made = finished(one, 0, (image_finish){.white_balance = "3000K"}); /* makes it bluer */
    assert_true(*image_plane(&made, "B") > 3.5f && *image_plane(&made, "R") < 0.9f);
    image_close(&made);
    /* middle grey after exposure stays; a stop more becomes two */
    made = finished(middle_grey, 0, (image_finish){.contrast = 2});
    expect_close((double)*image_plane(&made, "G"), (double)IMAGE_GREY, 1e-6);
    image_close(&made);
    made = finished(middle_grey, 1, (image_finish){.contrast = 2});
    expect_close((double)*image_plane(&made, "G"), 4 * (double)IMAGE_GREY, 1e-5);
    image_close(&made);
    made = finished(lamp, 0, (image_finish){.colourless = 1});
    expect_close((double)*image_plane(&made, "R"), (double)*image_plane(&made, "B"), 1e-6);
    image_close(&made);
    for (int i = 0; i < 3; ++i) {
        static const char *const wrong[] = {"mauve", "100K", "0,1,1"};
        image_finish bad = {.white_balance = ""};
        snprintf(bad.white_balance, sizeof bad.white_balance, "%s", wrong[i]);
        assert_int_equal(image_finish_check(&bad), KD_ERROR_USAGE);
    }
    const image_finish none = {.contrast = 1, .bloom_radius = 1, .white_balance = "none"};
    assert_true(image_finish_is_none(&none));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_resize_uses_a_tent_filter),
        cmocka_unit_test(test_resize_preserves_means_without_ringing),
        cmocka_unit_test(test_resize_is_independent_of_threads),
        cmocka_unit_test(test_crop_keeps_pixels),
        cmocka_unit_test(test_agx_design_points),
        cmocka_unit_test(test_neutral_matches_specification),
        cmocka_unit_test(test_lookup_table_equals_curve),
        cmocka_unit_test(test_lossy_formats_are_close),
        cmocka_unit_test(test_bloom),
        cmocka_unit_test(test_vignette),
        cmocka_unit_test(test_colours),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
