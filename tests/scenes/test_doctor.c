/* scenes/check/check.h: one defect of each kind in a closed mesh. The checker reports exactly that
   defect, and repairs what it claims to repair. */
#include "core/parallel/parallel.h"
#include "scenes/check/check.h"
#include "tests/scenes/doctor_bodies.h"
#include "tests/scenes/files.h"

/* Returns the kinds of problems found, except "no-light", with their counts, as in "hole 2, sliver
   1". */
static const char *kinds_of(const check_report *report) {
    static char text[1024];
    size_t used = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < report->kind_count; ++i)
        if (strcmp(report->kinds[i].name, "no-light") != 0)
            used +=
                (size_t)snprintf(text + used, sizeof text - used, "%s%s %llu", used ? ", " : "",
                                 report->kinds[i].name, (unsigned long long)report->kinds[i].count);
    return text;
}

static const check_problem *problem_of(const check_report *report, const char *kind) {
    for (uint64_t i = 0; i < report->problem_count; ++i)
        if (strcmp(report->problems[i].kind, kind) == 0) return &report->problems[i];
    return NULL;
}

static void body_put(const char *name, const body *body, double scale) {
    FILE *file = fopen(file_in(name), "w");
    assert_non_null(file);
    body_write(file, body, scale);
    fclose(file);
}

static void expect_kinds(const char *name, const char *label, const char *kinds) {
    check_report report;
    assert_int_equal(check_file(&report, file_in(name), NULL, NULL), KD_OK);
    if (strcmp(kinds_of(&report), kinds) != 0)
        fail_msg("%s: found \"%s\", expected \"%s\"", label, kinds_of(&report), kinds);
    check_close(&report);
}

/* Writes the repaired mesh to d.obj. */
static void repair(const char *name, kd_status status) {
    check_report report;
    assert_int_equal(check_file(&report, file_in(name), file_in("d.obj"), NULL), status);
    check_close(&report);
}

typedef struct injected {
    const char *name;
    void (*inject)(body *body);
    const char *kinds; /* problems found */
    const char *left;  /* problems left after the repair; NULL: the same */
} injected;

static const injected faults[] = {
    {"nothing", inject_nothing, "", NULL},
    {"a hole", inject_hole, "hole 1", NULL},
    {"two holes", inject_two_holes, "hole 2", NULL},
    {"a flipped face", inject_flip, "flipped-face 1", ""},
    {"all flipped", inject_inside_out, "inside-out 1", ""},
    {"all flipped, and a hole", inject_inside_out_hole, "hole 1, inside-out 1", "hole 1"},
    {"a cavity", inject_cavity, "", NULL},
    {"a body in a body", inject_body_within, "", NULL},
    {"a room with a body in it", inject_room, "", NULL},
    {"a body with a cavity, flipped as a whole but for its winding", inject_two_inwards,
     "inside-out 2", ""},
    {"a rotated copy", inject_copy, "duplicate-triangle 1", ""},
    {"a reversed copy", inject_reversed_copy, "reversed-duplicate 1", ""},
    {"an unused vertex", inject_unused, "unused-vertex 1", ""},
    {"an unwelded vertex", inject_unwelded, "unwelded-vertex 1", ""},
    {"a face of two places", inject_flat, "zero-area 1", ""},
    {"a vertex on an edge", inject_tjunction, "t-junction 1", NULL},
    {"a sliver", inject_sliver, "sliver 1", NULL},
    {"a body at an edge", inject_edge, "non-manifold-edge 1", NULL},
    {"a body at a vertex", inject_vertex, "non-manifold-vertex 1", NULL},
};
enum { FAULTS = sizeof faults / sizeof *faults };

