/* Path tracing of scenes with known solutions, and properties of the frame loop: the same bits for
   any division of the work, interruption, scale invariance. */
#include "accel/builders.h"
#include "accel/rays/batch.h"
#include "shaders/path.h"
#include "shoot.h"
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
    return options;
}

static const camera inside = {{0, 0, 0.9f}, {0, 0, 0}, {0, 1, 0}, 70, 0, 0, 0};

/* Walls of albedo 1/2 and emission 1: the radiance is 1 + 1/2 + 1/4 + ... = 2 in every direction;
   direct light is the sum of the first two terms. */
static void test_furnace(void **state) {
    (void)state;
    fixture_clear(&stage);
    add_room(add_material(MATERIAL_DIFFUSE, 0.5f, 1));
    fixture_finish(&stage);
    static const char *const names[2] = {"path", "direct"};
    static const double expected[2] = {2, 1.5};
    for (int i = 0; i < 2; ++i) {
        const kd_render_options options = small_options(names[i], 32, 64);
        shot s = shoot(&stage, &inside, &options, NULL);
        assert_int_equal(s.status, KD_OK);
        expect_near(shot_mean(&s, "R"), expected[i], 0.01 * expected[i]);
        expect_near(shot_mean(&s, "Albedo.G"), 0.5, 1e-6);
        expect_near(shot_mean(&s, "A"), 1, 0);
        assert_int_equal(s.statistics.nan_samples, 0);
        image_close(&s.picture);
    }
}

/* Mirrors of reflectance 1/2 and emission 1 have the radiance 1 + 1/2 + 1/4 + ..., one term for
   each specular event that is allowed; scattering at diffuse walls is not limited. */
static void test_specular_limit(void **state) {
    (void)state;
    static const char *const names[] = {"path", "whitted", "photon"};
    static const struct {
        int32_t max_specular;
        double radiance;
    } cases[] = {{1, 1}, {2, 1.5}, {4, 1.875}, {0, 1.96875}};
    fixture_clear(&stage);
    add_room(add_material(MATERIAL_MIRROR, 0.5f, 1));
    fixture_finish(&stage);
    for (size_t n = 0; n < sizeof names / sizeof *names; ++n)
        for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
            kd_render_options options = small_options(names[n], 8, 4);
            options.max_depth = 6;
            options.max_specular = cases[i].max_specular;
            options.photons = 100;
            shot s = shoot(&stage, &inside, &options, NULL);
            assert_int_equal(s.status, KD_OK);
            /* from the fifth event on, roulette adds noise to path */
            expect_near(shot_mean(&s, "G"), cases[i].radiance, cases[i].max_specular ? 1e-5 : 0.05);
            image_close(&s.picture);
        }
    fixture_clear(&stage);
    add_room(add_material(MATERIAL_DIFFUSE, 0.5f, 1));
    fixture_finish(&stage);
    kd_render_options options = small_options("path", 16, 64);
    options.max_specular = 2;
    shot s = shoot(&stage, &inside, &options, NULL);
    expect_near(shot_mean(&s, "G"), 2, 0.03);
    image_close(&s.picture);
}

/* In a furnace, objects without absorption are invisible. */
static void test_lossless_balls_vanish(void **state) {
    (void)state;
    static const int32_t kinds[4] = {MATERIAL_GLASS, MATERIAL_MIRROR, MATERIAL_PLASTIC,
                                     MATERIAL_DIFFUSE};
    static const int rings[4] = {16, 16, 16, 6};
    for (int i = 0; i < 4; ++i) {
        fixture_clear(&stage);
        add_room(add_material(MATERIAL_DIFFUSE, 0.5f, 1));
        fixture_ball(&stage, add_material(kinds[i], 1, 0), vec3_make(0, 0, 0), 0.5f, rings[i]);
        fixture_finish(&stage);
        const kd_render_options options = small_options("path", 32, 64);
        shot s = shoot(&stage, &inside, &options, NULL);
        assert_int_equal(s.status, KD_OK);
        expect_near(shot_mean(&s, "R"), 2, 0.015);
        image_close(&s.picture);
    }
}

