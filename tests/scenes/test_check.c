/* scenes/check/check.h: each kind of problem is reported with its position, and a valid mesh has
   none. */
#include "scenes/check/check.h"
#include "tests/scenes/files.h"
#include <cjson/cJSON.h>

static const char lit_mtl[] = "newmtl lamp\nKe 1 1 1\nKd 0 0 0\nnewmtl glass\nillum 7\nNi 1.5\n"
                              "newmtl grey\nKd 0.5 0.5 0.5\n";

/* A tetrahedron facing outward. Its faces are lines 7 to 10, after a header of 2 lines. */
#define TETRAHEDRON(material)                                                                      \
    "mtllib lit.mtl\nusemtl " material "\nv 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\n"                    \
    "f 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
#define LAMP "usemtl lamp\nv 0 0 9\nv 1 0 9\nv 0 1 9\nf -3 -2 -1\n"

static const check_problem *problem_of(const check_report *report, const char *kind) {
    for (uint64_t i = 0; i < report->problem_count; ++i)
        if (strcmp(report->problems[i].kind, kind) == 0) return &report->problems[i];
    return NULL;
}

static void check_text(check_report *report, const char *text) {
    file_put_text("lit.mtl", lit_mtl);
    file_put_text("c.obj", text);
    assert_int_equal(check_file(report, file_in("c.obj"), NULL, NULL), KD_OK);
}

static void test_valid_mesh_has_no_problems(void **state) {
    (void)state;
    check_report report;
    check_text(&report, TETRAHEDRON("glass") LAMP);
    for (uint64_t i = 0; i < report.problem_count; ++i)
        if (strcmp(report.problems[i].kind, "hole") != 0)
            print_error("%s\n", report.problems[i].message);
    assert_int_equal(report.problems_found, 1); /* the lamp is an open sheet */
    assert_int_equal(problem_of(&report, "hole")->severity, CHECK_NOTE);
    assert_int_equal(report.vertices, 7);
    assert_int_equal(report.faces, 5);
    assert_int_equal(report.triangles, 5);
    assert_int_equal(report.materials, 3);
    assert_int_equal(report.lights, 1);
    assert_true(report.renderable);
    check_close(&report);
}

