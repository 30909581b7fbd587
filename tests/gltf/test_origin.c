/* scenes/mesh/origin.h: a scene far from (0, 0, 0) equals, bit for bit, the same scene at the
   origin, in every format; scenes at usual distances have no origin. */
#include "scenes/assembly/scene.h"
#include "scenes/describe/readers.h"
#include "scenes/mesh/origin.h"
#include "tests/gltf/gltf_files.h"
#include <kandela/photons.h>

/* A tetrahedron with coordinates that are exact in binary; its mean lies near its place. */
static const double shape[4][3] = {{-1, -0.5, -0.75},
                                   {0.8125, -0.5, -0.25},
                                   {-0.125, -0.375, 1.0009765625},
                                   {0.0625, 1.25, 0.125}};
static const double far_place[3] = {4194304, -2097152, 6291456};
static const double near_place[3] = {0, 0, 0};
static const int faces[4][3] = {{0, 1, 2}, {0, 3, 1}, {1, 3, 2}, {2, 3, 0}};

static void put_file(const char *name, const char *bytes, size_t count) {
    file_put(name, bytes, count);
}

static void write_obj(const char *name, const double place[3]) {
    char text[2048] = "# corners\n";
    for (int i = 0; i < 4; ++i)
        gltf_say(text, sizeof text, "v %.10f %.10f %.10f 0.5 0.5 0.5\n", shape[i][0] + place[0],
                 shape[i][1] + place[1], shape[i][2] + place[2]);
    for (int i = 0; i < 4; ++i)
        gltf_say(text, sizeof text, "f %d %d %d\n", faces[i][0] + 1, faces[i][1] + 1,
                 faces[i][2] + 1);
    file_put_text(name, text);
}

static void append_double(char *text, size_t *used, double value, bool big) {
    unsigned char bytes[8];
    memcpy(bytes, &value, sizeof bytes);
    for (int i = 0; i < 8; ++i) text[(*used)++] = (char)bytes[big ? 7 - i : i];
}

static void append_whole(char *text, size_t *used, int value, bool big) {
    for (int i = 0; i < 4; ++i)
        text[(*used)++] = (char)((unsigned)value >> (8 * (big ? 3 - i : i)) & 255u);
}

/* Forms: ascii, binary_little_endian, binary_big_endian. A list stands before the position. */
static void write_ply(const char *name, const char *form, const double place[3]) {
    char text[4096] = "";
    const bool ascii = form[0] == 'a', big = strstr(form, "big") != NULL;
    gltf_say(text, sizeof text,
             "ply\nformat %s 1.0\nelement vertex 4\nproperty list uchar int marks\nproperty double "
             "x\nproperty float quality\nproperty double y\nproperty double z\nelement face "
             "4\nproperty list uchar int vertex_indices\nend_header\n",
             form);
    size_t used = strlen(text);
    for (int i = 0; i < 4 && ascii; ++i)
        gltf_say(text, sizeof text, "2 7 8 %.10f 0.5 %.10f %.16e\n", shape[i][0] + place[0],
                 shape[i][1] + place[1], shape[i][2] + place[2]);
    for (int i = 0; i < 4 && ascii; ++i)
        gltf_say(text, sizeof text, "3 %d %d %d\n", faces[i][0], faces[i][1], faces[i][2]);
    for (int i = 0; i < 4 && !ascii; ++i) {
        text[used++] = 1;
        append_whole(text, &used, 7, big);
        append_double(text, &used, shape[i][0] + place[0], big);
        append_whole(text, &used, 0, big);
        append_double(text, &used, shape[i][1] + place[1], big);
        append_double(text, &used, shape[i][2] + place[2], big);
    }
    for (int i = 0; i < 4 && !ascii; ++i) {
        text[used++] = 3;
        for (int k = 0; k < 3; ++k) append_whole(text, &used, faces[i][k], big);
    }
    put_file(name, text, ascii ? strlen(text) : used);
}

