/* A CUDA device renders the same pictures as the CPU, bit for bit: whole, cropped and resumed. */
#include "accel/rays/tree_device.h"
#include "accel/wide/compressed_form.h"
#include "core/device/device.h"
#include "render/frame/pixel.h"
#include "tests/photon/device_matches_cpu.h"
#include "tests/scenes/files.h"

/* --- scenes ----------------------------------------------------------------------------------- */

/* Writes a texture of 16 x 16 texels, RGB; `pattern` selects their values. */
static void write_texture(const char *name, int pattern) {
    char bytes[15 + 3 * 256 + 1];
    const int head = snprintf(bytes, sizeof bytes, "P6\n16 16\n255\n");
    for (int i = 0; i < 256; ++i) {
        const int x = i % 16, y = i / 16;
        const int dark = (x / 4 + y / 4) % 2;
        const int colour[4][3] = {{40 + 13 * x, 250 - 9 * y, dark ? 30 : 200},
                                  {dark ? 0 : 255, dark ? 0 : 255, dark ? 0 : 255},
                                  {128 + 4 * (x - 8), 128 + 5 * (y - 8), 250},
                                  {(x * y) % 256, (x * y) % 256, (x * y) % 256}};
        for (int c = 0; c < 3; ++c) bytes[head + 3 * i + c] = (char)colour[pattern][c];
    }
    file_put(name, bytes, (size_t)head + 3 * 256);
}

/* Writes a sky of 6 x 4 texels with a small sun. */
static void write_sky(void) {
    char bytes[256];
    const int head =
        snprintf(bytes, sizeof bytes, "#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y 4 +X 6\n");
    for (int i = 0; i < 24; ++i) {
        const int texel[4] = {90 + 5 * i, 120 + 3 * i, 200, i == 8 ? 134 : 127};
        for (int c = 0; c < 4; ++c) bytes[head + 4 * i + c] = (char)texel[c];
    }
    file_put("sky.hdr", bytes, (size_t)head + 96);
}

static const char *const still =
    "{\"kandela\": 1, \"materials\": {"
    "\"floor\": {\"diffuse_map\": \"colour.ppm\", \"map_scale\": [3, 3], \"bump_map\": "
    "\"grey.ppm\", \"bump_scale\": 0.1},"
    "\"fence\": {\"diffuse\": [0.2, 0.5, 0.9], \"opacity_map\": \"holes.ppm\"},"
    "\"veil\": {\"diffuse\": 0.6, \"opacity\": 0.4},"
    "\"glass\": {\"kind\": \"glass\", \"ior\": 1.5},"
    "\"frost\": {\"kind\": \"glass\", \"ior\": 1.4, \"roughness\": 0.4, \"transmission\": [0.9, 1, "
    "0.8]},"
    "\"gold\": {\"kind\": \"conductor\", \"specular\": [1, 0.8, 0.3], \"roughness\": 0.3},"
    "\"coat\": {\"kind\": \"plastic\", \"diffuse\": [0.7, 0.1, 0.1], \"roughness_map\": "
    "\"grey.ppm\", \"roughness\": 0.5, \"normal_map\": \"normal.ppm\", \"metallic\": 0.3},"
    "\"layers\": {\"kind\": \"principled\", \"diffuse\": [0.2, 0.4, 0.8], \"roughness\": 0.6, "
    "\"metallic\": 0.4, \"anisotropy\": 0.6, \"coat\": 1, \"coat_roughness_map\": \"grey.ppm\", "
    "\"coat_roughness\": 0.5, \"sheen\": [0.3, 0.1, 0.2], \"transmission_weight\": 0.5},"
    "\"window\": {\"kind\": \"principled\", \"diffuse\": [0.9, 0.8, 0.7], "
    "\"transmission_weight\": 1, \"thin\": true, \"roughness\": 0.2, \"specular_tint\": [1, 0.5, "
    "0.2]},"
    "\"lamp\": {\"diffuse\": 0, \"emission\": [9, 8, 7], \"two_sided\": true}},"
    "\"meshes\": ["
    "{\"quad\": [[-4, 0, 4], [4, 0, 4], [4, 0, -4], [-4, 0, -4]], \"material\": \"floor\"},"
    "{\"quad\": [[-2, 0, 1], [2, 0, 1], [2, 1, 1], [-2, 1, 1]], \"material\": \"fence\"},"
    "{\"quad\": [[-2, 0, 2], [0, 0, 2], [0, 2, 2], [-2, 2, 2]], \"material\": \"veil\"},"
    "{\"quad\": [[0.2, 0, 1.5], [1, 0, 1.2], [1, 1.5, 1.2], [0.2, 1.5, 1.5]], \"material\": "
    "\"window\"},"
    "{\"sphere\": {\"centre\": [0.1, 1.5, -0.5], \"radius\": 0.5, \"triangles\": 800}, "
    "\"material\": \"layers\"},"
    "{\"quad\": [[-2, 3, -1], [-1, 3, -1], [-1, 3, 0], [-2, 3, 0]], \"material\": \"lamp\"},"
    "{\"sphere\": {\"centre\": [-1.5, 0.5, 0], \"radius\": 0.5, \"triangles\": 800}, "
    "\"material\": \"glass\"},"
    "{\"sphere\": {\"centre\": [-0.4, 0.5, 0], \"radius\": 0.5, \"triangles\": 800}, "
    "\"material\": \"frost\"},"
    "{\"sphere\": {\"centre\": [0.7, 0.5, 0], \"radius\": 0.5, \"triangles\": 800}, "
    "\"material\": \"gold\"},"
    "{\"sphere\": {\"centre\": [1.8, 0.5, 0], \"radius\": 0.5, \"triangles\": 800}, "
    "\"material\": \"coat\"}],"
    "\"environment\": {\"image\": \"sky.hdr\", \"rotation_degrees\": 35},"
    "\"camera\": {\"eye\": [0, 1.5, 5], \"look_at\": [0, 0.6, 0], \"fov\": 45, \"lens_radius\": "
    "0.05}}";

