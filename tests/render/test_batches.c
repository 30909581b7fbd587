/* Photons in batches: the same picture in expectation, the same bits from any cut of the work, and
   a plan that fits where batches can make it fit. */
#include "core/parallel.h"
#include "render/compare.h"
#include "render/plan.h"
#include "render/render.h"
#include "test.h"
#include <unistd.h>

static const char *const demo = KD_TEST_SOURCE_DIR "/scenes/cornell_caustic.json";
static const char *const state_path = "test_batches.state";

static kd_render_options small_options(const char *name) {
    kd_render_options options;
    kd_render_options_default(&options);
    strcpy(options.integrator, name);
    options.width = options.height = 32;
    options.spp = options.passes = 24;
    options.photons = options.caustic_photons = 24000;
    options.gather = 40;
    return options;
}

static kd_status shoot(render_result *out, const kd_render_options *options,
                       const render_keeping *keeping) {
    scene *made = NULL;
    kd_render_options unused;
    kd_render_options_default(&unused);
    assert_int_equal(scene_open(&made, demo, &unused, NULL), KD_OK);
    const kd_status status = render_run_kept(out, made, options, keeping, NULL);
    scene_close(made);
    return status;
}

static double block_relmse(const image *a, const image *b) {
    double value = (double)INFINITY;
    assert_int_equal(compare_images(&value, a, b, COMPARE_RELMSE, 8, NULL), KD_OK);
    return value;
}

/* By each estimator, with and without final gather. */
static void batches_show_the_same_picture(void **state) {
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

static void any_cut_of_the_work_gives_the_same_bits(void **state) {
    (void)state;
    kd_render_options options = small_options("photon");
    options.batches = 5; /* 24 samples: runs of 5, 5, 5, 5, 4 */
    render_result whole, resumed;
    assert_int_equal(shoot(&whole, &options, NULL), KD_OK);
    const render_keeping first = {.state = state_path};
    render_keeping second = first;
    second.resume = true;
    options.threads = 3;
    options.time_seconds = 1e-9; /* ends after one sample of each pixel */
    assert_int_equal(shoot(&resumed, &options, &first), KD_OK);
    assert_int_equal(resumed.samples_done, 1);
    render_close(&resumed);
    options.time_seconds = 0;
    assert_int_equal(shoot(&resumed, &options, &second), KD_OK);
    assert_true(resumed.image_hash == whole.image_hash);
    assert_true(resumed.frame.photon_hash == whole.frame.photon_hash);
    assert_true(resumed.frame.photons_stored == whole.frame.photons_stored);
    assert_true(resumed.frame.watts_emitted == whole.frame.watts_emitted);
    render_close(&resumed);
    /* another number of batches is another rendering */
    options.batches = 4;
    assert_int_equal(shoot(&resumed, &options, &second), KD_ERROR_INPUT);
    unlink(state_path);
    parallel_set_threads(0);
    render_close(&whole);
}

static void plans_fit_by_batches_or_are_refused(void **state) {
    (void)state;
    scene *made = NULL;
    kd_render_options options;
    kd_render_options_default(&options);
    assert_int_equal(scene_open(&made, demo, &options, NULL), KD_OK);
    const scene_view view = scene_get_view(made);
    options = small_options("photon");
    options.photons = options.caustic_photons = 1000000;
    options.spp = 64;
    render_plan whole, fitted;
    assert_int_equal(render_plan_fit(&whole, &view, &options, 0), KD_OK);
    assert_int_equal(options.batches, 1);
    assert_int_equal(render_plan_fit(&fitted, &view, &options, whole.total), KD_OK);
    assert_int_equal(options.batches, 1);
    assert_int_equal(render_plan_fit(&fitted, &view, &options, whole.total / 2), KD_OK);
    assert_true(options.batches >= 2 && options.batches <= 4);
    assert_true(fitted.total <= whole.total / 2);
    /* one batch less would not have done */
    --options.batches;
    assert_int_equal(render_plan_make(&fitted, &view, &options), KD_OK);
    assert_true(fitted.total > whole.total / 2);
    /* k of 40 allows no more than 8 */
    options.batches = 1;
    assert_int_equal(render_plan_fit(&fitted, &view, &options, whole.total / 12), KD_ERROR_MEMORY);
    assert_non_null(strstr(kd_last_error(), "larger --gather or --estimator fixed"));
    options.batches = 1;
    strcpy(options.estimator, "fixed");
    assert_int_equal(render_plan_fit(&fitted, &view, &options, whole.total / 8), KD_OK);
    options.batches = 1;
    assert_int_equal(render_plan_fit(&fitted, &view, &options, 1000), KD_ERROR_MEMORY);
    scene_close(made);
}

static void batches_that_cannot_be_are_refused(void **state) {
    (void)state;
    render_result result;
    kd_render_options options = small_options("path");
    options.batches = 2;
    assert_int_equal(shoot(&result, &options, NULL), KD_ERROR_USAGE);
    options = small_options("photon");
    options.batches = 9; /* 40 / 5 */
    assert_int_equal(shoot(&result, &options, NULL), KD_ERROR_USAGE);
    options.batches = 0;
    assert_int_equal(shoot(&result, &options, NULL), KD_ERROR_USAGE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batches_show_the_same_picture),
        cmocka_unit_test(any_cut_of_the_work_gives_the_same_bits),
        cmocka_unit_test(plans_fit_by_batches_or_are_refused),
        cmocka_unit_test(batches_that_cannot_be_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
