/* The integrator auto: which one it chooses, and that the choice is what renders. */
#include "core/image/formats.h"
#include "render/api/render.h"
#include "scenes/assembly/scene.h"
#include "test.h"
#include <stdio.h>

static scene *room(kd_render_options *options, const char *materials, const char *more) {
    char text[2048];
    scene *parsed = NULL;
    kd_render_options_default(options);
    const int length = snprintf(
        text, sizeof text,
        "{\"kandela\": 1, \"materials\": {\"lamp\": {\"emission\": 9}, \"white\": {}, %s}, "
        "\"meshes\": [{\"quad\": [[-1, 0, 1], [1, 0, 1], [1, 0, -1], [-1, 0, -1]], "
        "\"material\": \"white\"}, "
        "{\"quad\": [[-0.2, 2, -0.2], [0.2, 2, -0.2], [0.2, 2, 0.2], [-0.2, 2, 0.2]], "
        "\"material\": \"lamp\"}, "
        "{\"box\": {\"lo\": [-0.3, 0.2, -0.3], \"hi\": [0.3, 0.8, 0.3]}, \"material\": \"made\"}"
        "]%s}",
        materials, more);
    assert_in_range(length, 1, sizeof text - 1);
    assert_int_equal(
        scene_parse_instanced(&parsed, text, (uint64_t)length, NULL, NULL, 0, options, NULL),
        KD_OK);
    return parsed;
}

