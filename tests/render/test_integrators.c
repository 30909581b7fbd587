/* Whitted ray trees, occlusion, light tracing and debug channels against other methods; wavefront
   paths against single ones. */
#include "accel/builders.h"
#include "core/hash.h"
#include "core/image_processing/compare.h"
#include "render/frame/integrator.h"
#include "render/frame/waves.h"
#include "render/integrators/debug_channel.h"
#include "render/integrators/pixel_methods.h"
#include "scenes/assembly/scene.h"
#include "shoot.h"
#include "still_life.h"
#include "test.h"
#include "tests/scenes/files.h"

static scene_fixture stage;

static kd_render_options small_options(const char *name, int32_t size, int32_t spp) {
    kd_render_options options;
    kd_render_options_default(&options);
    strcpy(options.integrator, name);
    options.width = options.height = size;
    options.spp = options.passes = spp;
    return options;
}

static shot take(const camera *view, const kd_render_options *options) {
    shot s = shoot(&stage, view, options, NULL);
    assert_int_equal(s.status, KD_OK);
    assert_int_equal(s.statistics.nan_samples, 0);
    return s;
}

static double mean_of(const camera *view, const kd_render_options *options) {
    shot s = take(view, options);
    const double mean = shot_mean(&s, "R");
    image_close(&s.picture);
    return mean;
}

/* Whitted ray tracing, which follows both branches at glass, gives the picture of the integrator
   `direct`, which follows a random one. */
static void test_whitted_is_direct(void **state) {
    (void)state;
    still_life_build(&stage);
    kd_render_options options = small_options("whitted", 32, 64);
    options.max_depth = 12;
    const double split = mean_of(&still_life_camera, &options);
    strcpy(options.integrator, "direct");
    const double drawn = mean_of(&still_life_camera, &options);
    expect_near(split, drawn, 0.01 * drawn);
}

static const camera above = {{0, 2, 0.001f}, {0, 0, 0}, {0, 1, 0}, 20, 0, 0, 0};

/* A floor under a large lid: the open sky is white, and objects closer than the radius occlude
   it. */
static void test_occlusion(void **state) {
    (void)state;
    fixture_clear(&stage);
    const uint32_t white = still_life_diffuse(&stage, 0.5f, 0);
    fixture_quad(&stage, white, vec3_make(-9, 0, 9), vec3_make(9, 0, 9), vec3_make(9, 0, -9),
                 vec3_make(-9, 0, -9));
    fixture_finish(&stage);
    kd_render_options options = small_options("ao", 8, 4);
    expect_near(mean_of(&above, &options), 1, 0);
    fixture_quad(&stage, white, vec3_make(-9, 3, 9), vec3_make(9, 3, 9), vec3_make(9, 3, -9),
                 vec3_make(-9, 3, -9));
    fixture_finish(&stage);
    options.spp = 256;
    options.radius = 2.9f;
    expect_near(mean_of(&above, &options), 1, 0);
    options.radius = 6; /* rays within 60 degrees of the normal hit the lid */
    expect_near(mean_of(&above, &options), 0.25, 0.01);
}

/* Gives the floor of fixture_box, the third of its faces, a shading normal far from its own. */
static void tilt_floor(void) {
    for (uint32_t i = 3 * 4; i < 3 * 6; ++i) {
        stage.normals[i] = vec3_normalize(vec3_make(0.8f, 0.6f, 0));
        stage.normal_indices[i] = i;
    }
}

/* Light tracing and path tracing give the same picture of a scene without specular surfaces in
   view, by all cameras and filters. */
static void test_light_is_path(void **state) {
    (void)state;
    for (int tilted = 0; tilted < 3; ++tilted) {
        fixture_clear(&stage);
        const uint32_t grey = still_life_diffuse(&stage, 0.6f, 0);
        const uint32_t lamp = still_life_diffuse(&stage, 0.2f, 4);
        const uint32_t walls[6] = {grey, grey, grey, lamp, grey, grey};
        fixture_box(&stage, walls, vec3_make(-1, -1, -1), vec3_make(1, 1, 1), true);
        if (tilted == 1) tilt_floor();
        fixture_finish(&stage);
        camera inside = {{0.1f, -0.2f, 0.9f}, {0, -0.4f, 0}, {0, 1, 0}, 70, 0, 0, 0};
        kd_render_options options = small_options("light", 16, 16);
        options.photons = 100000;
        if (tilted == 2) {
            inside.lens_radius = 0.05f;
            options.filter = PIXEL_FILTER_GAUSSIAN;
        }
        shot splats = take(&inside, &options);
        options.photons = 0;
        strcpy(options.integrator, "path");
        options.spp = 512;
        shot paths = take(&inside, &options);
        double error = -1;
        assert_int_equal(
            compare_images(&error, &splats.picture, &paths.picture, COMPARE_RELMSE, 1, NULL),
            KD_OK);
        assert_true(error < 0.002);
        expect_near(shot_mean(&splats, "R"), shot_mean(&paths, "R"),
                    0.005 * shot_mean(&paths, "R"));
        image_close(&splats.picture);
        image_close(&paths.picture);
    }
}

