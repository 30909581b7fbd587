/* scenes/formats/obj.c: valid files, and rejected ones. */
#include "core/memory.h"
#include "core/parallel/parallel.h"
#include "tests/scenes/files.h"

static kd_status read_bytes(mesh *mesh, reported_problems *log, const char *bytes, size_t count) {
    file_put("a.obj", bytes, count);
    memset(log, 0, sizeof *log);
    const obj_options options = {.problem = on_problem, .context = log};
    return obj_load(mesh, file_in("a.obj"), &options, NULL);
}

static kd_status read_text(mesh *mesh, reported_problems *log, const char *text) {
    return read_bytes(mesh, log, text, strlen(text));
}

static const char square[] = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\n";

/* The same square written in many ways gives the same mesh. */
static void test_equivalent_spellings(void **state) {
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
        "o a b\ng\ns off\nv 0 0 0\nl 1 2 3\np 1\nv 1 0 0\nv 1 1 0\nv 0 1 0\ns 0\nf 1 2 3 4\n\n\n",
        "#\nv 0 0 0\n# f 9 9 9 \\\nv 1 0 0\nv 1 1 0\nv 0 1 0\nf 1/ 2/ 3// 4\nvp 1 2\n",
        "v 0 0 0\nv 10e-1 0 0\nv 0.1e+1 1 0\nv 0 .1+e1 0\nfo 1 2 3 4",
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; ++i) {
        mesh read;
        reported_problems problems;
        const kd_status status = read_text(&read, &problems, files[i]);
        if (status != KD_OK) print_error("file %zu: %s\n", i, kd_last_error());
        assert_int_equal(status, KD_OK);
        assert_int_equal(problems.count, 0);
        assert_int_equal(read.position_count, 4);
        assert_int_equal(read.face_count, 1);
        assert_int_equal(read.triangle_count, 2);
        static const vec3 corners[4] = {{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1, 0}};
        assert_memory_equal(read.positions, corners, sizeof corners);
        static const uint32_t triangles[6] = {0, 1, 2, 0, 2, 3};
        assert_memory_equal(read.triangles, triangles, sizeof triangles);
        assert_null(read.normal_indices);
        assert_true(!read.texcoord_indices == !read.colours);
        assert_int_equal(read.material_count, 1);
        mesh_close(&read);
    }
}

#define CUBE "v -1 -1 -1\nv 1 -1 -1\nv 1 1 -1\nv -1 1 -1\nv -1 -1 1\nv 1 -1 1\nv 1 1 1\nv -1 1 1\n"

/* A cube in one smoothing group has the normals of a sphere at its corners, however its squares are
   triangulated. Groups are independent of each other and of flat faces. The vn of a face takes
   precedence. */