/* An independent estimate: a path that samples BSDFs only, with independent random numbers. */
static vec3 naive_radiance(const scene_view *scene, ray ray, rng_key key) {
    vec3 radiance = vec3_all(0), throughput = vec3_all(1);
    for (uint32_t depth = 1; depth <= 12; ++depth) {
        const ray_hit hit = tritree_closest(&scene->tree, ray);
        if (hit.triangle == KD_NONE)
            return vec3_add(radiance,
                            vec3_mul(throughput, environment_radiance(scene, ray.direction)));
        const surface at = surface_at(scene, &ray, hit);
        radiance = vec3_add(radiance, vec3_mul(throughput, at.emission));
        const bsdf_sample next =
            bsdf_draw(&at, vec3_negate(ray.direction), rng_draw(key, depth, 1), BSDF_RADIANCE);
        if (vec3_is_zero(next.weight)) break;
        throughput = vec3_mul(throughput, next.weight);
        ray = surface_leave(&at, next.direction, INFINITY);
    }
    return radiance;
}

/* All rough materials on a floor, under a lamp and a sky. */
static void make_mixed_scene(void) {
    fixture_clear(&stage);
    const uint32_t ground = add_material(MATERIAL_DIFFUSE, 0.6f, 0);
    fixture_quad(&stage, ground, vec3_make(-3, -1, 3), vec3_make(3, -1, 3), vec3_make(3, -1, -3),
                 vec3_make(-3, -1, -3));
    const uint32_t lamp = add_material(MATERIAL_DIFFUSE, 0, 4);
    fixture_quad(&stage, lamp, vec3_make(-1, 2, -1), vec3_make(1, 2, -1), vec3_make(1, 2, 1),
                 vec3_make(-1, 2, 1));
    material rough = material_default();
    for (int i = 0; i < 4; ++i) {
        rough.kind = MATERIAL_GLASS + i % 3;
        rough.specular = vec3_make(0.9f, 0.6f, 0.3f);
        rough.roughness = i == 3 ? 0 : 0.5f;
        rough.metallic = 0.3f;
        fixture_ball(&stage, fixture_material(&stage, rough),
                     vec3_make(-1.2f + 0.8f * (float)i, -0.6f, 0), 0.38f, 12);
    }
    light sky;
    memset(&sky, 0, sizeof sky);
    sky.kind = LIGHT_ENVIRONMENT;
    sky.emitted = vec3_make(0.3f, 0.5f, 0.8f);
    sky.power = 5;
    stage.sky = stage.light_count;
    fixture_light(&stage, sky);
    fixture_finish(&stage);
}

enum { MIXED_SIZE = 24, MIXED_BLOCK = 6, MIXED_BLOCKS = 16, MIXED_SPP = 256 };

/* Computes the coordinates of pixel `i` of block `b`. */
static void block_pixel(int b, int i, int *x, int *y) {
    const int blocks_across = MIXED_SIZE / MIXED_BLOCK;
    *x = b % blocks_across * MIXED_BLOCK + i % MIXED_BLOCK;
    *y = b / blocks_across * MIXED_BLOCK + i / MIXED_BLOCK;
}

static void naive_blocks(const camera *view, double mean[MIXED_BLOCKS]) {
    scene_view scene = fixture_view(&stage);
    const tritree_input input = {scene.mesh.positions, scene.mesh.triangles,
                                 scene.mesh.position_count, scene.mesh.triangle_count};
    const tritree_options options = tritree_options_default();
    tritree tree;
    assert_int_equal(tritree_open(&tree, &input, &options, "auto", NULL), KD_OK);
    scene.tree = tritree_get_view(&tree);
    const int pixels = MIXED_BLOCK * MIXED_BLOCK, count = MIXED_SPP * pixels;
    for (int b = 0; b < MIXED_BLOCKS; ++b) {
        mean[b] = 0;
        for (int i = 0; i < count; ++i) {
            int x, y;
            block_pixel(b, i % pixels, &x, &y);
            const rng_key key = rng_key_make(77, 0, (uint64_t)(b * count + i));
            const ray ray = camera_ray(view, MIXED_SIZE, MIXED_SIZE, x, y, rng_draw(key, 0, 0));
            mean[b] += (double)naive_radiance(&scene, ray, key).x / count;
        }
    }
    tritree_close(&tree);
}