static void test_problems_have_their_line(void **state) {
    (void)state;
    static const struct {
        const char *text, *kind;
        uint32_t line;
        bool fatal;
    } cases[] = {
        {TETRAHEDRON("grey"), "no-light", 0, false},
        {TETRAHEDRON("glass") "f 1 3 2\n" LAMP, "duplicate-triangle", 11, false},
        {TETRAHEDRON("grey") "v 0 0 0\nf 3 2 5\n" LAMP, "duplicate-triangle", 12, false},
        {TETRAHEDRON("grey") "v 0 0 0\nf 5 2 3\n" LAMP, "reversed-duplicate", 12, false},
        {TETRAHEDRON("grey") "f 1 2 2\n" LAMP, "zero-area", 11, false},
        {TETRAHEDRON("grey") "v 0.5 0 0\nf 1 2 5\n" LAMP, "zero-area", 12, false},
        {"mtllib lit.mtl\nusemtl glass\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n" LAMP, "open-glass", 6,
         false},
        {"mtllib lit.mtl\nusemtl glass\nv 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\n"
         "f 1 2 3\nf 1 4 2\nf 1 3 4\nf 2 4 3\n" LAMP,
         "inside-out-glass", 7, false},
        {TETRAHEDRON("glass") "f 2 4 3\n" LAMP, "open-glass", 7, false},
        {"vn 0 0 -1\n" LAMP "f -3//1 -2//1 -1//1\n", "flipped-normal", 7, false},
        {TETRAHEDRON("grey") "f 1 2 9\n" LAMP, "index-range", 11, true},
        {TETRAHEDRON("grey") "v nan 0 0\n" LAMP, "nan", 11, false},
        {TETRAHEDRON("grey") "v 1 1\n" LAMP, "malformed", 11, true},
        {TETRAHEDRON("brass") LAMP, "unknown-material", 2, false},
        {"mtllib absent.mtl\n" TETRAHEDRON("grey") LAMP, "missing-mtl", 1, false},
        {"v 0 0 0\np 1\n", "no-faces", 0, false},
        {"# nothing\n", "no-faces", 0, true},
        {"v nan 0 0\nv 0 nan 0\nv 0 0 nan\nf 1 2 3\n", "no-faces", 0, false},
        {"what is this\nno mesh\n", "not-obj", 1, true},
        {"\xff\xfev\0", "unreadable", 1, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        check_report report;
        check_text(&report, cases[i].text);
        const check_problem *problem = problem_of(&report, cases[i].kind);
        if (!problem) print_error("case %zu: no %s\n", i, cases[i].kind);
        assert_non_null(problem);
        assert_int_equal(problem->line, cases[i].line);
        assert_int_equal(problem->severity == CHECK_ERROR, cases[i].fatal);
        assert_int_equal(report.renderable, !cases[i].fatal);
        assert_string_equal(problem->file, file_in("c.obj"));
        check_close(&report);
    }
}

static void test_check_continues_after_error(void **state) {
    (void)state;
    check_report report;
    check_text(&report, "v 0 0 0\nv x\nv 1 0 0\nf 1 2 7\nv 0 1 0\nf 1 3 4\nf 9 9 9\n");
    uint32_t lines[8], count = 0;
    for (uint64_t i = 0; i < report.problem_count; ++i)
        if (report.problems[i].severity == CHECK_ERROR) lines[count++] = report.problems[i].line;
    assert_int_equal(count, 3);
    assert_true(lines[0] == 2 && lines[1] == 4 && lines[2] == 7);
    assert_int_equal(report.triangles, 1);
    assert_false(report.renderable);
    check_close(&report);
}

static void test_utf16_mtl_is_rejected_by_name(void **state) {
    (void)state;
    check_report report;
    static const char utf16[] = "\xff\xfen\0e\0w\0m\0t\0l\0 \0a\0\n";
    file_put("lit.mtl", utf16, sizeof utf16);
    file_put_text("c.obj", "mtllib lit.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n");
    assert_int_equal(check_file(&report, file_in("c.obj"), NULL, NULL), KD_OK);
    const check_problem *problem = problem_of(&report, "unreadable");
    assert_non_null(problem);
    assert_string_equal(problem->file, file_in("lit.mtl"));
    assert_int_equal(problem->line, 1);
    assert_false(report.renderable);
    assert_int_equal(report.triangles, 1);
    check_close(&report);
}

static void test_mtl_problems_name_their_file(void **state) {
    (void)state;
    check_report report;
    file_put_text("lit.mtl", "newmtl a\nd 0.5\nTr 0.9\nmap_Kd absent.png\n");
    file_put_text("c.obj", "mtllib lit.mtl\n");
    assert_int_equal(check_file(&report, file_in("c.obj"), NULL, NULL), KD_OK);
    const check_problem *d = problem_of(&report, "d-against-tr");
    const check_problem *texture = problem_of(&report, "missing-texture");
    assert_true(d && texture);
    assert_int_equal(d->line, 3);
    assert_int_equal(texture->line, 4);
    assert_string_equal(texture->file, file_in("lit.mtl"));
    check_close(&report);
}

static void test_repeated_problems_are_truncated(void **state) {
    (void)state;
    static char text[64 * 1024];
    size_t used = (size_t)snprintf(text, sizeof text, "v 0 0 0\nv 1 0 0\nv 0 1 0\n");
    for (int i = 0; i < 1000; ++i)
        used += (size_t)snprintf(text + used, sizeof text - used, "f 1 2 3\n");
    check_report report;
    check_text(&report, text);
    assert_int_equal(report.problems_found, 1001); /* 999 duplicates, no light, a boundary */
    assert_int_equal(report.problem_count, CHECK_PROBLEMS + 2);
    assert_int_equal(report.kinds[0].count, 999);
    assert_int_equal(report.kinds[0].kept, CHECK_PROBLEMS);
    check_close(&report);
}

static void test_json_report(void **state) {
    (void)state;
    check_report report;
    check_text(&report, TETRAHEDRON("gr\xfc\"n") "f 1 2 9\n");
    char *text = NULL;
    size_t count = 0;
    FILE *stream = open_memstream(&text, &count);
    assert_int_equal(check_write_json(&report, stream), KD_OK);
    fclose(stream);
    cJSON *root = cJSON_Parse(text);
    assert_non_null(root);
    assert_int_equal(cJSON_GetObjectItem(root, "vertices")->valueint, 4);
    assert_int_equal(cJSON_GetObjectItem(root, "faces")->valueint, 5);
    assert_int_equal(cJSON_GetObjectItem(root, "triangles")->valueint, 4);
    assert_true(cJSON_IsFalse(cJSON_GetObjectItem(root, "renderable")));
    const cJSON *problems = cJSON_GetObjectItem(root, "problems");
    assert_int_equal(cJSON_GetArraySize(problems), (int)report.problem_count);
    const cJSON *first = cJSON_GetArrayItem(problems, 0);
    assert_int_equal(cJSON_GetObjectItem(first, "line")->valueint, 11);
    assert_string_equal(cJSON_GetObjectItem(first, "kind")->valuestring, "index-range");
    for (const unsigned char *c = (unsigned char *)text; *c; ++c) assert_true(*c < 0x80);
    cJSON_Delete(root);
    free(text);
    stream = open_memstream(&text, &count);
    assert_int_equal(check_write_text(&report, stream), KD_OK);
    fclose(stream);
    assert_non_null(strstr(text, "c.obj:11: error: found the vertex index 9"));
    free(text);
    check_close(&report);
}

static void test_missing_files_and_other_formats(void **state) {
    (void)state;
    check_report report;
    assert_int_equal(check_file(&report, file_in("absent.obj"), NULL, NULL), KD_OK);
    assert_false(report.renderable);
    assert_int_equal(report.problem_count, 1);
    check_close(&report);
    file_put_text("one.stl", "solid one\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\n"
                             "vertex 1 0 0\nvertex 0 1 0\nendloop\nendfacet\nendsolid one\n");
    assert_int_equal(check_file(&report, file_in("one.stl"), NULL, NULL), KD_OK);
#if KD_HAVE_ASSIMP
    assert_true(report.renderable);
    assert_int_equal(report.triangles, 1);
    assert_non_null(problem_of(&report, "no-light"));
#else
    assert_false(report.renderable);
#endif
    check_close(&report);
}

/* --- bodies in bodies ------------------------------------------------------------------------- */

/* Appends an octahedron to the text of an OBJ file; `reversed`: it faces inwards. */
static void shell_add(char *text, size_t size, int number, const char *material, double scale,
                      bool reversed) {
    static const double corners[6][3] = {{1, 0, 0},  {-1, 0, 0}, {0, 1, 0},
                                         {0, -1, 0}, {0, 0, 1},  {0, 0, -1}};
    static const int faces[8][3] = {{0, 2, 4}, {2, 1, 4}, {1, 3, 4}, {3, 0, 4},
                                    {2, 0, 5}, {1, 2, 5}, {3, 1, 5}, {0, 3, 5}};
    size_t used = strlen(text);
    used += (size_t)snprintf(text + used, size - used, "usemtl %s\n", material);
    for (int i = 0; i < 6; ++i)
        used += (size_t)snprintf(text + used, size - used, "v %g %g %g\n", scale * corners[i][0],
                                 scale * corners[i][1], scale * corners[i][2]);
    for (int i = 0; i < 8; ++i)
        used +=
            (size_t)snprintf(text + used, size - used, "f %d %d %d\n", 6 * number + faces[i][0] + 1,
                             6 * number + faces[i][reversed ? 2 : 1] + 1,
                             6 * number + faces[i][reversed ? 1 : 2] + 1);
}

/* A digit is the size of a shell in tenths, upper-case: it faces inwards; g: glass, w: water, r: an
   index relative to glass, p: principled glass, o: opaque. */
static void test_glass_is_judged_by_what_lies_around(void **state) {
    (void)state;
    static const struct {
        const char *shells, *kind; /* NULL: no problem */
    } cases[] = {{"g9", NULL},
                 {"G9", "inside-out-glass"},
                 {"g9G8", NULL},
                 {"g9g8", "glass-in-glass"},
                 {"G9g8", "inside-out-glass"},
                 {"g9G8w7", NULL}, /* with a gap of air */
                 {"g9w7", "glass-in-glass"},
                 {"g9r7", NULL},
                 {"g9G8g7G6", NULL},
                 {"p9P8", NULL},
                 {"p9p8", "glass-in-glass"},
                 {"P9", "inside-out-glass"},
                 {"o9g7", NULL},
                 {"g9o7", NULL},
                 {"g9O7", NULL}};
    static const char mtl[] = "newmtl g\nillum 7\nNi 1.5\nnewmtl w\nillum 7\nNi 1.33\nnewmtl r\n"
                              "illum 7\nNi 0.887\nnewmtl p\nKd 1 1 1\nPr 0\nTf 1 1 1\nNi 1.5\n"
                              "newmtl o\nKd 1 1 1\n";
    file_put_text("shells.mtl", mtl);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        char text[4096] = "mtllib shells.mtl\n";
        check_report report;
        int number = 0;
        for (const char *at = cases[i].shells; *at; at += 2) {
            const bool reversed = at[0] < 'a';
            const char material[2] = {(char)(at[0] | 32), '\0'};
            shell_add(text, sizeof text, number++, material, 0.1 * (at[1] - '0'), reversed);
        }
        check_text(&report, text);
        for (uint32_t k = 0; k < report.kind_count; ++k) {
            const char *name = report.kinds[k].name;
            if (strcmp(name, "no-light") != 0 && (!cases[i].kind || strcmp(name, cases[i].kind)))
                fail_msg("%s: %s", cases[i].shells, name);
        }
        if (cases[i].kind && !problem_of(&report, cases[i].kind))
            fail_msg("%s: no %s", cases[i].shells, cases[i].kind);
        check_close(&report);
    }
}