static void test_smoothing_groups_make_normals(void **state) {
    (void)state;
    mesh read;
    reported_problems problems;
    assert_int_equal(read_text(&read, &problems,
                               CUBE "s 1\nf 4 3 2 1\nf 5 6 7 8\nf 1 2 6 5\n"
                                    "f 3 4 8 7\nf 2 3 7 6\nf 4 1 5 8\n"),
                     KD_OK);
    assert_int_equal(read.normal_count, 8);
    for (uint32_t i = 0; i < 3 * read.triangle_count; ++i) {
        const vec3 p = read.positions[read.triangles[i]];
        const vec3 n = read.normals[read.normal_indices[i]];
        assert_true(vec3_length(vec3_sub(n, vec3_scale(p, 1 / sqrtf(3)))) < 1e-6f);
    }
    mesh_close(&read);
    assert_int_equal(read_text(&read, &problems,
                               CUBE "s 1\nf 4 3 2 1\nf 1 2 6 5\ns 7\nf 5 6 7 8\n"
                                    "s off\nf 3 4 8 7\n"),
                     KD_OK);
    /* group 1: 2 vertices shared by two faces and 4 used once; group 7: 4 vertices */
    assert_int_equal(read.normal_count, 10);
    for (uint32_t i = 0; i < 24; ++i) {
        const uint32_t index = read.normal_indices[i], triangle = i / 3;
        const uint32_t corner = read.triangles[i];
        if (triangle >= 6) {
            assert_int_equal(index, KD_NONE);
            continue;
        }
        const vec3 n = read.normals[index];
        if (triangle >= 4) assert_true(n.z == 1);
        if (triangle < 4 && corner < 2)
            assert_true(fabsf(n.y + sqrtf(0.5f)) < 1e-6f && fabsf(n.z + sqrtf(0.5f)) < 1e-6f);
        if (triangle < 2 && corner >= 2) assert_true(n.z == -1);
    }
    mesh_close(&read);
    assert_int_equal(
        read_text(&read, &problems, CUBE "vn 0 0 1\ns 1\nf 4 3 2 1\nf 5//1 6//1 7//1\n"), KD_OK);
    /* faces without normals are smoothed, the others keep theirs */
    assert_int_equal(read.normal_count, 5);
    for (uint32_t i = 0; i < 3; ++i) {
        assert_true(read.normals[read.normal_indices[i]].z == -1);
        assert_int_equal(read.normal_indices[6 + i], 0);
    }
    mesh_close(&read);
    assert_int_equal(
        read_text(&read, &problems, "v 0 0 0\nv 1 0 0\nv nan 1 0\ns 1\nf 1 2 3\nf 1 2 1\n"), KD_OK);
    mesh_close(&read);
}

