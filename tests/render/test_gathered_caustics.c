/* Light that reaches a surface by specular reflection only is in the caustic map, so gather rays
   that reach the lamp through mirrors must ignore it. The lamp shines at a mirroring ceiling only.
   The floor must be as bright with final gather as without, from afar and from near, where gather
   rays continue as paths; light counted twice would make it up to twice as bright. */
#include "shoot.h"
#include "still_life.h"
#include "test.h"

static scene_fixture stage;
static const camera camera_above_floor = {{0, 0.45f, 1.1f}, {0, 0, 0.1f}, {0, 1, 0}, 45, 0, 0, 0};

static void build(int32_t ceiling) {
    material above = material_default();
    fixture_clear(&stage);
    above.kind = ceiling;
    above.roughness = 0;
    above.specular = vec3_all(0.9f);
    above.diffuse = vec3_all(0.03f); /* a plastic ceiling stores photons below its mirroring coat */
    const uint32_t mirror = fixture_material(&stage, above);
    const uint32_t floor = still_life_diffuse(&stage, 0.5f, 0);
    const uint32_t lamp = still_life_diffuse(&stage, 0, 5);
    fixture_quad(&stage, floor, vec3_make(-1, 0, 1), vec3_make(1, 0, 1), vec3_make(1, 0, -1),
                 vec3_make(-1, 0, -1));
    fixture_quad(&stage, mirror, vec3_make(-1, 1, -1), vec3_make(1, 1, -1), vec3_make(1, 1, 1),
                 vec3_make(-1, 1, 1));
    fixture_quad(&stage, lamp, vec3_make(-0.4f, 0.6f, 0.4f), vec3_make(0.4f, 0.6f, 0.4f),
                 vec3_make(0.4f, 0.6f, -0.4f), vec3_make(-0.4f, 0.6f, -0.4f)); /* faces up */
    fixture_finish(&stage);
}

static double floor_radiance(const kd_render_options *options) {
    shot s = shoot(&stage, &camera_above_floor, options, NULL);
    assert_int_equal(s.status, KD_OK);
    const double mean = shot_mean(&s, "R");
    image_close(&s.picture);
    return mean;
}

static void expect_counted_once(int32_t ceiling, float radius, uint64_t photons) {
    kd_render_options options;
    build(ceiling);
    kd_render_options_default(&options);
    strcpy(options.integrator, "photon");
    strcpy(options.estimator, "fixed");
    options.radius = radius;
    options.width = options.height = 8;
    options.spp = 16;
    options.photons = options.caustic_photons = photons;
    options.max_depth = 8;
    options.precompute = 0;
    const double seen = floor_radiance(&options);
    options.final_gather = 8;
    const double gathered = floor_radiance(&options);
    if (!(fabs(gathered - seen) <= 0.04 * seen))
        fail_msg("ceiling of kind %d, radius %g: %g with a final gather, %g without", ceiling,
                 (double)radius, gathered, seen);
}

static void test_distant_caustics_are_counted_once(void **state) {
    (void)state;
    expect_counted_once(MATERIAL_MIRROR, 0.1f, 4000);
    expect_counted_once(MATERIAL_PLASTIC, 0.1f, 4000);
}

/* Gather rays shorter than the radius continue as paths: here all of them. So large a disc blurs
   the light below a coat, and no other picture is available for comparison, so this test uses
   mirrors only. */
static void test_nearby_caustics_are_counted_once(void **state) {
    (void)state;
    expect_counted_once(MATERIAL_MIRROR, 3, 100);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_distant_caustics_are_counted_once),
        cmocka_unit_test(test_nearby_caustics_are_counted_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