/* A sphere of 1 m in UTM coordinates with a micrometre, then with half a metre. */
static void test_far_coordinates_are_the_cause(void **state) {
    (void)state;
    for (int rounded = 0; rounded < 2; ++rounded) {
        static char text[1 << 17];
        size_t used = 0;
        check_report report;
        enum { ROWS = 24, COLUMNS = 32 };
        for (int row = 0; row <= ROWS; ++row)
            for (int column = 0; column < COLUMNS; ++column) {
                const double up = 3.14159265 * row / ROWS, turn = 6.2831853 * column / COLUMNS;
                double at[3] = {5e5 + sin(up) * cos(turn), 4649776 + cos(up), sin(up) * sin(turn)};
                for (int axis = 0; axis < 3; ++axis) {
                    const volatile float single =
                        (float)at[axis]; /* volatile: GCC 12.2 vectorizes the conversion away */
                    if (rounded) at[axis] = (double)single;
                }
                if (column == 0 || (row > 0 && row < ROWS)) /* one vertex per pole */
                    used += (size_t)snprintf(text + used, sizeof text - used, "v %.7f %.7f %.7f\n",
                                             at[0], at[1], at[2]);
            }
        const int last = 2 + (ROWS - 1) * COLUMNS;
        for (int row = 0; row < ROWS; ++row)
            for (int column = 0; column < COLUMNS; ++column) {
                const int next = (column + 1) % COLUMNS;
                const int a = row == 0 ? 1 : 2 + (row - 1) * COLUMNS + column;
                const int b = row == 0 ? 1 : 2 + (row - 1) * COLUMNS + next;
                const int c = row == ROWS - 1 ? last : 2 + row * COLUMNS + next;
                const int d = row == ROWS - 1 ? last : 2 + row * COLUMNS + column;
                if (row > 0)
                    used += (size_t)snprintf(text + used, sizeof text - used, "f %d %d %d\n", a, b,
                                             row == ROWS - 1 ? last : c);
                if (row < ROWS - 1)
                    used +=
                        (size_t)snprintf(text + used, sizeof text - used, "f %d %d %d\n", a, c, d);
            }
        check_text(&report, text);
        const check_problem *far = problem_of(&report, "far-coordinates");
        assert_non_null(far);
        assert_int_equal(far->severity, rounded ? CHECK_WARNING : CHECK_NOTE);
        if (!strstr(far->message, rounded ? "are inaccurate" : "are read with more digits") ||
            !strstr(far->message, "4649776"))
            fail_msg("%s", far->message);
        if (!rounded && report.kind_count != 2) /* with no-light */
            fail_msg("%s", report.problems[1].message);
        check_close(&report);
    }
    check_report report;
    check_text(&report, TETRAHEDRON("grey") "v 1e39 0 0\n" LAMP);
    assert_non_null(strstr(problem_of(&report, "nan")->message, "3.4e38"));
    check_close(&report);
}

