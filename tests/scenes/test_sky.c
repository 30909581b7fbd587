/* Environment lights: EXR files, equal-area pictures, clear skies, the position of the sun. */
#include "shaders/light_sampling.h"

#include "core/image/image.h"
#include "core/math/photometry.h"
#include "core/memory.h"
#include "scenes/assembly/scene.h"
#include "scenes/assembly/scene_parts.h"
#include "scenes/sky/clear_sky.h"
#include "tests/scenes/files.h"
#include <math.h>

static texture_view load_one(texture_store *store, const char *path, texture_role role) {
    const texture_request request = {.path = path,
                                     .role = role,
                                     .scale = vec2_make(1, 1),
                                     .wraps = TEXTURE_REPEAT,
                                     {0, 0, 0, 0}};
    uint32_t index = KD_NONE;
    memset(store, 0, sizeof *store);
    assert_int_equal(texture_store_add(store, &request, &index), KD_OK);
    assert_int_equal(texture_store_load(store), KD_OK);
    return store->views[index];
}

#if KD_HAVE_OPENEXR
/* An EXR file as sky or colour holds radiance; negative, huge and non-finite values are replaced.
   As other data it is rejected. */
static void count_warning(void *context, log_level level, const char *message) {
    *(int *)context +=
        level == LOG_WARNING && strstr(message, "found 2 numbers that are not finite");
}

static void test_exr_files_hold_radiance(void **state) {
    (void)state;
    image made;
    static const float values[3][2] = {{0.25f, 3e38f}, {-1, 400}, {NAN, INFINITY}};
    static const float shine[] = {0.25f, 0, 0, 1e30f, 400, 65504};
    int warnings = 0;
    static const char *const names[] = {"R", "G", "B"};
    assert_int_equal(image_open(&made, 2, 1), KD_OK);
    for (int c = 0; c < 3; ++c) {
        float *plane;
        assert_int_equal(image_add(&made, names[c], &plane), KD_OK);
        memcpy(plane, values[c], sizeof values[c]);
    }
    assert_int_equal(image_write(&made, file_in("bright.exr"), NULL), KD_OK);
    image_close(&made);
    static const texture_role roles[] = {TEXTURE_SKY, TEXTURE_COLOUR};
    for (int r = 0; r < 2; ++r) {
        texture_store store;
        log_set_sink(count_warning, &warnings);
        const texture_view view = load_one(&store, file_in("bright.exr"), roles[r]);
        log_set_sink(NULL, NULL);
        assert_int_equal(warnings, r + 1);
        assert_non_null(view.floats);
        assert_int_equal(view.width, 2);
        for (int i = 0; i < 6; ++i) assert_true(view.floats[i] == shine[i]);
        texture_store_close(&store);
    }
    texture_store store;
    const texture_request request = {
        .path = file_in("bright.exr"), .role = TEXTURE_NORMAL, .scale = vec2_make(1, 1)};
    uint32_t index;
    memset(&store, 0, sizeof store);
    assert_int_equal(texture_store_add(&store, &request, &index), KD_OK);
    assert_int_equal(texture_store_load(&store), KD_OK);
    assert_false(store.images[0].loaded);
    assert_non_null(
        strstr(store.images[0].message, "bright.exr: found an EXR image, expected one of 8"));
    texture_store_close(&store);
}
#endif

static const double pi = 3.14159265358979323846;

/* --- the clear sky ---------------------------------------------------------------------------- */

static clear_sky sky_of(double degrees, float turbidity) { /* degrees: elevation of the sun */
    const double angle = degrees * pi / 180;
    const clear_sky made = {.sun = vec3_make(0, (float)sin(angle), (float)-cos(angle)),
                            .turbidity = turbidity,
                            .disc = true,
                            .ground = vec3_all(0.2f)};
    return made;
}

static double luminance(const double rgb[3]) {
    return KD_LUMENS_PER_WATT * (0.2126729 * rgb[0] + 0.7151522 * rgb[1] + 0.0721750 * rgb[2]);
}

static double sky_luminance(const clear_sky_model *sky, double x, double y, double z) {
    const double direction[3] = {x, y, z};
    double rgb[3];
    clear_sky_radiance(rgb, sky, direction);
    return luminance(rgb);
}