static const char *const lamps =
    "{\"kandela\": 1, \"meshes\": ["
    "{\"quad\": [[-4, 0, 4], [4, 0, 4], [4, 0, -4], [-4, 0, -4]], \"uv\": [2, 2], \"material\": "
    "{\"diffuse_map\": \"colour.ppm\"}},"
    "{\"sphere\": {\"centre\": [0, 1, 0], \"triangles\": 2000}, \"material\": {\"kind\": "
    "\"plastic\", \"roughness\": 0}},"
    "{\"box\": {\"lo\": [1, 0, 1], \"hi\": [2, 1, 2]}, \"material\": {\"kind\": \"mirror\"}}],"
    "\"lights\": [{\"kind\": \"point\", \"position\": [2, 3, 2], \"power\": 90},"
    "{\"kind\": \"spot\", \"position\": [-2, 3, 1], \"look_at\": [0, 0, 0], \"power\": 60},"
    "{\"kind\": \"directional\", \"direction\": [1, -2, -1], \"irradiance\": 0.5},"
    "{\"kind\": \"area\", \"corner\": [-3, 2, -3], \"edge_u\": [0, 1, 0], \"edge_v\": [1, 0, 0], "
    "\"power\": 30, \"two_sided\": true}],"
    "\"camera\": {\"eye\": [0, 2, 6], \"look_at\": [0, 0.6, 0]}}";

/* Light reaches the camera through a gap, so that vcm guides paths. */
static const char *const door =
    "{\"kandela\": 1, \"materials\": {\"white\": {\"diffuse\": 0.7}}, \"meshes\": ["
    "{\"box\": {\"lo\": [-2, 0, -4], \"hi\": [2, 2.4, 2]}, \"inward\": true, \"material\": "
    "\"white\"},"
    "{\"box\": {\"lo\": [-2, 0, -1.05], \"hi\": [1.6, 2.4, -0.95]}, \"material\": \"white\"},"
    "{\"box\": {\"lo\": [1.66, 0, -1.05], \"hi\": [2, 2.4, -0.95]}, \"material\": \"white\"}],"
    "\"lights\": [{\"kind\": \"area\", \"corner\": [-1, 2.39, -3], \"edge_u\": [2, 0, 0], "
    "\"edge_v\": [0, 0, 1], \"radiance\": 60}],"
    "\"camera\": {\"eye\": [-0.8, 1.4, 1.9], \"look_at\": [0.2, 1, -1], \"fov\": 60}}";

static int files_make(void **state) {
    if (folder_make(state)) return 1;
    write_texture("colour.ppm", 0);
    write_texture("holes.ppm", 1);
    write_texture("normal.ppm", 2);
    write_texture("grey.ppm", 3);
    write_sky();
    file_put_text("still.json", still);
    file_put_text("lamps.json", lamps);
    file_put_text("door.json", door);
    return 0;
}

/* --- runs ------------------------------------------------------------------------------------- */

static kd_render_options options_for(const char *method) {
    kd_render_options options;
    kd_render_options_default(&options);
    strcpy(options.integrator, method);
    options.width = (int32_t)gpu_size(61, 11); /* not a multiple of the tile size */
    options.height = (int32_t)gpu_size(43, 7);
    options.spp = (int32_t)gpu_size(6, 2);
    options.passes = 3;
    options.photons = gpu_size(20000, 800);
    if (gpu_is_emulated()) strcpy(options.builder, "sweep"); /* the CPU builds the tree faster */
    options.max_depth = 12;
    return options;
}

/* --- tests ------------------------------------------------------------------------------------ */

