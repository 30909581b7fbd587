/* Progressive photon mapping: radii as published, furnaces, and the same bits on any number of
   threads. */
#include "core/hash.h"
#include "photon/density/estimate_radius.h"
#include "shoot.h"
#include "still_life.h"
#include "test.h"

static scene_fixture stage;

static kd_render_options small_options(const char *name, int32_t size, int32_t passes) {
    kd_render_options options;
    kd_render_options_default(&options);
    strcpy(options.integrator, name);
    options.width = options.height = size;
    options.passes = passes;
    options.photons = 4000;
    return options;
}

/* r(n)^2 / r(0)^2 is a quotient of gamma functions; with alpha = 1 the radius never shrinks. */
static void test_radius_shrinks_as_published(void **state) {
    (void)state;
    for (uint32_t pass = 0; pass < 400; pass += 7) {
        const double n = pass + 1.0, a = 0.7;
        const double square = exp(lgamma(n + a) - lgamma(n + 1) - lgamma(1 + a));
        expect_near(progressive_radius_share(pass, a), sqrt(square), 1e-12);
        expect_near(progressive_radius_share(pass, 1), 1, 0);
    }
}

static void test_furnace(void **state) {
    (void)state;
    fixture_clear(&stage);
    const uint32_t wall = still_life_diffuse(&stage, 0.5f, 1);
    const uint32_t walls[6] = {wall, wall, wall, wall, wall, wall};
    fixture_box(&stage, walls, vec3_make(-1, -1, -1), vec3_make(1, 1, 1), true);
    fixture_finish(&stage);
    static const camera inside = {{0.1f, -0.2f, 0.9f}, {0, 0, 0}, {0, 1, 0}, 80, 0, 0, 0};
    static const char *const kernels[] = {"disc", "cone", "epanechnikov"};
    for (int i = 0; i < 3; ++i) {
        kd_render_options options = small_options("sppm", 24, 6);
        strcpy(options.kernel, kernels[i]);
        options.max_depth = 64;
        options.photons = 20000;
        shot s = shoot(&stage, &inside, &options, NULL);
        assert_int_equal(s.status, KD_OK);
        expect_near(shot_mean(&s, "R"), 2, 0.02);
        const frame_statistics *sums = &s.statistics;
        expect_near(sums->watts_absorbed + sums->watts_escaped + sums->watts_ended,
                    sums->watts_emitted, 1e-6 * sums->watts_emitted);
        assert_true(sums->photons_stored >= 6 * 20000 && sums->caustics_stored == 0);
        image_close(&s.picture);
    }
}

static void test_threads_make_no_difference(void **state) {
    (void)state;
    still_life_build(&stage);
    uint64_t hashes[2];
    for (int i = 0; i < 2; ++i) {
        kd_render_options options = small_options("sppm", 24, 4);
        options.threads = i ? 5 : 1;
        shot s = shoot(&stage, &still_life_camera, &options, NULL);
        assert_int_equal(s.status, KD_OK);
        hashes[i] = hash_combine(image_hash(&s.picture), &s.statistics.photon_hash, 8);
        image_close(&s.picture);
    }
    assert_true(hashes[0] == hashes[1]);
    parallel_set_threads(0);
}

static void test_misuse_is_refused(void **state) {
    (void)state;
    still_life_build(&stage);
    kd_render_options options = small_options("sppm", 4, 0);
    assert_int_equal(shoot(&stage, &still_life_camera, &options, NULL).status, KD_ERROR_USAGE);
    options = small_options("sppm", 4, 1);
    options.alpha = 0;
    assert_int_equal(shoot(&stage, &still_life_camera, &options, NULL).status, KD_ERROR_USAGE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_radius_shrinks_as_published),
        cmocka_unit_test(test_furnace),
        cmocka_unit_test(test_threads_make_no_difference),
        cmocka_unit_test(test_misuse_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
