/* Lights with size and aim: `radius`, `angle_degrees`, `spread_degrees`, and `camera_visible`. A
   plane of 10 x 10 m at y = 0, seen from above by an orthographic camera, receives their light. */
#include "tests/lights/scene_text.h"
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SIDE = 40, PIXELS = SIDE * SIDE };

static const double pi = 3.14159265358979323846;

typedef struct picture {
    double irradiance[PIXELS]; /* on the plane, W/m^2, by its albedo of 0.5 */
    double alpha[PIXELS];
    uint64_t hash;
} picture;

typedef struct shot {
    const char *lights, *meshes; /* JSON; meshes: more than the plane, after a comma */
    const char *integrator;
    int spp;
    const char *ground; /* NULL: the plane */
} shot;

static const char *const plane =
    "{\"quad\": [[-5,0,5],[5,0,5],[5,0,-5],[-5,0,-5]], \"material\": {\"diffuse\": 0.5}}";
static const char *const above = "{\"eye\": [0,40,0], \"look_at\": [0,0,0], \"up\": [0,0,-1], "
                                 "\"orthographic\": 10}";

/* Renders the lights on the plane. */
static picture take_from(const shot *of, const char *camera) {
    static char text[8192];
    static picture made;
    kd_scene *scene = NULL;
    kd_image *image = NULL;
    kd_render_options options;
    snprintf(text, sizeof text,
             "{\"kandela\": 1, \"camera\": %s, \"lights\": [%s], \"meshes\": [%s%s]}", camera,
             of->lights, of->ground ? of->ground : plane, of->meshes ? of->meshes : "");
    const kd_status opened = open_text(&scene, text, &options);
    if (opened != KD_OK) print_error("%s\n", kd_last_error());
    assert_int_equal(opened, KD_OK);
    set(&options, "resolution", "40x40");
    set(&options, "integrator", of->integrator ? of->integrator : "path");
    set(&options, "device", "cpu");
    set(&options, "max_depth", "4");
    options.spp = of->spp ? of->spp : 16;
    options.passes = 4;
    options.photons = of->integrator && strcmp(of->integrator, "light") == 0 ? 100000 : 10000;
    const kd_status status = kd_render(&image, scene, &options, NULL, NULL);
    if (status != KD_OK) print_error("%s\n", kd_last_error());
    assert_int_equal(status, KD_OK);
    const float *red = kd_image_channel(image, "R"), *alpha = kd_image_channel(image, "A");
    for (int i = 0; i < PIXELS; ++i) made.alpha[i] = alpha ? (double)alpha[i] : 1;
    for (int i = 0; i < PIXELS; ++i) made.irradiance[i] = (double)red[i] * pi / 0.5;
    made.hash = kd_image_hash(image);
    kd_image_close(image);
    kd_scene_close(scene);
    return made;
}

static picture take(const char *lights) {
    const shot of = {lights, NULL, NULL, 0, NULL};
    return take_from(&of, above);
}

/* The power that meets the plane, which the picture shows from edge to edge. */
static double received(const picture *of) {
    double sum = 0;
    for (int i = 0; i < PIXELS; ++i) sum += of->irradiance[i];
    return sum * 100 / PIXELS;
}

/* Mean over a block of 5 x 5 pixels. */
static double block(const picture *of, int which) {
    const int left = which % 8 * 5, top = which / 8 * 5;
    double sum = 0;
    for (int y = 0; y < 5; ++y)
        for (int x = 0; x < 5; ++x) sum += of->irradiance[(top + y) * SIDE + left + x];
    return sum / 25;
}

/* Root of the mean squared difference of blocks over the root of their mean square. */
static double difference(const picture *a, const picture *b) {
    double error = 0, square = 0;
    for (int i = 0; i < 64; ++i) {
        const double x = block(a, i), y = block(b, i);
        error += (x - y) * (x - y);
        square += y * y;
    }
    return sqrt(error / square);
}

#define UNSEEN ", \"camera_visible\": false"
#define SPOT(more)                                                                                 \
    "{\"kind\": \"spot\", \"position\": [0,9,0], \"power\": 50, \"inner_degrees\": 10, "           \
    "\"outer_degrees\": 24" more "}"
