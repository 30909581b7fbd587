/* scenes/describe/describe_json.h: valid descriptions, and the messages for invalid ones. */
#include "core/files/file.h"
#include "core/memory.h"
#include "scenes/describe/describe_json.h"
#include "scenes/mesh/mesh_builder.h"
#include "scenes/text/paths.h"
#include "tests/scenes/files.h"
#include <dirent.h>

/* Makes one triangle in the place of every mesh file, so that tests and fuzzers read no files and
   generate no large meshes. */
static kd_status load_nothing(mesh *out, const char *path, const obj_options *how,
                              job_control *job) {
    mesh_builder part;
    (void)path, (void)how, (void)job;
    memset(&part, 0, sizeof part);
    mesh_builder_flat_triangle(&part, vec3_all(0), vec3_make(1, 0, 0), vec3_make(0, 1, 0));
    return mesh_builder_finish(&part, out);
}

static kd_render_options options;
static scene_draft draft;

static kd_status parse_bytes(const char *text, size_t bytes) {
    const describe_source source = {"dir/s.json", load_nothing, NULL, 0};
    scene_draft_close(&draft);
    kd_render_options_default(&options);
    return describe_json_parse(&draft, text, bytes, &source, &options, NULL);
}

static kd_status parse(const char *text) {
    return parse_bytes(text, strlen(text));
}

/* --- errors ----------------------------------------------------------------------------------- */

#define START "{\"kandela\": 1, "
#define BOX "\"meshes\": [{\"box\": {}}]"