/* The integrator, with next-event estimation and multiple importance sampling, gives the same
   picture as BSDF sampling alone. */
static void test_agrees_with_naive_paths(void **state) {
    (void)state;
    make_mixed_scene();
    const camera view = {{0, 0.4f, 4}, {0, -0.3f, 0}, {0, 1, 0}, 40, 0, 0, 0};
    kd_render_options options = small_options("path", MIXED_SIZE, MIXED_SPP);
    options.max_depth = 12;
    shot s = shoot(&stage, &view, &options, NULL);
    assert_int_equal(s.status, KD_OK);
    assert_int_equal(s.statistics.nan_samples, 0);
    double naive[MIXED_BLOCKS], error = 0;
    naive_blocks(&view, naive);
    const int pixels = MIXED_BLOCK * MIXED_BLOCK;
    for (int b = 0; b < MIXED_BLOCKS; ++b) {
        double path = 0;
        for (int i = 0; i < pixels; ++i) {
            int x, y;
            block_pixel(b, i, &x, &y);
            path += (double)image_plane(&s.picture, "R")[y * MIXED_SIZE + x] / pixels;
        }
        error += fabs(naive[b] - path) / naive[b] / MIXED_BLOCKS;
        if (fabs(naive[b] - path) > 0.12 * naive[b])
            fail_msg("block %d: naive %.4f, path %.4f", b, naive[b], path);
    }
    if (error > 0.03) fail_msg("mean difference %.4f", error);
    image_close(&s.picture);
}

/* Irradiance of a point source: albedo / pi I cos / d^2; half of it behind a surface of opacity
   1/2. */
static void test_point_light_and_opacity(void **state) {
    (void)state;
    for (int screen = 0; screen < 2; ++screen) {
        fixture_clear(&stage);
        const uint32_t ground = add_material(MATERIAL_DIFFUSE, 0.8f, 0);
        fixture_quad(&stage, ground, vec3_make(-1, 0, 1), vec3_make(1, 0, 1), vec3_make(1, 0, -1),
                     vec3_make(-1, 0, -1));
        material half = material_default();
        half.opacity = 0.5f;
        const uint32_t veil = fixture_material(&stage, half);
        if (screen)
            fixture_quad(&stage, veil, vec3_make(-1, 2, 1), vec3_make(1, 2, 1), vec3_make(1, 2, -1),
                         vec3_make(-1, 2, -1));
        light lamp;
        memset(&lamp, 0, sizeof lamp);
        lamp.kind = LIGHT_POINT;
        lamp.position = vec3_make(0, 3, 0);
        lamp.emitted = vec3_all(18);
        lamp.power = 1;
        fixture_light(&stage, lamp);
        fixture_finish(&stage);
        const camera view = {{0.5f, 1, 0}, {0, 0, 0}, {0, 0, -1}, 0.1f, 0, 0, 0};
        kd_render_options options = small_options("path", 4, 16);
        options.max_depth = 2;
        shot s = shoot(&stage, &view, &options, NULL);
        expect_near(shot_mean(&s, "G"), 0.8 / 3.14159265 * 18 / 9 * (screen ? 0.5 : 1), 1e-3);
        expect_near(shot_mean(&s, "Z"), sqrt(1.25), 1e-3);
        expect_near(shot_mean(&s, "N.Y"), 1, 1e-6);
        image_close(&s.picture);
        /* a half-opaque surface shows half of what is behind it */
        const camera above = {{0.5f, 2.9f, 0}, {0, 0, 0}, {0, 0, -1}, 0.1f, 0, 0, 0};
        options.spp = 1024;
        options.max_depth = 1;
        fixture_clear(&stage);
        const uint32_t glow = add_material(MATERIAL_DIFFUSE, 0, 3);
        fixture_quad(&stage, glow, vec3_make(-1, 0, 1), vec3_make(1, 0, 1), vec3_make(1, 0, -1),
                     vec3_make(-1, 0, -1));
        fixture_quad(&stage, fixture_material(&stage, half), vec3_make(-1, 2, 1),
                     vec3_make(1, 2, 1), vec3_make(1, 2, -1), vec3_make(-1, 2, -1));
        fixture_finish(&stage);
        s = shoot(&stage, &above, &options, NULL);
        expect_near(shot_mean(&s, "R"), 1.5, 0.03);
        image_close(&s.picture);
    }
}

