/* Animations of glTF files: every property and interpolation at times between keys, at keys and
   outside of them; the choice of an animation; morph targets and skins that follow it; invalid
   samplers. */
#include "scenes/assembly/scene.h"
#include "scenes/import/gltf.h"
#include "tests/gltf/gltf_files.h"
#include <math.h>

static const float triangle[3][3] = {{0, 0, 0}, {1, 0, 0}, {0, 2, 0}};
static const float times[3] = {1, 2, 4};
static const uint8_t joints[3][4] = {{0}};
static const float weights[3][4] = {{1, 0, 0, 0}, {1, 0, 0, 0}, {1, 0, 0, 0}};

/* Values of the samplers, three keys each; cubic ones have tangents before and after each value. */
static const float moves[3][3] = {{0, 0, 0}, {2, 4, 6}, {2, 0, 6}};
static const float turns[3][4] = {{0, 0, 0, 1}, {0, 0, 0.70710678f, 0.70710678f}, {0, 0, 0, -1}};
static const float scales[3][3] = {{1, 1, 1}, {2, 2, 2}, {3, 3, 3}};
static const float cubic[9][3] = {{0, 0, 0}, {0, 0, 0}, {3, 0, 0}, {-1, 0, 0}, {5, 0, 0},
                                  {2, 0, 0}, {4, 0, 0}, {1, 0, 0}, {0, 0, 0}};
static const float backwards[3] = {1, 3, 2};
static const float shapes[6] = {0, 0, 1, 0.5f, 3, -1};

/* Accessors in the order of their indices. */
enum {
    POSITION,
    TARGET,
    TARGET_2,
    JOINTS,
    WEIGHTS,
    TIMES,
    MOVES,
    TURNS,
    SCALES,
    CUBIC,
    SHAPES,
    BACKWARDS
};

static void maker_fill(gltf_maker *made) {
    static const float up[3][3] = {{0, 0, 1}, {0, 0, 1}, {0, 0, 1}};
    memset(made, 0, sizeof *made);
    gltf_put(made, triangle, GLTF_FLOAT, 3, 3, ",\"min\":[0,0,0],\"max\":[1,2,0]");
    gltf_put(made, up, GLTF_FLOAT, 3, 3, "");
    gltf_put(made, triangle, GLTF_FLOAT, 3, 3, "");
    gltf_put(made, joints, GLTF_UBYTE, 4, 3, "");
    gltf_put(made, weights, GLTF_FLOAT, 4, 3, "");
    gltf_put(made, times, GLTF_FLOAT, 1, 3, "");
    gltf_put(made, moves, GLTF_FLOAT, 3, 3, "");
    gltf_put(made, turns, GLTF_FLOAT, 4, 3, "");
    gltf_put(made, scales, GLTF_FLOAT, 3, 3, "");
    gltf_put(made, cubic, GLTF_FLOAT, 3, 9, "");
    gltf_put(made, shapes, GLTF_FLOAT, 1, 6, "");
    gltf_put(made, backwards, GLTF_FLOAT, 1, 3, "");
}

/* Writes "moving.glb" with these nodes and animations. */
static void file_make(const char *nodes, const char *animations) {
    static gltf_maker made;
    static char text[1 << 13];
    maker_fill(&made);
    snprintf(text, sizeof text,
             "\"scenes\":[{\"nodes\":[0]}],\"nodes\":[%s],\"skins\":[{\"joints\":[1]}],"
             "\"meshes\":[{\"primitives\":[{\"attributes\":{\"POSITION\":0}}]},"
             "{\"primitives\":[{\"attributes\":{\"POSITION\":0,\"JOINTS_0\":3,\"WEIGHTS_0\":4}}]},"
             "{\"primitives\":[{\"attributes\":{\"POSITION\":0},\"targets\":[{\"POSITION\":1},"
             "{\"POSITION\":2}]}]}],\"animations\":[%s]",
             nodes, animations);
    gltf_write_glb("moving.glb", &made, text);
}

/* One animation with one channel. */
static const char *animation_of(const char *path, int output, const char *interpolation) {
    static char text[512];
    snprintf(
        text, sizeof text,
        "{\"name\":\"walk\",\"channels\":[{\"sampler\":0,\"target\":{\"node\":0,\"path\":\"%s\"}}],"
        "\"samplers\":[{\"input\":%d,\"output\":%d%s%s%s}]}",
        path, TIMES, output, *interpolation ? ",\"interpolation\":\"" : "", interpolation,
        *interpolation ? "\"" : "");
    return text;
}

static mesh load_at(const char *clip, double seconds) {
    const obj_options options = {.clip = clip, .seconds = seconds};
    mesh read;
    if (gltf_load(&read, file_in("moving.glb"), &options, NULL) != KD_OK)
        fail_msg("%s", kd_last_error());
    assert_int_equal(read.triangle_count, 1);
    return read;
}