static void test_malformed_lines_are_reported(void **state) {
    (void)state;
    static const struct {
        const char *line, *message;
    } bad[] = {
        {"v 1 2", "a.obj:5: found the end of the line, expected a number (v x y z)"},
        {"v 1 x 2", "a.obj:5: found \"x\", expected a number (v x y z)"},
        {"v 1 2 3 4 5 6 7 8 9", "a.obj:5: found \"9\", expected the end of the line"},
        {"v 1,2,3", "a.obj:5: found \"1,2,3\", expected a number (v x y z)"},
        {"v 1e 2 3", "a.obj:5: found \"1e\", expected a number (v x y z)"},
        {"vn 1 2", "a.obj:5: found the end of the line, expected a number (vn x y z)"},
        {"vt", "a.obj:5: found the end of the line, expected a number (vt u v)"},
        {"f 1 2 a", "a.obj:5: found \"a\", expected a corner (v, v/vt, v//vn or v/vt/vn)"},
        {"f 1 2 3.5", "a.obj:5: found \"3.5\", expected a corner (v, v/vt, v//vn or v/vt/vn)"},
        {"f 1/2/3/4 2 3",
         "a.obj:5: found \"1/2/3/4\", expected a corner (v, v/vt, v//vn or v/vt/vn)"},
        {"f", "a.obj:5: found a face without corners, expected three or more"},
        {"f 1 2 5", "a.obj:5: found the vertex index 5, expected 1 to 4"},
        {"f 0 1 2", "a.obj:5: found the vertex index 0, expected 1 to 4"},
        {"f 1 2 -5", "a.obj:5: found the relative vertex index -5, expected -1 to -4"},
        {"f 1/2 2/1 3/1\nvt 0 0", "a.obj:5: found the texture coordinate index 2, expected 1 to 1"},
        {"f 1/-1 2/1 3/1\nvt 0 0",
         "a.obj:5: found the relative texture coordinate index -1, expected -1 to -0"},
        {"f 1//0 2//1 3//1\nvn 0 0 1", "a.obj:5: found the normal index 0, expected 1 to 1"},
        {"f 1 2 99999999999999999999",
         "a.obj:5: found the vertex index 1099511627776, expected 1 to 4"},
        {"f 1 2 4294967297", "a.obj:5: found the vertex index 4294967297, expected 1 to 4"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        char text[512], message[512];
        snprintf(text, sizeof text, "%s%s\nf 1 2 3\n", square, bad[i].line);
        snprintf(message, sizeof message, "%s/%s", test_folder, bad[i].message);
        mesh read;
        reported_problems problems;
        assert_int_equal(read_text(&read, &problems, text), KD_ERROR_INPUT);
        assert_string_equal(kd_last_error(), message);
        assert_int_equal(problems.fatal, 1);
        assert_int_equal(problems.lines[0], 5);
        assert_null(read.positions); /* no memory was left allocated */
    }
}

/* Problems in a file that is still usable are reported, and reading continues. */
static void test_reading_continues_after_warnings(void **state) {
    (void)state;
    static const struct {
        const char *lines, *kind;
        uint32_t line, faces, triangles;
    } odd[] = {{"f 1\nf 1 2 3\n", "short-face", 5, 2, 1},
               {"f 1//1 2//1 3//1\n", "index-range", 5, 1, 1},
               {"v nan 0 -1.#IND\nv 1 1 1\nf 1 2 5\nf 1 2 3 5\nf 1 2 6\n", "nan", 5, 3, 1},
               {"v 1e39 0 0\nf 1 2 3\n", "nan", 5, 1, 1},
               {"vn nan 0 0\nf 1//1 2//1 3//1\n", "nan", 5, 1, 1},
               {"vt inf 0\nf 1/1 2/1 3/1\n", "nan", 5, 1, 1},
               {"curv2 1 2\nf 1 2 3\n", "unsupported", 5, 1, 1},
               {"hello world\nf 1 2 3\n", "unknown-keyword", 5, 1, 1},
               {"usemtl gold\nf 1 2 3\n", "unknown-material", 5, 1, 1},
               {"mtllib absent one.mtl\nf 1 2 3\n", "missing-mtl", 5, 1, 1}};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; ++i) {
        char text[512];
        mesh read;
        reported_problems problems;
        snprintf(text, sizeof text, "%s%s", square, odd[i].lines);
        assert_int_equal(read_text(&read, &problems, text), KD_OK);
        assert_true(problems.count > 0 && problems.fatal == 0);
        assert_string_equal(problems.kinds[0], odd[i].kind);
        assert_int_equal(problems.lines[0], odd[i].line);
        assert_int_equal(read.face_count, odd[i].faces);
        assert_int_equal(read.triangle_count, odd[i].triangles);
        for (uint32_t k = 0; k < read.position_count; ++k)
            assert_true(vec3_is_finite(read.positions[k]));
        for (uint64_t k = 0; k < 3 * (uint64_t)read.triangle_count; ++k) {
            if (read.normal_indices) assert_int_equal(read.normal_indices[k], KD_NONE);
            if (read.texcoord_indices) assert_int_equal(read.texcoord_indices[k], KD_NONE);
        }
        mesh_close(&read);
    }
}

static void test_other_encodings_are_rejected_by_name(void **state) {
    (void)state;
    static const char little[] = "\xff\xfev\0 \0001\0", big[] = "\xfe\xff\0v\0 \0001";
    static const char bare[] = "v\0 \0001\0", wide[] = "\xff\xfe\0\0v\0\0\0";
    const struct {
        const char *bytes, *name;
        size_t count;
    } files[] = {
        {little, "UTF-16", 8}, {big, "UTF-16", 8}, {bare, "UTF-16", 6}, {wide, "UTF-32", 8}};
    for (size_t i = 0; i < 4; ++i) {
        mesh read;
        reported_problems problems;
        assert_int_equal(read_bytes(&read, &problems, files[i].bytes, files[i].count),
                         KD_ERROR_INPUT);
        assert_non_null(strstr(kd_last_error(), files[i].name));
    }
}

static const char *material_name(const mesh *mesh, uint32_t triangle) {
    return mesh->materials[mesh->triangle_materials[triangle]].name;
}