#define POINT(more) "{\"kind\": \"point\", \"position\": [1,6,0], \"power\": 90" more "}"
#define SUN(more) "{\"kind\": \"directional\", \"direction\": [0,-1,0], \"irradiance\": 2" more "}"
#define AREA(more)                                                                                 \
    "{\"kind\": \"area\", \"corner\": [-0.5,6,-0.5], \"edge_u\": [1,0,0], \"edge_v\": [0,0,1], "   \
    "\"power\": 30" more "}"

/* All light of these meets the plane. */
static void test_power(void **state) {
    (void)state;
    static const char *const all[] = {SPOT(""), SPOT(", \"radius\": 0.4" UNSEEN),
                                      AREA(", \"spread_degrees\": 60" UNSEEN),
                                      AREA(", \"spread_degrees\": 20" UNSEEN)};
    static const double watts[] = {50, 50, 30, 30};
    for (int i = 0; i < 4; ++i) {
        const shot of = {all[i], NULL, NULL, 64, NULL};
        const picture seen = take_from(&of, above);
        expect_near(received(&seen), watts[i], 0.015 * watts[i]);
    }
}

/* A small ball or disc gives the light of a point, and a larger one that from afar. */
static void test_far_light(void **state) {
    (void)state;
    const picture point = take(POINT("")), spot = take(SPOT(""));
    const shot of = {POINT(", \"radius\": 0.2" UNSEEN), NULL, NULL, 64, NULL};
    const picture ball = take_from(&of, above), disc = take(SPOT(", \"radius\": 0.2" UNSEEN));
    const picture tiny_ball = take(POINT(", \"radius\": 0.001" UNSEEN));
    const picture tiny_disc = take(SPOT(", \"radius\": 0.001" UNSEEN));
    const picture sun = take(SUN("")), tiny_sun = take(SUN(", \"angle_degrees\": 0.1"));
    const picture wide_sun = take(SUN(", \"angle_degrees\": 30"));
    for (int i = 0; i < 64; ++i) {
        expect_near(block(&tiny_sun, i), 2, 0.001);
        expect_near(block(&wide_sun, i), 2, 0.03);
    }
    assert_true(difference(&ball, &point) < 0.02);
    assert_true(difference(&tiny_ball, &point) < 0.02);
    assert_true(difference(&tiny_disc, &spot) < 0.01);
    assert_true(difference(&disc, &spot) < 0.01);
    assert_true(difference(&tiny_sun, &sun) < 0.001);
}

/* A blocker at y = 2 over x < 0, which the camera does not see, makes a penumbra of the shape of a
   disc that an edge covers. */
static double uncovered(double x, double reach) {
    const double s = x / reach;
    if (!(fabs(s) < 1)) return s > 0;
    return 0.5 + (s * sqrt(1 - s * s) + asin(s)) / pi;
}

static void test_penumbra(void **state) {
    (void)state;
    const shot of = {SUN(", \"angle_degrees\": 40"),
                     ",{\"quad\": [[-5.5,2,5.5],[0,2,5.5],[0,2,-5.5],[-5.5,2,-5.5]], "
                     "\"camera_visible\": false, \"material\": {\"diffuse\": 0}}",
                     NULL, 64, NULL};
    const picture seen = take_from(&of, above);
    const double reach = 2 * tan(20 * pi / 180);
    double worst = 0;
    for (int x = 6; x < SIDE - 6; ++x) { /* the blocker's far edge is out of reach */
        double mean = 0, expected = 0;
        for (int y = 10; y < 30; ++y) mean += seen.irradiance[y * SIDE + x] / 20;
        for (int i = 0; i < 10; ++i)
            expected += 0.2 * uncovered((x + (i + 0.5) / 10 - SIDE / 2) * 0.25, reach);
        worst = fmax(worst, fabs(mean - expected));
    }
    assert_true(worst < 0.06); /* of 2: cosines differ over the disc */
}

/* The ground in alpha alone: by the shadow of an edge that the camera does not see, of a box that
   it does, and 0 in the light. */