static const struct {
    const char *text, *message;
} wrong[] = {
    {"[1]", "dir/s.json: found a list of 1, expected an object"},
    {"{}", "dir/s.json: kandela: missing; expected 1, the version of the format"},
    {"{\"kandela\": 2}", "dir/s.json: kandela: found 2, expected an integer >= 1 and <= 1"},
    {"{\"kandela\": 1}", "dir/s.json: meshes: missing; expected a list of objects"},
    {START "\"mesh\": []}", "dir/s.json: mesh: unknown key, did you mean \"meshes\"?"},
    {START "\"kandela\": 1}", "dir/s.json: kandela: given twice"},
    {START "\"meshes\": {}}", "dir/s.json: meshes: found an object, expected a list of objects"},
    {START "\"meshes\": [7]}", "dir/s.json: meshes[0]: found 7, expected an object"},
    {START "\"meshes\": [{}]}",
     "dir/s.json: meshes[0]: found 0 of the keys `file`, `quad`, `box`, `sphere`, `lathe`, `torus` "
     "and `cylinder`, expected exactly one"},
    {START "\"meshes\": [{\"file\": \"a.json\"}]}",
     "dir/s.json: meshes[0].file: found the scene description \"a.json\", expected a mesh file"},
    {START "\"meshes\": [{\"box\": {\"lo\": [0,0,0], \"hi\": [1,0,1]}}]}",
     "dir/s.json: meshes[0].box: `lo` must be less than `hi` in all three coordinates"},
    {START "\"meshes\": [{\"quad\": [[0,0,0],[1,0,0],[1,\"x\",0],[0,1,0]]}]}",
     "dir/s.json: meshes[0].quad[2][1]: found \"x\", expected a number"},
    {START "\"meshes\": [{\"sphere\": {\"radius\": 0}}]}",
     "dir/s.json: meshes[0].sphere.radius: found 0, expected a number > 0"},
    {START "\"meshes\": [{\"box\": {}, \"transform\": [{\"scale\": [1,0,1]}]}]}",
     "dir/s.json: meshes[0].transform: the determinant of the transform is 0; expected a finite "
     "value other than 0"},
    {START "\"meshes\": [{\"box\": {}, \"transform\": [{\"rotate\": [0,1,0]}]}]}",
     "dir/s.json: meshes[0].transform[0]: set both `rotate` and `degrees`, or neither"},
    {START "\"meshes\": [{\"box\": {}, \"material\": \"wite\"}], \"materials\": {\"white\": {}}}",
     "dir/s.json: meshes[0].material: unknown material \"wite\", did you mean \"white\"?"},
    {START "\"meshes\": [{\"box\": {}, \"materials\": {\"defualt\": {}}}]}",
     "dir/s.json: meshes[0].materials.defualt: the mesh has no such material, did you mean "
     "\"default\"?"},
    {START "\"meshes\": [{\"box\": {}, \"materials\": {\"chrome\": {}}}]}",
     "dir/s.json: meshes[0].materials.chrome: the mesh has no such material; it has \"default\""},
    {START BOX ", \"materials\": {\"a\": {\"kind\": \"glas\"}}}",
     "dir/s.json: materials.a.kind: found \"glas\", expected \"diffuse\", \"mirror\", \"glass\", "
     "\"conductor\", \"plastic\" or \"principled\"; did you mean \"glass\"?"},
    {START BOX ", \"materials\": {\"a\": {\"kind\": \"plastic\", \"coat\": 1}}}",
     "dir/s.json: materials.a.coat: this key needs `kind` \"principled\""},
    {START BOX ", \"materials\": {\"a\": {\"kind\": \"glass\", \"metal\": \"gold\"}}}",
     "dir/s.json: materials.a: `metal` needs `kind` \"principled\" or \"conductor\""},
    {START BOX ", \"materials\": {\"a\": {\"diffuse\": [0.5, 1.5, 0]}}}",
     "dir/s.json: materials.a.diffuse[1]: found 1.5, expected a number >= 0 and <= 1"},
    {START BOX ", \"materials\": {\"a\": {\"rougness\": 1}}}",
     "dir/s.json: materials.a.rougness: unknown key, did you mean \"roughness\"?"},
    {START BOX ", \"materials\": {\"a\": {}, \"a\": {}}}", "dir/s.json: materials.a: given twice"},
    {START BOX ", \"lights\": [{\"kind\": \"point\"}, {\"power\": 1}]}",
     "dir/s.json: lights[0]: set exactly one of `intensity`, `intensity_candelas`, `power` and "
     "`power_lumens`"},
    {START BOX ", \"lights\": [{\"kind\": \"area\", \"power\": 1, \"power_lumens\": 1}]}",
     "dir/s.json: lights[0]: set exactly one of `radiance`, `luminance_nits`, `power` and "
     "`power_lumens`"},
    {START BOX
     ", \"lights\": [{\"kind\": \"directional\", \"irradiance\": 1, \"illuminance_lux\": 1}]}",
     "dir/s.json: lights[0]: set exactly one of `irradiance` and `illuminance_lux`"},
    {START BOX ", \"materials\": {\"a\": {\"emission\": 1, \"emission_nits\": 1}}}",
     "dir/s.json: materials.a: set exactly one of `emission` and `emission_nits`"},
    {START BOX ", \"environment\": {\"sky\": {}, \"luminance_nits\": 1}}",
     "dir/s.json: environment: set exactly one of `radiance`, `luminance_nits` and `sky`"},
    {START BOX ", \"lights\": [{\"power\": 1}]}",
     "dir/s.json: lights[0].kind: missing; expected point, spot, directional or area"},
    {START BOX ", \"lights\": [{\"kind\": \"point\", \"power\": \"abc\"}]}",
     "dir/s.json: lights[0].power: found \"abc\", expected a number or [r, g, b] >= 0"},
    {START BOX ", \"lights\": [{\"kind\": \"point\", \"power\": -1}]}",
     "dir/s.json: lights[0].power: found -1, expected a number or [r, g, b] >= 0"},
    {START BOX ", \"lights\": [{\"kind\": \"point\", \"direction\": [0,1,0]}]}",
     "dir/s.json: lights[0].direction: unknown key, expected one of about, kind, position, "
     "intensity, intensity_candelas, power, power_lumens, radius, camera_visible"},
    {START BOX ", \"lights\": [{\"kind\": \"spot\", \"power\": 1, \"inner_degrees\": 40}]}",
     "dir/s.json: lights[0]: `inner_degrees` is 40; expected less than `outer_degrees`, 30"},
    {START BOX ", \"camera\": {\"fov\": 180}}",
     "dir/s.json: camera.fov: found 180, expected a number > 0 and < 180"},
    {START BOX ", \"camera\": {\"eye\": [1,2,3], \"look_at\": [1,2,3]}}",
     "dir/s.json: camera: `look_at` must not be the same point as `eye`"},
    {START BOX ", \"camera\": {\"eye\": [0,9,0], \"look_at\": [0,0,0]}}",
     "dir/s.json: camera: `up` must not be parallel to the viewing direction"},
    {START BOX ", \"camera\": {\"eye\": [0,1e999,0]}}",
     "dir/s.json: camera.eye[1]: found inf, expected a number"},
    {START BOX ", \"camera\": {\"eye\": [0,1e39,0]}}",
     "dir/s.json: camera.eye[1]: found 1e+39, expected a number"},
    {START BOX ", \"camera\": {\"eye\": [0,0]}}",
     "dir/s.json: camera.eye: found a list of 2, expected [x, y, z]"},
    {START BOX ", \"render\": {\"spp\": 1.5}}",
     "dir/s.json: render.spp: found 1.5, expected an integer >= 1 and <= 16777216"},
    {START BOX ", \"render\": {\"gather\": 1}}",
     "dir/s.json: render.gather: found 1, expected an integer >= 2 and <= 1024"},
    {START BOX ", \"render\": {\"photons\": -1}}",
     "dir/s.json: render.photons: found -1, expected an integer >= 0 and <= 4e+09"},
    {START BOX ", \"render\": {\"resolution\": [0, 10]}}",
     "dir/s.json: render.resolution[0]: found 0, expected an integer >= 1 and <= 65536"},
    {START BOX ", \"render\": {\"crop\": [5, 0, 5, 9]}}",
     "dir/s.json: render: `crop` is [5, 0, 5, 9]; expected x0 < x1 and y0 < y1"},
    {START BOX ", \"render\": {\"tonemap\": true}}",
     "dir/s.json: render.tonemap: found true, expected \"linear\", \"reinhard\", \"aces\", \"agx\" "
     "or "
     "\"neutral\""},
    {START BOX ", \"render\": {\"integrator\": \"a name that is much too long for it\"}}",
     "dir/s.json: render.integrator: found \"a name that is much too long for it\", expected "
     "\"auto\", \"path\", \"direct\", \"photon\", \"sppm\", \"light\", \"vcm\", \"whitted\", "
     "\"ao\" or \"debug\""},
    {START BOX ", \"render\": {\"kernel\": \"conic\"}}",
     "dir/s.json: render.kernel: found \"conic\", expected \"disc\", \"cone\", \"epanechnikov\" or "
     "\"gaussian\"; did you mean \"cone\"?"},
    {START BOX ", \"environment\": {\"radiance\": null}}",
     "dir/s.json: environment.radiance: found null, expected a number or [r, g, b] >= 0"},
    {START "\"meshes\": [{\"box\": {}, \"transform\": [{\"scale\": [1, 2]}]}]}",
     "dir/s.json: meshes[0].transform[0].scale: found a list of 2, expected a number or [x, y, z]"},
};