/* Vertices are local; nodes have places. The second of two uses of a mesh makes it an instance. */
static void write_gltf(const char *name, const double place[3], int uses) {
    static gltf_maker maker;
    static char rest[4096];
    float positions[4][3];
    uint16_t corners[4][3];
    memset(&maker, 0, sizeof maker);
    for (int i = 0; i < 4; ++i)
        for (int k = 0; k < 3; ++k) {
            positions[i][k] = (float)shape[i][k];
            corners[i][k] = (uint16_t)faces[i][k % 3];
        }
    const int at = gltf_put(&maker, positions, GLTF_FLOAT, 3, 4, "");
    const int in = gltf_put(&maker, corners, GLTF_USHORT, 1, 12, "");
    rest[0] = '\0';
    gltf_say(rest, sizeof rest,
             "\"scene\":0,\"scenes\":[{\"nodes\":[0]}],\"meshes\":[{\"primitives\":[{"
             "\"attributes\":{\"POSITION\":%d},\"indices\":%d}]}],\"cameras\":[{\"type\":"
             "\"perspective\",\"perspective\":{\"yfov\":0.7,\"znear\":0.1}}],\"nodes\":[{"
             "\"translation\":[%.10f,%.10f,%.10f],\"children\":[1,2%s]},{\"mesh\":0,"
             "\"translation\":[0.25,0,0]},{\"camera\":0,\"translation\":[0.125,0.25,5.5]}%s]",
             at, in, place[0], place[1], place[2], uses > 1 ? ",3" : "",
             uses > 1 ? ",{\"mesh\":0,\"translation\":[-2.5,0.0009765625,0]}" : "");
    gltf_write_glb(name, &maker, rest);
}

/* A description whose numbers are all shifted by `place`. */
static void write_json(const char *name, const double place[3], const char *format) {
    char text[8192] = "", number[32];
    size_t used = 0;
    for (const char *c = format; *c; ++c) {
        if (*c != '<') {
            text[used++] = *c;
            continue;
        }
        char *end = NULL; /* <x 0.5> is a number along x */
        const double value = strtod(c + 2, &end);
        snprintf(number, sizeof number, "%.10f", value + place[c[1] - 'x']);
        memcpy(text + used, number, strlen(number));
        used += strlen(number);
        c = end;
    }
    file_put(name, text, used);
}

static scene *opened(const char *name) {
    scene *made = NULL;
    kd_render_options options;
    kd_render_options_default(&options);
    const kd_status status = scene_open_instanced(&made, file_in(name), NULL, &options, NULL);
    if (status != KD_OK) print_error("%s\n", kd_last_error());
    assert_int_equal(status, KD_OK);
    return made;
}

/* Both scenes must be the same but for the origin. */
static void same_scene(const char *near_name, const char *far_name) {
    scene *a = opened(near_name), *b = opened(far_name);
    for (int copied = 0; copied < 2; ++copied) {
        const scene_view u = scene_get_view(a), v = scene_get_view(b);
        assert_true(origin_is_zero(u.origin));
        assert_memory_equal(v.origin, far_place, sizeof far_place);
        assert_int_equal(u.mesh.position_count, v.mesh.position_count);
        assert_memory_equal(u.mesh.positions, v.mesh.positions,
                            u.mesh.position_count * sizeof(vec3));
        assert_int_equal(u.mesh.stored_count, v.mesh.stored_count);
        assert_memory_equal(u.mesh.triangles, v.mesh.triangles,
                            (size_t)u.mesh.stored_count * 3 * sizeof(uint32_t));
        assert_int_equal(u.instances.count, v.instances.count);
        for (uint32_t i = 0; i < u.instances.count; ++i)
            assert_memory_equal(&u.instances.list[i].to_world, &v.instances.list[i].to_world,
                                sizeof(transform));
        assert_int_equal(u.light_count, v.light_count);
        assert_memory_equal(u.lights, v.lights, u.light_count * sizeof *u.lights);
        assert_memory_equal(&u.box, &v.box, sizeof u.box);
        const camera c = scene_camera(a), d = scene_camera(b);
        assert_memory_equal(&c, &d, sizeof c);
        assert_true(scene_hash(&u) != scene_hash(&v)); /* the origin is part of the scene */
        assert_int_equal(scene_copy_instances(a), KD_OK);
        assert_int_equal(scene_copy_instances(b), KD_OK);
    }
    scene_close(a);
    scene_close(b);
}

static void test_obj(void **state) {
    (void)state;
    write_obj("near.obj", near_place);
    write_obj("far.obj", far_place);
    same_scene("near.obj", "far.obj");
}

static void test_ply(void **state) {
    (void)state;
    static const char *const forms[] = {"ascii", "binary_little_endian", "binary_big_endian"};
    for (int i = 0; i < 3; ++i) {
        write_ply("near.ply", forms[i], near_place);
        write_ply("far.ply", forms[i], far_place);
        same_scene("near.ply", "far.ply");
    }
}