static void test_catcher(void **state) {
    (void)state;
    static const char *const ground =
        "{\"quad\": [[-5,0,5],[5,0,5],[5,0,-5],[-5,0,-5]], \"shadow_catcher\": true}";
    static const char *const methods[] = {"path", "photon", "whitted", "vcm"};
    for (int m = 0; m < 4; ++m) {
        const shot of = {SUN(", \"angle_degrees\": 40"),
                         ",{\"quad\": [[-5.5,2,5.5],[-1,2,5.5],[-1,2,-5.5],[-5.5,2,-5.5]], "
                         "\"camera_visible\": false, \"material\": {\"diffuse\": 0}},"
                         "{\"box\": {\"lo\": [3,0,3], \"hi\": [4,0.1,4]}}",
                         methods[m], 8, ground};
        const picture seen = take_from(&of, above);
        const double reach = 2 * tan(20 * pi / 180);
        double worst = 0;
        for (int x = 6; x < 24; ++x) {
            double mean = 0, expected = 0;
            for (int y = 10; y < 30; ++y) {
                mean += seen.alpha[y * SIDE + x] / 20;
                expect_near(seen.irradiance[y * SIDE + x], 0, 0);
            }
            for (int i = 0; i < 10; ++i)
                expected +=
                    0.1 - 0.1 * uncovered((x + (i + 0.5) / 10 - SIDE / 2) * 0.25 + 1, reach);
            worst = fmax(worst, fabs(mean - expected));
        }
        assert_true(worst < 0.03);
        expect_near(seen.alpha[20 * SIDE + 35], 0, 0);
        expect_near(seen.alpha[34 * SIDE + 34], 1, 0);
        assert_true(seen.irradiance[34 * SIDE + 34] > 0.5);
    }
}

/* Every integrator shows the same light. */
static void test_integrators(void **state) {
    (void)state;
    static const char *const lights[] = {
        POINT(", \"radius\": 0.3" UNSEEN), SPOT(", \"radius\": 0.3" UNSEEN),
        SUN(", \"angle_degrees\": 10"), AREA(", \"spread_degrees\": 50" UNSEEN)};
    static const char *const all[] = {"direct", "whitted", "photon", "sppm", "vcm"};
    /* something that reflects light diffusely */
    static const char *const wall =
        ",{\"quad\": [[-4,0,-3],[4,0,-3],[4,3,-3],[-4,3,-3]], \"material\": {\"diffuse\": 0.6}}";
    for (int l = 0; l < 4; ++l) {
        const shot first = {lights[l], wall, "path", 64, NULL};
        const picture path = take_from(&first, above);
        for (int i = 0; i < 5; ++i) {
            const bool few = i < 2; /* direct light alone */
            const shot one = {lights[l], few ? NULL : wall, all[i],
                              few     ? 32
                              : i < 4 ? 8
                                      : 48,
                              NULL};
            const shot alone = {lights[l], NULL, "path", 64, NULL};
            const picture seen = take_from(&one, above);
            const picture expected = few ? take_from(&alone, above) : path;
            const double error = difference(&seen, &expected);
            const double most = few || i == 4 ? 0.03 : 0.08; /* photon maps: bias */
            if (!(error < most)) print_error("%s, light %d: %g\n", all[i], l, error);
            assert_true(error < most);
        }
    }
}

/* Light tracing, also with lamps that the camera does not see, by an orthographic camera. */
static void test_light_tracing(void **state) {
    (void)state;
    static const char *const lights[] = {
        POINT(", \"radius\": 0.3"),        SPOT(", \"radius\": 0.3"),
        SUN(", \"angle_degrees\": 10"),    AREA(", \"spread_degrees\": 50"),
        POINT(", \"radius\": 0.3" UNSEEN), AREA(", \"spread_degrees\": 50" UNSEEN)};
    static const char *const side =
        "{\"eye\": [0,4,9], \"look_at\": [0,0,0], \"fov\": 40}"; /* the lamps are above the view */
    for (int l = 0; l < 6; ++l) {
        const char *const view = l < 4 ? side : above;
        const shot path = {lights[l], NULL, "path", 64, NULL},
                   light = {lights[l], NULL, "light", 8, NULL};
        const picture expected = take_from(&path, view), seen = take_from(&light, view);
        const double error = difference(&seen, &expected);
        if (!(error < 0.05)) print_error("light %d: %g\n", l, error);
        assert_true(error < 0.05);
    }
}

