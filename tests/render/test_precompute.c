/* Precomputed irradiance reduces the cost of a final gather without changing the picture beyond
   noise. Light does not pass through walls, with final gather and without. */
#include "core/image_processing/compare.h"
#include "render/api/render.h"
#include "shoot.h"
#include "still_life.h"
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

/* --- a room that a wall divides: the lamp is on the far side, the camera on the near one --------
 */

/* The room, in metres. */
static const vec3 room_lo = {-2, 0, -4}, room_hi = {2, 2.4f, 2};
static const float wall_z = -1;

static scene_fixture stage;
static const camera camera_of_near_side = {
    {-0.8f, 1.4f, 1.9f}, {0.2f, 1, -1}, {0, 1, 0}, 60, 0, 0, 0};
/* sees no part of the dividing wall */
static const camera camera_of_dark_room = {
    {1.8f, 1.4f, -0.85f}, {-0.6f, 0.9f, 1.6f}, {0, 1, 0}, 60, 0, 0, 0};
static const camera camera_of_far_side = {
    {-0.8f, 1.4f, -3.9f}, {0.2f, 1, -1}, {0, 1, 0}, 60, 0, 0, 0};

/* Builds the room with a wall of this thickness that leaves a gap of width `gap` at the middle,
   from floor to ceiling. `pane`: of glass, 1 cm above the floor of the far side. */
static void build(float thickness, float gap, bool pane) {
    fixture_clear(&stage);
    const uint32_t white = still_life_diffuse(&stage, 0.75f, 0);
    const uint32_t lamp = still_life_diffuse(&stage, 0, 60);
    const uint32_t walls[6] = {white, white, white, white, white, white};
    fixture_box(&stage, walls, room_lo, room_hi, true);
    for (int side = 0; side < 2; ++side) {
        vec3 lo = room_lo, hi = room_hi;
        lo.z = wall_z - thickness / 2;
        hi.z = wall_z + thickness / 2;
        if (side == 0) hi.x = -gap / 2;
        if (side == 1) lo.x = gap / 2;
        fixture_box(&stage, walls, lo, hi, false);
    }
    fixture_quad(&stage, lamp, vec3_make(-1, 2.39f, -3), vec3_make(1, 2.39f, -3),
                 vec3_make(1, 2.39f, -2), vec3_make(-1, 2.39f, -2));
    if (pane) {
        material clear = material_default();
        clear.kind = MATERIAL_GLASS;
        const uint32_t glass = fixture_material(&stage, clear);
        const uint32_t sides[6] = {glass, glass, glass, glass, glass, glass};
        fixture_box(&stage, sides, vec3_make(-1.99f, 0.01f, -3.99f),
                    vec3_make(1.99f, 0.02f, -1.02f), false);
    }
    fixture_finish(&stage);
}

typedef struct gather_method {
    const char *integrator, *estimator;
    int32_t final_gather, samples;
} gather_method;

static const gather_method by_gather = {"photon", "nearest", 8, 8};

static double mean_radiance_by(const gather_method *method, const camera *view, uint64_t photons,
                               uint64_t seed) {
    kd_render_options options;
    kd_render_options_default(&options);
    strcpy(options.integrator, method->integrator);
    strcpy(options.estimator, method->estimator);
    options.width = options.height = 32;
    options.spp = options.passes = method->samples;
    options.final_gather = method->final_gather;
    options.photons = photons;
    options.seed = seed;
    shot s = shoot(&stage, view, &options, NULL);
    assert_int_equal(s.status, KD_OK);
    const double mean = shot_mean(&s, "G");
    image_close(&s.picture);
    return mean;
}

static double mean_radiance(const camera *view, uint64_t photons, uint64_t seed) {
    return mean_radiance_by(&by_gather, view, photons, seed);
}

static void test_sealed_room_is_dark(void **state) {
    (void)state;
    static const struct {
        float thickness;
        uint64_t photons;
        double most; /* of the lit side */
    } cases[] = {{0.1f, 10000, 2e-4}, {0.02f, 40000, 2e-4}};
    for (int i = 0; i < 2; ++i) {
        build(cases[i].thickness, 0, false);
        const double dark = mean_radiance(&camera_of_near_side, cases[i].photons, 1);
        const double lit = mean_radiance(&camera_of_far_side, cases[i].photons, 1);
        print_message("a wall of %g m: %.5f of %.3f\n", (double)cases[i].thickness, dark, lit);
        if (!(dark <= cases[i].most * lit))
            fail_msg("a wall of %g m: %g of %g", (double)cases[i].thickness, dark, lit);
    }
}

/* Maps that are seen directly leaked 1 % of the light at the foot of the wall, and 0.15 to 0.4 %
   where the lit floor is below glass. */
static void test_wall_hides_photons_without_gather(void **state) {
    (void)state;
    static const gather_method methods[] = {
        {"photon", "nearest", 0, 2}, {"photon", "fixed", 0, 2}, {"sppm", "nearest", 0, 2}};
    for (size_t i = 0; i < 2 * (sizeof methods / sizeof *methods); ++i) {
        const gather_method *method = &methods[i / 2];
        const bool pane = i % 2 == 1;
        build(0.02f, 0, pane);
        const double dark = mean_radiance_by(method, &camera_of_near_side, 10000, 1);
        const double lit = mean_radiance_by(method, &camera_of_far_side, 10000, 1);
        print_message("%s, %s%s: %.6f of %.3f\n", method->integrator, method->estimator,
                      pane ? ", pane" : "", dark, lit);
        if (!(lit > 1 && dark <= 2e-4 * lit))
            fail_msg("%s, %s%s: %g of %g", method->integrator, method->estimator,
                     pane ? ", pane" : "", dark, lit);
    }
}

static void test_light_through_a_gap(void **state) {
    (void)state;
    const double right = 0.2341; /* by `path` with 2.3 million samples */
    double seen = 0;
    build(0.02f, 0.2f, false);
    for (uint64_t seed = 1; seed <= 4; ++seed)
        seen += mean_radiance(&camera_of_dark_room, 40000, seed) / 4;
    print_message("through the gap: %.5f, right %.5f\n", seen, right);
    if (!(fabs(seen - right) <= 0.03 * right)) fail_msg("%g, expected %g", seen, right);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_precomputed_picture_differs_only_by_noise),
        cmocka_unit_test(test_picture_is_independent_of_threads),
        cmocka_unit_test(test_sealed_room_is_dark),
        cmocka_unit_test(test_wall_hides_photons_without_gather),
        cmocka_unit_test(test_light_through_a_gap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
