/* Nested media by priority (shaders/nested.h): bodies that overlap look like bodies whose
   boundaries are modelled by hand, by every method. */
#include "core/status.h"
#include "tests/lights/scene_text.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SIDE = 24 };

static const char *const stage =
    "\"media\": {\"wine\": {\"absorption\": [0.3, 1.2, 2.4]}}, "
    "\"camera\": {\"eye\": [0.4,1.9,4], \"look_at\": [0,0,0], \"fov\": 34}, "
    "\"lights\": [{\"kind\": \"area\", \"corner\": [-3,4,-3], \"edge_u\": [6,0,0], "
    "\"edge_v\": [0,0,6], \"radiance\": 3}]";
static const char *const around =
    "{\"quad\": [[-6,-1.01,6],[6,-1.01,6],[6,-1.01,-6],[-6,-1.01,-6]]}, "
    "{\"quad\": [[-6,-1.01,-4],[6,-1.01,-4],[6,6,-4],[-6,6,-4]]}";

/* Means of the channels over the picture. */
typedef struct mean {
    double rgb[3];
} mean;

static mean take(const char *scene_keys, const char *materials, const char *meshes,
                 const char *method, int spp) {
    static const char *const names[] = {"R", "G", "B"};
    static char text[8192];
    kd_scene *scene = NULL;
    kd_image *image = NULL;
    kd_render_options options;
    mean made;
    snprintf(text, sizeof text, "{\"kandela\": 1, %s, \"materials\": {%s}, \"meshes\": [%s]}",
             scene_keys, materials, meshes);
    const kd_status opened = open_text(&scene, text, &options);
    if (opened != KD_OK) print_error("%s\n", kd_last_error());
    assert_int_equal(opened, KD_OK);
    set(&options, "integrator", method);
    set(&options, "device", "cpu");
    options.width = options.height = SIDE;
    options.spp = spp;
    options.passes = spp;
    options.photons = 20000;
    const kd_status status = kd_render(&image, scene, &options, NULL, NULL);
    if (status != KD_OK) print_error("%s\n", kd_last_error());
    assert_int_equal(status, KD_OK);
    for (int c = 0; c < 3; ++c) {
        const float *at = kd_image_channel(image, names[c]);
        double sum = 0;
        for (int i = 0; i < SIDE * SIDE; ++i) sum += (double)at[i];
        made.rgb[c] = sum / (SIDE * SIDE);
    }
    kd_image_close(image);
    kd_scene_close(scene);
    return made;
}

static mean take_staged(const char *materials, const char *meshes, const char *method, int spp) {
    char all[4096];
    snprintf(all, sizeof all, "%s, %s", around, meshes);
    return take(stage, materials, all, method, spp);
}

static void expect_alike(const char *method, mean found, mean expected, double share) {
    for (int c = 0; c < 3; ++c) {
        if (!(fabs(found.rgb[c] - expected.rgb[c]) <= share * expected.rgb[c]))
            print_error("%s, channel %d: found %g, expected %g\n", method, c, found.rgb[c],
                        expected.rgb[c]);
        expect_near(found.rgb[c], expected.rgb[c], share * expected.rgb[c]);
    }
}

/* A glass tank of wine. By overlap the wine ends inside the wall; by hand the inner surface of the
   wall is a boundary from glass to wine. */
