/* Photon beams on a CUDA device: beams, rays and pictures equal the CPU's bit for bit, with
   `photon` and `sppm`, for every kernel, few and many beams, media without a surface, in
   glass and in the whole scene, through walls and in gather rays; and resumed on either device. */
#include "tests/photon/device_matches_cpu.h"
#include "tests/scenes/files.h"

/* A room of fog with a dividing wall, smoke without a surface, thin fog in glass, and a mirror that
   sends light along the camera's rays. */
static const char *const hazy =
    "{\"kandela\": 1, \"media\": {"
    "\"fog\": {\"scattering\": [0.3, 0.4, 0.5], \"absorption\": 0.05, \"g\": 0.4},"
    "\"haze\": {\"scattering\": 0.2, \"g\": 0.7},"
    "\"smoke\": {\"scattering\": [4, 3, 2], \"absorption\": [0.2, 0.4, 0.6], \"g\": -0.2}},"
    "\"fog\": \"fog\", \"materials\": {"
    "\"white\": {\"diffuse\": [0.7, 0.7, 0.6]},"
    "\"satin\": {\"kind\": \"plastic\", \"diffuse\": [0.2, 0.5, 0.1], \"roughness\": 0.4},"
    "\"veil\": {\"diffuse\": 0.6, \"opacity\": 0.4},"
    "\"mirror\": {\"kind\": \"mirror\", \"specular\": 0.9},"
    "\"glass\": {\"kind\": \"glass\", \"ior\": 1.5, \"medium\": \"haze\"},"
    "\"smoke\": {\"opacity\": 0, \"medium\": \"smoke\"}},"
    "\"meshes\": ["
    "{\"quad\": [[-2, 0, 2], [2, 0, 2], [2, 0, -2], [-2, 0, -2]], \"material\": \"white\"},"
    "{\"quad\": [[-2, 0, -2], [2, 0, -2], [2, 3, -2], [-2, 3, -2]], \"material\": \"mirror\"},"
    "{\"quad\": [[-2, 0, 2], [-2, 0, -2], [-2, 3, -2], [-2, 3, 2]], \"material\": \"satin\"},"
    "{\"quad\": [[0, 0, 1], [0, 0, -1], [0, 2, -1], [0, 2, 1]], \"material\": \"white\"},"
    "{\"quad\": [[-1.5, 0, 1], [-0.5, 0, 1], [-0.5, 1, 1], [-1.5, 1, 1]], \"material\": "
    "\"veil\"},"
    "{\"sphere\": {\"centre\": [-1, 1.6, 0], \"radius\": 0.4, \"triangles\": 300}, "
    "\"material\": \"glass\"},"
    "{\"box\": {\"lo\": [0.5, 0.01, -1], \"hi\": [1.5, 1, 0.5]}, \"material\": \"smoke\"}],"
    "\"lights\": [{\"kind\": \"spot\", \"position\": [0.3, 2.9, 0.5], \"look_at\": [-1, 0, -0.3], "
    "\"power\": 60},"
    "{\"kind\": \"spot\", \"position\": [0, 1.2, 3.9], \"look_at\": [0.6, 1.1, 0], \"power\": 30},"
    "{\"kind\": \"area\", \"corner\": [-1, 2.9, -1], \"edge_u\": [1, 0, 0], \"edge_v\": [0, 0, 1], "
    "\"power\": 30}],"
    "\"camera\": {\"eye\": [0, 1.2, 4], \"look_at\": [0, 1.1, 0], \"fov\": 50}}";

static int files_make(void **state) {
    if (folder_make(state)) return 1;
    file_put_text("hazy.json", hazy);
    return 0;
}

static kd_render_options options_for(const char *method) {
    kd_render_options options;
    kd_render_options_default(&options);
    strcpy(options.integrator, method);
    strcpy(options.media, "beams");
    options.width = (int32_t)gpu_size(61, 7);
    options.height = (int32_t)gpu_size(43, 5);
    options.spp = options.passes = 2;
    options.photons = gpu_size(5000, 100);
    options.media_photons = gpu_size(8000, 200);
    if (gpu_is_emulated()) strcpy(options.builder, "sweep"); /* the CPU builds the tree faster */
    options.max_depth = 12;
    return options;
}

