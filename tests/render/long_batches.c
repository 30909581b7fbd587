/* Photons emitted in batches give the same picture in expectation as those of one emission. */
#include "core/image_processing/compare.h"
#include "small_demo.h"

static double block_relmse(const image *a, const image *b) {
    double value = (double)INFINITY;
    assert_int_equal(compare_images(&value, a, b, COMPARE_RELMSE, 8, NULL), KD_OK);
    return value;
}

/* Each estimator, with and without final gather. */
static void test_picture_is_independent_of_batches(void **state) {
    (void)state;
    static const struct {
        const char *integrator, *estimator;
        int32_t final_gather;
    } cases[] = {{"photon", "nearest", 0},
                 {"photon", "fixed", 0},
                 {"photon", "nearest", 2},
                 {"sppm", "nearest", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        kd_render_options options = small_options(cases[i].integrator);
        strcpy(options.estimator, cases[i].estimator);
        options.final_gather = cases[i].final_gather;
        render_result whole, parts;
        assert_int_equal(shoot(&whole, &options, NULL), KD_OK);
        options.batches = 4;
        if (strcmp(cases[i].integrator, "sppm") == 0) options.passes = 8;
        assert_int_equal(shoot(&parts, &options, NULL), KD_OK);
        assert_true(whole.image_hash != parts.image_hash);
        const double error = block_relmse(&parts.picture, &whole.picture);
        print_message("%s %s, %d rays: relmse %.5f\n", cases[i].integrator, cases[i].estimator,
                      cases[i].final_gather, error);
        assert_true(error < 0.003);
        const frame_statistics *sums = &parts.frame;
        const double end = sums->watts_absorbed + sums->watts_escaped + sums->watts_ended;
        assert_true(fabs(end / sums->watts_emitted - 1) < 1e-6);
        assert_true(fabs(sums->watts_emitted / whole.frame.watts_emitted - 1) < 1e-6);
        if (strcmp(cases[i].integrator, "photon") == 0)
            assert_true(fabs((double)sums->photons_stored / 24000 - 1) < 0.01);
        render_close(&whole);
        render_close(&parts);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_picture_is_independent_of_batches)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
