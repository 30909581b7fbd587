/* scenes/import/gltf.h: each invalid file gives one clear line of error. */
#include "scenes/import/gltf.h"
#include "tests/gltf/gltf_files.h"
#include <math.h>

/* Expects one line of error with this reason, and no leaked memory. */
static void expect_rejected(const char *name, const char *said) {
    mesh read;
    assert_int_equal(gltf_load(&read, file_in(name), NULL, NULL), KD_ERROR_INPUT);
    if (!strstr(kd_last_error(), said)) fail_msg("%s\ndoes not say: %s", kd_last_error(), said);
    assert_non_null(strstr(kd_last_error(), name));
    assert_null(strchr(kd_last_error(), '\n'));
    assert_null(read.positions);
    reported_problems problems = {.count = 0};
    obj_options options = {.problem = on_problem, .context = &problems, .keep_going = true};
    assert_int_equal(gltf_load(&read, file_in(name), &options, NULL), KD_OK);
    assert_int_equal(problems.fatal, 1);
    mesh_close(&read);
}

static void test_hostile_text_gives_one_line_of_error(void **state) {
    (void)state;
    static const struct {
        const char *rest, *said;
    } rows[] = {
        {ONE_NODE PRIMITIVE("\"attributes\":{\"POSITION\":9}"),
         "meshes[0].primitives[0].attributes.POSITION: found 9, expected an index of one of the 4"},
        {ONE_NODE PRIMITIVE("\"attributes\":{\"POSITION\":-1}"), "POSITION: found -1"},
        {ONE_NODE PRIMITIVE("\"attributes\":{\"POSITION\":0.5}"), "POSITION: found 0.5"},
        {ONE_NODE PRIMITIVE("\"attributes\":{\"POSITION\":2}"), "of 2 components, expected 3"},
        {ONE_NODE PRIMITIVE("\"attributes\":{\"POSITION\":0},\"indices\":0"), "expected 1"},
        {ONE_NODE PRIMITIVE("\"attributes\":{\"POSITION\":0},\"mode\":7"), "found the mode 7"},
        {ONE_NODE PRIMITIVE("\"attributes\":[1]"), "attributes: found a list of 1"},
        {ONE_NODE "\"meshes\":[{\"primitives\":7}]", "primitives: found 7, expected a list"},
        {ONE_NODE "\"meshes\":[7]", "meshes[0]: found 7, expected an object"},
        {"\"scene\":3,\"scenes\":[{}]", "scene: found 3"},
        {"\"scenes\":[{\"nodes\":[0]}],\"nodes\":[{\"children\":[1]},{\"children\":[0]}]",
         "nodes[1].children[0]: found nodes[0] below itself"},
        {"\"scenes\":[{\"nodes\":[0]}],\"nodes\":[{\"children\":[0]}]",
         "nodes[0].children[0]: found nodes[0] below itself"},
        {"\"scenes\":[{\"nodes\":[0,1]}],\"nodes\":[{\"children\":[2]},{\"children\":[2]},{}]",
         "found nodes[2] below itself"},
        {"\"scenes\":[{\"nodes\":[0]}],\"nodes\":[{\"matrix\":[1,2]}]",
         "nodes[0].matrix: found a list of 2, expected a list of 16 numbers"},
        {"\"scenes\":[{\"nodes\":[0]}],\"nodes\":[{\"rotation\":[1,2,3,\"x\"]}]",
         "nodes[0].rotation: found \"x\""},
        {"\"extensionsRequired\":[\"ACME_teapot\"]", "extensionsRequired: found \"ACME_teapot\""},
        {"\"extensionsRequired\":7", "extensionsRequired: found 7"},
    };
    static gltf_maker made;
    add_box(&made);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        gltf_write_glb("bad.glb", &made, rows[i].rest);
        expect_rejected("bad.glb", rows[i].said);
    }
}

/* Writes a file with accessors and views: `view` is the JSON of view 0, `accessor` that of accessor
   0. */
