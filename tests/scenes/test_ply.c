/* scenes/formats/ply.c: text and both byte orders give the same mesh as OBJ; every form of header
   is read; errors are reported with their position. */
#include "core/memory.h"
#include "scenes/assembly/scene.h"
#include "scenes/check/check.h"
#include "scenes/describe/readers.h"
#include "scenes/formats/mesh_formats.h"
#include "scenes/mesh/generate.h"
#include "tests/scenes/files.h"
#include "tests/scenes/mesh_write.h"

#define XYZ "property float x\nproperty float y\nproperty float z\n"
#define INDICES "property list uchar int vertex_indices\n"
#define ASCII(vertices, more)                                                                      \
    "ply\nformat ascii 1.0\nelement vertex " vertices "\n" XYZ more "end_header\n"
#define SQUARE "0 0 0\n1 0 0\n1 1 0\n0 1 0\n"

static mesh load_text(const char *text) {
    mesh read;
    file_put_text("t.ply", text);
    const kd_status status = ply_load(&read, file_in("t.ply"), NULL, NULL);
    if (status != KD_OK) print_error("%s\n", kd_last_error());
    assert_int_equal(status, KD_OK);
    return read;
}

static uint64_t hash_of(const char *name) {
    scene *made = NULL;
    kd_render_options options;
    memset(&options, 0, sizeof options);
    options.width = options.height = 16;
    assert_int_equal(scene_open(&made, file_in(name), &options, NULL), KD_OK);
    const scene_view view = scene_get_view(made);
    const uint64_t hash = scene_hash(&view);
    scene_close(made);
    return hash;
}

static void write_ply(const char *name, const mesh *mesh, ply_order order) {
    FILE *file = fopen(file_in(name), "wb");
    assert_non_null(file);
    mesh_write_ply(file, mesh, order);
    assert_int_equal(fclose(file), 0);
}

/* Vertices with and without normals and texture coordinates. */
static void test_every_format_matches_obj(void **state) {
    (void)state;
    for (int kind = 0; kind < 4; ++kind) {
        mesh made;
        assert_int_equal(procedural_load(&made, "gen:blob:3000"), KD_OK);
        memory_free(made.normals);
        memory_free(made.texcoords);
        made.normals = NULL;
        made.texcoords = NULL;
        made.normal_count = made.texcoord_count = 0;
        if (kind & 1) {
            made.normal_count = made.position_count;
            assert_int_equal(KD_RESERVE(made.normals, made.normal_count), KD_OK);
            for (uint32_t i = 0; i < made.normal_count; ++i)
                made.normals[i] = i % 7 ? made.positions[i] : vec3_all(0);
        }
        if (kind & 2) {
            made.texcoord_count = made.position_count;
            assert_int_equal(KD_RESERVE(made.texcoords, made.texcoord_count), KD_OK);
            for (uint32_t i = 0; i < made.texcoord_count; ++i)
                made.texcoords[i] = vec2_make(made.positions[i].x, (float)i);
        }
        FILE *file = fopen(file_in("m.obj"), "wb");
        assert_non_null(file);
        mesh_write_obj(file, &made);
        fclose(file);
        const uint64_t expected = hash_of("m.obj");
        for (int order = WRITE_ASCII; order <= WRITE_BIG; ++order) {
            write_ply("m.ply", &made, (ply_order)order);
            assert_true(hash_of("m.ply") == expected);
        }
        mesh_close(&made);
    }
}

static void test_properties_of_any_order_and_type(void **state) {
    (void)state;
    mesh read =
        load_text("ply\r\nformat ascii 1.0\r\nobj_info by hand\r\ncomment x y\r\n"
                  "element odd 2\r\nproperty list int float things\r\n"
                  "element vertex 4\r\nproperty uchar z\r\nproperty list uchar int many\r\n"
                  "property double texture_v\r\nproperty double texture_u\r\n"
                  "property int16 y\r\nproperty float64 x\r\n"
                  "element face 2\r\nproperty float quality\r\n"
                  "property list ushort uint vertex_index\r\nproperty int flags\r\n"
                  "end_header\r\n0\r\n3 1 2 3.5\r\n\r\n"
                  "0 0 .5 .25 0 0\r\n0 2 7 8 .5 .5 0 1\r\n  0\t0 1 1 1 1\r\n0 1 9 0 0 1 0\r\n"
                  "0.5 3 0 1 2 -7\r\n1 4 0 1 2 3 9");
    assert_int_equal(read.position_count, 4);
    assert_int_equal(read.triangle_count, 3);
    assert_int_equal(read.face_count, 2);
    assert_true(read.positions[1].x == 1 && read.positions[1].y == 0);
    assert_true(read.texcoords[0].x == 0.25f && read.texcoords[0].y == 0.5f);
    double area = 0;
    for (uint32_t i = 0; i < 3; ++i) area += mesh_area(&read, i);
    assert_float_equal(area, 1.5, 1e-6);
    mesh_close(&read);
}

