/* Photons in batches: the same bits for any division of the work, and a plan that selects batches
   if memory requires them. long_batches.c compares the pictures. */
#include "core/parallel/parallel.h"
#include "render/api/plan.h"
#include "small_demo.h"
#include <unistd.h>

static const char *const state_path = "test_batches.state";

static void test_result_is_independent_of_batch_size(void **state) {
    (void)state;
    kd_render_options options = small_options("photon");
    options.width = options.height = 12;
    options.photons = options.caustic_photons = 4000;
    options.max_depth = 3; /* cuts some power */
    options.batches = 5;   /* 24 samples in batches of 5, 5, 5, 5 and 4 */
    render_result whole, resumed;
    assert_int_equal(shoot(&whole, &options, NULL), KD_OK);
    const render_keeping first = {.state = state_path};
    render_keeping second = first;
    second.resume = true;
    options.threads = 3;
    options.target_error = 1e9; /* a target so large that it ends the frame in the fourth batch */
    assert_int_equal(shoot(&resumed, &options, &first), KD_OK);
    assert_int_equal(resumed.samples_done, 16);
    render_close(&resumed);
    options.target_error = 0;
    assert_int_equal(shoot(&resumed, &options, &second), KD_OK);
    assert_true(resumed.image_hash == whole.image_hash);
    assert_true(resumed.frame.photon_hash == whole.frame.photon_hash);
    assert_true(resumed.frame.photons_stored == whole.frame.photons_stored);
    assert_true(resumed.frame.watts_emitted == whole.frame.watts_emitted);
    assert_true(whole.frame.watts_cut > 0);
    assert_true(resumed.frame.watts_cut == whole.frame.watts_cut);
    render_close(&resumed);
    /* another number of batches gives a different rendering */
    options.batches = 4;
    assert_int_equal(shoot(&resumed, &options, &second), KD_ERROR_INPUT);
    unlink(state_path);
    parallel_set_threads(0);
    render_close(&whole);
}

static void test_plans_use_batches_or_are_rejected(void **state) {
    (void)state;
    scene *made = NULL;
    kd_render_options options;
    kd_render_options_default(&options);
    assert_int_equal(scene_open(&made, demo, &options, NULL), KD_OK);
    const scene_view view = scene_get_view(made);
    options = small_options("photon");
    options.photons = options.caustic_photons =
        16000000; /* each batch needs as many tiles as one emission would */
    options.spp = 64;
    strcpy(options.device, "cpu");
    render_plan whole, fitted;
    assert_int_equal(render_plan_fit(&whole, &view, &options, 0), KD_OK);
    assert_int_equal(options.batches, 1);
    assert_int_equal(options.maps_ahead, 1);
    assert_int_equal(render_plan_fit(&fitted, &view, &options, whole.total), KD_OK);
    assert_int_equal(options.batches, 1);
    /* a memory limit applies to one rendering, not to the process */
    assert_int_equal(options.maps_ahead, 0);
    assert_int_equal(small_options("photon").maps_ahead, 1);
    assert_int_equal(render_plan_fit(&fitted, &view, &options, whole.total / 2), KD_OK);
    assert_true(options.batches >= 2 && options.batches <= 4);
    assert_true(fitted.total <= whole.total / 2);
    /* one batch fewer would exceed the limit */
    --options.batches;
    assert_int_equal(render_plan_make_among(&fitted, &view, &options, 1), KD_OK);
    assert_true(fitted.total > whole.total / 2);
    /* with k = 40 at most 8 batches are possible */
    options.batches = 1;
    assert_int_equal(render_plan_fit(&fitted, &view, &options, whole.total / 16), KD_ERROR_MEMORY);
    assert_non_null(strstr(kd_last_error(), "larger --gather or --estimator fixed"));
    options.batches = 1;
    strcpy(options.estimator, "fixed");
    assert_int_equal(render_plan_fit(&fitted, &view, &options, whole.total / 16), KD_OK);
    options.batches = 1;
    assert_int_equal(render_plan_fit(&fitted, &view, &options, 1000), KD_ERROR_MEMORY);
    scene_close(made);
}

static void test_invalid_batch_sizes_are_rejected(void **state) {
    (void)state;
    render_result result;
    kd_render_options options = small_options("path");
    options.batches = 2;
    assert_int_equal(shoot(&result, &options, NULL), KD_ERROR_USAGE);
    options = small_options("photon");
    options.batches = 9; /* more than 40 / 5 */
    assert_int_equal(shoot(&result, &options, NULL), KD_ERROR_USAGE);
    options.batches = 0;
    assert_int_equal(shoot(&result, &options, NULL), KD_ERROR_USAGE);
    options = small_options("sppm");
    options.passes = 1;
    options.batches = INT32_MAX;
    alarm(60); /* watchdog */
    assert_int_equal(shoot(&result, &options, NULL), KD_ERROR_USAGE);
    assert_non_null(strstr(kd_last_error(), "65536"));
    alarm(0);
}

/* A time limit applies to photons as well: the rendering has at least one batch of paths per map
   and one sample per pixel. */
static void test_time_limit_ends_photon_emission(void **state) {
    (void)state;
    static const char *const names[] = {"photon", "sppm", "photon"};
    for (int i = 0; i < 3; ++i) {
        render_result cut;
        kd_render_options options = small_options(names[i]);
        const render_keeping keeping = {.state = state_path};
        options.width = options.height = 16;
        options.photons = options.caustic_photons = 2000000;
        options.final_gather = i == 2 ? 1 : 0;
        options.time_seconds = 1e-9;
        unlink(state_path);
        assert_int_equal(shoot(&cut, &options, &keeping), KD_OK);
        assert_int_equal(cut.samples_done, 1);
        assert_true(cut.maps_cut);
        assert_true(cut.frame.photons_stored > 1000 && cut.frame.caustics_stored > 1000);
        assert_true(cut.frame.photons_emitted <= 2 * (1 << 16));
        assert_true(cut.mean_radiance[0] > 0.1f);
        /* no state is written, because a resumed rendering could not have the same bits */
        assert_int_equal(access(state_path, F_OK), -1);
        render_close(&cut);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_result_is_independent_of_batch_size),
        cmocka_unit_test(test_plans_use_batches_or_are_rejected),
        cmocka_unit_test(test_invalid_batch_sizes_are_rejected),
        cmocka_unit_test(test_time_limit_ends_photon_emission),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