/* A convex object under a uniform sky has the radiance of its albedo; the background is the sky. */
/* A mirror adds the light of a lamp's image, three times as far away as the lamp. Of a lamp without
   size it reaches the floor only if paths are regularised. */
static void test_regularised_caustic(void **state) {
    (void)state;
    static const camera view = {{0, 0.5f, 0}, {0, -1, 0}, {1, 0, 0}, 10, 0, 0, 0};
    double mean[2];
    fixture_clear(&stage);
    fixture_quad(&stage, add_material(MATERIAL_DIFFUSE, 0.5f, 0), vec3_make(-9, -1, 9),
                 vec3_make(9, -1, 9), vec3_make(9, -1, -9), vec3_make(-9, -1, -9));
    fixture_quad(&stage, add_material(MATERIAL_MIRROR, 1, 0), vec3_make(-9, 1, -9),
                 vec3_make(9, 1, -9), vec3_make(9, 1, 9), vec3_make(-9, 1, 9));
    light lamp;
    memset(&lamp, 0, sizeof lamp);
    lamp.kind = LIGHT_POINT;
    lamp.emitted = vec3_all(1);
    lamp.power = 4 * KD_PI;
    fixture_light(&stage, lamp);
    fixture_finish(&stage);
    for (int i = 0; i < 2; ++i) {
        kd_render_options options = small_options("path", 8, 256);
        options.max_depth = 3;
        options.regularise = i ? 0.4f : 0;
        shot s = shoot(&stage, &view, &options, NULL);
        assert_int_equal(s.status, KD_OK);
        mean[i] = shot_mean(&s, "R");
        image_close(&s.picture);
    }
    expect_near(mean[1] / mean[0], 1 + 1.0 / 9, 0.01);
}

static void test_sky(void **state) {
    (void)state;
    fixture_clear(&stage);
    fixture_ball(&stage, add_material(MATERIAL_DIFFUSE, 0.8f, 0), vec3_all(0), 1, 24);
    light sky;
    memset(&sky, 0, sizeof sky);
    sky.kind = LIGHT_ENVIRONMENT;
    sky.emitted = vec3_all(1);
    sky.power = 1;
    stage.sky = 0;
    fixture_light(&stage, sky);
    fixture_finish(&stage);
    const camera close_up = {{0, 0, 4}, {0, 0, 0}, {0, 1, 0}, 12, 0, 0, 0};
    const kd_render_options options = small_options("direct", 16, 16);
    shot s = shoot(&stage, &close_up, &options, NULL);
    expect_near(shot_mean(&s, "R"), 0.8, 0.002);
    image_close(&s.picture);
    const camera sky_camera = {{0, 0, 4}, {0, 0, 9}, {0, 1, 0}, 12, 0, 0, 0};
    s = shoot(&stage, &sky_camera, &options, NULL);
    expect_near(shot_mean(&s, "R"), 1, 0);
    assert_true(isinf(image_plane(&s.picture, "Z")[0]));
    image_close(&s.picture);
}