static void test_concave_faces_keep_their_area(void **state) {
    (void)state;
    mesh read = load_text(
        ASCII("5", "element face 1\n" INDICES) "0 0 0\n4 0 0\n4 4 0\n2 1 0\n0 4 0\n5 0 1 2 3 4\n");
    double area = 0;
    for (uint32_t i = 0; i < read.triangle_count; ++i) area += mesh_area(&read, i);
    assert_int_equal(read.triangle_count, 3);
    assert_float_equal(area, 10, 1e-6);
    mesh_close(&read);
}

static void test_strips_alternate_winding(void **state) {
    (void)state;
    mesh read = load_text(ASCII(
        "6",
        "element tristrips 1\nproperty list int int vertex_indices\n") "0 0 0\n1 0 0\n0 1 0\n1 1 "
                                                                       "0\n0 2 0\n1 2 0\n"
                                                                       "11 0 1 2 3 3 4 5 -1 0 1 "
                                                                       "2\n");
    assert_int_equal(read.triangle_count, 4);
    for (uint32_t i = 0; i < 2; ++i) assert_true(mesh_cross(&read, i).z > 0);
    mesh_close(&read);
}

/* A file without faces gives positions without triangles, which is not an error; `check` reports
   it. */
static void test_point_only_file_is_read(void **state) {
    (void)state;
    mesh read = load_text(ASCII("3", "") "0 0 0\n1 0 0\n0 1 5");
    assert_int_equal(read.position_count, 3);
    assert_int_equal(read.triangle_count, 0);
    mesh_close(&read);
    check_report report;
    assert_int_equal(check_file(&report, file_in("t.ply"), NULL, NULL), KD_OK);
    assert_true(report.renderable && report.vertices == 3);
    assert_string_equal(report.problems[0].kind, "no-faces");
    check_close(&report);
    (void)hash_of("t.ply"); /* it can be opened as a scene */
    file_put_text("t.ply", ASCII("0", "element face 0\n" INDICES));
    assert_int_equal(check_file(&report, file_in("t.ply"), NULL, NULL), KD_OK);
    assert_false(report.renderable);
    check_close(&report);
}

/* Each error is reported with its line, or, if the line is 0, with the byte offset in the
   message. */
