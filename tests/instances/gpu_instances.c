/* Instances render the same picture on a CUDA device as on the CPU. */
#include "instance_scene.h"
#include "render/api/render.h"
#include "render/integrators/integrators.h"
#include "tests/gpu.h"

static uint64_t picture(const char *method, const char *device) {
    scene *made = NULL;
    kd_render_options options;
    render_result result;
    kd_render_options_default(&options);
    if (scene_parse_instanced(&made, instance_scene, strlen(instance_scene), NULL, NULL, 0,
                              &options, NULL) != KD_OK)
        fail_msg("%s", kd_last_error());
    strcpy(options.integrator, method);
    strcpy(options.device, device);
    options.width = (int32_t)gpu_size(480, 24);
    options.height = (int32_t)gpu_size(360, 18);
    options.spp = 5;
    if (render_run(&result, made, &options, NULL) != KD_OK) fail_msg("%s", kd_last_error());
    assert_true(result.mean_radiance[0] > 0);
    const uint64_t hash = result.image_hash;
    render_close(&result);
    scene_close(made);
    return hash;
}

static void test_device_matches_cpu(void **state) {
    (void)state;
    for (int i = 0; integrators[i]; ++i)
        if (integrators[i]->instances)
            assert_true(picture(integrators[i]->name, "cpu") ==
                        picture(integrators[i]->name, "cuda"));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_device_matches_cpu)};
    if (gpu_is_missing()) return TEST_SKIPPED;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
