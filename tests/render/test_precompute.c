/* Precomputed irradiance reduces the cost of a final gather without changing the picture beyond
   noise. */
#include "core/image_processing/compare.h"
#include "render/api/render.h"
#include "tests/test.h"

static void render(render_result *out, int32_t side, int32_t precompute, int32_t threads) {
    kd_render_options options;
    scene *stage = NULL;
    kd_render_options_default(&options);
    assert_int_equal(
        scene_open(&stage, KD_TEST_SOURCE_DIR "/scenes/cornell_caustic.json", &options, NULL),
        KD_OK);
    options.width = options.height = side;
    options.spp = 8;
    options.final_gather = 8;
    options.photons = options.caustic_photons = 10000;
    options.gather = 40;
    options.threads = threads;
    options.precompute = precompute;
    assert_int_equal(render_run(out, stage, &options, NULL), KD_OK);
    scene_close(stage);
}

static void test_precomputed_picture_differs_only_by_noise(void **state) {
    (void)state;
    render_result kept, result;
    render(&kept, 32, 1, 0);
    render(&result, 32, 0, 0);
    assert_true(kept.image_hash != result.image_hash); /* the precomputed values were used */
    double difference = -1;
    assert_int_equal(
        compare_images(&difference, &kept.picture, &result.picture, COMPARE_RELMSE, 4, NULL),
        KD_OK);
    assert_true(difference < 0.002);
    for (int c = 0; c < 3; ++c)
        assert_float_equal(kept.mean_radiance[c], result.mean_radiance[c],
                           0.01f * result.mean_radiance[c]);
    render_close(&kept);
    render_close(&result);
}

static void test_picture_is_independent_of_threads(void **state) {
    (void)state;
    render_result alone, threaded;
    render(&alone, 20, 1, 1);
    render(&threaded, 20, 1, 8);
    assert_true(alone.image_hash == threaded.image_hash);
    render_close(&alone);
    render_close(&threaded);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_precomputed_picture_differs_only_by_noise),
        cmocka_unit_test(test_picture_is_independent_of_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