static void test_materials_follow_usemtl(void **state) {
    (void)state;
    file_put_text("one.mtl", "newmtl red\nKd 1 0 0\nnewmtl a b\nKd 0 1 0\n");
    file_put_text("my two.mtl", "newmtl blue\nKd 0 0 1\nnewmtl red\nKd 0 0 0\n");
    char text[1024];
    mesh read;
    reported_problems problems;
    static const char *const libraries[] = {
        "mtllib one.mtl\nmtllib my two.mtl\n", "mtllib one.mtl my two.mtl\n",
        "mtllib my two.mtl \\\n one.mtl\n", "mtllib one.mtl my\\ two.mtl\nmtllib one.mtl\n",
        "mtllib C:\\work\\one.mtl\nmtllib ./my two.mtl # twice\n"};
    for (size_t i = 0; i < 4; ++i) {
        snprintf(text, sizeof text,
                 "%s%sf 1 2 3\nusemtl red\nf 1 2 3 4\nusemtl a b  \ng x\nusemtl blue\nf 1 2 3\n"
                 "usemtl a b # comment\nf 1 2 3\nusemtl\nf 1 2 3\n",
                 square, libraries[i]);
        assert_int_equal(read_text(&read, &problems, text), KD_OK);
        static const char *const names[] = {"default", "red", "red", "blue", "a b", "default"};
        assert_int_equal(read.triangle_count, 6);
        for (uint32_t t = 0; t < 6; ++t) assert_string_equal(material_name(&read, t), names[t]);
        /* a second definition of "red", and a usemtl without a name */
        assert_int_equal(problems.count, 2);
        mesh_close(&read);
    }
}

/* Without an MTL file, or with one that lacks them, materials keep their names, so that a scene
   description can replace them. */
static void test_names_of_unknown_materials_are_kept(void **state) {
    (void)state;
    char text[512];
    mesh read;
    reported_problems problems;
    snprintf(text, sizeof text,
             "%susemtl gold\nf 1 2 3\nusemtl a b # comment\nf 1 2 3\nusemtl gold\nf 1 2 3 4\n"
             "usemtl c#1\nf 1 2 3\n",
             square);
    assert_int_equal(read_text(&read, &problems, text), KD_OK);
    static const char *const names[] = {"gold", "a b", "gold", "gold", "c#1"};
    assert_int_equal(read.triangle_count, 5);
    for (uint32_t t = 0; t < 5; ++t) assert_string_equal(material_name(&read, t), names[t]);
    assert_int_equal(read.material_count, 3);
    assert_int_equal(problems.count, 3); /* one for each name */
    const material plain = material_default();
    for (uint32_t i = 0; i < 3; ++i)
        assert_memory_equal(&read.materials[i].record, &plain, sizeof plain);
    mesh_close(&read);
    /* vertex colours are not darkened */
    assert_int_equal(read_text(&read, &problems,
                               "v 0 0 0 1 0 0\nv 1 0 0 0 1 0\nv 0 1 0 0 0 1\nusemtl gold\nf 1 2 3\n"
                               "usemtl red\nf 1 2 3\n"),
                     KD_OK);
    for (uint32_t t = 0; t < 2; ++t)
        assert_true(read.materials[read.triangle_materials[t]].record.diffuse.x == 1);
    assert_string_equal(material_name(&read, 0), "gold");
    mesh_close(&read);
}

/* A mesh with every kind of line gives the same result in chunks of every size and on any number of
   threads. */