static void test_single_fault_is_reported_alone(void **state) {
    (void)state;
    static const double scales[] = {1, 1e30, 1e-30};
    for (int s = 0; s < 3; ++s)
        for (int i = 0; i < FAULTS; ++i) {
            static body made;
            body_make(&made);
            faults[i].inject(&made);
            body_put("b.obj", &made, scales[s]);
            check_report report;
            assert_int_equal(check_file(&report, file_in("b.obj"), NULL, NULL), KD_OK);
            /* test_check.c tests the search for lights, which is omitted here */
            const char *kinds = kinds_of(&report);
            char expected[128];
            snprintf(expected, sizeof expected, "%s%s%s", faults[i].kinds,
                     s == 1 && *faults[i].kinds ? ", " : "", s == 1 ? "refused 1" : "");
            if (strcmp(kinds, expected) != 0)
                fail_msg("%s, scaled by %g: found \"%s\", expected \"%s\"", faults[i].name,
                         scales[s], kinds, expected);
            check_close(&report);
        }
}

static void test_intersecting_faces_are_reported(void **state) {
    (void)state;
    static body made;
    body_make(&made);
    body_add_copy(&made, 1, 0.5f, false);
    body_put("b.obj", &made, 1);
    check_report report;
    assert_int_equal(check_file(&report, file_in("b.obj"), NULL, NULL), KD_OK);
    assert_int_equal(strncmp(kinds_of(&report), "self-intersection ", 18), 0);
    const uint64_t count = report.kinds[0].count;
    assert_true(count > 8 && count < (uint64_t)made.triangle_count / 2);
    check_close(&report);
    /* two triangles that overlap in one plane; then two that only touch */
    file_put_text("b.obj",
                  "v 0 0 0\nv 4 0 0\nv 0 4 0\nv 1 1 0\nv 2 1 0\nv 1 2 0\nf 1 2 3\nf 4 5 6\n");
    expect_kinds("b.obj", "one plane", "hole 2, self-intersection 1");
    file_put_text("b.obj",
                  "v 0 0 0\nv 4 0 0\nv 0 4 0\nv 1 1 0\nv 3 1 4\nv 1 3 4\nf 1 2 3\nf 4 5 6\n");
    expect_kinds("b.obj", "a corner on a face", "hole 2");
}

static void test_problems_have_line_numbers(void **state) {
    (void)state;
    static body made;
    body_make(&made);
    inject_flip(&made);
    body_put("b.obj", &made, 1);
    check_report report;
    assert_int_equal(check_file(&report, file_in("b.obj"), NULL, NULL), KD_OK);
    assert_int_equal(problem_of(&report, "flipped-face")->line,
                     made.position_count + 1 + BODY_FAULT);
    assert_int_equal(problem_of(&report, "flipped-face")->severity, CHECK_WARNING);
    check_close(&report);
    body_make(&made);
    inject_unused(&made);
    body_put("b.obj", &made, 1);
    assert_int_equal(check_file(&report, file_in("b.obj"), NULL, NULL), KD_OK);
    assert_int_equal(problem_of(&report, "unused-vertex")->line, made.position_count);
    check_close(&report);
    body_make(&made);
    inject_hole(&made);
    body_put("b.obj", &made, 1);
    assert_int_equal(check_file(&report, file_in("b.obj"), NULL, NULL), KD_OK);
    assert_non_null(strstr(problem_of(&report, "hole")->message, "3 open edges"));
    check_close(&report);
}

#define CUBE "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nv 0 0 1\nv 1 0 1\nv 1 1 1\nv 0 1 1\n"
#define CUBE_SIDES "f 1 4 3 2\nf 1 2 6 5\nf 2 3 7 6\nf 3 4 8 7\nf 4 1 5 8\n"

