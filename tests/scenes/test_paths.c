/* scenes/text/paths.h: which files a scene and its files may refer to. */
#include "core/memory.h"
#include "scenes/assembly/scene.h"
#include "scenes/text/paths.h"
#include "tests/scenes/files.h"
#include <sys/stat.h>

static char *in_scene(const char *name) {
    char path[300];
    snprintf(path, sizeof path, "scene/%s", name);
    return file_in(path);
}

static bool allowed(const char *other_path, const char *name) {
    return path_is_allowed(in_scene(other_path), name);
}

static int tree_make(void **state) {
    if (folder_make(state) != 0) return 1;
    mkdir(file_in("scene"), 0700);
    mkdir(in_scene("models"), 0700);
    mkdir(in_scene("textures"), 0700);
    mkdir(file_in("scene-2"), 0700);
    file_put_text("secret.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n");
    file_put_text("scene/models/a.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n");
    return symlink("../secret.obj", in_scene("out.obj")) | symlink("models", in_scene("m")) |
           symlink("../absent.obj", in_scene("nowhere.obj")) |
           symlink(file_in("scene/models"), in_scene("absolute")) |
           symlink("/etc", in_scene("etc")) | symlink("loop", in_scene("loop"));
}

static int tree_remove(void **state) {
    static const char *const names[] = {"scene/out.obj",      "scene/m",
                                        "scene/nowhere.obj",  "scene/absolute",
                                        "scene/etc",          "scene/loop",
                                        "scene/s.json",       "scene/models/a.obj",
                                        "scene/models/a.mtl", "scene/models/b.obj",
                                        "secret.obj",         "scene/textures/t.png"};
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i) unlink(file_in(names[i]));
    rmdir(in_scene("models"));
    rmdir(in_scene("textures"));
    rmdir(file_in("scene"));
    rmdir(file_in("scene-2"));
    return folder_remove(state);
}

static void test_scene_folder_contains_its_subfolders(void **state) {
    (void)state;
    static const char *const inside[] = {"a.obj",           "models/a.obj",  "./a.obj",
                                         "models/../a.obj", "m/a.obj",       "absolute/a.obj",
                                         "m/../models/a",   "models//a.obj", "not/there.obj"};
    static const char *const outside[] = {
        "../secret.obj", "../absent.obj", "models/../../secret.obj",
        "/etc/passwd",   "/absent",       "out.obj",
        "nowhere.obj",   "etc/passwd",    "etc/absent",
        "loop",          "../scene-2/a",  "../scene/a.obj"};
    for (size_t i = 0; i < sizeof inside / sizeof *inside; ++i)
        if (!allowed("s.json", inside[i])) fail_msg("%s is inside", inside[i]);
    for (size_t i = 0; i < sizeof outside / sizeof *outside; ++i)
        if (allowed("s.json", outside[i])) fail_msg("%s is outside", outside[i]);
    assert_true(path_is_allowed(in_scene("s.json"), in_scene("models/a.obj")));
    assert_false(path_is_allowed(in_scene("s.json"), file_in("scene-2/a.obj")));
}

/* A model inside a scene may refer to files anywhere in the directory of that scene. */
static void test_outermost_scene_folder_applies(void **state) {
    (void)state;
    path_scope scope, inner;
    assert_false(allowed("models/a.mtl", "../textures/t.png"));
    path_scope_begin(&scope, in_scene("s.json"), false);
    assert_true(allowed("models/a.mtl", "../textures/t.png"));
    assert_true(allowed("models/a.mtl", "../m/../textures/t.png"));
    assert_false(allowed("models/a.mtl", "../../secret.obj"));
    path_scope_begin(&inner, in_scene("s.json"), true);
    assert_true(allowed("s.json", "/etc/passwd") && allowed("s.json", "../secret.obj"));
    path_scope_end(&inner);
    assert_false(allowed("s.json", "/etc/passwd"));
    path_scope_end(&scope);
}