/* A small lamp out of focus above a floor: lens samples reduce the noise as more samples would, and
   change nothing else, by every method and filter. */
static void test_lens_samples(void **state) {
    (void)state;
    static const char *const methods[] = {"path", "photon", "sppm", "vcm", "direct", "whitted"};
    static const camera near = {{0, 1, 4}, {0, 0.6f, 0}, {0, 1, 0}, 40, 0.6f, 4, 0};
    fixture_clear(&stage);
    const uint32_t grey = still_life_diffuse(&stage, 0.02f, 1);
    const uint32_t lamp = still_life_diffuse(&stage, 0, 10);
    fixture_quad(&stage, grey, vec3_make(-4, 0, 4), vec3_make(4, 0, 4), vec3_make(4, 0, -8),
                 vec3_make(-4, 0, -8));
    fixture_quad(&stage, lamp, vec3_make(0.5f, 0.9f, -5), vec3_make(1, 0.9f, -5),
                 vec3_make(1, 1.4f, -5), vec3_make(0.5f, 1.4f, -5));
    fixture_finish(&stage);
    kd_render_options plain = small_options("path", 8, 1024);
    const double mean = mean_of(&near, &plain);
    for (int i = 0; i < 7; ++i) {
        kd_render_options options = small_options(methods[i % 6], 8, 4);
        options.photons = 500;
        if (i == 6) options.filter = PIXEL_FILTER_MITCHELL;
        shot few = take(&near, &options);
        options.lens_samples = 32;
        shot many = take(&near, &options);
        options.spp = options.passes = 8;
        options.lens_samples = 128;
        shot truth = take(&near, &options);
        double errors[2] = {-1, -1};
        for (int k = 0; k < 2; ++k)
            assert_int_equal(compare_images(&errors[k], k ? &many.picture : &few.picture,
                                            &truth.picture, COMPARE_RMSE, 1, NULL),
                             KD_OK);
        if (!(errors[1] < 0.3 * errors[0]))
            fail_msg("%s: %g, %g", options.integrator, errors[0], errors[1]);
        expect_near(shot_mean(&truth, "R"), mean, 0.03 * mean);
        image_close(&few.picture);
        image_close(&many.picture);
        image_close(&truth.picture);
    }
}

/* A white room, where a path scatters 33 times on average: at the default depth all methods give
   its radiance, 0.3 + 0.97 * 0.3 + ... = 10. */
static void test_white_room(void **state) {
    (void)state;
    fixture_clear(&stage);
    const uint32_t white = still_life_diffuse(&stage, 0.97f, 0.3f);
    const uint32_t walls[6] = {white, white, white, white, white, white};
    fixture_box(&stage, walls, vec3_make(-1, -1, -1), vec3_make(1, 1, 1), true);
    fixture_finish(&stage);
    static const camera inside = {{0.1f, -0.2f, 0.9f}, {0, -0.4f, 0}, {0, 1, 0}, 70, 0, 0, 0};
    static const char *const names[] = {"path", "light", "photon", "sppm"};
    for (int i = 0; i < 4; ++i) {
        kd_render_options options = small_options(names[i], 8, i == 0 ? 256 : 16);
        options.photons = i < 3 ? 20000 : 4000; /* of each pass */
        options.passes = 16;
        /* noise; a map has the photons of about 600 paths, whose lengths differ by 33 */
        expect_near(mean_of(&inside, &options), 10, i < 2 ? 0.25 : 1);
    }
}

