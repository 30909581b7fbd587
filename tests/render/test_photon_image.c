/* Pictures by photon maps: furnaces, and the same pictures as path tracing takes. */
#include "shoot.h"
#include "test.h"

static scene_fixture stage;

static void expect_near(double found, double expected, double tolerance) {
    if (!(fabs(found - expected) <= tolerance))
        fail_msg("%.9g, expected %.9g within %g", found, expected, tolerance);
}

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

static const camera inside = {{0.1f, -0.2f, 0.9f}, {0, 0, 0}, {0, 1, 0}, 80, 0, 0};

static double furnace_mean(const kd_render_options *options) {
    shot s = shoot(&stage, &inside, options, NULL);
    assert_int_equal(s.status, KD_OK);
    assert_int_equal(s.statistics.nan_samples, 0);
    const frame_statistics *sums = &s.statistics;
    expect_near(sums->watts_absorbed + sums->watts_escaped + sums->watts_ended,
                sums->watts_emitted, 1e-6 * sums->watts_emitted);
    const double mean = shot_mean(&s, "R");
    image_close(&s.picture);
    return mean;
}

/* Albedo 1/2, every wall emits 1: 2 in every direction, by every kernel and with final gather. */
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
    kd_render_options options = small_options("photon", 16, 4);
    options.final_gather = 8;
    expect_near(furnace_mean(&options), 2, 0.02);
}

/* In a furnace whatever absorbs nothing cannot be seen; its caustics are as bright as the rest. */
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

/* A floor, a wall and a ball of every material under a lamp and a sky. */
static void build_still_life(void) {
    fixture_clear(&stage);
    const uint32_t white = add_material(MATERIAL_DIFFUSE, 0.7f, 0);
    fixture_quad(&stage, white, vec3_make(-3, -1, 3), vec3_make(3, -1, 3), vec3_make(3, -1, -2),
                 vec3_make(-3, -1, -2));
    fixture_quad(&stage, white, vec3_make(-3, -1, -2), vec3_make(3, -1, -2), vec3_make(3, 3, -2),
                 vec3_make(-3, 3, -2));
    const uint32_t lamp = add_material(MATERIAL_DIFFUSE, 0, 6);
    fixture_quad(&stage, lamp, vec3_make(-1, 2, -1), vec3_make(1, 2, -1), vec3_make(1, 2, 1),
                 vec3_make(-1, 2, 1));
    for (int i = 0; i < 6; ++i) {
        material made = material_default();
        made.kind = i < 3 ? MATERIAL_GLASS + i : i - 3 < 2 ? MATERIAL_MIRROR + 3 * (i - 3) : 2;
        made.specular = vec3_make(0.9f, 0.7f, 0.5f);
        made.diffuse = vec3_make(0.5f, 0.6f, 0.7f);
        made.roughness = i == 4 || i == 5 ? 0 : 0.6f;
        made.opacity = i == 0 ? 0.8f : 1;
        fixture_ball(&stage, fixture_material(&stage, made),
                     vec3_make(-1.6f + 0.64f * (float)i, -0.7f, 0.3f * (float)(i % 2)), 0.3f, 10);
    }
    light sky;
    memset(&sky, 0, sizeof sky);
    sky.kind = LIGHT_ENVIRONMENT;
    sky.emitted = vec3_make(0.3f, 0.5f, 0.8f);
    sky.power = 20;
    stage.sky = stage.light_count;
    fixture_light(&stage, sky);
    fixture_finish(&stage);
}

static const camera front = {{0, 0.5f, 5}, {0, -0.2f, 0}, {0, 1, 0}, 40, 0, 0};

/* Mean of (a - b)^2 / (b^2 + 0.01) over blocks of n x n pixels, of the three colours. */
static double block_relmse(const image *a, const image *b, int32_t n) {
    static const char *const names[] = {"R", "G", "B"};
    double error = 0;
    const int32_t across = a->width / n, down = a->height / n;
    for (int c = 0; c < 3; ++c) {
        const float *p = image_plane(a, names[c]), *q = image_plane(b, names[c]);
        for (int32_t block = 0; block < across * down; ++block) {
            double mean_a = 0, mean_b = 0;
            for (int32_t i = 0; i < n * n; ++i) {
                const int32_t x = block % across * n + i % n, y = block / across * n + i / n;
                mean_a += (double)p[y * a->width + x] / (n * n);
                mean_b += (double)q[y * a->width + x] / (n * n);
            }
            error += (mean_a - mean_b) * (mean_a - mean_b) / (mean_b * mean_b + 0.01);
        }
    }
    return error / (3 * across * down);
}

static void test_agrees_with_paths(void **state) {
    (void)state;
    build_still_life();
    kd_render_options options = small_options("path", 32, 512);
    shot reference = shoot(&stage, &front, &options, NULL);
    assert_int_equal(reference.status, KD_OK);
    for (int gather = 0; gather <= 8; gather += 8) {
        options = small_options("photon", 32, 32);
        options.photons = 100000;
        options.final_gather = gather;
        shot s = shoot(&stage, &front, &options, NULL);
        assert_int_equal(s.status, KD_OK);
        assert_int_equal(s.statistics.nan_samples, 0);
        const double error = block_relmse(&s.picture, &reference.picture, 8);
        if (!(error < 0.003)) fail_msg("final gather %d: relmse %.5f", gather, error);
        for (int c = 0; c < 3; ++c) {
            const char *const name = c == 0 ? "R" : c == 1 ? "G" : "B";
            const double expected = shot_mean(&reference, name);
            expect_near(shot_mean(&s, name), expected, 0.02 * expected);
        }
        image_close(&s.picture);
    }
    image_close(&reference.picture);
}

static void test_threads_make_no_difference(void **state) {
    (void)state;
    build_still_life();
    kd_render_options options = small_options("photon", 24, 2);
    options.photons = 5000;
    uint64_t hashes[4], photons[4];
    for (int i = 0; i < 4; ++i) {
        options.threads = i % 2 ? 5 : 1;
        options.final_gather = i < 2 ? 0 : 2;
        shot s = shoot(&stage, &front, &options, NULL);
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
    build_still_life();
    kd_render_options options = small_options("photon", 4, 1);
    options.gather = 0;
    assert_int_equal(shoot(&stage, &front, &options, NULL).status, KD_ERROR_USAGE);
    options = small_options("photon", 4, 1);
    strcpy(options.kernel, "round");
    assert_int_equal(shoot(&stage, &front, &options, NULL).status, KD_ERROR_USAGE);
    options = small_options("photon", 4, 1);
    options.final_gather = -1;
    assert_int_equal(shoot(&stage, &front, &options, NULL).status, KD_ERROR_USAGE);
    job watched;
    job_init(&watched);
    atomic_store(&watched.cancelled, true);
    options = small_options("photon", 4, 1);
    options.photons = 10000000;
    assert_int_equal(shoot(&stage, &front, &options, &watched).status, KD_INTERRUPTED);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_furnace),
        cmocka_unit_test(test_lossless_balls_vanish),
        cmocka_unit_test(test_agrees_with_paths),
        cmocka_unit_test(test_threads_make_no_difference),
        cmocka_unit_test(test_misuse_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
