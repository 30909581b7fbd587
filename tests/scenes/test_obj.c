/* scenes/obj: what is read, what is refused. */
#include "core/memory.h"
#include "core/parallel.h"
#include "tests/scenes/files.h"

static kd_status read_bytes(mesh *into, heard *to, const char *bytes, size_t count) {
    file_put("a.obj", bytes, count);
    memset(to, 0, sizeof *to);
    const obj_options options = {hear, to, false, NULL, 0};
    return obj_load(into, file_in("a.obj"), &options, NULL);
}

static kd_status read_text(mesh *into, heard *to, const char *text) {
    return read_bytes(into, to, text, strlen(text));
}

static const char square[] = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\n";

/* The same square, written in many ways. */
static void spellings_mean_the_same(void **state) {
    (void)state;
    static const char *const files[] = {
        "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nf 1 2 3 4\n",
        "v 0 0 0\r\nv 1 0 0\r\nv 1 1 0\r\nv 0 1 0\r\nf 1 2 3 4\r\n",
        "v 0 0 0\rv 1 0 0\rv 1 1 0\rv 0 1 0\rf 1 2 3 4\r",
        "v 0 0 0\rv 1 0 0\nv 1 1 0\r\nv 0 1 0\rf 1 2 3 4",
        "\xef\xbb\xbfv 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nf 1 2 3 4",
        "\tv\t0\t0\t0\n  v  1 0 0  \nv 1 1 0\t\nv 0 1 0\n\tf\t1\t2 3  4 \t",
        "v 0. .0 0e0\nv +1 0 00\nv 1.0e+00 1E000 0\nv 0 0.1e01 0 # up\nf 1 2 3 4#face",
        "v 0 0 0 1\nv 1 0 0 0.5\nv 1 1 0 1 0 0\nv 0 1 0 1 0 0 1\nf -4 -3 -2 -1",
        "v 0 0 0\nv 1 0 0\nf 1 2 3 4\nv 1 1 0\nv 0 1 0\n",
        "v 0 0 \\\n0\nv \\\r\n1 0 0\nv 1 1 0\nv 0 1 0\nf 1 2 \\\n 3 \\\n4\\\n",
        "o a b\ng\ns off\nv 0 0 0\nl 1 2 3\np 1\nv 1 0 0\nv 1 1 0\nv 0 1 0\ns 1\nf 1 2 3 4\n\n\n",
        "#\nv 0 0 0\n# f 9 9 9 \\\nv 1 0 0\nv 1 1 0\nv 0 1 0\nf 1/ 2/ 3// 4\nvp 1 2\n",
        "v 0 0 0\nv 10e-1 0 0\nv 0.1e+1 1 0\nv 0 .1+e1 0\nfo 1 2 3 4",
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; ++i) {
        mesh read;
        heard to;
        const kd_status status = read_text(&read, &to, files[i]);
        if (status != KD_OK) print_error("file %zu: %s\n", i, kd_last_error());
        assert_int_equal(status, KD_OK);
        assert_int_equal(to.count, 0);
        assert_int_equal(read.position_count, 4);
        assert_int_equal(read.face_count, 1);
        assert_int_equal(read.triangle_count, 2);
        static const vec3 corners[4] = {{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1, 0}};
        assert_memory_equal(read.positions, corners, sizeof corners);
        static const uint32_t triangles[6] = {0, 1, 2, 0, 2, 3};
        assert_memory_equal(read.triangles, triangles, sizeof triangles);
        assert_null(read.normal_indices);
        assert_null(read.texcoord_indices);
        assert_int_equal(read.material_count, 1);
        mesh_close(&read);
    }
}

static void malformed_lines_are_named(void **state) {
    (void)state;
    static const struct {
        const char *line, *message;
    } bad[] = {
        {"v 1 2", "a.obj:5: found the line's end, expected a number (v x y z)"},
        {"v 1 x 2", "a.obj:5: found \"x\", expected a number (v x y z)"},
        {"v 1 2 3 4 5 6 7 8 9", "a.obj:5: found \"9\", expected the line's end"},
        {"v 1,2,3", "a.obj:5: found \"1,2,3\", expected a number (v x y z)"},
        {"v 1e 2 3", "a.obj:5: found \"1e\", expected a number (v x y z)"},
        {"vn 1 2", "a.obj:5: found the line's end, expected a number (vn x y z)"},
        {"vt", "a.obj:5: found the line's end, expected a number (vt u v)"},
        {"f 1 2 a", "a.obj:5: found \"a\", expected a corner (v, v/vt, v//vn or v/vt/vn)"},
        {"f 1 2 3.5", "a.obj:5: found \"3.5\", expected a corner (v, v/vt, v//vn or v/vt/vn)"},
        {"f 1/2/3/4 2 3",
         "a.obj:5: found \"1/2/3/4\", expected a corner (v, v/vt, v//vn or v/vt/vn)"},
        {"f", "a.obj:5: found a face without corners, expected three or more"},
        {"f 1 2 5", "a.obj:5: found the vertex index 5, expected 1 to 4"},
        {"f 0 1 2", "a.obj:5: found the vertex index 0, expected 1 to 4"},
        {"f 1 2 -5", "a.obj:5: found the relative vertex index -5, expected -1 to -4"},
        {"f 1/1 2/1 3/1", "a.obj:5: found the texture coordinate index 1, expected 1 to 0"},
        {"f 1//1 2//1 3//1", "a.obj:5: found the normal index 1, expected 1 to 0"},
        {"f 1 2 99999999999999999999",
         "a.obj:5: found the vertex index 1099511627776, expected 1 to 4"},
        {"f 1 2 4294967297", "a.obj:5: found the vertex index 4294967297, expected 1 to 4"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        char text[512], message[512];
        snprintf(text, sizeof text, "%s%s\nf 1 2 3\n", square, bad[i].line);
        snprintf(message, sizeof message, "%s/%s", test_folder, bad[i].message);
        mesh read;
        heard to;
        assert_int_equal(read_text(&read, &to, text), KD_ERROR_INPUT);
        assert_string_equal(kd_last_error(), message);
        assert_int_equal(to.fatal, 1);
        assert_int_equal(to.lines[0], 5);
        assert_null(read.positions); /* nothing is left behind */
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spellings_mean_the_same),
        cmocka_unit_test(malformed_lines_are_named),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