static const char *scene_path(int index) {
    static const char *const paths[] = {KD_TEST_SOURCE_DIR "/scenes/cornell_diffuse.json",
                                        KD_TEST_SOURCE_DIR "/scenes/cornell_caustic.json",
                                        KD_TEST_SOURCE_DIR "/scenes/glass_of_water.json"};
    if (index < 3) return paths[index];
    return index == 3 ? file_in("still.json") : index == 4 ? file_in("lamps.json") : NULL;
}

static void every_scene(const char *method, bool through_lens) {
    for (int i = 0; scene_path(i); ++i) {
        if (i == 3 && !through_lens) continue;
        if (gpu_leaves_out((uint32_t)i, 2) || test_leaves_out((uint32_t)i, 4)) continue;
        const kd_render_options options = options_for(method);
        expect_same(scene_path(i), &options);
    }
}

static void test_path(void **state) {
    (void)state;
    every_scene("path", true);
}

static void test_filters(void **state) {
    (void)state;
    for (int filter = 1; pixel_filter_name(filter); ++filter) {
        kd_render_options options = options_for(filter == 1 ? "path" : "whitted");
        options.filter = filter;
        expect_same(scene_path(3), &options);
        expect_same(scene_path(4), &options);
    }
}

static void test_direct(void **state) {
    (void)state;
    every_scene("direct", true);
}

static void test_whitted(void **state) {
    (void)state;
    every_scene("whitted", true);
}

static void test_ambient_occlusion(void **state) {
    (void)state;
    every_scene("ao", true);
}

static void test_light(void **state) {
    (void)state;
    every_scene("light", false);
}

static void test_vcm(void **state) {
    (void)state;
    every_scene("vcm", true);
    const kd_render_options options = options_for("vcm");
    expect_same(file_in("door.json"), &options);
}

/* Without the environment where the camera sees it. */
static void test_background(void **state) {
    (void)state;
    static const char *const methods[] = {"path", "direct", "whitted", "ao", "photon", "sppm"};
    for (int i = 0; i < 6; ++i) {
        kd_render_options options = options_for(methods[i]);
        options.photons = options.caustic_photons = 2000;
        options.passes = 2;
        strcpy(options.background, "transparent");
        expect_same(scene_path(3), &options);
    }
}

static void test_debug(void **state) {
    (void)state;
    static const char *const channels[] = {"normals", "depth", "ids"};
    for (int c = 0; c < 3; ++c) {
        kd_render_options options = options_for("debug");
        strcpy(options.channel, channels[c]);
        expect_same(scene_path(3), &options);
        expect_same(scene_path(4), &options);
    }
}

/* Debug channels of photons, on scenes with cut-outs, a smooth coat and mirrors. */
static void test_debug_photons(void **state) {
    (void)state;
    static const char *const channels[] = {"density", "radius", "distance"};
    static const char *const estimators[] = {"nearest", "adaptive", "fixed"};
    for (int i = 0; i < 6; ++i) {
        kd_render_options options = options_for("debug");
        strcpy(options.channel, channels[i % 3]);
        strcpy(options.estimator, estimators[i < 3 ? 0 : (i - 2) % 3]);
        strcpy(options.kernel, i < 3 ? "cone" : "gaussian");
        options.spp = 2;
        options.gather = i < 3 ? 50 : 7;
        expect_same(scene_path(3 + i % 2), &options);
    }
}

static void test_crops(void **state) {
    (void)state;
    const int32_t right = (int32_t)gpu_size(61, 11), bottom = (int32_t)gpu_size(43, 7);
    const int32_t crops[][4] = {
        {0, 0, 1, 1}, {3, 2, right - 1, bottom - 3}, {right - 1, bottom - 1, right, bottom}};
    for (int c = 0; c < 3; ++c) {
        kd_render_options options = options_for(c == 1 ? "light" : "path");
        memcpy(options.crop, crops[c], sizeof options.crop);
        expect_same(scene_path(4), &options);
    }
}

/* Trees of the CPU's builders give the same pictures. */
static void test_builders(void **state) {
    (void)state;
    static const char *const names[] = {"sweep", "binned", "median"};
    for (int b = 0; b < 3; ++b) {
        kd_render_options options = options_for("path");
        const run_result cpu = run_on_device(scene_path(3), &options, "cpu", NULL, NULL);
        strcpy(options.builder, names[b]);
        const run_result result = run_on_device(scene_path(3), &options, "cuda", NULL, NULL);
        assert_true(cpu.image == result.image && cpu.frame.rays == result.frame.rays);
    }
}

/* Trees that keep only the compressed form and the mesh give the same pictures. */
static void test_lean_trees(void **state) {
    (void)state;
    static const char *const methods[] = {"path", "whitted", "vcm"};
    tritree_cuda_lean_from(0);
    for (int i = 0; i < 3; ++i) {
        const kd_render_options options = options_for(methods[i]);
        expect_same(scene_path(i == 1 ? 0 : 4), &options);
    }
    tritree_cuda_lean_from(COMPRESSED_MANY);
}