static void test_errors_give_key_and_expectation(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
        assert_int_equal(parse(wrong[i].text), KD_ERROR_INPUT);
        char message[1024] = "dir/s.json";
        unsigned line, column;
        int used = 0;
        const char *position = kd_last_error() + strlen(message);
        assert_int_equal(sscanf(position, ":%u:%u%n", &line, &column, &used), 2);
        snprintf(message + strlen(message), 1000, "%s", position + used);
        assert_string_equal(message, wrong[i].message);
        assert_null(draft.geometry.positions);
    }
}

/* Texts and what follows the name of the file in their errors. */
static const struct {
    const char *text, *message;
} positions[] = {
    {"",
     "1:1: invalid JSON: found the end of the file, expected a number, a text in double quotes, "
     "a list, an object, true, false or null"},
    {"{", "1:2: invalid JSON: found the end of the file, expected a key in double quotes"},
    {"{\n\n\"a\": 1,\n}", "4:1: invalid JSON: found \"}\", expected a key after the comma"},
    {"{\n\"a\": [1, 2,]}", "2:12: invalid JSON: found \"]}\", expected a value after the comma"},
    {"{\n\"a\": nul, \"b\": 3}",
     "2:6: invalid JSON: found \"nul, \"b\": 3}\", expected a number, a text "
     "in double quotes, a list, an object, true, false or null"},
    {"{\"\xc3\xa4\": 1 \"b\": 3}", "1:9: invalid JSON: found \"\"b\": 3}\", expected a comma or }"},
    {"{\"a\" 1}", "1:6: invalid JSON: found \"1}\", expected a colon after the key"},
    {"{\"a\": [1 2]}", "1:10: invalid JSON: found \"2]}\", expected a comma or ]"},
    {"{\"a\": [1,\n 2", "2:3: invalid JSON: found the end of the file, expected a comma or ]"},
    {"{'a': 1}", "1:2: invalid JSON: found \"'a': 1}\", expected a key in double quotes"},
    {"{\"a\": 'b'}", "1:7: invalid JSON: found \"'b'}\", expected double quotes"},
    {"{\"a\": 1, // b\n}", "1:10: invalid JSON: found \"// b\", expected a key in double quotes"},
    {"{\"a\":\n// b\n}", "2:1: invalid JSON: found \"// b\", expected a value; JSON has no "
                         "comments, use the key \"about\""},
    {"{\"a\": \"C:\\models\"}",
     "1:10: invalid JSON: found \"\\models\"}\", expected an escape such as "
     "\\n; a backslash is written \\\\"},
    {"{\"a\": \"b,\n\"c\": \"d}",
     "1:7: invalid JSON: found \"\"b,\", expected a closing double quote in the same line"},
    {"{\"a\": 1} 2", "1:10: invalid JSON: found \"2\", expected the end of the file"},
    {START "\n\"meshes\": [{\"file\": \"a.obj\\u0000.png\"}]}",
     "2: found a null character, which no text may have"},
    {START "\n\"meshes\": [{\"box\": {}},\n  {\"sphere\": {\"radius\": 0}}]}",
     "3:15: meshes[1].sphere.radius: found 0, expected a number > 0"},
    {START "\n\"meshes\": [{\"box\": {}}, {\"quad\": [[0, 0, 0], [1, 0, 0],\n[1, \"x\", 0], [0, 1, "
           "0]]}]}",
     "3:5: meshes[1].quad[2][1]: found \"x\", expected a number"},
    {START BOX ",\n\"camera\": {\"eye\": [0, 0, 0],\n\"eye\": [1, 1, 1]}}",
     "2:12: camera.eye: given twice"},
    {START "\n\"about\": \"a \\\"mesh\\\": {\",\n\"mesh\": []}",
     "3:1: mesh: unknown key, did you mean \"meshes\"?"},
};