static void test_result_is_independent_of_chunks_and_threads(void **state) {
    (void)state;
    static char text[16384];
    size_t used = 0;
    for (int i = 0; i < 200; ++i)
        used += (size_t)snprintf(text + used, sizeof text - used,
                                 "v %d %d 0%s# c\\\nvt 0.%d .5\nusemtl m%d\nvn 0 0 %d\\\n\r"
                                 "f -1/-1/-1 1 1 \\\r\n 1//1 %s\n",
                                 i, i * i % 7, i % 3 ? "\n" : "\r\n", i, i % 5, i + 1,
                                 i % 11 ? "" : "x");
    file_put("c.obj", text, used);
    mesh first = {0};
    reported_problems expected = {0};
    for (uint32_t bytes = 0; bytes < 300; bytes = bytes * 3 / 2 + 1)
        for (int threads = 1; threads <= 4; threads += 3) {
            mesh read;
            reported_problems problems = {0};
            uint32_t *lines = NULL;
            const obj_options options = {.problem = on_problem,
                                         .context = &problems,
                                         .keep_going = true,
                                         .triangle_lines = &lines,
                                         .chunk_bytes = bytes};
            parallel_set_threads(threads);
            assert_int_equal(obj_load(&read, file_in("c.obj"), &options, NULL), KD_OK);
            if (!first.positions) {
                first = read;
                expected = problems;
                assert_true(read.triangle_count > 300 && problems.fatal == 19);
            } else {
                assert_int_equal(read.triangle_count, first.triangle_count);
                assert_memory_equal(read.positions, first.positions, 12 * read.position_count);
                assert_memory_equal(read.triangles, first.triangles, 12 * read.triangle_count);
                assert_memory_equal(read.normal_indices, first.normal_indices,
                                    12 * read.triangle_count);
                assert_memory_equal(&problems, &expected, sizeof problems);
                mesh_close(&read);
            }
            memory_free(lines);
        }
    parallel_set_threads(0);
    mesh_close(&first);
}

static void test_cancellation(void **state) {
    (void)state;
    file_put_text("a.obj", square);
    job_control job;
    mesh read;
    job_init(&job);
    atomic_store(&job.cancelled, true);
    assert_int_equal(obj_load(&read, file_in("a.obj"), NULL, &job), KD_INTERRUPTED);
    assert_int_equal(obj_load(&read, file_in("none.obj"), NULL, NULL), KD_ERROR_INPUT);
    assert_int_equal(obj_load(&read, test_folder, NULL, NULL), KD_ERROR_INPUT);
}

/* A far mesh is parsed twice: also the pages of its text that hold vertices and faces only. */
static void test_far_meshes_larger_than_a_page(void **state) {
    (void)state;
    enum { COUNT = 6000 };
    char *text = (char *)malloc(COUNT * 80);
    size_t used = 0;
    mesh read;
    assert_non_null(text);
    for (int i = 0; i < COUNT; ++i)
        used += (size_t)sprintf(text + used, "v %.4f %.4f %.4f\n", 5e5 + 1e-3 * i,
                                4649776 + 1e-3 * (i % 3), 1e-3 * (i % 7));
    for (int i = 1; i + 2 <= COUNT; ++i)
        used += (size_t)sprintf(text + used, "f %d %d %d\n", i, i + 1, i + 2);
    file_put("far.obj", text, used);
    free(text);
    const obj_options options = {.recentre = true};
    assert_int_equal(obj_load(&read, file_in("far.obj"), &options, NULL), KD_OK);
    assert_int_equal(read.position_count, COUNT);
    for (int i = 0; i < COUNT; ++i) {
        const double x = (double)read.positions[i].x + read.origin[0];
        if (!(fabs(x - (5e5 + 1e-3 * i)) < 1e-6)) fail_msg("vertex %d is at %.9g", i, x);
    }
    mesh_close(&read);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equivalent_spellings),
        cmocka_unit_test(test_smoothing_groups_make_normals),
        cmocka_unit_test(test_malformed_lines_are_reported),
        cmocka_unit_test(test_reading_continues_after_warnings),
        cmocka_unit_test(test_other_encodings_are_rejected_by_name),
        cmocka_unit_test(test_materials_follow_usemtl),
        cmocka_unit_test(test_names_of_unknown_materials_are_kept),
        cmocka_unit_test(test_result_is_independent_of_chunks_and_threads),
        cmocka_unit_test(test_far_meshes_larger_than_a_page),
        cmocka_unit_test(test_cancellation),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