/* A picture rendered by both devices in turn equals that of one device. */
static void test_resumed(void **state) {
    (void)state;
    static const char *const names[] = {"path", "light"};
    for (int n = 0; n < 2; ++n) {
        kd_render_options options = options_for(names[n]);
        options.passes = options.spp = 9;
        const run_result whole = run_on_device(scene_path(0), &options, "cpu", NULL, NULL);
        char *path = file_in("resumed.state");
        char kept[512];
        snprintf(kept, sizeof kept, "%s", path);
        render_keeping keeping = {.state = kept};
        static const char *const device[] = {"cuda", "cpu", "cuda"};
        run_result last;
        memset(&last, 0, sizeof last);
        for (int part = 0; part < 3; ++part) {
            options.passes = options.spp = 3 * (part + 1);
            keeping.resume = part > 0;
            last = run_on_device(scene_path(0), &options, device[part], &keeping, NULL);
            assert_int_equal(last.status, KD_OK);
        }
        assert_true(last.image == whole.image && last.frame.rays == whole.frame.rays);
        assert_true(last.frame.photon_rays == whole.frame.photon_rays);
    }
}

/* Cancels when the picture is saved for the first time, which happens early, however fast the
   device is. */
static kd_status cancel(void *context, const render_result *so_far) {
    (void)so_far;
    atomic_store(&((job_control *)context)->cancelled, true);
    return KD_OK;
}

/* A rendering that is cancelled anywhere and saved all the time gives the same final picture. */
static void test_interrupted(void **state) {
    (void)state;
    kd_render_options options = options_for("path");
    options.width = (int32_t)gpu_size(500, 50);
    options.height = (int32_t)gpu_size(300, 30);
    options.spp = 40;
    const run_result whole = run_on_device(scene_path(0), &options, "cpu", NULL, NULL);
    char kept[512];
    snprintf(kept, sizeof kept, "%s", file_in("interrupted.state"));
    render_keeping keeping = {.state = kept, .every_seconds = 1e-4};
    job_control job;
    job_init(&job);
    keeping.show = cancel;
    keeping.context = &job;
    run_result last = run_on_device(scene_path(0), &options, "cuda", &keeping, &job);
    assert_int_equal(last.status, KD_INTERRUPTED);
    assert_true(last.samples < 40);
    keeping.resume = true;
    keeping.show = NULL;
    last = run_on_device(scene_path(0), &options, "cuda", &keeping, NULL);
    assert_int_equal(last.status, KD_OK);
    assert_true(last.image == whole.image && last.frame.rays == whole.frame.rays);
}

static void test_time_limit(void **state) {
    (void)state;
    kd_render_options options = options_for("path");
    options.spp = 1 << 24;
    options.time_seconds = 0.05;
    const run_result result = run_on_device(scene_path(0), &options, "cuda", NULL, NULL);
    assert_int_equal(result.status, KD_OK);
    assert_true(result.samples >= 1 && result.samples < 1 << 24);
    options.time_seconds = 0;
    options.spp = result.samples;
    if (result.samples < 2000) {
        const run_result cpu = run_on_device(scene_path(0), &options, "cpu", NULL, NULL);
        const run_result again = run_on_device(scene_path(0), &options, "cuda", NULL, NULL);
        assert_true(cpu.image == again.image);
    }
}

/* A target error stops at the same pass as on the CPU, because the variances are equal. */
static void test_target_error(void **state) {
    (void)state;
    kd_render_options options = options_for("path");
    options.spp = 200;
    options.target_error = 0.1;
    expect_same(scene_path(0), &options);
    const run_result result = run_on_device(scene_path(0), &options, "cuda", NULL, NULL);
    assert_true(result.samples > 3 && result.samples < 200);
}

int main(void) {
    if (gpu_is_missing()) return TEST_SKIPPED;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_path),
        cmocka_unit_test(test_filters),
        cmocka_unit_test(test_direct),
        cmocka_unit_test(test_whitted),
        cmocka_unit_test(test_ambient_occlusion),
        cmocka_unit_test(test_light),
        cmocka_unit_test(test_vcm),
        cmocka_unit_test(test_background),
        cmocka_unit_test(test_debug),
        cmocka_unit_test(test_debug_photons),
        cmocka_unit_test(test_crops),
        cmocka_unit_test(test_builders),
        cmocka_unit_test(test_lean_trees),
        cmocka_unit_test(test_resumed),
        cmocka_unit_test(test_interrupted),
        cmocka_unit_test(test_time_limit),
        cmocka_unit_test(test_target_error),
    };
    return cmocka_run_group_tests(tests, files_make, folder_remove);
}