static void test_errors_give_line_and_column(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof positions / sizeof *positions; ++i) {
        assert_int_equal(parse(positions[i].text), KD_ERROR_INPUT);
        assert_string_equal(kd_last_error() + strlen("dir/s.json:"), positions[i].message);
    }
}

/* --- valid descriptions ----------------------------------------------------------------------- */

static void test_render_settings_are_read(void **state) {
    (void)state;
    assert_int_equal(
        parse(START BOX
              ", \"render\": {\"integrator\": \"photon\", \"builder\": \"median\","
              "\"device\": \"cpu\", \"resolution\": [640, 480], \"crop\": [1, 2, 30, 40],"
              "\"spp\": 7, \"max_depth\": 9, \"photons\": 5000000000000, \"gather\": 11}}"),
        KD_ERROR_INPUT);
    assert_int_equal(
        parse(START BOX
              ", \"render\": {\"integrator\": \"photon\", \"builder\": \"median\","
              "\"device\": \"cpu\", \"resolution\": [640, 480], \"crop\": [1, 2, 30, 40],"
              "\"spp\": 7, \"max_depth\": 9, \"photons\": 3000000000, \"caustic_photons\": 12,"
              "\"gather\": 11, \"radius\": 0.5, \"kernel\": \"disc\", \"final_gather\": 13,"
              "\"seed\": 14, \"threads\": 3, \"time\": 1.5, \"exposure\": -2,"
              "\"tonemap\": \"aces\", \"sah_costs\": [2, 3], \"empty_factor\": 0.8,"
              "\"estimator\": \"adaptive\", \"passes\": 15, \"alpha\": 0.5, \"channel\": \"ids\","
              "\"photon_map\": \"a.kdp\", \"lookup\": \"walk\", \"ranks_maps\": \"apart\","
              "\"maps_ahead\": \"off\", \"device_paths\": 4096, \"filter\": \"gaussian\"}}"),
        KD_OK);
    assert_string_equal(options.photon_map, "dir/a.kdp");
    kd_render_options expected;
    kd_render_options_default(&expected);
    strcpy(expected.integrator, "photon");
    memset(expected.builder, 0, sizeof expected.builder);
    strcpy(expected.builder, "median");
    memset(expected.device, 0, sizeof expected.device);
    strcpy(expected.device, "cpu");
    memset(expected.estimator, 0, sizeof expected.estimator);
    strcpy(expected.estimator, "adaptive");
    memset(expected.lookup, 0, sizeof expected.lookup);
    strcpy(expected.lookup, "walk");
    memset(expected.channel, 0, sizeof expected.channel);
    strcpy(expected.channel, "ids");
    expected.passes = 15, expected.alpha = 0.5f, expected.photon_map = draft.photon_map;
    memset(expected.kernel, 0, sizeof expected.kernel);
    strcpy(expected.kernel, "disc");
    const int32_t crop[4] = {1, 2, 30, 40};
    memcpy(expected.crop, crop, sizeof crop);
    expected.width = 640, expected.height = 480;
    expected.spp = 7, expected.max_depth = 9, expected.gather = 11, expected.final_gather = 13;
    expected.photons = 3000000000u, expected.caustic_photons = 12, expected.seed = 14;
    expected.radius = 0.5f, expected.threads = 3, expected.time_seconds = 1.5;
    expected.exposure = -2, expected.tonemap = KD_TONEMAP_ACES;
    expected.sah_traversal_cost = 2, expected.sah_intersect_cost = 3;
    expected.sah_empty_factor = 0.8f;
    memset(expected.maps, 0, sizeof expected.maps);
    strcpy(expected.maps, "apart");
    expected.maps_ahead = 0, expected.device_paths = 4096, expected.filter = 2;
    assert_memory_equal(&options, &expected, sizeof expected);
}

