/* Methods that share little code converge to the same pictures: path tracing, photon maps with and
   without final gather, and sppm, on five scenes; test_furnaces_converge by every method; an energy
   ledger that closes. */
#include "core/image_processing/compare.h"
#include "render/api/render.h"
#include "test.h"
#include <unistd.h>

enum { SIDE = 40, BLOCK = 4, TEXELS = 64 };

static const char *const scene_path = "long_converge.json";
static const char *const texture_path = "long_converge.png";

/* A box with a blue glossy sphere, a rough metal one, and a coated floor. */
static const char glossy[] =
    "{\"kandela\": 1, \"meshes\": [{\"file\": \"gen:cornell\", \"materials\": {\"white\":"
    "{\"kind\": \"plastic\", \"roughness\": 0.4, \"diffuse\": 0.6}}},"
    "{\"sphere\": {\"centre\": [-0.3, 1.1, 0.6], \"radius\": 0.3, \"triangles\": 3000},"
    "\"material\": {\"kind\": \"plastic\", \"roughness\": 0.3, \"diffuse\": [0.1, 0.2, 0.7]}},"
    "{\"sphere\": {\"centre\": [0.45, 1.2, 0.5], \"radius\": 0.25, \"triangles\": 3000},"
    "\"material\": {\"kind\": \"conductor\", \"roughness\": 0.5, \"specular\": [0.9, 0.7, 0.4]}}],"
    "\"camera\": {\"eye\": [0, 1, 4.2], \"look_at\": [0, 1, 0], \"fov\": 35}}";

/* The hall with a textured carpet and hanging. */
static const char textured[] =
    "{\"kandela\": 1, \"materials\": {\"woven\": {\"diffuse\": 1, \"diffuse_map\":"
    "\"long_converge.png\"}}, \"meshes\": [{\"file\": \"gen:hall:20000\"},"
    "{\"quad\": [[-12, 0.05, 3], [8, 0.05, 3], [8, 0.05, -3], [-12, 0.05, -3]], \"uv\": [6, 2],"
    "\"material\": \"woven\"}],"
    "\"camera\": {\"eye\": [-12.6, 2.1, 0.9], \"look_at\": [4, 2.6, -0.5], \"fov\": 62}}";

/* A box filled with fog that is denser in the blue and scatters forwards. Where a photon's ball
   extends beyond a wall the estimate is too low: with this many photons by about 0.3 % of the
   picture. */
static const char foggy[] =
    "{\"kandela\": 1, \"media\": {\"haze\": {\"absorption\": [0.05, 0.1, 0.1],"
    "\"scattering\": [0.4, 0.5, 0.8], \"g\": 0.3}}, \"fog\": \"haze\","
    "\"meshes\": [{\"box\": {\"lo\": [-1, -1, -1], \"hi\": [1, 1, 1]}, \"inward\": true,"
    "\"material\": {\"diffuse\": 0.5}}],"
    "\"lights\": [{\"kind\": \"area\", \"corner\": [-0.3, 0.9, -0.3], \"edge_u\": [0.6, 0, 0],"
    "\"edge_v\": [0, 0, 0.6], \"power\": 50}],"
    "\"camera\": {\"eye\": [0, 0, 0.9], \"look_at\": [0, 0, 0], \"fov\": 70}}";