static void make_lit_room(void) {
    fixture_clear(&stage);
    add_room(add_material(MATERIAL_DIFFUSE, 0.7f, 0));
    const uint32_t lamp = add_material(MATERIAL_DIFFUSE, 0.2f, 5);
    fixture_quad(&stage, lamp, vec3_make(-0.3f, 0.9f, -0.3f), vec3_make(0.3f, 0.9f, -0.3f),
                 vec3_make(0.3f, 0.9f, 0.3f), vec3_make(-0.3f, 0.9f, 0.3f));
    fixture_ball(&stage, add_material(MATERIAL_GLASS, 1, 0), vec3_make(0.2f, -0.5f, 0), 0.4f, 12);
    fixture_finish(&stage);
}

/* The same bits on any number of threads, in a crop, and for direct light as paths of two
   surfaces. */
static void test_same_bits(void **state) {
    (void)state;
    make_lit_room();
    kd_render_options options = small_options("path", 40, 9);
    options.threads = 1;
    shot one = shoot(&stage, &inside, &options, NULL);
    options.threads = 8;
    shot eight = shoot(&stage, &inside, &options, NULL);
    assert_int_equal(image_hash(&one.picture), image_hash(&eight.picture));
    assert_int_equal(one.statistics.rays, eight.statistics.rays);
    const int32_t crop[4] = {7, 3, 31, 22};
    memcpy(options.crop, crop, sizeof crop);
    shot part = shoot(&stage, &inside, &options, NULL);
    assert_int_equal(part.picture.width, 24);
    assert_int_equal(part.picture.height, 19);
    for (int y = 0; y < 19; ++y)
        assert_memory_equal(image_plane(&part.picture, "G") + y * 24,
                            image_plane(&one.picture, "G") + (y + 3) * 40 + 7, 24 * sizeof(float));
    options.seed = 1;
    shot other = shoot(&stage, &inside, &options, NULL);
    assert_int_not_equal(image_hash(&part.picture), image_hash(&other.picture));
    image_close(&one.picture);
    image_close(&eight.picture);
    image_close(&part.picture);
    image_close(&other.picture);
    parallel_set_threads(0);
}

/* Cancelled before the first sample, the picture is black. Cancelled later, it has some of the
   samples. When time runs out, it has one sample per pixel, and there is no error. */
static void cancel_at_once(void *context, const char *name, int64_t done, int64_t total) {
    (void)name, (void)total;
    if (done > 0) atomic_store(&((job_control *)context)->cancelled, true);
}

static void test_interruption(void **state) {
    (void)state;
    make_lit_room();
    kd_render_options options = small_options("path", 32, 64);
    job_control job;
    job_init(&job);
    atomic_store(&job.cancelled, true);
    shot s = shoot(&stage, &inside, &options, &job);
    assert_int_equal(s.status, KD_INTERRUPTED);
    expect_near(shot_mean(&s, "R"), 0, 0);
    image_close(&s.picture);

    job_init(&job);
    job.report = cancel_at_once;
    job.context = &job;
    options.spp = 100000;
    s = shoot(&stage, &inside, &options, &job);
    assert_int_equal(s.status, KD_INTERRUPTED);
    assert_true(shot_mean(&s, "R") > 0);
    image_close(&s.picture);

    options.time_seconds = 1e-9;
    s = shoot(&stage, &inside, &options, NULL);
    assert_int_equal(s.status, KD_OK);
    assert_true(s.statistics.rays >= 32 * 32);
    image_close(&s.picture);
}

/* The renderer is scale-invariant: the same room at any size, within rounding. */
static void test_any_scale(void **state) {
    (void)state;
    double mean[3];
    for (int i = 0; i < 3; ++i) {
        make_lit_room();
        const float scale = i == 0 ? 1 : i == 1 ? 0x1p-20f : 0x1p20f;
        for (uint32_t v = 0; v < stage.vertex_count; ++v)
            stage.positions[v] = vec3_scale(stage.positions[v], scale);
        stage.light_count = 0;
        fixture_finish(&stage);
        camera view = inside;
        view.eye = vec3_scale(view.eye, scale);
        const kd_render_options options = small_options("path", 24, 16);
        shot s = shoot(&stage, &view, &options, NULL);
        mean[i] = shot_mean(&s, "R");
        assert_int_equal(s.statistics.nan_samples, 0);
        image_close(&s.picture);
    }
    expect_near(mean[1], mean[0], 1e-6 * mean[0]);
    expect_near(mean[2], mean[0], 1e-6 * mean[0]);
}