static void test_errors_give_line_or_offset(void **state) {
    (void)state;
#define FACES "element face 1\n" INDICES
    static const struct {
        const char *text, *kind, *what;
        uint32_t line;
        bool fatal;
    } cases[] = {
        {"solid x\n", "not-ply", "\"ply\"", 1, true},
        {"ply\nformat ascii 1.0\n", "malformed", "end_header", 1, true},
        {"ply\nformat ascii 2.0\nend_header\n", "malformed", "version 1.0", 2, true},
        {"ply\nelement vertex 0\n" XYZ "end_header\n", "malformed", "format", 6, true},
        {"ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nend_header\n1\n", "malformed",
         "x, y and z", 3, true},
        {"ply\nformat ascii 1.0\nelement vertex -1\n" XYZ "end_header\n", "malformed",
         "number of its rows", 3, true},
        {"ply\nformat ascii 1.0\nproperat x\nend_header\n", "malformed", "properat", 3, true},
        {"ply\nformat ascii 1.0\nelement vertex 1\nproperty flat x\nend_header\n", "malformed",
         "a type", 4, true},
        {ASCII("2", "") "0 0 0\n", "truncated", "after 1 rows of vertex, expected 2", 8, true},
        {ASCII("99999999999", "") "0 0 0\n", "truncated", "after 1 rows", 8, true},
        {ASCII("1", "") "0 0 x\n", "malformed", "\"x\", expected a number", 8, true},
        {ASCII("1", "") "0 0\n", "malformed", "end of the line, expected a number", 8, true},
        {ASCII("1", "") "0 0 0 0\n", "malformed", "expected the end of the line", 8, true},
        {ASCII("4", FACES) SQUARE "3 0 1 4\n", "index-range", "index 4, expected 0 to 3", 14, true},
        {ASCII("4", FACES) SQUARE "3 0 1 -1\n", "index-range", "index -1", 14, true},
        {ASCII("4", FACES) SQUARE "3 0 1\n", "malformed", "as many items", 14, true},
        {ASCII("4", FACES) SQUARE "4000000000 0 1\n", "malformed", "as many items", 14, true},
        {ASCII("4", FACES) SQUARE "2 0 1\n", "short-face", "2 corners", 14, false},
        {ASCII("4", FACES) "nan 0 0\n1 0 0\n1 1 0\n0 1 0\n3 0 1 2\n", "nan", "vertex nan", 10,
         false},
        {ASCII("4", "element face 1\n" INDICES "property list uchar float texcoord\n") SQUARE
         "3 0 1 2 4 0 0 1 0\n",
         "texcoord-count", "4 numbers", 15, false},
        {"ply\nformat ascii 1.0\ncomment TextureFile a.png\nelement vertex 4\n" XYZ FACES
         "end_header\n" SQUARE "3 0 1 2\n",
         "missing-texture", "texture coordinates", 0, false},
        {ASCII("1", "") "0 0 0\n\nmore\n", "trailing", "after the last row", 10, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        reported_problems to = {.count = 0};
        const obj_options options = {.problem = on_problem, .context = &to, .keep_going = true};
        mesh read;
        file_put_text("bad.ply", cases[i].text);
        assert_int_equal(ply_load(&read, file_in("bad.ply"), &options, NULL), KD_OK);
        mesh_close(&read);
        if (to.count < 1 || strcmp(to.kinds[0], cases[i].kind) != 0 ||
            !strstr(to.messages[0], cases[i].what) || to.lines[0] != cases[i].line)
            fail_msg("case %zu: %s, line %u: %s", i, to.kinds[0], to.lines[0], to.messages[0]);
        assert_true((to.fatal > 0) == cases[i].fatal);
        const kd_status status = ply_load(&read, file_in("bad.ply"), NULL, NULL);
        assert_int_equal(status, cases[i].fatal ? KD_ERROR_INPUT : KD_OK);
        mesh_close(&read);
    }
}

/* A binary file truncated at any byte gives one line of error or a smaller mesh. */
static void test_truncated_binary_files(void **state) {
    (void)state;
    mesh made, read;
    assert_int_equal(procedural_load(&made, "gen:blob:12"), KD_OK);
    made.normal_count = made.texcoord_count = 0;
    for (int order = WRITE_LITTLE; order <= WRITE_BIG; ++order) {
        char *bytes = NULL;
        size_t count = 0;
        FILE *file = open_memstream(&bytes, &count);
        mesh_write_ply(file, &made, (ply_order)order);
        fclose(file);
        for (size_t kept = 0; kept < count; ++kept) {
            file_put("cut.ply", bytes, kept);
            assert_int_equal(ply_load(&read, file_in("cut.ply"), NULL, NULL), KD_ERROR_INPUT);
            assert_non_null(strstr(kd_last_error(), "cut.ply"));
        }
        assert_non_null(strstr(kd_last_error(), "byte "));
        file_put("cut.ply", bytes, count);
        assert_int_equal(ply_load(&read, file_in("cut.ply"), NULL, NULL), KD_OK);
        mesh_close(&read);
        free(bytes);
    }
    made.normal_count = 0;
    mesh_close(&made);
}

/* Files that crash or hang assimp 5.2 give one line of error. */
static void test_hostile_files_give_one_line_of_error(void **state) {
    (void)state;
    static const char crash[] =
        "ply\nformat binary_little_endian 1.0\nelement vertex 3\n" XYZ
        "element face 1\nproperty list uchar int verte: value is not defined\0\0\0\0\0\0\0\0";
    static const char hang[] = "ply\nformat ascii 1.0\nelement vertex 4\n" XYZ
                               "propeat z\nproperty float nnd_header\n0 0 0 0 0 1 9\n3 0 1 2\n";
    mesh read;
    alarm(60);
    file_put("crash.ply", crash, sizeof crash);
    assert_int_equal(ply_load(&read, file_in("crash.ply"), NULL, NULL), KD_ERROR_INPUT);
    file_put("hang.ply", hang, sizeof hang);
    assert_int_equal(ply_load(&read, file_in("hang.ply"), NULL, NULL), KD_ERROR_INPUT);
    alarm(0);
}

static void test_real_models_are_read(void **state) {
    (void)state;
    const char *path = test_model("dragon_48k.ply");
    if (!path) skip();
    mesh read;
    assert_int_equal(mesh_load(&read, path, NULL, NULL), KD_OK);
    assert_true(read.triangle_count > 40000);
    for (uint64_t i = 0; i < 3 * (uint64_t)read.triangle_count; ++i)
        assert_true(read.triangles[i] < read.position_count);
    mesh_close(&read);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_format_matches_obj),
        cmocka_unit_test(test_properties_of_any_order_and_type),
        cmocka_unit_test(test_concave_faces_keep_their_area),
        cmocka_unit_test(test_strips_alternate_winding),
        cmocka_unit_test(test_point_only_file_is_read),
        cmocka_unit_test(test_errors_give_line_or_offset),
        cmocka_unit_test(test_truncated_binary_files),
        cmocka_unit_test(test_hostile_files_give_one_line_of_error),
        cmocka_unit_test(test_real_models_are_read),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