static kd_status scene_read(const char *json, bool allow) {
    scene *opened = NULL;
    kd_render_options options;
    kd_render_options_default(&options);
    assert_int_equal(options.allow_outside, 0);
    options.allow_outside = allow;
    file_put_text("scene/s.json", json);
    const kd_status status = scene_open(&opened, in_scene("s.json"), &options, NULL);
    scene_close(opened);
    return status;
}

#define SCENE(mesh) "{\"kandela\": 1, \"meshes\": [" mesh "]}"

static void test_descriptions_cannot_name_outside_files(void **state) {
    (void)state;
    static const char *const paths[] = {
        SCENE("{\"file\": \"../secret.obj\"}"),
        SCENE("{\"file\": \"out.obj\"}"),
        SCENE("{\"box\": {}, \"material\": {\"diffuse_map\": \"../secret.obj\"}}"),
        SCENE("{\"box\": {}, \"placements\": \"../secret.obj\"}"),
        "{\"kandela\": 1, \"meshes\": [{\"box\": {}}], \"environment\": {\"image\": "
        "\"/etc/passwd\"}}",
        "{\"kandela\": 1, \"meshes\": [{\"box\": {}}], \"render\": {\"photon_map\": "
        "\"/etc/passwd\"}}"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; ++i) {
        assert_int_equal(scene_read(paths[i], false), KD_ERROR_INPUT);
        if (!strstr(kd_last_error(), "--allow-outside")) fail_msg("%s", kd_last_error());
    }
    char message[1024];
    snprintf(message, sizeof message, "%s", kd_last_error());
    assert_int_equal(scene_read("{\"kandela\": 1, \"meshes\": [{\"box\": {}}], \"render\": "
                                "{\"photon_map\": \"/etc/passwx\"}}",
                                false),
                     KD_ERROR_INPUT);
    assert_string_equal(strstr(kd_last_error(), "is outside"), strstr(message, "is outside"));
    assert_int_equal(scene_read(SCENE("{\"file\": \"models/a.obj\"}"), false), KD_OK);
    assert_int_equal(scene_read(paths[0], true), KD_OK);
}

/* A texture outside of the scene's directory gives the same message whether the file exists or not,
   without its details. */
static void test_libraries_cannot_read_outside_textures(void **state) {
    (void)state;
    reported_problems problems[2];
    for (int i = 0; i < 2; ++i) {
        mesh read;
        const obj_options options = {.problem = on_problem, .context = &problems[i]};
        memset(&problems[i], 0, sizeof problems[i]);
        file_put_text("scene/models/b.obj", "mtllib a.mtl\nmtllib /etc/passwd\nusemtl m\n"
                                            "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n");
        file_put_text("scene/models/a.mtl", i ? "newmtl m\nmap_Kd ../../secret.obj\n"
                                              : "newmtl m\nmap_Kd ../../absent.obj\n");
        assert_int_equal(obj_load(&read, in_scene("models/b.obj"), &options, NULL), KD_OK);
        assert_null(read.materials[0].diffuse_map);
        mesh_close(&read);
    }
    assert_int_equal(problems[0].count, 2);
    assert_int_equal(problems[1].count, 2);
    assert_string_equal(problems[0].kinds[0], problems[1].kinds[0]);
    for (int k = 0; k < 2; ++k)
        if (!strstr(problems[1].messages[k], "--allow-outside"))
            fail_msg("%s", problems[1].messages[k]);
}