static void test_overlap_is_interface(void **state) {
    (void)state;
    static const char *const methods[] = {"path", "whitted", "direct", "photon", "vcm"};
    static const int samples[] = {384, 64, 64, 16, 96};
    static const double errors[] = {0.02, 0.01, 0.01, 0.02, 0.02};
    for (int m = 0; m < 5; ++m) {
        const mean overlap = take_staged(
            "\"wall\": {\"kind\": \"glass\", \"ior\": 1.5, \"priority\": 2}, "
            "\"wine\": {\"kind\": \"glass\", \"ior\": 1.33, \"medium\": \"wine\", \"priority\": 1}",
            "{\"box\": {\"lo\": [-1,-1,-1], \"hi\": [1,1,1]}, \"material\": \"wall\"}, "
            "{\"box\": {\"lo\": [-0.8,-0.8,-0.8], \"hi\": [0.8,0.8,0.8]}, \"inward\": true, "
            "\"material\": \"wall\"}, "
            "{\"box\": {\"lo\": [-0.9,-0.9,-0.9], \"hi\": [0.9,0.9,0.9]}, "
            "\"material\": \"wine\"}",
            methods[m], samples[m]);
        const mean by_hand = take_staged(
            "\"wall\": {\"kind\": \"glass\", \"ior\": 1.5}, "
            "\"wall_wine\": {\"kind\": \"glass\", \"ior\": 0.88667, \"medium\": \"wine\"}",
            "{\"box\": {\"lo\": [-1,-1,-1], \"hi\": [1,1,1]}, \"material\": \"wall\"}, "
            "{\"box\": {\"lo\": [-0.8,-0.8,-0.8], \"hi\": [0.8,0.8,0.8]}, "
            "\"material\": \"wall_wine\"}",
            methods[m], samples[m]);
        expect_alike(methods[m], overlap, by_hand, errors[m]);
    }
}

/* A cube in a cube: one of higher priority refracts relative to what surrounds it; one of lower
   priority is not there. */
static void test_cube_in_cube(void **state) {
    (void)state;
    static const char *const cubes =
        "{\"box\": {\"lo\": [-1,-1,-1], \"hi\": [1,1,1]}, \"material\": \"outer\"}, "
        "{\"box\": {\"lo\": [-0.5,-0.5,-0.5], \"hi\": [0.5,0.5,0.5]}, \"material\": \"inner\"}";
    static const char *const higher =
        "\"outer\": {\"kind\": \"glass\", \"ior\": 1.3, \"medium\": \"wine\", \"priority\": 1}, "
        "\"inner\": {\"kind\": \"glass\", \"ior\": 1.82, \"priority\": 2}";
    static const char *const lower =
        "\"outer\": {\"kind\": \"glass\", \"ior\": 1.3, \"medium\": \"wine\", \"priority\": 2}, "
        "\"inner\": {\"kind\": \"glass\", \"ior\": 1.82, \"priority\": 1}";
    static const char *const by_hand =
        "\"outer\": {\"kind\": \"glass\", \"ior\": 1.3, \"medium\": \"wine\"}, "
        "\"inner\": {\"kind\": \"glass\", \"ior\": 1.4, \"medium_outside\": \"wine\"}";
    expect_alike("higher", take_staged(higher, cubes, "whitted", 64),
                 take_staged(by_hand, cubes, "whitted", 64), 0.01);
    expect_alike("lower", take_staged(lower, cubes, "whitted", 64),
                 take_staged(by_hand,
                             "{\"box\": {\"lo\": [-1,-1,-1], \"hi\": [1,1,1]}, "
                             "\"material\": \"outer\"}",
                             "whitted", 64),
                 0.01);
    /* smooth principled glass is the same glass */
    expect_alike("principled",
                 take_staged("\"outer\": {\"kind\": \"principled\", \"ior\": 1.3, \"diffuse\": 1, "
                             "\"transmission_weight\": 1, \"medium\": \"wine\", \"priority\": 1}, "
                             "\"inner\": {\"kind\": \"principled\", \"ior\": 1.82, \"diffuse\": 1, "
                             "\"transmission_weight\": 1, \"priority\": 2}",
                             cubes, "path", 384),
                 take_staged(by_hand, cubes, "path", 384), 0.02);
}

/* The camera is in wine, beside a block of glass of equal index, which neither reflects nor
   absorbs, and beside it two blocks of wine that overlap. */