/* Returns the horizontal illuminance in lux. */
static double sky_illuminance(const clear_sky_model *sky) {
    enum { STEPS = 180 };
    double sum = 0;
    for (int i = 0; i < STEPS; ++i)
        for (int j = 0; j < STEPS; ++j) {
            const double height = (i + 0.5) / STEPS, turn = 2 * pi * j / STEPS;
            const double s = sqrt(1 - height * height);
            sum += sky_luminance(sky, s * cos(turn), height, s * sin(turn)) * height;
        }
    return sum * 2 * pi / (STEPS * STEPS);
}

/* The zenith by the paper's formula for turbidity 3 and the sun at 45 degrees, computed by hand:
   chi = (4/9 - 3/120) pi/2, (4.0453 * 3 - 4.9710) tan chi - 0.2155 * 3 + 2.4192. Gamut clipping and
   rounding change little. */
static void test_zenith_matches_paper(void **state) {
    (void)state;
    clear_sky_model model;
    const clear_sky sky = sky_of(45, 3);
    assert_int_equal(clear_sky_open(&model, &sky), KD_OK);
    const double meant = 1000 * (7.1649 * tan(0.41944444 * pi / 2) + 1.7727);
    assert_true(fabs(sky_luminance(&model, 0, 1, 0) / meant - 1) < 2e-3);
    const double direction[3] = {0, 1, 0};
    double rgb[3];
    clear_sky_radiance(rgb, &model, direction);
    assert_true(rgb[2] > 1.5 * rgb[0] && rgb[2] > rgb[1] && rgb[1] > rgb[0]); /* it is blue */
}

/* Properties of real skies: brighter near the sun, dimmer with a lower sun, redder at sunset, about
   100,000 lux with a high sun. The expected illuminance is the integral of the paper's luminance
   formulas, computed by an independent program. */
static void test_sky_illuminance_is_realistic(void **state) {
    (void)state;
    clear_sky_model high, low;
    const clear_sky noon = sky_of(65, 2.5f), evening = sky_of(6, 2.5f);
    assert_int_equal(clear_sky_open(&high, &noon), KD_OK);
    assert_int_equal(clear_sky_open(&low, &evening), KD_OK);
    assert_true(luminance(high.sun_irradiance) > 85e3 && luminance(high.sun_irradiance) < 115e3);
    assert_true(luminance(low.sun_irradiance) < 0.45 * luminance(high.sun_irradiance));
    assert_true(luminance(low.sun_irradiance) > 0.08 * luminance(high.sun_irradiance));
    assert_true(low.sun_irradiance[0] / low.sun_irradiance[2] >
                1.8 * high.sun_irradiance[0] / high.sun_irradiance[2]);
    assert_true(fabs(sky_illuminance(&high) / 27352 - 1) < 0.02);
    assert_true(fabs(sky_illuminance(&low) / 13388 - 1) < 0.02);
    const double aside_luminance = sky_luminance(&low, 0, sin(0.2), -cos(0.2));
    const double opposite = sky_luminance(&low, 0, sin(0.2), cos(0.2));
    assert_true(aside_luminance > 3 * opposite);
}

/* With the sun at the zenith, sun and sky give the illuminance of a clear noon in the tropics, in
   every clarity of the air. */
static void test_illuminance_at_the_zenith(void **state) {
    (void)state;
    for (int i = 0; i < 3; ++i) {
        clear_sky_model model;
        const clear_sky sky = sky_of(90, 2 + (float)i);
        assert_int_equal(clear_sky_open(&model, &sky), KD_OK);
        const double sun = luminance(model.sun_irradiance);
        if (!(sun > 80e3 && sun < 130e3)) fail_msg("%g lx of the sun alone", sun);
    }
}

/* --- the atmosphere --------------------------------------------------------------------------- */

static double atmosphere_luminance(const clear_sky_model *sky, double degrees, double turn,
                                   double *redness) {
    const double up = degrees * pi / 180;
    const double direction[3] = {cos(up) * sin(turn), sin(up), -cos(up) * cos(turn)};
    double rgb[3];
    clear_sky_radiance(rgb, sky, direction);
    if (redness) *redness = rgb[0] / rgb[2];
    return luminance(rgb);
}

static clear_sky_model atmosphere_of(double degrees, float turbidity, float ground) {
    clear_sky_model model;
    clear_sky sky = sky_of(degrees, turbidity);
    sky.atmosphere = true;
    sky.ground = vec3_all(ground);
    assert_int_equal(clear_sky_open(&model, &sky), KD_OK);
    return model;
}

