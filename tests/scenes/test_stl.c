/* scenes/formats/stl.c: text and binary files give the same mesh as OBJ; vertices are merged;
   errors are reported with their position. */
#include "core/memory.h"
#include "core/parallel/parallel.h"
#include "scenes/assembly/scene.h"
#include "scenes/check/check.h"
#include "scenes/describe/readers.h"
#include "scenes/formats/mesh_formats.h"
#include "scenes/mesh/generate.h"
#include "scenes/mesh/mesh_cleanup.h"
#include "tests/scenes/files.h"
#include "tests/scenes/mesh_write.h"

#define FACET(x)                                                                                   \
    "facet normal 0 0 1\nouter loop\nvertex " x " 0 0\nvertex 1 0 0\nvertex 0 1 0\nendloop\n"      \
    "endfacet\n"

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

static void write_stl(const char *name, const mesh *mesh, bool as_text) {
    FILE *file = fopen(file_in(name), "wb");
    assert_non_null(file);
    mesh_write_stl(file, mesh, as_text);
    assert_int_equal(fclose(file), 0);
}

/* An OBJ file whose vertices are in the order of first use gives the same mesh. */
static void test_both_formats_match_obj(void **state) {
    (void)state;
    mesh made, welded;
    assert_int_equal(procedural_load(&made, "gen:blob:3000"), KD_OK);
    write_stl("m.stl", &made, true);
    assert_int_equal(stl_load(&welded, file_in("m.stl"), NULL, NULL), KD_OK);
    assert_int_equal(welded.position_count, made.position_count);
    assert_int_equal(welded.triangle_count, made.triangle_count);
    FILE *file = fopen(file_in("m.obj"), "wb");
    assert_non_null(file);
    mesh_write_obj(file, &welded);
    fclose(file);
    assert_true(hash_of("m.stl") == hash_of("m.obj"));
    write_stl("m.stl", &made, false); /* a binary file whose header begins with "solid" */
    assert_true(hash_of("m.stl") == hash_of("m.obj"));
    mesh_close(&made);
    mesh_close(&welded);
}

static void test_text_variants(void **state) {
    (void)state;
    static const char text[] =
        "SOLID first one, with blanks\r\n  FACET NORMAL 0 0 0\r\n\tOUTER LOOP\r\n"
        "Vertex 0.0e+00 -0 0E0\r\nVERTEX 1.e0 0 0\r\nvertex 1 1 0\r\nvertex +.0 1 0\r\nEndLoop\r\n"
        "ENDFACET\r\nENDSOLID first one\r\n\r\nsolid\r\n" FACET("0") "endsolid";
    mesh read;
    uint32_t *lines = NULL;
    const obj_options options = {.triangle_lines = &lines};
    file_put_text("t.stl", text);
    assert_int_equal(stl_load(&read, file_in("t.stl"), &options, NULL), KD_OK);
    assert_int_equal(read.face_count, 2);
    assert_int_equal(read.triangle_count, 3); /* the first facet has four corners */
    assert_int_equal(read.position_count, 4); /* -0 is merged with 0 */
    assert_int_equal(lines[0], 2);
    assert_int_equal(lines[2], 13);
    memory_free(lines);
    mesh_close(&read);
}

static void test_empty_solid_is_an_empty_mesh(void **state) {
    (void)state;
    mesh read;
    char none[84] = "solid, and binary";
    file_put_text("t.stl", "solid nothing\nendsolid nothing\n");
    assert_int_equal(stl_load(&read, file_in("t.stl"), NULL, NULL), KD_OK);
    assert_int_equal(read.triangle_count, 0);
    mesh_close(&read);
    check_report report;
    assert_int_equal(check_file(&report, file_in("t.stl"), NULL, NULL), KD_OK);
    assert_string_equal(report.problems[0].kind, "no-faces");
    check_close(&report);
    file_put("t.stl", none, sizeof none);
    assert_int_equal(stl_load(&read, file_in("t.stl"), NULL, NULL), KD_OK);
    assert_int_equal(read.triangle_count, 0);
    mesh_close(&read);
}