static void test_camera_inside(void **state) {
    (void)state;
    static const char *const keys =
        "\"media\": {\"wine\": {\"absorption\": [0.1, 0.2, 0.4]}}, \"camera\": {\"eye\": [0,0,0], "
        "\"look_at\": [0,0,-1], \"orthographic\": 0.2}, "
        "\"lights\": [{\"kind\": \"point\", \"position\": [0,50,0], \"power\": 1}]";
    static const char *const materials =
        "\"glow\": {\"diffuse\": 0, \"emission\": 1, \"unlit\": true}, "
        "\"wine\": {\"kind\": \"glass\", \"ior\": 1.33, \"medium\": \"wine\", \"priority\": 1}, "
        "\"block\": {\"kind\": \"glass\", \"ior\": 1.33, \"priority\": 2}";
    static const char *const meshes =
        "{\"quad\": [[-9,-9,-9],[9,-9,-9],[9,9,-9],[-9,9,-9]], \"material\": \"glow\"}, "
        "{\"box\": {\"lo\": [-1,-1,-3], \"hi\": [1,1,1]}, \"material\": \"wine\"}, "
        "{\"box\": {\"lo\": [-2,-2,-4], \"hi\": [2,2,-2.5]}, \"material\": \"wine\"}, "
        "{\"box\": {\"lo\": [-0.5,-0.5,-2], \"hi\": [0.5,0.5,-1]}, \"material\": \"block\"}";
    const double absorption[] = {0.1, 0.2, 0.4}, reflected = pow(0.33 / 2.33, 2);
    const mean found = take(keys, materials, meshes, "whitted", 4);
    for (int c = 0; c < 3; ++c) /* without light that is reflected twice */
        expect_near(found.rgb[c], 1.33 * 1.33 * (1 - reflected) * exp(-absorption[c] * 3), 1e-3);
}

static void expect_refused(const char *meshes, const char *part) {
    static char text[8192];
    kd_scene *scene = NULL;
    kd_render_options options;
    snprintf(text, sizeof text, "{\"kandela\": 1, \"meshes\": [%s]}", meshes);
    assert_int_equal(open_text(&scene, text, &options), KD_ERROR_INPUT);
    if (!strstr(kd_last_error(), part)) print_error("%s\n", kd_last_error());
    assert_non_null(strstr(kd_last_error(), part));
}

static void test_bad_input(void **state) {
    (void)state;
    char meshes[2048] = "{\"box\": {}, \"material\": {\"kind\": \"glass\", \"priority\": 1}}";
    for (int i = 0; i < 11; ++i)
        snprintf(meshes + strlen(meshes), sizeof meshes - strlen(meshes),
                 ", {\"box\": {}, \"material\": {\"kind\": \"glass\", \"ior\": 1.%d}}", i + 1);
    expect_refused(meshes, "12 materials");
    expect_refused("{\"box\": {}, \"material\": {\"kind\": \"glass\", \"priority\": 256}}",
                   "priority");
    expect_refused("{\"box\": {}, \"material\": {\"kind\": \"glass\", \"priority\": 1, "
                   "\"medium_outside\": \"fog\"}}",
                   "medium_outside");
}

static char warnings[1024];

static void keep_warning(void *context, log_level level, const char *text) {
    (void)context;
    if (level == LOG_WARNING)
        snprintf(warnings + strlen(warnings), sizeof warnings - strlen(warnings), "%s\n", text);
}

/* Expects that a scene of these meshes is opened with `count` warnings, which contain `part`. */
static void expect_warned(const char *meshes, int count, const char *part) {
    static char text[8192];
    kd_scene *scene = NULL;
    kd_render_options options;
    int found = 0;
    snprintf(text, sizeof text,
             "{\"kandela\": 1, %s, \"materials\": {\"wine\": {\"kind\": \"glass\", \"ior\": 1.33, "
             "\"medium\": \"wine\", \"priority\": 1}, \"wall\": {\"kind\": \"glass\", "
             "\"priority\": 2}}, \"meshes\": [%s, %s]}",
             stage, around, meshes);
    warnings[0] = 0;
    log_set_sink(keep_warning, NULL);
    assert_int_equal(open_text(&scene, text, &options), KD_OK);
    log_set_sink(NULL, NULL);
    kd_scene_close(scene);
    for (const char *at = warnings; (at = strchr(at, '\n')); ++at) ++found;
    if (found != count || !strstr(warnings, part)) print_error("%s: %s\n", meshes, warnings);
    assert_int_equal(found, count);
    assert_non_null(strstr(warnings, part));
}