/* The camera and a mirror see the discs, with the radiance that their power demands. */
static void test_seen(void **state) {
    (void)state;
    static const char *const up = "{\"eye\": [0,1,0], \"look_at\": [0,5,0], \"up\": [0,0,1], "
                                  "\"fov\": 30}";
    struct {
        const char *light, *hidden;
        double radiance;
    } rows[] = {{SUN(", \"angle_degrees\": 10"), SUN(", \"angle_degrees\": 10" UNSEEN),
                 2 / (pi * pow(sin(5 * pi / 180), 2))},
                {SPOT(", \"radius\": 0.5"), SPOT(", \"radius\": 0.5" UNSEEN),
                 50 / (pi * (2 - cos(10 * pi / 180) - cos(24 * pi / 180))) / (pi * 0.25)}};
    for (int i = 0; i < 2; ++i) {
        const shot shown = {rows[i].light, NULL, "path", 4, NULL},
                   hidden = {rows[i].hidden, NULL, "path", 4, NULL};
        const picture a = take_from(&shown, up), b = take_from(&hidden, up);
        const double middle = a.irradiance[SIDE / 2 * SIDE + SIDE / 2] * 0.5 / pi;
        expect_near(middle, rows[i].radiance, 0.003 * rows[i].radiance);
        for (int k = 0; k < PIXELS; ++k) expect_near(b.irradiance[k], 0, 0);
    }
    /* hidden from the camera, the ball is still seen in a mirror */
    const shot reflected = {POINT(", \"radius\": 0.5" UNSEEN),
                            ",{\"quad\": [[-4,0.1,4],[4,0.1,4],[4,0.1,-4],[-4,0.1,-4]], "
                            "\"material\": {\"kind\": \"mirror\"}}",
                            "path", 16, NULL};
    const picture seen = take_from(&reflected, above);
    double most = 0;
    for (int k = 0; k < PIXELS; ++k) most = fmax(most, seen.irradiance[k] * 0.5 / pi);
    expect_near(most, 90 / (4 * pi) / (pi * 0.25), 0.02 * 90 / (4 * pi) / (pi * 0.25));
}

/* The new keys at their defaults change no bit. */
static void test_defaults(void **state) {
    (void)state;
    assert_true(take(AREA("")).hash == take(AREA(", \"spread_degrees\": 180")).hash);
    assert_true(take(POINT("")).hash == take(POINT(", \"radius\": 0")).hash);
    assert_true(take(SUN("")).hash == take(SUN(", \"angle_degrees\": 0")).hash);
}

static void test_errors(void **state) {
    (void)state;
    static const struct {
        const char *light, *message;
    } rows[] = {{POINT(", \"radius\": -1"), "radius"},
                {SPOT(", \"radius\": 1, \"angle_degrees\": 1"), "angle_degrees"},
                {SUN(", \"angle_degrees\": 91"), "angle_degrees"},
                {AREA(", \"spread_degrees\": 0"), "spread_degrees"},
                {"{\"kind\": \"spot\", \"power\": 1, \"radius\": 0.1, \"outer_degrees\": 120}",
                 "supports up to 85"}};
    for (int i = 0; i < 5; ++i) {
        char text[1024];
        kd_scene *scene = NULL;
        kd_render_options options;
        snprintf(text, sizeof text, "{\"kandela\": 1, \"lights\": [%s], \"meshes\": [%s]}",
                 rows[i].light, plane);
        assert_int_equal(open_text(&scene, text, &options), KD_ERROR_INPUT);
        assert_non_null(strstr(kd_last_error(), rows[i].message));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_power),       cmocka_unit_test(test_far_light),
        cmocka_unit_test(test_penumbra),    cmocka_unit_test(test_catcher),
        cmocka_unit_test(test_integrators), cmocka_unit_test(test_light_tracing),
        cmocka_unit_test(test_seen),        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