/* Corner of the triangle, by the order of the file. */
static vec3 corner_of(const mesh *mesh, int corner) {
    return mesh->positions[mesh->triangles[corner]];
}

static void expect_corner(double seconds, int corner, double x, double y, double z) {
    mesh read = load_at("", seconds);
    const vec3 p = corner_of(&read, corner);
    const double far = fabs((double)p.x - x) + fabs((double)p.y - y) + fabs((double)p.z - z);
    if (!(far < 1e-5))
        fail_msg("at %g s, corner %d: found %g, %g, %g; right: %g, %g, %g", seconds, corner,
                 (double)p.x, (double)p.y, (double)p.z, x, y, z);
    mesh_close(&read);
}

static const char *const plain = "{\"mesh\":0,\"translation\":[9,9,9]}";

static void test_translation(void **state) {
    (void)state;
    file_make(plain, animation_of("translation", MOVES, ""));
    expect_corner(0, 0, 0, 0, 0); /* before the first key */
    expect_corner(1, 0, 0, 0, 0);
    expect_corner(1.25, 0, 0.5, 1, 1.5);
    expect_corner(2, 0, 2, 4, 6);
    expect_corner(3, 0, 2, 2, 6);
    expect_corner(99, 0, 2, 0, 6);
    file_make(plain, animation_of("translation", MOVES, "STEP"));
    expect_corner(1.99, 0, 0, 0, 0);
    expect_corner(2, 0, 2, 4, 6);
    expect_corner(3.99, 0, 2, 4, 6);
    expect_corner(4, 0, 2, 0, 6);
}

/* Hermite polynomials between the keys, with the tangents times the interval. */
static void test_cubic_spline(void **state) {
    (void)state;
    file_make(plain, animation_of("translation", CUBIC, "CUBICSPLINE"));
    for (double seconds = 0.5; seconds < 5; seconds += 0.25) {
        double x = seconds <= 1 ? 0 : 1;
        if (seconds > 1 && seconds < 4) {
            const bool first = seconds < 2;
            const double length = first ? 1 : 2, t = (seconds - (first ? 1 : 2)) / length;
            const double from = first ? 0 : 5, to = first ? 5 : 1;
            const double out = first ? 3 : 2, in = first ? -1 : 4;
            x = from * (1 + 2 * t) * (1 - t) * (1 - t) + length * out * t * (1 - t) * (1 - t) +
                to * t * t * (3 - 2 * t) + length * in * t * t * (t - 1);
        }
        expect_corner(seconds, 0, x, 0, 0);
    }
}

/* Rotations turn at a constant speed, along the shorter arc: from 90 degrees back to 0, although
   the last quaternion has the other sign. */
static void test_rotation(void **state) {
    (void)state;
    file_make("{\"mesh\":0}", animation_of("rotation", TURNS, ""));
    for (double seconds = 1; seconds <= 4; seconds += 0.125) {
        const double degrees = seconds < 2 ? 90 * (seconds - 1) : 90 * (4 - seconds) / 2;
        const double angle = degrees * 3.14159265358979 / 180;
        expect_corner(seconds, 1, cos(angle), sin(angle), 0);
    }
}

static void test_scale_keeps_the_rest(void **state) {
    (void)state;
    file_make("{\"mesh\":0,\"translation\":[1,0,0],\"rotation\":[0,0,1,0],\"scale\":[5,5,5]}",
              animation_of("scale", SCALES, ""));
    expect_corner(1.5, 1, 1 - 1.5, 0, 0);
    expect_corner(3, 2, 1, -5, 0);
}

/* A node with a matrix that is animated nevertheless: the animation counts. */
static void test_matrix(void **state) {
    (void)state;
    file_make("{\"mesh\":0,\"matrix\":[1,0,0,0,0,1,0,0,0,0,1,0,7,7,7,1]}",
              animation_of("translation", MOVES, ""));
    expect_corner(2, 0, 2, 4, 6);
}

static void test_children_and_skins(void **state) {
    (void)state;
    file_make("{\"children\":[1]},{\"mesh\":0,\"translation\":[1,0,0]}",
              animation_of("translation", MOVES, ""));
    expect_corner(2, 0, 3, 4, 6);
    file_make("{\"children\":[1,2],\"translation\":[9,9,9]},{\"translation\":[0,0,1]},"
              "{\"mesh\":1,\"skin\":0}",
              animation_of("translation", MOVES, ""));
    expect_corner(2, 0, 2, 4, 7);
}

static void test_weights(void **state) {
    (void)state;
    file_make("{\"mesh\":2,\"weights\":[7,7]}", animation_of("weights", SHAPES, ""));
    expect_corner(1, 1, 1, 0, 0);
    expect_corner(1.5, 1, 1.25, 0, 0.5); /* weights 0.5, 0.25 */
    expect_corner(2, 2, 0, 3, 1);
    expect_corner(4, 1, 0, 0, 3);
}

