/* The still life (still_life.h) rendered with photon maps equals that of path tracing. */
#include "core/image_processing/compare.h"
#include "shoot.h"
#include "still_life.h"
#include "test.h"

static scene_fixture stage;

static double block_relmse(const image *a, const image *b, int32_t block) {
    double value = (double)INFINITY;
    assert_int_equal(compare_images(&value, a, b, COMPARE_RELMSE, block, NULL), KD_OK);
    return value;
}

static kd_render_options still_life_options(const char *name, int32_t spp) {
    kd_render_options options;
    kd_render_options_default(&options);
    strcpy(options.integrator, name);
    options.width = options.height = 32;
    options.spp = spp;
    options.max_depth = 64;
    options.photons = 100000;
    return options;
}

/* Every material under a lamp and a sky. */
static void test_still_life(void **state) {
    (void)state;
    still_life_build(&stage);
    kd_render_options options = still_life_options("path", 512);
    shot reference = shoot(&stage, &still_life_camera, &options, NULL);
    assert_int_equal(reference.status, KD_OK);
    for (int gather = 0; gather <= 8; gather += 8) {
        options = still_life_options("photon", 32);
        options.final_gather = gather;
        shot s = shoot(&stage, &still_life_camera, &options, NULL);
        assert_int_equal(s.status, KD_OK);
        assert_int_equal(s.statistics.nan_samples, 0);
        const double error = block_relmse(&s.picture, &reference.picture, 8);
        if (!(error < 0.003)) fail_msg("final gather %d: relmse %.5f", gather, error);
        for (int c = 0; c < 3; ++c) {
            const char *const name = c == 0 ? "R" : c == 1 ? "G" : "B";
            const double expected = shot_mean(&reference, name);
            expect_near(shot_mean(&s, name), expected, 0.02 * expected);
        }
        image_close(&s.picture);
    }
    image_close(&reference.picture);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_still_life)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
