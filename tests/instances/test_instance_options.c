/* Instances render the same picture as copies of their triangles, with every integrator, bit for
   bit; invalid descriptions are rejected. */
#include "instance_scene.h"
#include "render/api/render.h"
#include "render/integrators/integrators.h"
#include "tests/scenes/files.h"

static scene *parse(const char *text, kd_render_options *options) {
    scene *made = NULL;
    kd_render_options_default(options);
    options->threads = 2;
    if (scene_parse_instanced(&made, text, strlen(text), test_folder, NULL, 0, options, NULL) !=
        KD_OK)
        fail_msg("%s", kd_last_error());
    return made;
}

static uint64_t picture_of(const scene *scene, const kd_render_options *options) {
    render_result result;
    if (render_run(&result, scene, options, NULL) != KD_OK) fail_msg("%s", kd_last_error());
    const uint64_t hash = result.image_hash;
    assert_true(result.mean_radiance[0] > 0);
    render_close(&result);
    return hash;
}

static uint64_t picture(const char *text, const char *method, render_instancing instancing) {
    kd_render_options options;
    scene *made = parse(text, &options);
    strcpy(options.integrator, method);
    if (render_resolve_instances(made, &options, 0, instancing) != KD_OK)
        fail_msg("%s", kd_last_error());
    assert_true((scene_instance_count(made) > 0) == (instancing == RENDER_INSTANCING_KEEP));
    const uint64_t hash = picture_of(made, &options);
    scene_close(made);
    return hash;
}

static void test_instances_match_copies(void **state) {
    (void)state;
    int methods = 0;
    for (int i = 0; integrators[i]; ++i) {
        if (!integrators[i]->instances) continue;
        ++methods;
        const char *name = integrators[i]->name;
        assert_true(picture(instance_scene, name, RENDER_INSTANCING_KEEP) ==
                    picture(instance_scene, name, RENDER_INSTANCING_COPY));
    }
    assert_int_equal(methods, 4);
}

/* The camera and the default sky must be those of the scene with copies. */
static const char *const under_sky =
    "{\"kandela\": 1, \"meshes\": [{\"file\": \"gen:blob:200\", \"placements\": ["
    "[], [{\"translate\": [2, 0, 0]}], [{\"scale\": 2}, {\"translate\": [-3, 1, 0]}]]}],"
    "\"render\": {\"resolution\": [32, 24], \"spp\": 4}}";

static void test_scene_without_instances_is_unchanged(void **state) {
    (void)state;
    assert_true(picture(under_sky, "path", RENDER_INSTANCING_KEEP) ==
                picture(under_sky, "path", RENDER_INSTANCING_COPY));
}

#define BOX "{\"box\": {\"lo\": [0, 0, 0], \"hi\": [1, 1, 1]}, "
#define REST                                                                                       \
    "], \"camera\": {\"eye\": [2, 3, 9], \"look_at\": [1, 0, 0]}, \"lights\": [{\"kind\": "        \
    "\"point\", \"position\": [3, 5, 4], \"power\": 90}], \"render\": {\"resolution\": [40, 30], " \
    "\"spp\": 2}}"

/* Placements are equivalent to separate entries in the same order, and to a file that lists
   them. */
static void test_instances_match_explicit_transforms(void **state) {
    (void)state;
    static const char *const placed =
        "{\"kandela\": 1, \"meshes\": [" BOX
        "\"transform\": [{\"scale\": 0.5}], \"placements\": [[{\"translate\": [1, 0, 0.25]}],"
        "[{\"rotate\": [0, 1, 0.5], \"degrees\": 33}], [{\"scale\": [1, -2, 1]}]]}" REST;
    static const char *const listed =
        "{\"kandela\": 1, \"meshes\": [" BOX
        "\"transform\": [{\"scale\": 0.5}, {\"translate\": [1, 0, 0.25]}]}," BOX
        "\"transform\": [{\"scale\": 0.5}, {\"rotate\": [0, 1, 0.5], \"degrees\": 33}]}," BOX
        "\"transform\": [{\"scale\": 0.5}, {\"scale\": [1, -2, 1]}]}" REST;
    kd_render_options options;
    scene *made = parse(listed, &options);
    const uint64_t expected = picture_of(made, &options);
    scene_close(made);
    assert_true(picture(placed, "path", RENDER_INSTANCING_KEEP) == expected);
    static const char *const from_file =
        "{\"kandela\": 1, \"meshes\": [" BOX "\"placements\": \"puts.txt\"}" REST;
    static const char *const same = "{\"kandela\": 1, \"meshes\": [" BOX
                                    "\"placements\": [[{\"matrix\": [1, 0, 0, 0.5, 0, 2, 0, 0, 0, "
                                    "0, 1, -1]}], []]}" REST;
    file_put_text("puts.txt", "# rows\n1 0 0 .5  0 2 0 0  0 0 1 -1\n\n1 0 0 0 0 1 0 0 0 0 1 0");
    assert_true(picture(from_file, "path", RENDER_INSTANCING_KEEP) ==
                picture(same, "path", RENDER_INSTANCING_KEEP));
}