static void test_hostile_counts_give_one_line_of_error(void **state) {
    (void)state;
#define VIEW "\"buffer\":0,\"byteLength\":96"
#define VEC3S "\"componentType\":5126,\"type\":\"VEC3\""
    static const struct {
        const char *view, *accessor, *said;
    } rows[] = {
        {VIEW, "\"bufferView\":0,\"count\":9," VEC3S, "found 9 elements of 12 bytes from byte 0"},
        {VIEW, "\"bufferView\":0,\"byteOffset\":1,\"count\":8," VEC3S, "from byte 1 on"},
        {VIEW, "\"bufferView\":0,\"byteOffset\":9007199254740992,\"count\":1," VEC3S, "byte 9007"},
        {VIEW, "\"bufferView\":0,\"count\":4000000000," VEC3S, "expected less than 2^28"},
        {VIEW, "\"bufferView\":0,\"count\":1e300," VEC3S, "expected an integer >= 0"},
        {VIEW, "\"bufferView\":0,\"count\":-3," VEC3S, "expected an integer >= 0"},
        {VIEW, "\"count\":200000000," VEC3S, "without a bufferView"},
        {VIEW, "\"bufferView\":7,\"count\":3," VEC3S, "bufferView: found 7"},
        {VIEW, "\"bufferView\":0,\"count\":3,\"componentType\":5124,\"type\":\"VEC3\"", "5124"},
        {VIEW, "\"bufferView\":0,\"count\":3,\"componentType\":5126,\"type\":\"VEC7\"", "VEC7"},
        {VIEW ",\"byteStride\":4", "\"bufferView\":0,\"count\":3," VEC3S, "byteStride of 4"},
        {VIEW ",\"byteStride\":1e9", "\"bufferView\":0,\"count\":3," VEC3S, "byteStride: found 1e"},
        {"\"buffer\":0,\"byteLength\":97", "\"bufferView\":0,\"count\":3," VEC3S, "0 to 97"},
        {"\"buffer\":0,\"byteOffset\":90,\"byteLength\":9", "\"bufferView\":0,\"count\":3," VEC3S,
         "found bytes 90 to 99"},
        {"\"buffer\":1,\"byteLength\":9", "\"bufferView\":0,\"count\":3," VEC3S, "buffer: found 1"},
        {"\"byteLength\":9", "\"bufferView\":0,\"count\":3," VEC3S, "`buffer` is missing"},
        {VIEW, "\"bufferView\":0,\"count\":8," VEC3S ",\"sparse\":{\"count\":9}", "found 9 elem"},
        {VIEW, "\"bufferView\":0,\"count\":8," VEC3S ",\"sparse\":{\"count\":1}",
         "`bufferView` is missing"},
        {VIEW,
         "\"bufferView\":0,\"count\":8," VEC3S ",\"sparse\":{\"count\":1,\"indices\":{"
         "\"bufferView\":0,\"byteOffset\":12,\"componentType\":5125},\"values\":{\"bufferView\":0}"
         "}",
         "sparse: found the index 1065353216, expected below 8"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        static unsigned char whole[1 << 14];
        char text[2048];
        snprintf(text, sizeof text,
                 "{\"asset\":{\"version\":\"2.0\"}," ONE_NODE
                 "\"buffers\":[{\"byteLength\":96}],\"bufferViews\":[{%s}],\"accessors\":[{%s}]"
                 "," PRIMITIVE("\"attributes\":{\"POSITION\":0}") "}",
                 rows[i].view, rows[i].accessor);
        file_put("bad.glb", (const char *)whole,
                 glb_make(whole, text, (const unsigned char *)corner_places, 96));
        expect_rejected("bad.glb", rows[i].said);
    }
}

static void test_index_out_of_range(void **state) {
    (void)state;
    static gltf_maker made;
    static const uint8_t indices[3] = {0, 1, 8};
    memset(&made, 0, sizeof made);
    gltf_put(&made, corner_places, GLTF_FLOAT, 3, 8, "");
    gltf_put(&made, indices, GLTF_UBYTE, 1, 3, "");
    gltf_write_glb("bad.glb", &made,
                   ONE_NODE PRIMITIVE("\"attributes\":{\"POSITION\":0},\"indices\":1"));
    expect_rejected("bad.glb",
                    "meshes[0].primitives[0].indices: found the index 8, expected below 8");
}

/* A primitive with indices but no positions is not drawn, alone or beside a complete one. */
static void test_indices_without_positions(void **state) {
    (void)state;
    static const char *const rests[] = {
        ONE_NODE PRIMITIVE("\"attributes\":{},\"indices\":3"),
        ONE_NODE "\"meshes\":[{\"primitives\":[{\"attributes\":{\"POSITION\":0},\"indices\":3},"
                 "{\"attributes\":{},\"indices\":3}]}]"};
    static gltf_maker made;
    add_box(&made);
    for (int i = 0; i < 2; ++i) {
        mesh read;
        reported_problems problems = {.count = 0};
        obj_options options = {.problem = on_problem, .context = &problems, .keep_going = true};
        gltf_write_glb("bad.glb", &made, rests[i]);
        assert_int_equal(gltf_load(&read, file_in("bad.glb"), &options, NULL), KD_OK);
        assert_int_equal(read.triangle_count, i == 0 ? 0 : 12);
        assert_true(problems.count > 0);
        mesh_close(&read);
    }
}

static void test_uris_outside_the_folder_are_rejected(void **state) {
    (void)state;
    static const struct {
        const char *uri, *said;
    } rows[] = {
        {"../../etc/passwd", "in the folder of this one"},
        {"../a/b.bin", "in the folder of this one"},
        {"/etc/passwd", "in the folder of this one"},
        {"a/../../x.bin", "in the folder of this one"},
        {"%2e%2e/x.bin", "in the folder of this one"},
        {"..\\\\x.bin", "in the folder of this one"},
        {"file:///etc/passwd", "in the folder of this one"},
        {"https://example.org/x.bin", "in the folder of this one"},
        {"x%00.bin", "in the folder of this one"},
        {".", "in the folder of this one"},
        {"", "in the folder of this one"},
        {"absent.bin", "absent.bin: cannot open: No such file"},
        {"data:application/octet-stream;base64,AA", "found 1 bytes, expected the 96"},
        {"data:application/octet-stream;base64,A!AA", "invalid base64 character at byte 1"},
        {"data:text/plain,hello", "expected data in base64"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        char text[2048];
        snprintf(text, sizeof text,
                 "{\"asset\":{\"version\":\"2.0\"}," ONE_NODE
                 "\"buffers\":[{\"byteLength\":96,\"uri\":\"%s\"}],\"bufferViews\":[{" VIEW "}],"
                 "\"accessors\":[{\"bufferView\":0,\"count\":8," VEC3S
                 "}]," PRIMITIVE("\"attributes\":{\"POSITION\":0}") "}",
                 rows[i].uri);
        file_put_text("bad.gltf", text);
        expect_rejected("bad.gltf", rows[i].said);
    }
    file_put("a b.bin", (const char *)corner_places, 96);
    char text[1024];
    snprintf(text, sizeof text,
             "{\"asset\":{\"version\":\"2.0\"}," ONE_NODE
             "\"buffers\":[{\"byteLength\":96,\"uri\":\"./a%%20b.bin\"}],\"bufferViews\":[{" VIEW
             "}],\"accessors\":[{\"bufferView\":0,\"count\":6," VEC3S
             "}]," PRIMITIVE("\"attributes\":{\"POSITION\":0}") "}");
    file_put_text("blank.gltf", text);
    mesh read = load("blank.gltf");
    assert_int_equal(read.triangle_count, 2);
    mesh_close(&read);
}

static void test_glb_chunk_sizes_are_validated(void **state) {
    (void)state;
    static gltf_maker made;
    static unsigned char whole[1 << 14], bad[1 << 14];
    add_box(&made);
    gltf_text_make(gltf_text_buffer, &made, ONE_NODE BOX_PRIMITIVE, "");
    const size_t count = glb_make(whole, gltf_text_buffer, made.bin, made.bytes);
    static const struct {
        size_t at, value;
        const char *said;
    } rows[] = {{4, 1, "GLB of version 1"},
                {8, 0xffffffff, "found a length of 4294967295"},
                {8, 11, "found a length of 11"},
                {8, 12, "expected a chunk of at least 8"},
                {12, 0xffffffff, "found a chunk of 4294967295 bytes"},
                {16, 0x004e4942, "expected JSON first"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        memcpy(bad, whole, count);
        glb_put_u32(bad, rows[i].at, rows[i].value);
        file_put("bad.glb", (const char *)bad, count);
        expect_rejected("bad.glb", rows[i].said);
    }
    for (size_t cut = 0; cut < count;
         cut += 7) { /* truncated anywhere, a file gives a message and never a crash */
        mesh read;
        file_put("cut.glb", (const char *)whole, cut);
        assert_int_equal(gltf_load(&read, file_in("cut.glb"), NULL, NULL), KD_ERROR_INPUT);
    }
    char *deep = (char *)malloc(200000);
    assert_non_null(deep);
    memset(deep, '[', 199999);
    deep[199999] = '\0';
    file_put_text("deep.gltf", deep);
    free(deep);
    expect_rejected("deep.gltf", "invalid JSON");
    file_put_text("old.gltf", "{\"asset\":{\"version\":\"1.0\"}}");
    expect_rejected("old.gltf", "found version \"1.0\", expected 2.0");
    file_put_text("list.gltf", "[1,2]");
    expect_rejected("list.gltf", "expected glTF");
}

/* Points and lines have no triangles; non-finite values are omitted with a warning. */
static void test_unsupported_primitives_are_reported(void **state) {
    (void)state;
    static gltf_maker made;
    float places[6][3];
    memcpy(places, corner_places, sizeof places);
    places[4][1] = NAN;
    memset(&made, 0, sizeof made);
    gltf_put(&made, places, GLTF_FLOAT, 3, 6, "");
    gltf_write_glb("nan.glb", &made, ONE_NODE PRIMITIVE("\"attributes\":{\"POSITION\":0}"));
    reported_problems problems = {.count = 0};
    obj_options options = {.problem = on_problem, .context = &problems, .keep_going = true};
    mesh read;
    assert_int_equal(gltf_load(&read, file_in("nan.glb"), &options, NULL), KD_OK);
    assert_int_equal(read.triangle_count, 1);
    assert_int_equal(problems.count, 1);
    assert_string_equal(problems.kinds[0], "nan");
    mesh_close(&read);
    gltf_write_glb("points.glb", &made,
                   ONE_NODE PRIMITIVE("\"attributes\":{\"POSITION\":0},\"mode\":0"));
    memset(&problems, 0, sizeof problems);
    assert_int_equal(gltf_load(&read, file_in("points.glb"), &options, NULL), KD_OK);
    assert_int_equal(read.triangle_count, 0);
    assert_true(read.position_count > 0);
    assert_string_equal(problems.kinds[0], "unsupported");
    mesh_close(&read);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hostile_text_gives_one_line_of_error),
        cmocka_unit_test(test_hostile_counts_give_one_line_of_error),
        cmocka_unit_test(test_index_out_of_range),
        cmocka_unit_test(test_indices_without_positions),
        cmocka_unit_test(test_uris_outside_the_folder_are_rejected),
        cmocka_unit_test(test_glb_chunk_sizes_are_validated),
        cmocka_unit_test(test_unsupported_primitives_are_reported),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