static void test_exposure_can_be_automatic(void **state) {
    (void)state;
    assert_int_equal(parse(START BOX ", \"render\": {\"exposure\": \"auto\"}}"), KD_OK);
    assert_true(isnan(options.exposure));
    assert_int_equal(parse(START BOX ", \"render\": {\"exposure\": \"bright\"}}"), KD_ERROR_INPUT);
    assert_non_null(strstr(kd_last_error(),
                           "render.exposure: found \"bright\", expected a number >= "
                           "-64 and <= 64, or \"auto\""));
    assert_int_equal(parse(START BOX ", \"render\": {\"alpha\": \"auto\"}}"), KD_ERROR_INPUT);
}

static void test_unspecified_settings_are_unchanged(void **state) {
    (void)state;
    kd_render_options expected;
    kd_render_options_default(&expected);
    assert_int_equal(parse(START BOX ", \"render\": {}, \"camera\": {}, \"lights\": []}"), KD_OK);
    assert_memory_equal(&options, &expected, sizeof expected);
    assert_false(draft.has_eye || draft.has_look_at || draft.has_fov || draft.sky);
    assert_int_equal(draft.geometry.triangle_count, 12);
    const material plain = material_default();
    assert_memory_equal(&draft.geometry.materials[0].record, &plain, sizeof plain);
}

static void test_paths_are_relative_to_the_file(void **state) {
    (void)state;
    path_scope scope; /* an absolute path is outside of the scene's directory */
    path_scope_begin(&scope, "dir/scene.json", true);
    assert_int_equal(parse(START "\"meshes\": [{\"file\": \"m.obj\", \"material\": {"
                                 "\"diffuse_map\": \"a/b.png\", \"normal_map\": \"/n.png\","
                                 "\"map_scale\": [2, 3], \"bump_scale\": 0.5}}],"
                                 "\"environment\": {\"image\": \"sky.hdr\"}}"),
                     KD_OK);
    path_scope_end(&scope);
    const mesh_material *made = &draft.geometry.materials[0];
    assert_string_equal(made->diffuse_map, "dir/a/b.png");
    assert_string_equal(made->normal_map, "/n.png");
    assert_true(made->map_scale[1] == 3 && made->record.bump_scale == 0.5f);
    assert_string_equal(draft.sky_image, "dir/sky.hdr");
}

