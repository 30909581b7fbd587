/* sppm against path tracing: the same pictures. */
#include "render/compare.h"
#include "render/render.h"
#include "test.h"

/* relMSE of 4 x 4 pixel means, 48 passes against 1024 paths a pixel. */
static void expect_same_picture(const char *path) {
    scene *made = NULL;
    kd_render_options options;
    kd_render_options_default(&options);
    assert_int_equal(scene_open(&made, path, &options, NULL), KD_OK);
    options.width = options.height = 64;
    render_result reference, seen;
    strcpy(options.integrator, "path");
    options.spp = 1024;
    assert_int_equal(render_run(&reference, made, &options, NULL), KD_OK);
    strcpy(options.integrator, "sppm");
    options.passes = 48;
    options.photons = options.caustic_photons = 100000;
    assert_int_equal(render_run(&seen, made, &options, NULL), KD_OK);
    double error = (double)INFINITY;
    assert_int_equal(
        compare_images(&error, &seen.picture, &reference.picture, COMPARE_RELMSE, 4, NULL), KD_OK);
    print_message("%s: relmse %.5f\n", path, error);
    assert_true(error < 0.002);
    render_close(&reference);
    render_close(&seen);
    scene_close(made);
}

static void test_diffuse_box(void **state) {
    (void)state;
    expect_same_picture(KD_TEST_SOURCE_DIR "/scenes/cornell_diffuse.json");
}

static void test_demo(void **state) {
    (void)state;
    expect_same_picture(KD_TEST_SOURCE_DIR "/scenes/cornell_caustic.json");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_diffuse_box),
        cmocka_unit_test(test_demo),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
