/* The planned memory of a rendering on a device is an upper bound of the memory used, and not far
   above it; a plan that exceeds the available memory is reduced or rejected. */
#include "core/device/device_memory.h"
#include "render/api/plan.h"
#include "render/api/render.h"
#include "tests/gpu.h"

static scene *open_scene(void) {
    scene *made = NULL;
    kd_render_options from_file;
    kd_render_options_default(&from_file);
    const char *path = gpu_is_emulated() ? KD_TEST_SOURCE_DIR "/scenes/cornell_diffuse.json"
                                         : KD_TEST_SOURCE_DIR "/scenes/cornell_caustic.json";
    assert_int_equal(scene_open(&made, path, &from_file, NULL), KD_OK);
    return made;
}

static kd_render_options options_for(const char *method) {
    kd_render_options options;
    kd_render_options_default(&options);
    strcpy(options.integrator, method);
    strcpy(options.device, "cuda:0");
    strcpy(options.builder, "zhou");
    options.width = (int32_t)gpu_size(960, 64);
    options.height = (int32_t)gpu_size(540, 48);
    options.spp = options.passes = 2;
    options.final_gather = 0;
    options.photons = options.caustic_photons = gpu_size(1000000, 20000);
    return options;
}

/* The renderings are in ascending order of their needs, because the peak of memory use is per
   process. */
static void test_plans_are_upper_bounds(void **state) {
    (void)state;
    static const char *const methods[] = {"light", "path", "sppm", "photon"};
    scene *made = open_scene();
    render_plan plan;
    const scene_view view = scene_get_view(made);
    for (uint32_t m = 0; m < test_size(4, 3); ++m) {
        kd_render_options options = options_for(methods[m]);
        render_result result;
        job_control job;
        job_init(&job);
        options.final_gather = m == 3 ? 1 : 0;
        assert_int_equal(render_plan_make_among(&plan, &view, &options, 1), KD_OK);
        if (render_run(&result, made, &options, &job) != KD_OK)
            fail_msg("%s: %s", methods[m], kd_last_error());
        render_close(&result);
        const uint64_t taken = device_memory_peak_bytes();
        /* for a small picture the tiles dominate, and the plan assumes their maximum number */
        const uint64_t above = gpu_is_emulated() ? 6 : 3;
        if (taken > plan.device_total || above * taken < plan.device_total)
            fail_msg("%s took %llu bytes of the device, %llu were planned", methods[m],
                     (unsigned long long)taken, (unsigned long long)plan.device_total);
    }
    scene_close(made);
}

static void test_plans_fit_or_are_rejected(void **state) {
    (void)state;
    scene *made = open_scene();
    kd_render_options options;
    render_plan whole, fitted;
    const scene_view view = scene_get_view(made);
    options = options_for("sppm");
    options.photons = options.caustic_photons = 10000000;
    strcpy(options.builder, "auto");
    assert_int_equal(render_plan_make_among(&whole, &view, &options, 1), KD_OK);
    assert_int_equal(render_plan_fit(&fitted, &view, &options, whole.device_total), KD_OK);
    assert_string_equal(options.builder, "auto");
    assert_int_equal(render_plan_fit(&fitted, &view, &options, whole.device_total * 2 / 5), KD_OK);
    assert_string_equal(options.builder, "zhou");
    assert_true(options.batches > 1 && fitted.device_total <= whole.device_total * 2 / 5);
    assert_int_equal(render_plan_fit(&fitted, &view, &options, 100000000), KD_ERROR_MEMORY);
    assert_non_null(strstr(kd_last_error(), "on the device"));
    assert_non_null(strstr(kd_last_error(), "or --device cpu"));
    options.batches = 1;
    options.photons = 5000000000u;
    assert_int_equal(render_plan_make_among(&whole, &view, &options, 1), KD_ERROR_USAGE);
    assert_non_null(strstr(kd_last_error(), "5000000000 photons in one map"));
    scene_close(made);
}

int main(void) {
    if (gpu_is_missing()) return TEST_SKIPPED;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plans_are_upper_bounds),
        cmocka_unit_test(test_plans_fit_or_are_rejected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