/* Light of the sky on the ground, relative to that of the sun above the atmosphere. The expected
   values are by an independent Monte Carlo program, for light of 560 nm; the luminance has about
   the same. What is not scattered towards the ground leaves or is absorbed, so sky and sun together
   have less than the sun above. */
static void test_atmosphere_matches_monte_carlo(void **state) {
    (void)state;
    static const struct {
        double degrees, expected;
        float turbidity;
    } cases[] = {{30, 0.196, 2}, {60, 0.208, 3}, {30, 0.419, 6}};
    for (int i = 0; i < 3; ++i) {
        clear_sky_model sky = atmosphere_of(cases[i].degrees, cases[i].turbidity, 0.2f);
        const double above = 128000 * sky.sun[1], diffuse = sky_illuminance(&sky) / above;
        if (!(fabs(diffuse / cases[i].expected - 1) < 0.05))
            fail_msg("%g of the sunlight, expected %g", diffuse, cases[i].expected);
        assert_true(diffuse + luminance(sky.sun_irradiance) / 128000 < 0.95);
        clear_sky_close(&sky);
    }
}

/* The sky is symmetric about the vertical plane of the sun, and without steps; a low sun is red,
   and the zenith above it blue. Haze dims the sun and brightens the sky, and a bright ground the
   sky. */
static void test_atmosphere_has_the_properties_of_skies(void **state) {
    (void)state;
    double red_sun, red_horizon, red_zenith;
    clear_sky_model low = atmosphere_of(1, 3, 0.2f);
    red_sun = low.sun_irradiance[0] / low.sun_irradiance[2];
    atmosphere_luminance(&low, 1.5, 0.05, &red_horizon);
    atmosphere_luminance(&low, 90, 0, &red_zenith);
    if (!(red_sun > 5 && red_horizon > 1.5 && red_zenith < 0.7))
        fail_msg("red to blue: sun %g, horizon %g, zenith %g", red_sun, red_horizon, red_zenith);
    for (int i = 1; i < 90; ++i) {
        const double here = atmosphere_luminance(&low, i, i * 0.03, NULL);
        const double there = atmosphere_luminance(&low, i, -i * 0.03, NULL);
        const double next = atmosphere_luminance(&low, i + 0.01, i * 0.03, NULL);
        assert_true(here > 0 && fabs(here - there) <= 1e-6 * here &&
                    fabs(next - here) < 0.02 * here);
    }
    clear_sky_close(&low);
    clear_sky_model snow = atmosphere_of(30, 6, 0.9f), haze = atmosphere_of(30, 6, 0.2f);
    clear_sky_model clear = atmosphere_of(30, 2, 0.2f);
    assert_true(sky_illuminance(&haze) > 1.2 * sky_illuminance(&clear));
    assert_true(luminance(haze.sun_irradiance) < 0.8 * luminance(clear.sun_irradiance));
    assert_true(sky_illuminance(&snow) > 1.1 * sky_illuminance(&haze));
    clear_sky_close(&haze);
    clear_sky_close(&clear);
    clear_sky_close(&snow);
}

/* The sun's disc in the picture darkens towards its limb, in blue more than in red: texels that it
   covers in part are redder than the one in the middle, and darker than their share alone. */
static void test_sun_darkens_towards_its_limb(void **state) {
    (void)state;
    clear_sky sky = sky_of(40, 3);
    float *with_sun, *without_sun;
    assert_int_equal(clear_sky_picture(&with_sun, &sky), KD_OK);
    sky.disc = false;
    assert_int_equal(clear_sky_picture(&without_sun, &sky), KD_OK);
    double most[3] = {0, 0, 0}, least[3] = {HUGE_VAL, 0, 0};
    for (int i = 0; i < CLEAR_SKY_WIDTH * CLEAR_SKY_HEIGHT / 2; ++i) {
        double rgb[3];
        for (int c = 0; c < 3; ++c)
            rgb[c] = (double)with_sun[3 * i + c] - (double)without_sun[3 * i + c];
        if (rgb[0] > most[0]) memcpy(most, rgb, sizeof most);
        if (rgb[0] > 0 && rgb[0] < least[0]) memcpy(least, rgb, sizeof least);
    }
    assert_true(least[0] > 0 && least[0] < 0.8 * most[0]);
    assert_true(least[2] / least[0] < 0.97 * most[2] / most[0]);
    assert_true(least[1] / least[0] < 0.99 * most[1] / most[0]);
    memory_free(with_sun);
    memory_free(without_sun);
}