static void test_gltf(void **state) {
    (void)state;
    for (int uses = 1; uses < 3; ++uses) {
        write_gltf("near.glb", near_place, uses);
        write_gltf("far.glb", far_place, uses);
        same_scene("near.glb", "far.glb");
    }
}

/* A float file far away: its numbers are exact, so that they can be shifted later. */
static void test_stl(void **state) {
    (void)state;
    for (int away = 0; away < 2; ++away) {
        char bytes[84 + 50] = "binary";
        const float place = away ? 65536 : 0;
        const float corners[12] = {0,         0,     0,     place, place,        place,
                                   place + 1, place, place, place, place + 0.5f, place};
        bytes[80] = 1;
        memcpy(bytes + 84, corners, sizeof corners);
        put_file(away ? "far.stl" : "near.stl", bytes, sizeof bytes);
    }
    scene *a = opened("near.stl"), *b = opened("far.stl");
    const scene_view u = scene_get_view(a), v = scene_get_view(b);
    const double expected[3] = {65536, 65536, 65536};
    assert_memory_equal(v.origin, expected, sizeof expected);
    assert_memory_equal(u.mesh.positions, v.mesh.positions, 3 * sizeof(vec3));
    scene_close(a);
    scene_close(b);
}

static void same_description(const char *text) {
    write_json("near.json", near_place, text);
    write_json("far.json", far_place, text);
    same_scene("near.json", "far.json");
}

static void test_json(void **state) {
    (void)state;
    write_obj("near.obj", near_place);
    write_obj("far.obj", far_place);
    /* everything inline; the camera with keys */
    same_description(
        "{\"kandela\":1,\"camera\":{\"eye\":[<x 0.5>,<y 1>,<z 6>],\"look_at\":[<x 0>,<y "
        "0.0009765625>,"
        "<z 0>],\"keys\":[{\"frame\":1},{\"frame\":9,\"eye\":[<x 1>,<y 1>,<z 5>]}]},\"meshes\":[{"
        "\"quad\":[[<x -1>,<y -1>,<z 1>],[<x 1>,<y -1>,<z 1>],[<x 1>,<y -1>,<z -1>],[<x -1>,<y -1>,"
        "<z -1>]]},{\"box\":{\"lo\":[<x -0.5>,<y -0.5>,<z -0.5>],\"hi\":[<x 0>,<y 0>,<z "
        "0.25>]}},{\"sphere\":{\"centre\":[<x 0.5>,<y 0>,<z 0>],\"radius\":0.25,\"triangles\":80}}"
        "],\"lights\":[{\"kind\":\"point\",\"position\":[<x 0.5>,<y 2.125>,<z 0>],\"power\":10},{"
        "\"kind\":\"spot\",\"position\":[<x 0>,<y 2>,<z 0>],\"look_at\":[<x 0.25>,<y 0>,<z 0>],"
        "\"power\":5},{\"kind\":\"area\",\"corner\":[<x -0.25>,<y 2>,<z 0>],\"power\":7}]}");
    /* transforms and placements of a mesh at the origin */
    same_description(
        "{\"kandela\":1,\"meshes\":[{\"file\":\"near.obj\",\"transform\":[{\"scale\":2}"
        ",{\"translate\":[<x 0.5>,<y 0.0009765625>,<z 0>]}]},{\"file\":\"near.obj\","
        "\"transform\":[{\"matrix\":[0,-1,0,<x 1.5>,1,0,0,<y 0>,0,0,1,<z -2>]}]}]}");
    same_description("{\"kandela\":1,\"meshes\":[{\"file\":\"near.obj\",\"placements\":[[{"
                     "\"translate\":[<x 0.5>,<y 0.0009765625>,<z 0>]}],[{\"rotate\":[0,1,0],"
                     "\"degrees\":90},{\"translate\":[<x -2>,<y 0>,<z 0>]}]]}]}");
}

/* The numbers of a far file are not rounded before a transform brings it near. */
static void test_near_again(void **state) {
    (void)state;
    write_obj("near.obj", near_place);
    write_obj("far.obj", far_place);
    file_put_text("a.json", "{\"kandela\":1,\"meshes\":[{\"file\":\"near.obj\"}]}");
    file_put_text("b.json", "{\"kandela\":1,\"meshes\":[{\"file\":\"far.obj\",\"transform\":[{"
                            "\"translate\":[-4194304,2097152,-6291456]}]}]}");
    scene *a = opened("a.json"), *b = opened("b.json");
    const scene_view u = scene_get_view(a), v = scene_get_view(b);
    assert_true(origin_is_zero(v.origin));
    assert_memory_equal(u.mesh.positions, v.mesh.positions, u.mesh.position_count * sizeof(vec3));
    scene_close(a);
    scene_close(b);
}