static void test_threads_make_no_difference(void **state) {
    (void)state;
    still_life_build(&stage);
    for (const integrator *const *row = integrators; *row; ++row) {
        uint64_t hashes[2];
        for (int i = 0; i < 2; ++i) {
            kd_render_options options = small_options((*row)->name, 16, 2);
            options.photons = 4000;
            strcpy(options.channel, "density");
            options.threads = i ? 5 : 1;
            shot s = take(&still_life_camera, &options);
            hashes[i] = image_hash(&s.picture);
            image_close(&s.picture);
        }
        assert_true(hashes[0] == hashes[1]);
    }
    parallel_set_threads(0);
}

/* The debug channels of photons in a furnace. The density is known; the radius never exceeds the
   distance to the k-th photon. */
static void test_debug_channels(void **state) {
    (void)state;
    fixture_clear(&stage);
    const uint32_t wall = still_life_diffuse(&stage, 0.5f, 1);
    const uint32_t walls[6] = {wall, wall, wall, wall, wall, wall};
    fixture_box(&stage, walls, vec3_make(-1, -1, -1), vec3_make(1, 1, 1), true);
    fixture_finish(&stage);
    static const camera inside = {{0, 0, 0.9f}, {0, 0, 0}, {0, 1, 0}, 60, 0, 0, 0};
    kd_render_options options = small_options("debug", 16, 4);
    options.photons = 24000; /* on 24 square metres: 1000 per square metre */
    strcpy(options.channel, "density");
    expect_near(mean_of(&inside, &options), 1000, 30);
    strcpy(options.channel, "distance");
    const double distance = mean_of(&inside, &options);
    expect_near(distance, sqrt(50 / (1000 * 3.14159)), 0.1 * distance);
    strcpy(options.channel, "radius");
    expect_near(mean_of(&inside, &options), distance, 0.02 * distance);
    strcpy(options.channel, "depth");
    expect_near(mean_of(&inside, &options), 1.9, 0.35);
    strcpy(options.channel, "normals");
    assert_true(mean_of(&inside, &options) > 0.4);
    strcpy(options.channel, "ids");
    assert_true(mean_of(&inside, &options) > 0.1);
    strcpy(options.channel, "smell");
    assert_int_equal(shoot(&stage, &inside, &options, NULL).status, KD_ERROR_USAGE);
}

static void test_misuse_is_refused(void **state) {
    (void)state;
    still_life_build(&stage);
    kd_render_options options = small_options("light", 4, 1);
    options.photons = (1u << 30) + 1;
    assert_int_equal(shoot(&stage, &still_life_camera, &options, NULL).status, KD_ERROR_USAGE);
}

enum { WIDTH = 40, HEIGHT = 24, EACH = 3, COUNT = WIDTH * HEIGHT * EACH };

/* --- wavefront paths: all planes of the film, through cut-outs, media, coloured glass --------- */

/* Cut-outs in front of cut-outs, in fog, with dispersive glass and a mirror. */
static const char *const curtains =
    "{\"kandela\": 1, \"media\": {\"fog\": {\"absorption\": 0.03, \"scattering\": [0.2, 0.15, "
    "0.1], \"g\": -0.3}}, \"fog\": \"fog\", \"materials\": {"
    "\"veil\": {\"diffuse\": [0.3, 0.5, 0.6], \"opacity\": 0.3},"
    "\"flint\": {\"kind\": \"glass\", \"cauchy\": [1.6, 0.012, 0]},"
    "\"mirror\": {\"kind\": \"mirror\"},"
    "\"lamp\": {\"diffuse\": 0, \"emission\": [7, 8, 9], \"two_sided\": true}},"
    "\"meshes\": ["
    "{\"quad\": [[-4, 0, 4], [4, 0, 4], [4, 0, -4], [-4, 0, -4]]},"
    "{\"quad\": [[-2, 0, 2], [1, 0, 2], [1, 2, 2], [-2, 2, 2]], \"material\": \"veil\"},"
    "{\"quad\": [[-1, 0, 1], [1, 0, 1], [1, 2, 1], [-1, 2, 1]], \"material\": \"veil\"},"
    "{\"quad\": [[-2, 3, -1], [-1, 3, -1], [-1, 3, 0], [-2, 3, 0]], \"material\": \"lamp\"},"
    "{\"box\": {\"lo\": [1, 0, 0], \"hi\": [2, 1, 1]}, \"material\": \"mirror\"},"
    "{\"sphere\": {\"centre\": [-0.6, 0.6, 0], \"radius\": 0.6, \"triangles\": 200}, "
    "\"material\": \"flint\"}],"
    "\"camera\": {\"eye\": [0, 1.5, 5], \"look_at\": [0, 0.6, 0], \"fov\": 45}}";

