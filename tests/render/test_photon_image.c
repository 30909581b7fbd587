/* Pictures by photon maps: furnaces, and comparisons with path tracing. */
#include "shoot.h"
#include "still_life.h"
#include "test.h"

static scene_fixture stage;

static uint32_t add_material(int32_t kind, float albedo, float emission) {
    material made = material_default();
    made.kind = kind;
    made.diffuse = made.specular = vec3_all(albedo);
    made.emission = vec3_all(emission);
    return fixture_material(&stage, made);
}

static void add_room(uint32_t made_of) {
    const uint32_t walls[6] = {made_of, made_of, made_of, made_of, made_of, made_of};
    fixture_box(&stage, walls, vec3_make(-1, -1, -1), vec3_make(1, 1, 1), true);
}

static kd_render_options small_options(const char *name, int32_t size, int32_t spp) {
    kd_render_options options;
    kd_render_options_default(&options);
    strcpy(options.integrator, name);
    options.width = options.height = size;
    options.spp = spp;
    options.max_depth = 64;
    options.photons = 50000;
    return options;
}

static const camera inside = {{0.1f, -0.2f, 0.9f}, {0, 0, 0}, {0, 1, 0}, 80, 0, 0, 0};

static double furnace_mean(const kd_render_options *options) {
    shot s = shoot(&stage, &inside, options, NULL);
    assert_int_equal(s.status, KD_OK);
    assert_int_equal(s.statistics.nan_samples, 0);
    const frame_statistics *sums = &s.statistics;
    expect_near(sums->watts_absorbed + sums->watts_escaped + sums->watts_ended, sums->watts_emitted,
                1e-6 * sums->watts_emitted);
    const double mean = shot_mean(&s, "R");
    image_close(&s.picture);
    return mean;
}

/* Walls of albedo 1/2 and emission 1 have the radiance 2 in every direction, by every kernel and
   with final gather. */
static void test_furnace(void **state) {
    (void)state;
    fixture_clear(&stage);
    add_room(add_material(MATERIAL_DIFFUSE, 0.5f, 1));
    fixture_finish(&stage);
    static const char *const names[] = {"disc", "cone", "epanechnikov"};
    for (int i = 0; i < 3; ++i) {
        kd_render_options options = small_options("photon", 32, 4);
        strcpy(options.kernel, names[i]);
        expect_near(furnace_mean(&options), 2, 0.02);
    }
    kd_render_options options = small_options("photon", 16, 16);
    options.final_gather = 8;
    expect_near(furnace_mean(&options), 2, 0.02);
}

/* In a furnace, objects without absorption are invisible; their caustics are as bright as the
   rest. */
static void test_lossless_balls_vanish(void **state) {
    (void)state;
    static const int32_t kinds[3] = {MATERIAL_GLASS, MATERIAL_MIRROR, MATERIAL_CONDUCTOR};
    for (int i = 0; i < 3; ++i) {
        fixture_clear(&stage);
        add_room(add_material(MATERIAL_DIFFUSE, 0.5f, 1));
        fixture_ball(&stage, add_material(kinds[i], 1, 0), vec3_make(0, 0, 0), 0.5f, 16);
        fixture_finish(&stage);
        const kd_render_options options = small_options("photon", 24, 4);
        expect_near(furnace_mean(&options), 2, 0.02);
    }
}

static void test_threads_make_no_difference(void **state) {
    (void)state;
    still_life_build(&stage);
    kd_render_options options = small_options("photon", 24, 2);
    options.photons = 5000;
    uint64_t hashes[4], photons[4];
    for (int i = 0; i < 4; ++i) {
        options.threads = i % 2 ? 5 : 1;
        options.final_gather = i < 2 ? 0 : 2;
        shot s = shoot(&stage, &still_life_camera, &options, NULL);
        hashes[i] = image_hash(&s.picture);
        photons[i] = s.statistics.photon_hash;
        assert_true(s.statistics.photons_stored >= 5000 && s.statistics.caustics_stored >= 5000);
        image_close(&s.picture);
    }
    parallel_set_threads(0);
    assert_true(hashes[0] == hashes[1] && hashes[2] == hashes[3] && hashes[0] != hashes[2]);
    assert_true(photons[0] == photons[1] && photons[0] == photons[2]);
}

static void test_misuse_is_refused(void **state) {
    (void)state;
    still_life_build(&stage);
    kd_render_options options = small_options("photon", 4, 1);
    options.gather = 0;
    assert_int_equal(shoot(&stage, &still_life_camera, &options, NULL).status, KD_ERROR_USAGE);
    options = small_options("photon", 4, 1);
    strcpy(options.kernel, "round");
    assert_int_equal(shoot(&stage, &still_life_camera, &options, NULL).status, KD_ERROR_USAGE);
    options = small_options("photon", 4, 1);
    options.final_gather = -1;
    assert_int_equal(shoot(&stage, &still_life_camera, &options, NULL).status, KD_ERROR_USAGE);
    job_control job;
    job_init(&job);
    atomic_store(&job.cancelled, true);
    options = small_options("photon", 4, 1);
    options.photons = 10000000;
    assert_int_equal(shoot(&stage, &still_life_camera, &options, &job).status, KD_INTERRUPTED);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_furnace),
        cmocka_unit_test(test_lossless_balls_vanish),
        cmocka_unit_test(test_threads_make_no_difference),
        cmocka_unit_test(test_misuse_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