/* --- many lamps ------------------------------------------------------------------------------- */

enum { CORRIDOR_WIDTH = 32, CORRIDOR_HEIGHT = 24 };

static shot corridor_shoot(uint32_t lamps, int32_t spp, uint64_t seed) {
    static const camera view = {{0, 2.5f, 4}, {0, 0.5f, -3}, {0, 1, 0}, 50, 0, 0, 0};
    const float end = -1.5f * (float)lamps - 2;
    material made = material_default();
    fixture_clear(&stage);
    made.diffuse = vec3_all(0.6f);
    const uint32_t white = fixture_material(&stage, made);
    made.diffuse = vec3_all(0);
    made.emission = vec3_all(18);
    const uint32_t lamp = fixture_material(&stage, made);
    fixture_quad(&stage, white, vec3_make(-4, 0, 2), vec3_make(4, 0, 2), vec3_make(4, 0, end),
                 vec3_make(-4, 0, end));
    const uint32_t all_white[6] = {white, white, white, white, white, white};
    fixture_box(&stage, all_white, vec3_make(-1, 0, -4), vec3_make(0, 1, -3), false);
    for (uint32_t i = 0; i < lamps; ++i) {
        const float z = -1.5f * (float)i;
        fixture_quad(&stage, lamp, vec3_make(-0.3f, 3, z - 0.3f), vec3_make(0.3f, 3, z - 0.3f),
                     vec3_make(0.3f, 3, z + 0.3f), vec3_make(-0.3f, 3, z + 0.3f));
    }
    fixture_finish(&stage);
    kd_render_options options;
    kd_render_options_default(&options);
    strcpy(options.integrator, "path");
    options.width = CORRIDOR_WIDTH;
    options.height = CORRIDOR_HEIGHT;
    options.spp = spp;
    options.max_depth = 3;
    options.seed = seed;
    const shot taken = shoot(&stage, &view, &options, NULL);
    assert_int_equal(taken.status, KD_OK);
    return taken;
}

/* Squared difference of two samples per pixel and many, over the lower half of the picture, which
   shows the floor and the box, relative to the square of the latter. */
static double corridor_error(uint32_t lamps) {
    shot few = corridor_shoot(lamps, 2, 1), many = corridor_shoot(lamps, 256, 2);
    const float *a = image_plane(&few.picture, "R"), *b = image_plane(&many.picture, "R");
    double differences = 0, squares = 0;
    for (int i = CORRIDOR_WIDTH * CORRIDOR_HEIGHT / 2; i < CORRIDOR_WIDTH * CORRIDOR_HEIGHT; ++i) {
        const double expected = (double)b[i], difference = (double)a[i] - expected;
        differences += difference * difference;
        squares += expected * expected;
    }
    image_close(&few.picture);
    image_close(&many.picture);
    assert_true(squares > 0);
    return differences / squares;
}

/* A choice by power alone has 10 times the error with 33 lamps, and more than 100 times with 200.
 */
static void test_many_lamps(void **state) {
    (void)state;
    const double expected = corridor_error(32);
    static const uint32_t counts[] = {33, 200, 2000};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; ++i) {
        const double error = corridor_error(counts[i]);
        print_message("%u lamps: error %.4f, 32: %.4f\n", counts[i], error, expected);
        assert_true(error < 2 * expected);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_furnace),
        cmocka_unit_test(test_lossless_balls_vanish),
        cmocka_unit_test(test_agrees_with_naive_paths),
        cmocka_unit_test(test_point_light_and_opacity),
        cmocka_unit_test(test_regularised_caustic),
        cmocka_unit_test(test_sky),
        cmocka_unit_test(test_specular_limit),
        cmocka_unit_test(test_same_bits),
        cmocka_unit_test(test_interruption),
        cmocka_unit_test(test_any_scale),
        cmocka_unit_test(test_many_lamps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