static void test_polygons_are_checked(void **state) {
    (void)state;
    file_put_text("c.obj", CUBE CUBE_SIDES "f 5 6 7 8\n");
    expect_kinds("c.obj", "a cube of squares", "");
    file_put_text("c.obj", CUBE CUBE_SIDES "f 5 6 6 7 8\n");
    expect_kinds("c.obj", "a corner twice", "repeated-corner 1");
    file_put_text("c.obj", "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nv 0 0 1\nv 1 0 1\nv 1 1 1.2\n"
                           "v 0 1 1\n" CUBE_SIDES "f 5 6 7 8\n");
    expect_kinds("c.obj", "a bent square", "bent-polygon 1");
    file_put_text("c.obj", CUBE CUBE_SIDES "f 5 7 6 8\n");
    check_report report;
    assert_int_equal(check_file(&report, file_in("c.obj"), NULL, NULL), KD_OK);
    assert_non_null(problem_of(&report, "crossed-polygon"));
    assert_int_equal(problem_of(&report, "crossed-polygon")->line, 14);
    check_close(&report);
    /* a hole closed by a bridge: the mesh touches itself, but crosses nothing */
    file_put_text("c.obj",
                  "v 0 0 0\nv 3 0 0\nv 3 3 0\nv 0 3 0\nv 1 1 0\nv 1 2 0\nv 2 2 0\nv 2 1 0\n"
                  "f 1 2 3 4 1 5 6 7 8 5\n");
    assert_int_equal(check_file(&report, file_in("c.obj"), NULL, NULL), KD_OK);
    assert_null(problem_of(&report, "crossed-polygon"));
    check_close(&report);
}

static void test_normals_and_textures_are_checked(void **state) {
    (void)state;
    static const char white[] = "\0\0\2\0\0\0\0\0\0\0\0\0\1\0\1\0\30\0\377\377\377";
    file_put("t.tga", white, sizeof white - 1);
    file_put_text("t.mtl", "newmtl skin\nKd 1 1 1\nmap_Kd t.tga\n");
    file_put_text("c.obj", "mtllib t.mtl\nusemtl skin\n" CUBE CUBE_SIDES "f 5 6 7 8\n");
    expect_kinds("c.obj", "a texture", "texture-without-uv 1");
    file_put_text("c.obj", "vn 0 0 0\nvn 0 0 1\n" CUBE CUBE_SIDES "f 5//2 6//2 7//1 8//2\n");
    expect_kinds("c.obj", "a zero normal", "zero-normal 1");
    repair("c.obj", KD_OK);
    expect_kinds("d.obj", "without it", "");
}

static void test_moebius_strip_is_reported(void **state) {
    (void)state;
    /* a Moebius strip: five squares, the last joined to the first by a half turn */
    file_put_text("c.obj",
                  "v 2 0 0\nv 3 0 .2\nv .6 1.9 .3\nv 1 2.8 .6\nv -1.6 1.1 .5\nv -2.3 1.7 1.1\n"
                  "v -1.6 -1.1 .8\nv -2 -2 1.6\nv .6 -1.9 .6\nv .8 -2.6 -.5\n"
                  "f 1 2 4 3\nf 3 4 6 5\nf 5 6 8 7\nf 7 8 10 9\nf 9 10 1 2\n");
    check_report report;
    assert_int_equal(check_file(&report, file_in("c.obj"), NULL, NULL), KD_OK);
    assert_non_null(problem_of(&report, "non-orientable"));
    assert_null(problem_of(&report, "flipped-face"));
    check_close(&report);
}

static void test_triangles_with_area_are_not_degenerate(void **state) {
    (void)state;
    check_report report;
    file_put_text("c.obj",
                  "v 0 0 0\nv 1e30 0 0\nv 0 1 0\nv 1e30 1e30 0\nv 1 0 0\nf 1 2 3\nf 4 5 1\n");
    assert_int_equal(check_file(&report, file_in("c.obj"), NULL, NULL), KD_OK);
    assert_null(problem_of(&report, "zero-area"));
    check_close(&report);
}

static void test_unrenderable_mesh_is_an_error(void **state) {
    (void)state;
    static body made;
    check_report report;
    body_make(&made);
    body_put("b.obj", &made, 1e19);
    assert_int_equal(check_file(&report, file_in("b.obj"), NULL, NULL), KD_OK);
    assert_false(report.renderable);
    assert_non_null(strstr(problem_of(&report, "refused")->message, "exceeds the range of float"));
    unlink(file_in("d.obj"));
    repair("b.obj", KD_ERROR_INPUT);
    assert_int_not_equal(access(file_in("d.obj"), F_OK), 0);
    check_close(&report);
}

