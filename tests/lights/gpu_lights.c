/* Lights with size and aim, a mesh that the camera does not see, and nested media by priority: the
   same picture on a device and on the CPU, by every method. */
#include "tests/gpu.h"
#include <kandela/render.h>

static uint64_t picture_on(const char *device, const char *text, const char *integrator) {
    kd_scene *scene = NULL;
    kd_image *image = NULL;
    kd_render_options options;
    kd_render_options_default(&options);
    const kd_status opened = kd_scene_parse(&scene, text, strlen(text), NULL, NULL, 0, &options);
    if (opened != KD_OK) print_error("%s\n", kd_last_error());
    assert_int_equal(opened, KD_OK);
    assert_int_equal(kd_render_options_set(&options, "device", device), KD_OK);
    assert_int_equal(kd_render_options_set(&options, "integrator", integrator), KD_OK);
    options.width = (int32_t)gpu_size(160, 16);
    options.height = (int32_t)gpu_size(120, 12);
    options.spp = 2;
    options.passes = 2;
    options.max_depth = 6;
    options.photons = gpu_size(20000, 500);
    const kd_status status = kd_render(&image, scene, &options, NULL, NULL);
    if (status != KD_OK) print_error("%s\n", kd_last_error());
    assert_int_equal(status, KD_OK);
    const uint64_t hash = kd_image_hash(image);
    kd_image_close(image);
    kd_scene_close(scene);
    return hash;
}

static void expect_equal_bits(const char *text, const char *method) {
    const uint64_t here = picture_on("cpu", text, method);
    const uint64_t there = picture_on("cuda:0", text, method);
    if (here != there) print_error("%s: other bits on the device\n", method);
    assert_true(here == there);
}

static void test_device_is_cpu(void **state) {
    (void)state;
    static const char *const lights =
        "{\"kind\": \"point\", \"position\": [1,3,1], \"power\": 30, \"radius\": 0.2},"
        "{\"kind\": \"spot\", \"position\": [-2,4,1], \"look_at\": [0,0,0], \"power\": 30, "
        "\"radius\": 0.3},"
        "{\"kind\": \"directional\", \"direction\": [0.3,-1,0.2], \"irradiance\": 1, "
        "\"angle_degrees\": 8},"
        "{\"kind\": \"area\", \"corner\": [0,4,-1], \"edge_u\": [1,0,0], \"edge_v\": [0,0,1], "
        "\"power\": 20, \"spread_degrees\": 50, \"two_sided\": true}";
    static const char *const methods[] = {"path", "direct", "whitted", "photon",
                                          "sppm", "vcm",    "light"};
    for (int m = 0; m < 7; ++m) {
        char text[4096];
        /* light tracing refuses meshes that the camera does not see */
        snprintf(text, sizeof text,
                 "{\"kandela\": 1, \"camera\": {\"eye\": [0,2,7], \"look_at\": [0,1,0]}, "
                 "\"lights\": [%s], \"meshes\": ["
                 "{\"quad\": [[-4,0,4],[4,0,4],[4,0,-4],[-4,0,-4]]},"
                 "{\"quad\": [[-1,0,2],[1,0,2],[1,1.5,2],[-1,1.5,2]]%s},"
                 "{\"sphere\": {\"centre\": [0,1,0], \"radius\": 0.7, \"triangles\": 500}, "
                 "\"material\": {\"kind\": \"glass\"}}]}",
                 lights, m < 6 ? ", \"camera_visible\": false" : "");
        expect_equal_bits(text, methods[m]);
    }
}

/* A glass sphere with a scattering liquid that overlaps its wall, two bodies of dispersive glass in
   the liquid, one rough, and a camera in the fog around them. */
static void test_nested(void **state) {
    (void)state;
    static const char *const methods[] = {"path", "direct", "whitted", "photon", "sppm", "vcm"};
    static const char *const text =
        "{\"kandela\": 1, \"camera\": {\"eye\": [0,2,5], \"look_at\": [0,1,0]}, "
        "\"media\": {\"milk\": {\"absorption\": [0.1,0.4,0.8], \"scattering\": 0.5}, "
        "\"air\": {\"absorption\": 0.01}}, \"fog\": \"air\", "
        "\"lights\": [{\"kind\": \"area\", \"corner\": [0,4,-1], \"edge_u\": [1,0,0], "
        "\"edge_v\": [0,0,1], \"power\": 60}], \"materials\": {"
        "\"wall\": {\"kind\": \"glass\", \"priority\": 3}, "
        "\"liquid\": {\"kind\": \"glass\", \"ior\": 1.33, \"medium\": \"milk\", "
        "\"priority\": 1}, "
        "\"flint\": {\"kind\": \"glass\", \"cauchy\": [1.6,0.01,0], \"priority\": 2}, "
        "\"frosted\": {\"kind\": \"principled\", \"transmission_weight\": 1, \"ior\": 1.4, "
        "\"roughness\": 0.4}}, \"meshes\": ["
        "{\"quad\": [[-4,0,4],[4,0,4],[4,0,-4],[-4,0,-4]]},"
        "{\"sphere\": {\"centre\": [0,1,0], \"triangles\": 500}, \"material\": \"wall\"},"
        "{\"sphere\": {\"centre\": [0,1,0], \"radius\": 0.8, \"triangles\": 500}, "
        "\"inward\": true, \"material\": \"wall\"},"
        "{\"sphere\": {\"centre\": [0,1,0], \"radius\": 0.9, \"triangles\": 500}, "
        "\"material\": \"liquid\"},"
        "{\"box\": {\"lo\": [-0.4,0.6,-0.2], \"hi\": [0.1,1.1,0.3]}, \"material\": \"flint\"},"
        "{\"box\": {\"lo\": [0,0.7,0], \"hi\": [0.4,1.2,0.4]}, \"material\": \"frosted\"}]}";
    for (int m = 0; m < 6; ++m) expect_equal_bits(text, methods[m]);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_device_is_cpu),
                                       cmocka_unit_test(test_nested)};
    if (gpu_is_missing()) return TEST_SKIPPED;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