static void test_errors_give_line_or_offset(void **state) {
    (void)state;
    static const struct {
        const char *text, *kind, *what;
        uint32_t line;
        bool fatal;
    } cases[] = {
        {"ply\n", "not-stl", "a PLY file", 0, true},
        {"pla\n", "not-stl", "4 bytes", 0, true},
        {"solid a\nnothing here\n", "unknown-keyword", "\"nothing\"", 2, true},
        {"solid a\n" FACET("x") "endsolid\n", "malformed", "\"x\", expected a number", 4, true},
        {"solid a\n" FACET("0 0") "endsolid\n", "malformed", "expected the end of the line", 4,
         true},
        {"solid a\nfacet\n", "malformed", "a normal", 2, true},
        {"solid a\nvertex 0 0 0\nendsolid\n", "malformed", "\"facet\" before \"vertex\"", 2, true},
        {"solid a\nfacet normal 0 0 0\nouter loop\nvertex 0 0 0\n", "truncated", "within a facet",
         4, true},
        {"solid a\nfacet normal 0 0 0\n" FACET("0"), "malformed", "expected endfacet", 3, true},
        {"solid a\n" FACET("nan") "endsolid\n", "nan", "is skipped", 2, false},
        {"solid a\nfacet normal 0 0 1\nvertex 0 0 0\nendfacet\nendsolid\n", "short-face",
         "1 corner,", 2, false},
        {"solid a\n" FACET("0"), "truncated", "endsolid", 0, false},
        {"solid a\nfacet normal 0 0 -1\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\nendfacet\n"
         "endsolid\n",
         "flipped-normal", "1 facets", 0, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        for (uint32_t chunk = 0; chunk < 3; ++chunk) { /* for each chunk size the same result */
            reported_problems to = {.count = 0};
            const obj_options options = {.problem = on_problem,
                                         .context = &to,
                                         .keep_going = true,
                                         .chunk_bytes = 16 * chunk};
            mesh read;
            file_put_text("bad.stl", cases[i].text);
            assert_int_equal(stl_load(&read, file_in("bad.stl"), &options, NULL), KD_OK);
            mesh_close(&read);
            if (to.count < 1 || strcmp(to.kinds[0], cases[i].kind) != 0 ||
                !strstr(to.messages[0], cases[i].what) || to.lines[0] != cases[i].line)
                fail_msg("case %zu: %s, line %u: %s", i, to.kinds[0], to.lines[0], to.messages[0]);
            assert_true((to.fatal > 0) == cases[i].fatal);
        }
    }
}

static void test_truncated_binary_files(void **state) {
    (void)state;
    mesh made, read;
    char *bytes = NULL;
    size_t count = 0;
    assert_int_equal(procedural_load(&made, "gen:blob:12"), KD_OK);
    FILE *file = open_memstream(&bytes, &count);
    mesh_write_stl(file, &made, false);
    fclose(file);
    bytes[0] = 'b';
    for (size_t kept = 0; kept < count; ++kept) {
        file_put("cut.stl", bytes, kept);
        assert_int_equal(stl_load(&read, file_in("cut.stl"), NULL, NULL), KD_ERROR_INPUT);
        assert_non_null(strstr(kd_last_error(), "cut.stl: "));
    }
    memcpy(bytes + 80, "\xff\xff\xff\xff", 4); /* states more facets than the file has bytes */
    file_put("cut.stl", bytes, count);
    assert_int_equal(stl_load(&read, file_in("cut.stl"), NULL, NULL), KD_ERROR_INPUT);
    assert_non_null(strstr(kd_last_error(), "expected 4294967295"));
    free(bytes);
    mesh_close(&made);
}

/* Merging vertices against a straightforward method, for few and for many different positions, on
   one thread and on several. */
static void test_welding_numbers_first_occurrences(void **state) {
    (void)state;
    enum { COUNT = 150000 };
    static vec3 places[COUNT];
    static uint32_t numbers[COUNT], expected[COUNT], first_of[50 * 50 * 50];
    uint32_t seed = 1;
    for (int kinds = 2; kinds <= 50; kinds += 24) {
        uint32_t distinct = 0;
        memset(first_of, 0xff, sizeof first_of);
        for (int i = 0; i < COUNT; ++i) {
            uint32_t cell = 0;
            float at[3];
            for (int k = 0; k < 3; ++k) {
                seed = seed * 1664525 + 1013904223;
                const uint32_t step = (seed >> 8) % (uint32_t)kinds;
                cell = cell * 50 + step;
                at[k] = step == 0 && seed >> 31 ? -0.0f : (float)step;
            }
            places[i] = vec3_make(at[0], at[1], at[2]);
            if (first_of[cell] == UINT32_MAX) first_of[cell] = distinct++;
            expected[i] = first_of[cell];
        }
        for (int threads = 1; threads <= 4; threads += 3) {
            vec3 *kept = NULL;
            uint32_t count = 0;
            parallel_set_threads(threads);
            assert_int_equal(weld_places(places, COUNT, numbers, &kept, &count), KD_OK);
            assert_int_equal(count, distinct);
            assert_memory_equal(numbers, expected, sizeof numbers);
            for (int i = 0; i < COUNT; ++i) assert_true(kept[numbers[i]].x == places[i].x);
            memory_free(kept);
        }
        parallel_set_threads(0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_both_formats_match_obj),
        cmocka_unit_test(test_text_variants),
        cmocka_unit_test(test_empty_solid_is_an_empty_mesh),
        cmocka_unit_test(test_errors_give_line_or_offset),
        cmocka_unit_test(test_truncated_binary_files),
        cmocka_unit_test(test_welding_numbers_first_occurrences),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