static void test_repaired_mesh_has_no_problems(void **state) {
    (void)state;
    for (int i = 0; i < FAULTS; ++i) {
        static body made;
        body_make(&made);
        faults[i].inject(&made);
        body_put("b.obj", &made, 1);
        repair("b.obj", KD_OK);
        expect_kinds("d.obj", faults[i].name, faults[i].left ? faults[i].left : faults[i].kinds);
    }
}

static void test_valid_mesh_is_written_unchanged(void **state) {
    (void)state;
    static body made;
    mesh from, to;
    body_make(&made);
    body_put("b.obj", &made, 1);
    repair("b.obj", KD_OK);
    assert_int_equal(obj_load(&from, file_in("b.obj"), NULL, NULL), KD_OK);
    assert_int_equal(obj_load(&to, file_in("d.obj"), NULL, NULL), KD_OK);
    assert_int_equal(from.position_count, to.position_count);
    assert_int_equal(from.triangle_count, to.triangle_count);
    assert_memory_equal(from.positions, to.positions, from.position_count * sizeof *from.positions);
    assert_memory_equal(from.triangles, to.triangles, 12 * (size_t)from.triangle_count);
    mesh_close(&from);
    mesh_close(&to);
}

static void test_other_lines_are_preserved(void **state) {
    (void)state;
    static const char text[] =
        "# a cube\nmtllib t.mtl\no cube\nv 9 9 9\n" CUBE "vt 0 0\nvt 1 0\nvt 1 1\nvn 0 0 1\n"
        "g side walls\nusemtl skin\ns 1\nf 2 5 4 3\nf 2 3 7 6\nf 3 4 8 7\nf 4 5 9 8\nf 5 2 6 9\n"
        "g top\nf 9/1/1 8/2/1 7/3/1 6/1/1\nl 2 3\np -1\n";
    static const char expected[] =
        "# a cube\nmtllib t.mtl\no cube\n" CUBE "vt 0 0\nvt 1 0\nvt 1 1\nvn 0 0 1\n"
        "g side walls\nusemtl skin\ns 1\nf 1 4 3 2\nf 1 2 6 5\nf 2 3 7 6\nf 3 4 8 7\nf 4 1 5 8\n"
        "g top\nf 5/1/1 6/3/1 7/2/1 8/1/1\nl 1 2\np 8\n";
    char got[2048];
    file_put_text("t.mtl", "newmtl skin\nKd 1 1 1\n");
    file_put_text("b.obj", text);
    repair("b.obj", KD_OK);
    FILE *file = fopen(file_in("d.obj"), "r");
    assert_non_null(file);
    got[fread(got, 1, sizeof got - 1, file)] = '\0';
    fclose(file);
    assert_string_equal(got, expected);
}

/* If the repair reverses a triangle's winding, it also reverses normals that agreed with it. */
static void test_normals_are_reversed_with_faces(void **state) {
    (void)state;
    file_put_text("b.obj", CUBE "vn 0 0 1\nvn 0 0 -1\nf 1//1 2//1 3//1 4//1\nf 5 6 2 1\nf 6 7 3 2\n"
                                "f 7 8 4 3\nf 8 5 1 4\nf 8//2 7//2 6//2 5//2\n");
    expect_kinds("b.obj", "an inward cube", "inside-out 1");
    repair("b.obj", KD_OK);
    expect_kinds("d.obj", "turned", "");
}

/* Makes clusters of triangles of several shapes: on one line, around one vertex, anywhere in a
   small cube, a fan of slivers, many at one edge. */