/* Decimals of a metre's ten-thousandth at 4.6 million metres, which floats cannot hold. */
static void test_decimals(void **state) {
    (void)state;
    static const double corners[3][3] = {{500000.0981, 4649776.9952, 120.0096},
                                         {500000.0961, 4649776.9951, 120.0191},
                                         {500000.1012, 4649776.9970, 120.0100}};
    file_put_text("utm.obj", "v 500000.0981 4649776.9952 120.0096\nv 5000000.961e-1 "
                             "4649776.9951000000000000 120.0191\nv +500000.1012 4649776.997 "
                             "120.01\nf 1 2 3\n");
    scene *made = opened("utm.obj");
    const scene_view view = scene_get_view(made);
    assert_false(origin_is_zero(view.origin));
    for (int i = 0; i < 3; ++i) {
        double at[3];
        origin_to_world(at, view.origin, view.mesh.positions[i]);
        for (int k = 0; k < 3; ++k) assert_true(fabs(at[k] - corners[i][k]) < 1e-8);
    }
    scene_close(made);
}

static box3 box_at(float distance, float size) {
    const box3 box = {vec3_make(distance - size / 2, -size / 4, 0),
                      vec3_make(distance + size / 2, size / 4, size / 4)};
    return box;
}

static void test_rule(void **state) {
    (void)state;
    double origin[3] = {0, 0, 0};
    assert_false(origin_move(origin, box_at(64, 1)));
    assert_false(origin_move(origin, box3_empty()));
    assert_true(origin_is_zero(origin));
    assert_true(origin_move(origin, box_at(66, 1)));
    assert_true(origin[0] == 66 || origin[0] == 64 || origin[0] == 68);
    assert_true(origin[1] == 0 && origin[2] == 0);
    /* a point: its size is unknown, but the origin gets there */
    const vec3 point = vec3_make(123456.789f, 0.001f, -3e7f);
    double at[3] = {0, 0, 0};
    for (int i = 0; i < ORIGIN_MOVES; ++i) {
        const double exact[3] = {(double)point.x, (double)point.y, (double)point.z};
        const vec3 local = origin_to_local(at, exact);
        const box3 box = {local, local};
        if (!origin_move(at, box)) break;
    }
    assert_true(fabs(at[2] - (double)point.z) < 1e-6);
}

/* kd_photon.position and the origin as the C API tells them. */
static void test_photons(void **state) {
    (void)state;
    static const char text[] =
        "{\"kandela\":1,\"meshes\":[{\"box\":{\"lo\":[999999,-1,-1],\"hi\":[1000001,1,1]},"
        "\"inward\":true}],\"lights\":[{\"kind\":\"point\",\"position\":[1000000,0,0],\"power\":1}]"
        "}";
    kd_scene *made = NULL;
    kd_photons *photons = NULL;
    kd_render_options options;
    double origin[3];
    kd_render_options_default(&options);
    options.photons = 500;
    assert_int_equal(kd_scene_parse(&made, text, strlen(text), NULL, NULL, 0, &options), KD_OK);
    kd_scene_origin(made, origin);
    assert_true(origin[0] == 1000000 && origin[1] == 0 && origin[2] == 0);
    assert_int_equal(kd_photons_emit(&photons, made, &options, NULL, NULL), KD_OK);
    const uint64_t count = kd_photons_count(photons, KD_PHOTONS_GLOBAL).stored;
    const kd_photon *list = kd_photons_list(photons, KD_PHOTONS_GLOBAL);
    assert_true(count > 100);
    for (uint64_t i = 0; i < count; ++i) {
        assert_true(fabsf(list[i].position[0] - 1000000) <= 1);
        assert_true(fabsf(list[i].position[1]) <= 1.0001f);
    }
    kd_photons_close(photons);
    kd_scene_close(made);
    kd_scene_origin(NULL, origin);
    assert_true(origin_is_zero(origin));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_obj),      cmocka_unit_test(test_ply),
        cmocka_unit_test(test_gltf),     cmocka_unit_test(test_stl),
        cmocka_unit_test(test_json),     cmocka_unit_test(test_near_again),
        cmocka_unit_test(test_decimals), cmocka_unit_test(test_rule),
        cmocka_unit_test(test_photons),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