static scene *open_sky(const char *environment) {
    char text[512];
    kd_render_options options;
    scene *made = NULL;
    snprintf(text, sizeof text,
             "{\"kandela\": 1, \"meshes\": [{\"box\": {}}], \"environment\": {%s}}", environment);
    file_put_text("scene.json", text);
    kd_render_options_default(&options);
    if (scene_open(&made, file_in("scene.json"), &options, NULL) != KD_OK)
        fail_msg("%s", kd_last_error());
    return made;
}

/* Integrates R, G and B within 1.5 degrees of a direction, projected onto a plane across it. */
static void beam(double sum[3], const scene_view *view, const double towards[3]) {
    enum { STEPS = 400 };
    const double maximum = 1.5 * pi / 180;
    const vec3 axis = vec3_make((float)towards[0], (float)towards[1], (float)towards[2]);
    const frame3 axes = frame3_around(vec3_normalize(axis));
    sum[0] = sum[1] = sum[2] = 0;
    for (int i = 0; i < STEPS; ++i)
        for (int j = 0; j < STEPS; ++j) {
            const double angle = maximum * (i + 0.5) / STEPS, turn = 2 * pi * j / STEPS;
            const vec3 direction = frame3_to_world(&axes, vec3_make((float)(sin(angle) * cos(turn)),
                                                                    (float)(sin(angle) * sin(turn)),
                                                                    (float)cos(angle)));
            const vec3 seen = environment_radiance(view, direction);
            const double solid = sin(angle) * maximum / STEPS * 2 * pi / STEPS;
            sum[0] += (double)seen.x * solid;
            sum[1] += (double)seen.y * solid;
            sum[2] += (double)seen.z * solid;
        }
}

/* The sun in the sky's picture, as shaders look it up, has the energy of the model's sun, and is
   sampled in proportion. */
static void test_sun_energy_is_preserved(void **state) {
    (void)state;
    static const char *const suns[] = {"[0.3, 0.8, 0.4]", "[-1, 0.2, 0.3]", "[0.02, 1, 0]"};
    static const clear_sky skies[] = {{.sun = {0.3f, 0.8f, 0.4f}, .turbidity = 3},
                                      {.sun = {-1, 0.2f, 0.3f}, .turbidity = 3},
                                      {.sun = {0.02f, 1, 0}, .turbidity = 3}};
    for (int i = 0; i < 3; ++i) {
        char text[96];
        clear_sky_model sky;
        double with_sun[3], without_sun[3];
        assert_int_equal(clear_sky_open(&sky, &skies[i]), KD_OK);
        snprintf(text, sizeof text, "\"sky\": {\"sun\": %s}", suns[i]);
        scene *made = open_sky(text);
        scene_view view = scene_get_view(made);
        beam(with_sun, &view, sky.sun);
        const vec3 sun = vec3_make((float)sky.sun[0], (float)sky.sun[1], (float)sky.sun[2]);
        assert_true(environment_pdf(&view, vec3_all(0), sun) > 100);
        scene_close(made);
        snprintf(text, sizeof text, "\"sky\": {\"sun\": %s, \"disc\": false}", suns[i]);
        made = open_sky(text);
        view = scene_get_view(made);
        beam(without_sun, &view, sky.sun);
        scene_close(made);
        for (int c = 0; c < 3; ++c)
            if (fabs((with_sun[c] - without_sun[c]) / sky.sun_irradiance[c] - 1) > 0.02)
                fail_msg("sun %d, channel %d: %g, expected %g", i, c, with_sun[c] - without_sun[c],
                         sky.sun_irradiance[c]);
    }
}