static void test_layers_and_metals_are_read(void **state) {
    (void)state;
    assert_int_equal(
        parse(START
              "\"meshes\": [{\"box\": {}, \"material\": {\"kind\": \"principled\", \"coat\": 0.5,"
              "\"anisotropy_degrees\": 90, \"sheen\": [1, 0.5, 0], \"thin\": true,"
              "\"coat_normal_map\": \"n.png\", \"unlit\": true}},"
              "{\"box\": {}, \"material\": {\"metal\": \"gold\", \"roughness\": 0.5}},"
              "{\"box\": {}, \"material\": {\"kind\": \"conductor\", \"metal\": \"silver\"}}]}"),
        KD_OK);
    const mesh_material *layered = &draft.geometry.materials[0];
    assert_true(layered->record.kind == MATERIAL_PRINCIPLED && layered->layers.coat == 0.5f);
    assert_true(layered->record.flags == (MATERIAL_THIN | MATERIAL_UNLIT));
    assert_true(fabsf(layered->layers.turn - KD_PI / 2) < 1e-6f && layered->layers.sheen.y == 0.5f);
    assert_string_equal(layered->layer_maps[MESH_MAP_COAT_NORMAL - MESH_MAPS_PLAIN], "dir/n.png");
    const mesh_material *gold = layered + 1, *silver = layered + 2;
    assert_true(gold->record.kind == MATERIAL_PRINCIPLED && gold->record.metallic == 1);
    assert_true(gold->record.diffuse.x == 1 && gold->record.diffuse.z < 0.4f);
    assert_true(gold->record.roughness == 0.5f && gold->layers.specular_tint.x < 1);
    assert_true(silver->record.kind == MATERIAL_CONDUCTOR && silver->record.specular.x > 0.9f);
}

/* Red, green and blue reflectance of metals along the normal, within 0.01. */
static void test_metal_colours(void **state) {
    (void)state;
    static const struct {
        const char *name;
        float colour[3];
    } rows[] = {{"aluminium", {0.91f, 0.92f, 0.92f}}, {"chromium", {0.63f, 0.66f, 0.70f}},
                {"copper", {0.96f, 0.64f, 0.54f}},    {"gold", {1, 0.78f, 0.34f}},
                {"iron", {0.53f, 0.51f, 0.49f}},      {"iridium", {0.70f, 0.69f, 0.66f}},
                {"platinum", {0.68f, 0.64f, 0.58f}},  {"rhodium", {0.80f, 0.76f, 0.74f}},
                {"silver", {0.97f, 0.96f, 0.92f}},    {"titanium", {0.62f, 0.58f, 0.54f}},
                {"tungsten", {0.52f, 0.50f, 0.47f}}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        char text[256];
        snprintf(text, sizeof text,
                 START "\"meshes\": [{\"box\": {}, \"material\": {\"metal\": \"%s\"}}]}",
                 rows[i].name);
        assert_int_equal(parse(text), KD_OK);
        const mesh_material *made = &draft.geometry.materials[0];
        assert_true(fabsf(made->record.diffuse.x - rows[i].colour[0]) < 0.006f);
        assert_true(fabsf(made->record.diffuse.y - rows[i].colour[1]) < 0.006f);
        assert_true(fabsf(made->record.diffuse.z - rows[i].colour[2]) < 0.006f);
        assert_true(made->layers.specular_tint.x > 0.7f && made->layers.specular_tint.x < 1);
    }
}

static void test_byte_order_mark_and_comments_are_accepted(void **state) {
    (void)state;
    assert_int_equal(parse("\xef\xbb\xbf" START "\"about\": \"x\", " BOX "}"), KD_OK);
    assert_int_equal(parse(START "\"about\": 5, " BOX "}"), KD_ERROR_INPUT);
}

