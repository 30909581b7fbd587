/* Whitted's trees, occlusion, light tracing and debug channels against other methods. */
#include "core/hash.h"
#include "render/integrators/debug_channel.h"
#include "shoot.h"
#include "still_life.h"
#include "test.h"

static scene_fixture stage;

static void expect_near(double found, double expected, double tolerance) {
    if (!(fabs(found - expected) <= tolerance))
        fail_msg("%.9g, expected %.9g within %g", found, expected, tolerance);
}

static kd_render_options small_options(const char *name, int32_t size, int32_t spp) {
    kd_render_options options;
    kd_render_options_default(&options);
    strcpy(options.integrator, name);
    options.width = options.height = size;
    options.spp = options.passes = spp;
    return options;
}

static shot take(const camera *view, const kd_render_options *options) {
    shot s = shoot(&stage, view, options, NULL);
    assert_int_equal(s.status, KD_OK);
    assert_int_equal(s.statistics.nan_samples, 0);
    return s;
}

static double mean_of(const camera *view, const kd_render_options *options) {
    shot s = take(view, options);
    const double mean = shot_mean(&s, "R");
    image_close(&s.picture);
    return mean;
}

/* Direct light seen through mirrors and glass, whichever way branches are taken. */
static void test_whitted_is_direct(void **state) {
    (void)state;
    still_life_build(&stage);
    kd_render_options options = small_options("whitted", 32, 64);
    options.max_depth = 12;
    const double split = mean_of(&still_life_camera, &options);
    strcpy(options.integrator, "direct");
    const double drawn = mean_of(&still_life_camera, &options);
    expect_near(split, drawn, 0.01 * drawn);
}

static const camera above = {{0, 2, 0.001f}, {0, 0, 0}, {0, 1, 0}, 20, 0, 0};

/* A floor under a disc-like lid: open sky is white, and what stands nearer than the reach hides it.
 */
static void test_occlusion(void **state) {
    (void)state;
    fixture_clear(&stage);
    const uint32_t white = still_life_diffuse(&stage, 0.5f, 0);
    fixture_quad(&stage, white, vec3_make(-9, 0, 9), vec3_make(9, 0, 9), vec3_make(9, 0, -9),
                 vec3_make(-9, 0, -9));
    fixture_finish(&stage);
    kd_render_options options = small_options("ao", 8, 4);
    expect_near(mean_of(&above, &options), 1, 0);
    fixture_quad(&stage, white, vec3_make(-9, 3, 9), vec3_make(9, 3, 9), vec3_make(9, 3, -9),
                 vec3_make(-9, 3, -9));
    fixture_finish(&stage);
    options.spp = 256;
    options.radius = 2.9f;
    expect_near(mean_of(&above, &options), 1, 0);
    options.radius = 6; /* rays within 60 degrees of the normal meet the lid */
    expect_near(mean_of(&above, &options), 0.25, 0.01);
}

/* Splats and camera paths give the same picture where no lens stands before the eye. */
static void test_light_is_path(void **state) {
    (void)state;
    fixture_clear(&stage);
    const uint32_t grey = still_life_diffuse(&stage, 0.6f, 0);
    const uint32_t lamp = still_life_diffuse(&stage, 0.2f, 4);
    const uint32_t walls[6] = {grey, grey, grey, lamp, grey, grey};
    fixture_box(&stage, walls, vec3_make(-1, -1, -1), vec3_make(1, 1, 1), true);
    fixture_finish(&stage);
    static const camera inside = {{0.1f, -0.2f, 0.9f}, {0, -0.4f, 0}, {0, 1, 0}, 70, 0, 0};
    kd_render_options options = small_options("light", 16, 16);
    options.photons = 100000;
    shot splats = take(&inside, &options);
    options = small_options("path", 16, 512);
    shot paths = take(&inside, &options);
    static const char *const channels[] = {"R", "G", "B"};
    double error = 0;
    for (int c = 0; c < 3; ++c)
        for (int i = 0; i < 256; ++i) {
            const double a = (double)image_plane(&splats.picture, channels[c])[i];
            const double b = (double)image_plane(&paths.picture, channels[c])[i];
            error += (a - b) * (a - b) / (b * b + 0.01) / 768;
        }
    assert_true(error < 0.002);
    expect_near(shot_mean(&splats, "R"), shot_mean(&paths, "R"), 0.01 * shot_mean(&paths, "R"));
    image_close(&splats.picture);
    image_close(&paths.picture);
}

static void test_threads_make_no_difference(void **state) {
    (void)state;
    still_life_build(&stage);
    for (const integrator *const *row = integrators; *row; ++row) {
        uint64_t hashes[2];
        for (int i = 0; i < 2; ++i) {
            kd_render_options options = small_options((*row)->name, 16, 2);
            options.photons = 4000;
            strcpy(options.channel, "density");
            options.threads = i ? 5 : 1;
            shot s = take(&still_life_camera, &options);
            hashes[i] = image_hash(&s.picture);
            image_close(&s.picture);
        }
        assert_true(hashes[0] == hashes[1]);
    }
    parallel_set_threads(0);
}

/* Photons per area over the picture of a furnace's walls; the radius is never above the distance.
 */
static void test_debug_channels(void **state) {
    (void)state;
    fixture_clear(&stage);
    const uint32_t wall = still_life_diffuse(&stage, 0.5f, 1);
    const uint32_t walls[6] = {wall, wall, wall, wall, wall, wall};
    fixture_box(&stage, walls, vec3_make(-1, -1, -1), vec3_make(1, 1, 1), true);
    fixture_finish(&stage);
    static const camera inside = {{0, 0, 0.9f}, {0, 0, 0}, {0, 1, 0}, 60, 0, 0};
    kd_render_options options = small_options("debug", 16, 4);
    options.photons = 24000; /* on 24 square metres */
    strcpy(options.channel, "density");
    expect_near(mean_of(&inside, &options), 1000, 30);
    strcpy(options.channel, "distance");
    const double distance = mean_of(&inside, &options);
    expect_near(distance, sqrt(50 / (1000 * 3.14159)), 0.1 * distance);
    strcpy(options.channel, "radius");
    expect_near(mean_of(&inside, &options), distance, 0.02 * distance);
    strcpy(options.channel, "depth");
    expect_near(mean_of(&inside, &options), 1.9, 0.35);
    strcpy(options.channel, "normals");
    assert_true(mean_of(&inside, &options) > 0.4);
    strcpy(options.channel, "ids");
    assert_true(mean_of(&inside, &options) > 0.1);
    strcpy(options.channel, "smell");
    assert_int_equal(shoot(&stage, &inside, &options, NULL).status, KD_ERROR_USAGE);
}

static void test_misuse_is_refused(void **state) {
    (void)state;
    still_life_build(&stage);
    kd_render_options options = small_options("light", 4, 1);
    options.photons = 1u << 21;
    assert_int_equal(shoot(&stage, &still_life_camera, &options, NULL).status, KD_ERROR_USAGE);
    options.photons = 10;
    camera lens = still_life_camera;
    lens.lens_radius = 0.1f;
    assert_int_equal(shoot(&stage, &lens, &options, NULL).status, KD_ERROR_USAGE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whitted_is_direct), cmocka_unit_test(test_occlusion),
        cmocka_unit_test(test_light_is_path),     cmocka_unit_test(test_threads_make_no_difference),
        cmocka_unit_test(test_debug_channels),    cmocka_unit_test(test_misuse_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