static void write_scene(const char *text) {
    FILE *file = fopen(scene_path, "wb");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* Writes red and white checks that fade to the right. */
static void write_texture(void) {
    image made;
    const image_encoding encoding = {.exposure = 0, .tonemap = KD_TONEMAP_LINEAR};
    assert_int_equal(image_open(&made, TEXELS, TEXELS), KD_OK);
    static const char *const names[] = {"R", "G", "B"};
    for (int c = 0; c < 3; ++c) {
        float *plane = NULL;
        assert_int_equal(image_add(&made, names[c], &plane), KD_OK);
        for (int i = 0; i < TEXELS * TEXELS; ++i) {
            const int x = i % TEXELS, y = i / TEXELS;
            const bool dark = (x / 8 + y / 8) % 2 == 0;
            plane[i] = (dark ? c == 0 ? 0.6f : 0.1f : 0.8f) * (1 - 0.5f * (float)x / TEXELS);
        }
    }
    assert_int_equal(image_write(&made, texture_path, &encoding), KD_OK);
    image_close(&made);
}

static void expect_energy(const frame_statistics *statistics) {
    const double end = statistics->watts_absorbed + statistics->watts_media +
                       statistics->watts_escaped + statistics->watts_ended;
    assert_true(statistics->watts_emitted > 0);
    if (!(fabs(end - statistics->watts_emitted) <= 1e-6 * statistics->watts_emitted))
        fail_msg("%.9g W of %.9g W emitted", end, statistics->watts_emitted);
}

static render_result shoot(const scene *scene, const kd_render_options *render_options,
                           const char *name) {
    kd_render_options options = *render_options;
    render_result made;
    memset(options.integrator, 0, sizeof options.integrator);
    strcpy(options.integrator, name);
    assert_int_equal(render_run(&made, scene, &options, NULL), KD_OK);
    assert_int_equal(made.frame.nan_samples, 0);
    if (made.frame.photons_stored) expect_energy(&made.frame);
    return made;
}

static double distance(const render_result *a, const render_result *b) {
    double error = (double)INFINITY;
    assert_int_equal(compare_images(&error, &a->picture, &b->picture, COMPARE_RELMSE, BLOCK, NULL),
                     KD_OK);
    return error;
}

/* Compares each method with path tracing: the relMSE of means of BLOCK x BLOCK pixels, and the mean
   of the picture. */
static void expect_one_picture(const char *path) {
    static const struct {
        const char *name;
        int32_t final_gather, samples, photons; /* photons: per map and pass */
        double maximum;
        float mean; /* relative bound; one map of the foggy box has a standard deviation of 1.3 % */
    } methods[] = {{"photon", 16, 16, 200000, 0.003, 0.02f},
                   {"photon", 0, 16, 400000, 0.005, 0.04f},
                   {"sppm", 0, 32, 60000, 0.008, 0.02f}};
    scene *made = NULL;
    kd_render_options options;
    kd_render_options_default(&options);
    assert_int_equal(scene_open(&made, path, &options, NULL), KD_OK);
    options.width = options.height = SIDE;
    options.spp = 512;
    options.gather = 50;
    render_result right = shoot(made, &options, "path");
    for (size_t i = 0; i < sizeof methods / sizeof *methods; ++i) {
        options.final_gather = methods[i].final_gather;
        options.spp = options.passes = methods[i].samples;
        options.photons = options.caustic_photons = (uint64_t)methods[i].photons;
        options.media_photons = options.photons;
        render_result seen = shoot(made, &options, methods[i].name);
        const double error = distance(&seen, &right);
        print_message("%s: %s with %d gather rays, relmse %.5f\n", path, methods[i].name,
                      methods[i].final_gather, error);
        assert_true(error < methods[i].maximum);
        for (int c = 0; c < 3; ++c)
            assert_float_equal(seen.mean_radiance[c], right.mean_radiance[c],
                               methods[i].mean * right.mean_radiance[c]);
        render_close(&seen);
    }
    render_close(&right);
    scene_close(made);
}

static void test_diffuse_box_converges(void **state) {
    (void)state;
    if (test_always_leaves_out(1, 2)) skip();
    expect_one_picture(KD_TEST_SOURCE_DIR "/scenes/cornell_diffuse.json");
}

static void test_glossy_scene_converges(void **state) {
    (void)state;
    write_scene(glossy);
    expect_one_picture(scene_path);
    unlink(scene_path);
}

static void test_caustic_demo_converges(void **state) {
    (void)state;
    expect_one_picture(KD_TEST_SOURCE_DIR "/scenes/cornell_caustic.json");
}

static void test_textured_hall_converges(void **state) {
    (void)state;
    if (test_always_leaves_out(1, 2)) skip();
    write_texture();
    write_scene(textured);
    expect_one_picture(scene_path);
    unlink(scene_path);
    unlink(texture_path);
}

static void test_foggy_box_converges(void **state) {
    (void)state;
    write_scene(foggy);
    expect_one_picture(scene_path);
    unlink(scene_path);
}

/* Walls of albedo 1/2 and emission 1 have the radiance 2 everywhere, and 1.5 without light that was
   reflected more than once. */
static void test_furnaces_converge(void **state) {
    (void)state;
    static const struct {
        const char *name;
        int32_t final_gather, samples;
        const char *estimator;
        float shown;
    } cases[] = {{"path", 0, 8, "nearest", 2},         {"photon", 0, 8, "nearest", 2},
                 {"photon", 0, 8, "fixed", 2},         {"photon", 4, 8, "nearest", 2},
                 {"sppm", 0, 8, "nearest", 2},         {"light", 0, 8, "nearest", 2},
                 {"whitted", 0, 256, "nearest", 1.5f}, {"direct", 0, 8, "nearest", 1.5f}};
    scene *made = NULL;
    kd_render_options options;
    kd_render_options_default(&options);
    assert_int_equal(scene_open(&made, KD_TEST_SOURCE_DIR "/scenes/furnace.json", &options, NULL),
                     KD_OK);
    options.width = options.height = SIDE;
    options.photons = 50000;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        options.spp = options.passes = cases[i].samples;
        options.final_gather = cases[i].final_gather;
        strcpy(options.estimator, cases[i].estimator);
        render_result seen = shoot(made, &options, cases[i].name);
        for (int c = 0; c < 3; ++c)
            if (!(fabsf(seen.mean_radiance[c] / cases[i].shown - 1) < 0.01f))
                fail_msg("%s: %g, expected %g within 1 %%", cases[i].name,
                         (double)seen.mean_radiance[c], (double)cases[i].shown);
        render_close(&seen);
    }
    scene_close(made);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_furnaces_converge),
        cmocka_unit_test(test_diffuse_box_converges),
        cmocka_unit_test(test_glossy_scene_converges),
        cmocka_unit_test(test_caustic_demo_converges),
        cmocka_unit_test(test_textured_hall_converges),
        cmocka_unit_test(test_foggy_box_converges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