static void test_choices(void **context) {
    (void)context;
    static const struct {
        const char *materials, *more, *chosen;
    } cases[] = {
        {"\"made\": {}", "", "path"},
        {"\"made\": {}, \"unused\": {\"kind\": \"glass\"}", "", "path"},
        {"\"made\": {\"kind\": \"plastic\"}", "", "path"},
        {"\"made\": {\"kind\": \"principled\", \"coat\": 1, \"roughness\": 0.5}", "", "path"},
        {"\"made\": {\"kind\": \"plastic\"}",
         ", \"lights\": [{\"kind\": \"point\", \"position\": [0, 1, 1], \"intensity\": 1}]", "vcm"},
        {"\"made\": {\"kind\": \"plastic\"}",
         ", \"lights\": [{\"kind\": \"area\", \"corner\": [0, 1.9, 0], \"edge_u\": [0.1, 0, 0], "
         "\"edge_v\": [0, 0, 0.1], \"power\": 99}]",
         "vcm"},
        {"\"made\": {\"kind\": \"conductor\", \"roughness\": 0.6}", "", "path"},
        {"\"made\": {\"kind\": \"conductor\", \"roughness\": 0.3}", "", "vcm"},
        {"\"made\": {\"kind\": \"principled\", \"metallic\": 1, \"roughness\": 0}", "", "vcm"},
        {"\"made\": {\"kind\": \"mirror\"}", "", "vcm"},
        {"\"made\": {\"kind\": \"glass\"}", "", "vcm"},
        {"\"made\": {\"kind\": \"glass\", \"roughness\": 0.6}", "", "vcm"},
        {"\"made\": {\"kind\": \"glass\"}",
         ", \"lights\": [{\"kind\": \"directional\", \"direction\": [0, -1, 0], "
         "\"angle_degrees\": 1}]",
         "vcm"},
        {"\"made\": {\"kind\": \"glass\"}", ", \"environment\": {\"radiance\": 9}", "path"},
        {"\"made\": {\"kind\": \"glass\"}",
         ", \"environment\": {\"radiance\": 9}, \"camera\": {\"eye\": [0, 1, 0.9], "
         "\"look_at\": [0, 0, 0]}",
         "vcm"},
        {"\"made\": {\"kind\": \"glass\"}", ", \"render\": {\"clamp\": 1}", "vcm"},
        {"\"made\": {\"kind\": \"glass\"}", ", \"render\": {\"regularise\": 0.3}", "path"},
        {"\"made\": {}", ", \"render\": {\"show_techniques\": \"lamps\"}", "vcm"},
        {"\"made\": {\"kind\": \"glass\"}", ", \"render\": {\"integrator\": \"path\"}", "path"},
        {"\"made\": {}", ", \"render\": {\"integrator\": \"vcm\"}", "vcm"},
        {"\"made\": {\"kind\": \"glass\"}", ", \"render\": {\"final_gather\": 2}", "photon"},
        {"\"made\": {\"kind\": \"glass\"}", ", \"render\": {\"batches\": 2}", "photon"},
        {"\"made\": {}", ", \"render\": {\"estimator\": \"fixed\"}", "photon"},
        {"\"made\": {}", ", \"render\": {\"media\": \"beams\"}", "photon"},
        {"\"made\": {}", ", \"render\": {\"ranks_maps\": \"apart\"}", "photon"},
        {"\"made\": {}", ", \"render\": {\"ranks_maps\": \"whole\"}", "path"},
        {"\"made\": {}", ", \"render\": {\"integrator\": \"path\", \"final_gather\": 2}", "path"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        kd_render_options options;
        scene *made = room(&options, cases[i].materials, cases[i].more);
        render_resolve_integrator(&options, made);
        if (strcmp(options.integrator, cases[i].chosen) != 0)
            fail_msg("%s%s: %s, expected %s", cases[i].materials, cases[i].more, options.integrator,
                     cases[i].chosen);
        scene_close(made);
    }
}

static const char hall[] =
    "\"camera\": {\"eye\": [0.4, 1.9, 4], \"look_at\": [0, 0, 0]}, \"lights\": [{\"kind\": "
    "\"area\", \"corner\": [-3, 4, -3], \"edge_u\": [6, 0, 0], \"edge_v\": [0, 0, 6], "
    "\"radiance\": 3}]";
static const char lamp[] =
    "\"lights\": [{\"kind\": \"area\", \"corner\": [-0.3, 4, -0.3], \"edge_u\": [0.6, 0, 0], "
    "\"edge_v\": [0, 0, 0.6], \"radiance\": 3}]";
static const char lamp_below[] =
    "\"lights\": [{\"kind\": \"area\", \"corner\": [-0.3, -0.5, -0.3], \"edge_u\": "
    "[0.6, 0, 0], \"edge_v\": [0, 0, 0.6], \"radiance\": 3}]";
static const struct {
    const char *lights, *mesh, *chosen;
    double half; /* of the room */
} shares[] = {
    {hall, "{\"sphere\": {\"triangles\": 500, \"radius\": 0.02}, \"material\": \"mirror\"}", "path",
     6},
    {hall, "{\"box\": {\"lo\": [1.5, -1, -1], \"hi\": [1.51, 1, 1]}, \"material\": \"glass\"}",
     "path", 6},
    {hall,
     "{\"quad\": [[-6, -1, 6], [6, -1, 6], [6, -1, -6], [-6, -1, -6]], "
     "\"material\": \"mirror\"}",
     "vcm", 6},
    {lamp, "{\"sphere\": {\"triangles\": 500, \"radius\": 0.05}, \"material\": \"glass\"}", "path",
     2},
    {lamp, "{\"sphere\": {\"triangles\": 500, \"radius\": 0.5}, \"material\": \"glass\"}", "vcm",
     2},
    /* a polished floor is a mirror for its few percent; a polished ball meets too little */
    {lamp,
     "{\"quad\": [[-2, -1, 2], [2, -1, 2], [2, -1, -2], [-2, -1, -2]], "
     "\"material\": \"plastic\"}",
     "vcm", 2},
    {hall,
     "{\"quad\": [[-6, -1, 6], [6, -1, 6], [6, -1, -6], [-6, -1, -6]], "
     "\"material\": \"plastic\"}",
     "path", 6},
    {lamp, "{\"sphere\": {\"triangles\": 500, \"radius\": 0.5}, \"material\": \"plastic\"}", "path",
     2},
    /* near a lamp, small glass meets much of its light; behind it, none */
    {lamp,
     "{\"sphere\": {\"triangles\": 500, \"radius\": 0.05, \"centre\": [0, 3.8, 0]}, "
     "\"material\": \"glass\"}",
     "vcm", 2},
    {lamp_below,
     "{\"sphere\": {\"triangles\": 500, \"radius\": 0.05, \"centre\": [0, -0.3, 0]}, "
     "\"material\": \"glass\"}",
     "path", 2},
};

/* Whether glass and mirrors are worth vcm depends on how much light meets them, and on the size of
   the lamp. */
static void test_share_of_light(void **context) {
    (void)context;
    for (size_t i = 0; i < sizeof shares / sizeof *shares; ++i) {
        char text[1024];
        kd_render_options options;
        scene *made = NULL;
        const double r = shares[i].half;
        kd_render_options_default(&options);
        const int length = snprintf(text, sizeof text,
                                    "{\"kandela\": 1, \"materials\": {\"glass\": {\"kind\": "
                                    "\"glass\"}, \"mirror\": {\"kind\": \"mirror\"}, "
                                    "\"plastic\": {\"kind\": \"plastic\"}}, %s, "
                                    "\"meshes\": [{\"quad\": [[%g, -1.01, %g], [%g, -1.01, %g], "
                                    "[%g, -1.01, %g], [%g, -1.01, %g]]}, %s]}",
                                    shares[i].lights, -r, r, r, r, r, -r, -r, -r, shares[i].mesh);
        assert_in_range(length, 1, sizeof text - 1);
        assert_int_equal(
            scene_parse_instanced(&made, text, (uint64_t)length, NULL, NULL, 0, &options, NULL),
            KD_OK);
        render_resolve_integrator(&options, made);
        if (strcmp(options.integrator, shares[i].chosen) != 0)
            fail_msg("%s: %s, expected %s", shares[i].mesh, options.integrator, shares[i].chosen);
        scene_close(made);
    }
}

static void test_photon_map(void **context) {
    (void)context;
    kd_render_options options;
    scene *made = room(&options, "\"made\": {\"kind\": \"glass\"}", "");
    options.photon_map = "photons.kdp";
    render_resolve_integrator(&options, made);
    assert_string_equal(options.integrator, "photon");
    scene_close(made);
}

/* A bare mesh has the ground of its look, which vcm does not show. */
static void test_bare_mesh(void **context) {
    (void)context;
    kd_render_options options;
    scene *made = NULL;
    kd_render_options_default(&options);
    FILE *file = fopen("glass.mtl", "w");
    assert_non_null(file);
    fputs("newmtl glass\nillum 7\nNi 1.5\nTf 1 1 1\nd 0.1\n", file);
    fclose(file);
    file = fopen("glass.obj", "w");
    assert_non_null(file);
    fputs("mtllib glass.mtl\nusemtl glass\nv 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\n"
          "f 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n",
          file);
    fclose(file);
    assert_int_equal(scene_open_instanced(&made, "glass.obj", NULL, &options, NULL), KD_OK);
    render_resolve_integrator(&options, made);
    assert_string_equal(options.integrator, "path");
    scene_close(made);
}

/* Two rooms with a narrow gap between them, the lamp in the one that the camera does not see; a
   small object in the open; and a small part of a large floor. Light reaches the last two directly.
 */
static void test_hidden_light(void **context) {
    (void)context;
    static const struct {
        const char *text, *chosen;
    } cases[] = {
        {"{\"kandela\": 1, \"camera\": {\"eye\": [-0.8, 1.4, 1.9], \"look_at\": [0.2, 1, -1]}, "
         "\"meshes\": [{\"box\": {\"lo\": [-2, 0, -4], \"hi\": [2, 2.4, 2]}}, "
         "{\"box\": {\"lo\": [-2, 0, -1.05], \"hi\": [1.6, 2.4, -0.95]}}, "
         "{\"box\": {\"lo\": [1.66, 0, -1.05], \"hi\": [2, 2.4, -0.95]}}], \"lights\": "
         "[{\"kind\": \"point\", \"position\": [-0.5, 2, -2.5], \"power\": 90}]}",
         "vcm"},
        {"{\"kandela\": 1, \"camera\": {\"eye\": [2, 3, 9], \"look_at\": [1, 0, 0]}, \"meshes\": "
         "[{\"box\": {\"lo\": [0, 0, 0], \"hi\": [0.5, 0.5, 0.5]}}], \"lights\": [{\"kind\": "
         "\"point\", \"position\": [3, 5, 4], \"power\": 90}]}",
         "path"},
        {"{\"kandela\": 1, \"camera\": {\"eye\": [0, 0.5, 0.5], \"look_at\": [0, 0, 0], \"fov\": "
         "20}, \"meshes\": [{\"quad\": [[-9, 0, 9], [9, 0, 9], [9, 0, -9], [-9, 0, -9]]}], "
         "\"lights\": [{\"kind\": \"point\", \"position\": [3, 5, 4], \"power\": 90}]}",
         "path"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        kd_render_options options;
        scene *made = NULL;
        kd_render_options_default(&options);
        assert_int_equal(scene_parse_instanced(&made, cases[i].text, strlen(cases[i].text), NULL,
                                               NULL, 0, &options, NULL),
                         KD_OK);
        options.width = 64, options.height = 48;
        render_resolve_integrator(&options, made);
        if (strcmp(options.integrator, cases[i].chosen) != 0)
            fail_msg("%s: %s, expected %s", cases[i].text, options.integrator, cases[i].chosen);
        scene_close(made);
    }
}

static void test_rendering(void **context) {
    (void)context;
    kd_render_options options;
    scene *made = room(&options, "\"made\": {\"kind\": \"glass\"}", "");
    render_result by_auto, by_name;
    image read;
    options.width = options.height = 8;
    options.spp = 2;
    assert_string_equal(options.integrator, "auto");
    assert_int_equal(render_run(&by_auto, made, &options, NULL), KD_OK);
    assert_string_equal(options.integrator, "auto");
    strcpy(options.integrator, "vcm");
    assert_int_equal(render_run(&by_name, made, &options, NULL), KD_OK);
    assert_int_equal(by_auto.image_hash, by_name.image_hash);
    assert_string_equal(by_auto.picture.method, "vcm");
    if (image_format_find("auto.exr")) {
        assert_int_equal(image_write(&by_auto.picture, "auto.exr", NULL), KD_OK);
        assert_int_equal(image_read(&read, "auto.exr"), KD_OK);
        assert_string_equal(read.method, "vcm");
        image_close(&read);
    }
    render_close(&by_auto);
    render_close(&by_name);
    scene_close(made);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_choices),      cmocka_unit_test(test_share_of_light),
        cmocka_unit_test(test_photon_map),   cmocka_unit_test(test_bare_mesh),
        cmocka_unit_test(test_hidden_light), cmocka_unit_test(test_rendering),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