/* Names as other programs write them, and the file that is meant. */
static void test_names_of_other_programs_are_found(void **state) {
    (void)state;
    static const struct {
        const char *name, *found; /* NULL: none */
        bool is_other;
    } rows[] = {{"textures/My Wood.PNG", "textures/My Wood.PNG", false},
                {"textures\\My\\ Wood.PNG", "textures/My Wood.PNG", false},
                {"textures/my wood.png", "textures/My Wood.PNG", true},
                {"TEXTURES\\MY WOOD.png", "textures/My Wood.PNG", true},
                {"/textures/My Wood.PNG", "textures/My Wood.PNG", true},
                {"C:\\a\\b\\Textures\\my wood.PNG", "textures/My Wood.PNG", true},
                {"D:textures\\My Wood.PNG", "textures/My Wood.PNG", true},
                {"\"textures/My Wood.PNG\"", "textures/My Wood.PNG", true},
                {"'textures/my wood.png'", "textures/My Wood.PNG", true},
                {"\" textures/My Wood.PNG \"", "textures/My Wood.PNG", true},
                {"\ttextures/My Wood.PNG  ", "textures/My Wood.PNG", false},
                {"textures/My%20Wood.PNG", "textures/My Wood.PNG", true},
                {"file:///C:/x/textures/My%20Wood.PNG", "textures/My Wood.PNG", true},
                {"//server/disk/textures/My Wood.PNG", "textures/My Wood.PNG", true},
                {"../../else/textures/my wood.png", "textures/My Wood.PNG", true},
                {"./a.png", "./a.png", false}, /* exact before other case */
                {"A.png", "A.png", false},
                {"a.PNG", "A.png", true}, /* the first of two */
                {"My Wood.PNG", NULL, false},
                {"textures", NULL, false},
                {"", NULL, false},
                {"..", NULL, false},
                {"../secret.OBJ", NULL, false},
                {"../SECRET.obj", NULL, false},
                {"OUT.obj", NULL, false}, /* links out of the directory */
                {"ETC/passwd", NULL, false}};
    mkdir(in_scene("textures"), 0700);
    file_put_text("scene/textures/My Wood.PNG", "x");
    file_put_text("scene/a.png", "x");
    file_put_text("scene/A.png", "x");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        const text_span name = {rows[i].name, strlen(rows[i].name)};
        path_found found;
        assert_int_equal(path_find(in_scene("s.obj"), name, &found), KD_OK);
        if (rows[i].found ? !found.path || strcmp(found.name, rows[i].found) != 0 ||
                                found.is_other != rows[i].is_other
                          : found.path != NULL)
            fail_msg("%s: %s, other %d", rows[i].name, found.path ? found.name : "none",
                     found.is_other);
        if (found.path) assert_string_equal(found.path, in_scene(rows[i].found));
        memory_free(found.path);
    }
    unlink(in_scene("textures/My Wood.PNG"));
    unlink(in_scene("a.png"));
    unlink(in_scene("A.png"));
}

/* Reported once, with the name that was found. */
static void test_other_names_are_reported(void **state) {
    (void)state;
    reported_problems problems;
    mesh read;
    const obj_options options = {.problem = on_problem, .context = &problems};
    memset(&problems, 0, sizeof problems);
    mkdir(in_scene("textures"), 0700);
    file_put_text("scene/textures/t.png", "x");
    file_put_text("scene/b.obj",
                  "mtllib \"B.mtl\"\nusemtl m\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n");
    file_put_text("scene/b.mtl", "newmtl m\nmap_Kd T.png\nmap_Ks TEXTURES/T.png\n"
                                 "newmtl n\nmap_Kd TEXTURES/T.png\n");
    assert_int_equal(obj_load(&read, in_scene("b.obj"), &options, NULL), KD_OK);
    assert_non_null(read.materials[0].specular_map);
    assert_int_equal(problems.count, 3);
    assert_string_equal(problems.kinds[0], "missing-texture");
    assert_string_equal(problems.kinds[1], "other-name");
    assert_non_null(strstr(problems.messages[1], "\"TEXTURES/T.png\" as textures/t.png"));
    assert_non_null(strstr(problems.messages[2], "mtllib \"\"B.mtl\"\" as b.mtl"));
    mesh_close(&read);
    unlink(in_scene("b.obj"));
    unlink(in_scene("b.mtl"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scene_folder_contains_its_subfolders),
        cmocka_unit_test(test_outermost_scene_folder_applies),
        cmocka_unit_test(test_descriptions_cannot_name_outside_files),
        cmocka_unit_test(test_libraries_cannot_read_outside_textures),
        cmocka_unit_test(test_names_of_other_programs_are_found),
        cmocka_unit_test(test_other_names_are_reported),
    };
    return cmocka_run_group_tests(tests, tree_make, tree_remove);
}