/* --- documentation ---------------------------------------------------------------------------- */

typedef struct listing {
    char text[1 << 16];
    size_t used;
    int lines;
} listing;

static void write_down(void *context, const char *text) {
    listing *to = (listing *)context;
    ++to->lines;
    to->used += (size_t)snprintf(to->text + to->used, sizeof to->text - to->used, "%s\n", text);
    assert_true(to->used < sizeof to->text);
}

/* scenes/DESCRIPTION.md ends with the generated tables, so it cannot be out of date. */
static void test_documentation_contains_key_tables(void **state) {
    (void)state;
    static listing expected;
    file_view file;
    describe_json_list(write_down, &expected);
    assert_true(expected.lines > 100);
    assert_int_equal(file_open(&file, KD_TEST_SOURCE_DIR "/scenes/DESCRIPTION.md"), KD_OK);
    assert_true(file.count > expected.used);
    const char *tail = (const char *)file.bytes + file.count - expected.used;
    if (memcmp(tail, expected.text, expected.used) != 0)
        fail_msg(
            "scenes/DESCRIPTION.md: behind `## Keys` expected what kandela info --keys prints");
    file_close(&file);
}

/* --- hostile input ---------------------------------------------------------------------------- */

/* A description with every key, truncated everywhere and with many damaged bytes, is rejected or
   read. */
static void test_damaged_files_are_rejected_or_read(void **state) {
    (void)state;
    file_view file;
    const char *path = KD_TEST_SOURCE_DIR "/tests/fuzz/corpus/json/everything.json";
    assert_int_equal(file_open(&file, path), KD_OK);
    assert_int_equal(parse_bytes(file.bytes, file.count), KD_OK);
    char *copy = NULL;
    assert_int_equal(KD_RESERVE(copy, file.count), KD_OK);
    for (size_t i = 0; i < file.count; ++i) {
        if (file.bytes[i] != '\n') assert_int_equal(parse_bytes(file.bytes, i), KD_ERROR_INPUT);
        for (int damage = 0; damage < 3; ++damage) {
            memcpy(copy, file.bytes, file.count);
            copy[i] = "-9\0"[damage];
            parse_bytes(copy, file.count);
        }
    }
    memory_free(copy);
    file_close(&file);
}

static void test_corpus_replay(void **state) {
    (void)state;
    const char *folder = KD_TEST_SOURCE_DIR "/tests/fuzz/corpus/json";
    DIR *open = opendir(folder);
    int files = 0;
    assert_non_null(open);
    for (struct dirent *entry; (entry = readdir(open));) {
        char path[1024];
        file_view file;
        if (entry->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        assert_int_equal(file_open(&file, path), KD_OK);
        const kd_status status = parse_bytes(file.bytes, file.count);
        assert_true(status == KD_OK || status == KD_ERROR_INPUT);
        const bool bad = strncmp(entry->d_name, "bad", 3) == 0;
        if (bad == (status == KD_OK)) print_error("%s: %s\n", entry->d_name, kd_last_error());
        assert_int_equal(status == KD_OK, !bad);
        file_close(&file);
        ++files;
    }
    closedir(open);
    assert_true(files >= 8);
}

static int close_draft(void **state) {
    (void)state;
    scene_draft_close(&draft);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_errors_give_key_and_expectation),
        cmocka_unit_test(test_errors_give_line_and_column),
        cmocka_unit_test(test_exposure_can_be_automatic),
        cmocka_unit_test(test_render_settings_are_read),
        cmocka_unit_test(test_unspecified_settings_are_unchanged),
        cmocka_unit_test(test_paths_are_relative_to_the_file),
        cmocka_unit_test(test_layers_and_metals_are_read),
        cmocka_unit_test(test_metal_colours),
        cmocka_unit_test(test_byte_order_mark_and_comments_are_accepted),
        cmocka_unit_test(test_documentation_contains_key_tables),
        cmocka_unit_test(test_damaged_files_are_rejected_or_read),
        cmocka_unit_test(test_corpus_replay),
    };
    return cmocka_run_group_tests(tests, NULL, close_draft);
}