static double heap_number(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 40) / 16777216.0;
}
static void heap_put(int shape, int count) {
    uint64_t state = 7;
    FILE *file = fopen(file_in("h.obj"), "w");
    assert_non_null(file);
    for (int i = 0; i < count; ++i) {
        double p[9];
        for (int k = 0; k < 9; ++k) p[k] = heap_number(&state) - (shape == 0 ? 0 : 0.5);
        const double turn = 6.28318530717958 / count;
        if (shape == 0) p[3] += 2, p[1] = p[2] = p[4] = p[5] = 0;
        if (shape == 1 || shape == 3) p[0] = p[1] = p[2] = 0;
        if (shape == 3) {
            p[3] = cos(i * turn), p[4] = sin(i * turn), p[5] = 0;
            p[6] = cos((i + 1) * turn), p[7] = sin((i + 1) * turn), p[8] = 0;
        }
        if (shape == 4) p[0] = p[1] = p[2] = p[4] = p[5] = 0, p[3] = 1;
        for (int k = 0; k < 9; k += 3)
            fprintf(file, "v %.9g %.9g %.9g\n", p[k], p[k + 1], p[k + 2]);
        fprintf(file, "f -3 -2 -1\n");
    }
    fclose(file);
}

static void test_work_on_overlapping_triangles_is_bounded(void **state) {
    (void)state;
    enum { HEAP = 10000, SHAPES = 5 };
    bool unfinished[3] = {false, false, false};
    static const char *const kinds[] = {"t-junctions-unfinished", "inside-out-unfinished",
                                        "intersections-unfinished"};
    for (int shape = 0; shape < SHAPES; ++shape) {
        check_report report;
        heap_put(shape, HEAP);
        assert_int_equal(check_file(&report, file_in("h.obj"), NULL, NULL), KD_OK);
        const uint64_t t = report.triangles;
        assert_true(report.tests <= CHECK_WORK + CHECK_TESTS_EACH * 3 * t);
        assert_true(report.ray_tests <= CHECK_WORK + CHECK_RAY_TESTS_EACH * t + t + 1);
        assert_true(report.pairs <= CHECK_WORK + CHECK_PAIRS_EACH * t);
        for (int k = 0; k < 3; ++k) unfinished[k] |= problem_of(&report, kinds[k]) != NULL;
        check_close(&report);
    }
    for (int k = 0; k < 3; ++k)
        if (!unfinished[k]) fail_msg("no heap is reported as %s", kinds[k]);
}

/* Small clusters are examined completely. */
static void test_small_overlaps_are_checked_completely(void **state) {
    (void)state;
    for (int shape = 0; shape < 5; ++shape) {
        check_report report;
        heap_put(shape, 500);
        assert_int_equal(check_file(&report, file_in("h.obj"), NULL, NULL), KD_OK);
        for (uint32_t i = 0; i < report.kind_count; ++i)
            if (strstr(report.kinds[i].name, "-unfinished"))
                fail_msg("shape %d: found %s", shape, report.kinds[i].name);
        check_close(&report);
    }
}

static void cancel_late(void *context, const char *stage, int64_t done, int64_t total) {
    (void)stage;
    (void)done;
    (void)total;
    atomic_store(&((job_control *)context)->cancelled, true);
}

/* A check that is cancelled while it runs ends without the remaining work. */
static void test_cancellation(void **state) {
    (void)state;
    check_report report;
    static job_control job;
    heap_put(2, 20000);
    job_init(&job);
    job.report = cancel_late;
    job.context = &job;
    assert_int_equal(check_file(&report, file_in("h.obj"), NULL, &job), KD_INTERRUPTED);
    assert_int_equal(report.pairs, 0);
    check_close(&report);
}

#define TWO_LOOKS "v 0 0 0\nv 1 0 0\nv 0 1 0\nusemtl red\nf 1 2 3\n"

/* A copy of a triangle with another material may be intended; two with the same material are
   duplicates. */