/* --- the choice of an animation --------------------------------------------------------------- */

static char said[1 << 12];

static void say(void *context, const obj_problem *problem) {
    (void)context;
    gltf_say(said, sizeof said, "%s: %s\n", problem->kind, problem->message);
}

static kd_status load_said(const char *clip, float *x) {
    const obj_options options = {.problem = say, .clip = clip, .seconds = 2};
    mesh read;
    said[0] = 0;
    const kd_status status = gltf_load(&read, file_in("moving.glb"), &options, NULL);
    if (status == KD_OK) {
        *x = corner_of(&read, 0).x;
        mesh_close(&read);
    }
    return status;
}

static void test_choice(void **state) {
    (void)state;
    char two[1024];
    float x = 0;
    snprintf(two, sizeof two, "%s,", animation_of("translation", MOVES, ""));
    strcat(two, "{\"name\":\"run\",\"channels\":[{\"sampler\":0,\"target\":{\"node\":0,\"path\":"
                "\"translation\"}}],\"samplers\":[{\"input\":5,\"output\":8}]}");
    file_make("{\"mesh\":0,\"translation\":[9,9,9]}", two);
    static const struct {
        const char *clip;
        float x;
    } rows[] = {{"", 2}, {"walk", 2}, {"run", 2.0f}, {"0", 2}, {"1", 2.0f}, {NULL, 9}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        assert_int_equal(load_said(rows[i].clip, &x), KD_OK);
        assert_true(x == rows[i].x);
        const bool chosen = rows[i].clip && *rows[i].clip;
        assert_true((strstr(said, "\"walk\", \"run\"") != NULL) == !chosen);
    }
    static const char *const wrong[] = {"Walk", "2", "-1", "1x"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
        assert_int_equal(load_said(wrong[i], &x), KD_ERROR_INPUT);
        assert_non_null(strstr(said, "\"walk\", \"run\""));
    }
    status_clear();
}

static void test_invalid_samplers(void **state) {
    (void)state;
    static const char *const rows[][3] = {
        {"{\"input\":5,\"output\":0}", "rotation", "components"},
        {"{\"input\":5,\"output\":9}", "translation", "as many values"},
        {"{\"input\":5}", "translation", "`output`"},
        {"{\"input\":11,\"output\":6}", "translation", "times that increase"},
        {"{\"input\":5,\"output\":6,\"interpolation\":\"BEZIER\"}", "translation", "BEZIER"},
        {"{\"input\":99,\"output\":6}", "translation", "input"},
    };
    float x = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        char text[512];
        snprintf(text, sizeof text,
                 "{\"channels\":[{\"sampler\":0,\"target\":{\"node\":0,\"path\":\"%s\"}}],"
                 "\"samplers\":[%s]}",
                 rows[i][1], rows[i][0]);
        file_make(plain, text);
        assert_int_equal(load_said("", &x), KD_ERROR_INPUT);
        if (!strstr(said, rows[i][2])) fail_msg("%s: %s", rows[i][0], said);
    }
    file_make("{\"mesh\":2,\"weights\":[0,0]}", animation_of("weights", TIMES, ""));
    assert_int_equal(load_said("", &x), KD_OK);
    assert_non_null(strstr(said, "found 1 weights per key, expected 2"));
    file_make(plain, animation_of("pointer", MOVES, ""));
    assert_int_equal(load_said("", &x), KD_OK);
    assert_true(x == 9);
    assert_non_null(strstr(said, "pointer"));
    status_clear();
}

/* A scene at a frame is the file at that frame divided by the frames per second. */
static void test_frames_of_scenes(void **state) {
    (void)state;
    file_make("{\"mesh\":0}", animation_of("scale", SCALES, ""));
    kd_render_options options;
    scene *made = NULL;
    kd_render_options_default(&options);
    options.clip = "walk";
    options.frame = 30;
    options.frame_rate = 10;
    assert_int_equal(scene_open(&made, file_in("moving.glb"), &options, NULL), KD_OK);
    const mesh_view mesh = scene_get_view(made).mesh;
    const vec3 p = mesh.positions[mesh.triangles[1]];
    assert_true(fabs((double)p.x - 2.5) < 1e-5);
    scene_close(made);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_translation),      cmocka_unit_test(test_cubic_spline),
        cmocka_unit_test(test_rotation),         cmocka_unit_test(test_scale_keeps_the_rest),
        cmocka_unit_test(test_matrix),           cmocka_unit_test(test_children_and_skins),
        cmocka_unit_test(test_weights),          cmocka_unit_test(test_choice),
        cmocka_unit_test(test_invalid_samplers), cmocka_unit_test(test_frames_of_scenes),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