/* Expects equal pictures from both devices, to which the beams contribute. */
static void expect_same_volume(const kd_render_options *options) {
    const char *path = file_in("hazy.json");
    const run_result cpu = run_on_device(path, options, "cpu", NULL, NULL);
    const run_result result = run_on_device(path, options, "cuda:0", NULL, NULL);
    kd_render_options points = *options;
    memset(points.media, 0, sizeof points.media);
    strcpy(points.media, "points");
    expect_equal(path, options, &cpu, &result);
    assert_true(result.frame.volume_stored >= options->media_photons);
    if (options->passes == 2) /* with points the picture differs, so beams are used */
        assert_true(run_on_device(path, &points, "cpu", NULL, NULL).image != result.image);
}

static void test_photon(void **state) {
    (void)state;
    static const char *const kernels[] = {"cone", "gaussian", "disc", "epanechnikov"};
    static const int32_t gathers[] = {50, 5, 20, 200};
    for (int i = 0; i < 4; ++i) {
        if (gpu_leaves_out((uint32_t)i, 2) || test_leaves_out((uint32_t)i, 4)) continue;
        kd_render_options options = options_for("photon");
        strcpy(options.kernel, kernels[i]);
        options.gather = gathers[i];
        expect_same_volume(&options);
    }
}

/* Radii from a hair's width to the whole room, with one beam and with few. The smallest radius
   needs half a million tiles. */
static void test_radii(void **state) {
    (void)state;
    static const float radii[] = {1e-4f, 0.05f, 3};
    static const uint32_t beams[] = {4000, 7, 1};
    for (int i = 0; i < 3; ++i) {
        if (test_leaves_out((uint32_t)i, 2)) continue;
        kd_render_options options = options_for("photon");
        options.radius = radii[i];
        if (gpu_is_emulated() && test_leaves_out(1, 2)) options.radius = float_max(radii[i], 0.2f);
        options.media_photons = gpu_is_emulated() ? beams[i] / 40 + 1 : beams[i];
        const run_result cpu = run_on_device(file_in("hazy.json"), &options, "cpu", NULL, NULL);
        const run_result result =
            run_on_device(file_in("hazy.json"), &options, "cuda:0", NULL, NULL);
        expect_equal("hazy", &options, &cpu, &result);
    }
}

static void test_gathered_in_batches(void **state) {
    (void)state;
    for (int i = 0; i < 3; ++i) {
        if (gpu_leaves_out((uint32_t)i + 1, 2)) continue;
        kd_render_options options = options_for("photon");
        options.final_gather = i == 1 ? 0 : 2;
        options.batches = i == 1 ? 2 : 1;
        strcpy(options.lookup, i == 2 ? "walk" : "auto");
        options.precompute = i == 0;
        expect_same_volume(&options);
    }
}

static void test_progressive(void **state) {
    (void)state;
    for (int i = 0; i < 3; ++i) {
        if (gpu_leaves_out((uint32_t)i, 2) || test_leaves_out((uint32_t)i + 2, 4)) continue;
        kd_render_options options = options_for("sppm");
        options.passes = 3;
        options.final_gather = i == 2;
        options.batches = i == 0 ? 2 : 1;
        expect_same_volume(&options);
    }
}

/* A picture rendered by both devices in turn equals that of one device. */
static void test_resumed(void **state) {
    (void)state;
    static const char *const device[] = {"cuda:0", "cpu", "cuda:0"};
    kd_render_options options = options_for("sppm");
    options.passes = 6;
    const char *path = file_in("hazy.json");
    const run_result whole = run_on_device(path, &options, "cpu", NULL, NULL);
    char kept[512];
    snprintf(kept, sizeof kept, "%s", file_in("resumed.state"));
    render_keeping keeping = {.state = kept};
    for (int part = 0; part < 3; ++part) {
        options.passes = 2 * (part + 1);
        keeping.resume = part > 0;
        const run_result last =
            run_on_device(file_in("hazy.json"), &options, device[part], &keeping, NULL);
        assert_int_equal(last.status, KD_OK);
        if (part == 2) expect_equal("resumed", &options, &whole, &last);
    }
}

int main(void) {
    if (gpu_is_missing()) return TEST_SKIPPED;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_photon),
        cmocka_unit_test(test_radii),
        cmocka_unit_test(test_gathered_in_batches),
        cmocka_unit_test(test_progressive),
        cmocka_unit_test(test_resumed),
    };
    return cmocka_run_group_tests(tests, files_make, folder_remove);
}