/* Media that get lost, since boundaries coincide or many meshes overlap, are reported; meshes that
   cross or touch at an edge are not. */
static void test_lost_media(void **state) {
    (void)state;
    char nested[2048] = "";
    for (int i = 0; i < 5; ++i) {
        const double half = 1 - 0.02 * i;
        snprintf(nested + strlen(nested), sizeof nested - strlen(nested),
                 "%s{\"box\": {\"lo\": [%g,%g,%g], \"hi\": [%g,%g,%g]}, \"material\": \"wine\"}",
                 i ? ", " : "", -half, -half, -half, half, half, half);
        if (i < 3) expect_warned(nested, 0, "");
    }
    expect_warned(nested, 1, "5 meshes of \"wine\" overlap at (0, 0, 0)");
    expect_warned("{\"box\": {\"lo\": [-1,-1,-1], \"hi\": [1,0,1]}, \"material\": \"wall\"}, "
                  "{\"box\": {\"lo\": [-1,-1,-1], \"hi\": [1,1,1]}, \"material\": \"wine\"}",
                  1, "\"wine\" coincide near");
    /* faces that overlap in part, back to back, turned against the axes */
    expect_warned(
        "{\"box\": {\"lo\": [-1,-1,-1], \"hi\": [1,0,1]}, \"transform\": [{\"rotate\": [1, 2, 3], "
        "\"degrees\": 40}], "
        "\"material\": \"wall\"}, "
        "{\"box\": {\"lo\": [-0.5,0,-0.4], \"hi\": [0.3,1,0.2]}, "
        "\"transform\": [{\"rotate\": [1, 2, 3], \"degrees\": 40}], \"material\": \"wine\"}",
        1, "coincide near");
    expect_warned("{\"box\": {\"lo\": [-1,-1,-1], \"hi\": [1,0,1]}, \"material\": \"wall\"}, "
                  "{\"box\": {\"lo\": [-0.999,-0.999,-0.999], \"hi\": [0.999,1,0.999]}, "
                  "\"material\": \"wine\"}",
                  0, "");
    expect_warned(
        "{\"box\": {\"lo\": [-1,-1,-1], \"hi\": [0,0,0]}, \"material\": \"wall\"}, "
        "{\"box\": {\"lo\": [0,0,-1], \"hi\": [1,1,0]}, \"material\": \"wine\"}, "
        "{\"sphere\": {\"triangles\": 30000, \"centre\": [3, 0, 0]}, "
        "\"transform\": [{\"rotate\": [1, 2, 3], \"degrees\": 40}], \"material\": \"wine\"}",
        0, "");
    /* boxes of four bodies overlap at a place that none of the bodies fills */
    expect_warned("{\"sphere\": {\"triangles\": 500, \"centre\": [0.9, 0.9, 0]}, \"material\": "
                  "\"wine\"}, {\"sphere\": {\"triangles\": 500, \"centre\": [-0.9, 0.9, 0.01]}, "
                  "\"material\": \"wine\"}, {\"sphere\": {\"triangles\": 500, \"centre\": [0.9, "
                  "-0.9, 0.02]}, \"material\": \"wine\"}, {\"sphere\": {\"triangles\": 500, "
                  "\"centre\": [-0.9, -0.9, 0.03]}, \"material\": \"wine\"}",
                  0, "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_overlap_is_interface), cmocka_unit_test(test_cube_in_cube),
        cmocka_unit_test(test_camera_inside), cmocka_unit_test(test_bad_input),
        cmocka_unit_test(test_lost_media)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