static int files_make(void **state) {
    if (folder_make(state)) return 1;
    file_put_text("curtains.json", curtains);
    return 0;
}

static void same_sample(const pixel_sample *got, const pixel_sample *expected, const char *name,
                        const pixel_request *at) {
    if (memcmp(got, expected, sizeof *got) != 0)
        fail_msg("%s, pixel %d %d, sample %u: %.9g by %u rays, expected %.9g by %u", name, at->x,
                 at->y, at->sample, (double)got->radiance.x, got->rays,
                 (double)expected->radiance.x, expected->rays);
}

static uint32_t compare_pool(const pixel_view *view, const path_options *options,
                             const char *name) {
    static pixel_request request[COUNT];
    static pixel_sample got[COUNT];
    uint32_t count = 0, seen = 0;
    for (int32_t y = 0; y < HEIGHT; ++y)
        for (int32_t x = 0; x < WIDTH; ++x)
            for (uint32_t s = 0; s < EACH; ++s)
                request[count++] = (pixel_request){x, y, s + (uint32_t)x % 2};
    memset(got, 0x55, sizeof got);
    path_pool_take(view, options, request, 0, got, NULL);
    path_pool_take(view, options, request, 1, got, NULL);
    path_pool_take(view, options, request + 1, COUNT - 2, got + 1, NULL);
    path_pool_take(view, options, request + COUNT - 1, 1, got + COUNT - 1, NULL);
    for (uint32_t i = 0; i < COUNT; ++i) {
        const pixel_sample expected = path_pixel(view, SCENE_INSTANCED, options, request[i].x,
                                                 request[i].y, request[i].sample);
        same_sample(got + i, &expected, name, request + i);
        seen += vec3_largest(expected.radiance) > 0;
    }
    return seen;
}

static void expect_pool_matches(const char *path) {
    kd_render_options options;
    scene *made = NULL;
    tritree tree;
    kd_render_options_default(&options);
    assert_int_equal(scene_open(&made, path, &options, NULL), KD_OK);
    scene_view view = scene_get_view(made);
    const tritree_input input = {view.mesh.positions, view.mesh.triangles, view.mesh.position_count,
                                 view.mesh.triangle_count};
    const tritree_options build = tritree_options_default();
    assert_int_equal(tritree_open(&tree, &input, &build, "auto", NULL), KD_OK);
    view.tree = tritree_get_view(&tree);
    const pixel_view pixels = {.scene = &view,
                               .eye = scene_camera(made),
                               .width = WIDTH,
                               .height = HEIGHT,
                               .filter = PIXEL_FILTER_BOX,
                               .seed = 7};
    const bool cutouts = integrator_has_cutouts(&view);
    const path_options strategies[] = {{20, 4, INT32_MAX, cutouts, 0, 0},
                                       {1, 0, INT32_MAX, cutouts, 0, 0},
                                       {9, 0, 1, cutouts, 0.1f, 0.5f}};
    assert_true(compare_pool(&pixels, &strategies[0], path) > COUNT / 20);
    for (int i = 1; i < 3; ++i) compare_pool(&pixels, &strategies[i], path);
    tritree_close(&tree);
    scene_close(made);
}

static void test_wavefront_matches_single_paths(void **state) {
    (void)state;
    expect_pool_matches(KD_TEST_SOURCE_DIR "/scenes/cornell_diffuse.json");
    expect_pool_matches(KD_TEST_SOURCE_DIR "/scenes/cornell_fog.json");
    expect_pool_matches(KD_TEST_SOURCE_DIR "/scenes/prism.json");
    expect_pool_matches(KD_TEST_SOURCE_DIR "/scenes/glass_of_water.json");
    expect_pool_matches(file_in("curtains.json"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whitted_is_direct),
        cmocka_unit_test(test_occlusion),
        cmocka_unit_test(test_light_is_path),
        cmocka_unit_test(test_lens_samples),
        cmocka_unit_test(test_white_room),
        cmocka_unit_test(test_threads_make_no_difference),
        cmocka_unit_test(test_debug_channels),
        cmocka_unit_test(test_misuse_is_refused),
        cmocka_unit_test(test_wavefront_matches_single_paths),
    };
    return cmocka_run_group_tests(tests, files_make, folder_remove);
}