static void test_duplicates_with_other_material_are_kept(void **state) {
    (void)state;
    mesh made;
    file_put_text("t.mtl", "newmtl red\nKd 1 0 0\nnewmtl blue\nKd 0 0 1\n");
    file_put_text("b.obj", "mtllib t.mtl\n" TWO_LOOKS "usemtl blue\nf 2 3 1\nf 3 1 2\nf 3 2 1\n");
    expect_kinds("b.obj", "copies", "duplicate-triangle 2, reversed-duplicate 1, hole 1");
    repair("b.obj", KD_OK);
    assert_int_equal(obj_load(&made, file_in("d.obj"), NULL, NULL), KD_OK);
    assert_int_equal(made.triangle_count, 2);
    assert_int_not_equal(made.triangle_materials[0], made.triangle_materials[1]);
    mesh_close(&made);
}

static void test_generated_meshes_are_written_as_obj(void **state) {
    (void)state;
    check_report report;
    assert_int_equal(check_file(&report, "gen:wedge", file_in("d.obj"), NULL), KD_OK);
    const uint64_t triangles = report.triangles;
    check_close(&report);
    assert_int_equal(check_file(&report, file_in("d.obj"), NULL, NULL), KD_OK);
    assert_int_equal(report.triangles, triangles);
    assert_null(problem_of(&report, "unwelded-vertex"));
    check_close(&report);
}

static void test_report_is_independent_of_threads(void **state) {
    (void)state;
    static body made;
    char *text[2] = {NULL, NULL};
    body_make(&made);
    body_add_copy(&made, 1, 0.5f, false);
    body_put("b.obj", &made, 1);
    for (int i = 0; i < 2; ++i) {
        check_report report;
        size_t bytes = 0;
        parallel_set_threads(i ? 4 : 1);
        assert_int_equal(check_file(&report, file_in("b.obj"), NULL, NULL), KD_OK);
        FILE *stream = open_memstream(&text[i], &bytes);
        assert_int_equal(check_write_json(&report, stream), KD_OK);
        fclose(stream);
        check_close(&report);
    }
    parallel_set_threads(0);
    assert_string_equal(text[0], text[1]);
    free(text[0]);
    free(text[1]);
}

/* Another program counted 223 edges with one triangle, in 5 loops. */
static void test_bunny_has_five_holes(void **state) {
    (void)state;
    const char *path = test_model("bunny.obj");
    check_report report;
    if (!path) skip();
    assert_int_equal(check_file(&report, path, NULL, NULL), KD_OK);
    assert_string_equal(kinds_of(&report), "unused-vertex 1113, hole 5");
    uint32_t edges = 0;
    for (uint64_t i = 0; i < report.problem_count; ++i) {
        unsigned of_one = 0;
        if (sscanf(report.problems[i].message, "found a boundary of %u", &of_one) == 1)
            edges += of_one;
    }
    assert_int_equal(edges, 223);
    check_close(&report);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_single_fault_is_reported_alone),
        cmocka_unit_test(test_intersecting_faces_are_reported),
        cmocka_unit_test(test_problems_have_line_numbers),
        cmocka_unit_test(test_polygons_are_checked),
        cmocka_unit_test(test_normals_and_textures_are_checked),
        cmocka_unit_test(test_moebius_strip_is_reported),
        cmocka_unit_test(test_triangles_with_area_are_not_degenerate),
        cmocka_unit_test(test_unrenderable_mesh_is_an_error),
        cmocka_unit_test(test_repaired_mesh_has_no_problems),
        cmocka_unit_test(test_valid_mesh_is_written_unchanged),
        cmocka_unit_test(test_other_lines_are_preserved),
        cmocka_unit_test(test_normals_are_reversed_with_faces),
        cmocka_unit_test(test_work_on_overlapping_triangles_is_bounded),
        cmocka_unit_test(test_small_overlaps_are_checked_completely),
        cmocka_unit_test(test_cancellation),
        cmocka_unit_test(test_duplicates_with_other_material_are_kept),
        cmocka_unit_test(test_generated_meshes_are_written_as_obj),
        cmocka_unit_test(test_report_is_independent_of_threads),
        cmocka_unit_test(test_bunny_has_five_holes),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