static void test_lights_at_one_place_are_reported(void **state) {
    (void)state;
    static const struct {
        const char *faces;
        uint32_t copies;
    } cases[] = {{"f -3 -2 -1\n", 0},
                 {"f -3 -2 -1\nf -2 -1 -3\n", 1},
                 {"f -3 -2 -1\nf -3 -1 -2\n", 0}, /* a panel that emits to both sides */
                 {"f -3 -2 -1\nf -3 -2 -1\nf -3 -2 -1\n", 2}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        char text[512], words[64];
        check_report report;
        snprintf(text, sizeof text, "%susemtl lamp\nv 5 0 0\nv 6 0 0\nv 5 1 0\n%s",
                 TETRAHEDRON("grey"), cases[i].faces);
        check_text(&report, text);
        const check_problem *problem = problem_of(&report, "duplicate-light");
        assert_int_equal(problem != NULL, cases[i].copies > 0);
        snprintf(words, sizeof words, "found %u light", cases[i].copies);
        if (problem && !strstr(problem->message, words)) fail_msg("%s", problem->message);
        check_close(&report);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_valid_mesh_has_no_problems),
        cmocka_unit_test(test_problems_have_their_line),
        cmocka_unit_test(test_check_continues_after_error),
        cmocka_unit_test(test_utf16_mtl_is_rejected_by_name),
        cmocka_unit_test(test_mtl_problems_name_their_file),
        cmocka_unit_test(test_repeated_problems_are_truncated),
        cmocka_unit_test(test_json_report),
        cmocka_unit_test(test_missing_files_and_other_formats),
        cmocka_unit_test(test_glass_is_judged_by_what_lies_around),
        cmocka_unit_test(test_far_coordinates_are_the_cause),
        cmocka_unit_test(test_lights_at_one_place_are_reported),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