static void test_invalid_skies_are_rejected(void **state) {
    (void)state;
    static const char wide[] = "#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y 1 +X 2\n"
                               "\200\200\200\203\200\200\200\203";
    file_put("wide.hdr", wide, sizeof wide - 1);
    static const char *const bad[][2] = {
        {"\"image\": \"wide.hdr\", \"projection\": \"equal_area\"",
         "wide.hdr: found 2 x 1 texels, expected a square"},
        {"\"sky\": {\"sun\": [0, -1, 0]}", "environment.sky: the sun must be above the horizon"},
        {"\"sky\": {\"turbidity\": 20}", "environment.sky.turbidity"},
        {"\"sky\": {\"model\": \"blue\"}", "environment.sky.model"},
        {"\"sky\": {}, \"image\": \"a.hdr\"", "exactly one of `image` and `sky`"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        char text[512];
        kd_render_options options;
        scene *made = NULL;
        snprintf(text, sizeof text,
                 "{\"kandela\": 1, \"meshes\": [{\"box\": {}}], \"environment\": {%s}}", bad[i][0]);
        file_put_text("scene.json", text);
        kd_render_options_default(&options);
        assert_int_equal(scene_open(&made, file_in("scene.json"), &options, NULL), KD_ERROR_INPUT);
        if (!strstr(kd_last_error(), bad[i][1])) fail_msg("%s", kd_last_error());
    }
}

/* --- equal areas ------------------------------------------------------------------------------ */

/* The inverse mapping from the square, as Clarberg defines it: u, v in -1..1, z at the centre. */
static void square_direction(double direction[3], double u, double v) {
    const double d = 1 - (fabs(u) + fabs(v)), radius = 1 - fabs(d);
    const double phi = (radius == 0 ? 1 : (fabs(v) - fabs(u)) / radius + 1) * pi / 4;
    const double z = copysign(1 - radius * radius, d);
    const double across = radius * sqrt(2 - radius * radius);
    direction[0] = copysign(cos(phi), u) * across;
    direction[1] = z;                               /* up */
    direction[2] = -copysign(sin(phi), v) * across; /* downwards in the picture is -z */
}

#if KD_HAVE_OPENEXR
static void test_equal_area_mapping(void **state) {
    (void)state;
    enum { SIDE = 128 };
    static const char *const names[] = {"R", "G", "B"};
    image made;
    float *planes[3];
    assert_int_equal(image_open(&made, SIDE, SIDE), KD_OK);
    for (int c = 0; c < 3; ++c) assert_int_equal(image_add(&made, names[c], &planes[c]), KD_OK);
    for (int i = 0; i < SIDE * SIDE; ++i) {
        double direction[3];
        square_direction(direction, (i % SIDE + 0.5) / SIDE * 2 - 1,
                         (i / SIDE + 0.5) / SIDE * 2 - 1);
        for (int c = 0; c < 3; ++c) planes[c][i] = (float)(1 + 0.5 * direction[c]);
    }
    assert_int_equal(image_write(&made, file_in("square.exr"), NULL), KD_OK);
    image_close(&made);
    scene *lit = open_sky("\"image\": \"square.exr\", \"projection\": \"equal_area\"");
    const scene_view view = scene_get_view(lit);
    assert_int_equal(view.environment.width, 2 * SIDE);
    for (int i = 0; i < 2000; ++i) {
        const vec3 direction =
            sample_sphere(((float)i + 0.5f) / 2000, fmodf((float)i * 0.618034f, 1));
        const vec3 seen = environment_radiance(&view, direction);
        assert_true(fabsf(seen.x - 1 - 0.5f * direction.x) < 0.02f);
        assert_true(fabsf(seen.y - 1 - 0.5f * direction.y) < 0.02f);
        assert_true(fabsf(seen.z - 1 - 0.5f * direction.z) < 0.02f);
    }
    scene_close(lit);
}
#endif

int main(void) {
    const struct CMUnitTest tests[] = {
#if KD_HAVE_OPENEXR
        cmocka_unit_test(test_exr_files_hold_radiance),
        cmocka_unit_test(test_equal_area_mapping),
#endif
        cmocka_unit_test(test_zenith_matches_paper),
        cmocka_unit_test(test_sky_illuminance_is_realistic),
        cmocka_unit_test(test_illuminance_at_the_zenith),
        cmocka_unit_test(test_atmosphere_matches_monte_carlo),
        cmocka_unit_test(test_atmosphere_has_the_properties_of_skies),
        cmocka_unit_test(test_sun_darkens_towards_its_limb),
        cmocka_unit_test(test_sun_energy_is_preserved),
        cmocka_unit_test(test_invalid_skies_are_rejected),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