/* Instances of lamps become copies, each of which is a light; photon integrators accept copies
   only. */
static void test_unsupported_features_copy_instances(void **state) {
    (void)state;
    kd_render_options options;
    scene *made =
        parse("{\"kandela\": 1, \"materials\": {\"lamp\": {\"emission\": 5}}, \"meshes\": "
              "[" BOX "\"material\": \"lamp\", \"placements\": [[], [{\"translate\": [3, "
              "0, 0]}]]}]}",
              &options);
    assert_int_equal(scene_instance_count(made), 0);
    assert_int_equal(scene_get_view(made).light_count, 24);
    scene_close(made);
    made = parse(instance_scene, &options);
    strcpy(options.integrator, "photon");
    render_result result;
    assert_int_equal(render_run(&result, made, &options, NULL), KD_ERROR_USAGE);
    assert_int_equal(render_resolve_instances(made, &options, 1000, RENDER_INSTANCING_AUTO),
                     KD_ERROR_USAGE);
    assert_non_null(strstr(kd_last_error(), "82 instances"));
    assert_int_equal(render_resolve_instances(made, &options, 0, RENDER_INSTANCING_KEEP),
                     KD_ERROR_USAGE);
    assert_int_equal(render_resolve_instances(made, &options, 0, RENDER_INSTANCING_AUTO), KD_OK);
    assert_int_equal(scene_instance_count(made), 0);
    options.photons = 5000;
    assert_true(picture_of(made, &options) != 0);
    scene_close(made);
    /* they stay instances if memory is too small for copies */
    made = parse(instance_scene, &options);
    assert_int_equal(render_resolve_instances(made, &options, 1 << 20, RENDER_INSTANCING_AUTO),
                     KD_OK);
    assert_int_equal(scene_instance_count(made), 82);
    scene_close(made);
}

/* Unlit surfaces are no lights, so their instances stay instances. */
static void test_unlit_meshes_stay_instances(void **state) {
    (void)state;
    static const char *const glowing =
        "{\"kandela\": 1, \"materials\": {\"glow\": {\"emission\": 5, \"unlit\": true}}, "
        "\"meshes\": "
        "[" BOX "\"material\": \"glow\", \"placements\": [[], [{\"translate\": [3, "
        "0, 0]}]]}" REST;
    kd_render_options options;
    scene *made = parse(glowing, &options);
    assert_int_equal(scene_instance_count(made), 2);
    scene_close(made);
    assert_true(picture(glowing, "path", RENDER_INSTANCING_KEEP) ==
                picture(glowing, "path", RENDER_INSTANCING_COPY));
}

static void test_unsupported_options_are_rejected(void **state) {
    (void)state;
    static const char *const wrong[][2] = {
        {BOX "\"placements\": 7}", "a list of lists of steps or a file"},
        {BOX "\"placements\": [[{\"scale\": [1, 0, 1]}]]}", "determinant"},
        {BOX "\"placements\": [[{\"scale\": [1, 1e-9, 1]}]]}", "in a ratio of"},
        {BOX "\"placements\": [], \"scatter\": {\"count\": 1}}", "set only one of"},
        {BOX "\"scatter\": {}}", "`count` is missing"},
        {BOX "\"scatter\": {\"count\": 3, \"scale\": [0, 1]}}", "scale"},
        {BOX "\"placements\": \"short.txt\"}", "line 2 of the file: expected 12"},
        {BOX "\"placements\": \"flat.txt\"}", "flat.txt, line 2 of the file: the transform"},
        {BOX "\"placements\": \"none.txt\"}", "none.txt"}};
    file_put_text("short.txt", "1 0 0 0 0 1 0 0 0 0 1 0\n1 0 0 0 0 1 0 0 0 0 1\n");
    file_put_text("flat.txt", "1 0 0 0 0 1 0 0 0 0 1 0\n1 0 0 0 0 1 0 0 0 0 0 0\n");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
        char text[512];
        scene *made = NULL;
        kd_render_options options;
        kd_render_options_default(&options);
        snprintf(text, sizeof text, "{\"kandela\": 1, \"meshes\": [%s]}", wrong[i][0]);
        assert_int_equal(
            scene_parse(&made, text, strlen(text), test_folder, NULL, 0, &options, NULL),
            KD_ERROR_INPUT);
        if (!strstr(kd_last_error(), wrong[i][1])) fail_msg("%zu: %s", i, kd_last_error());
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_instances_match_copies),
                                       cmocka_unit_test(test_scene_without_instances_is_unchanged),
                                       cmocka_unit_test(test_instances_match_explicit_transforms),
                                       cmocka_unit_test(test_unsupported_features_copy_instances),
                                       cmocka_unit_test(test_unlit_meshes_stay_instances),
                                       cmocka_unit_test(test_unsupported_options_are_rejected)};
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
