/* Defaults for a mesh file without a camera: a camera inside rooms, one in front of objects, and an
   exposure. */
#include "accel/builders.h"
#include "core/image/image.h"
#include "render/api/render.h"
#include "scenes/assembly/look.h"
#include "scenes/assembly/scene.h"
#include "scenes/assembly/scene_camera.h"
#include "scenes/formats/mesh_formats.h"
#include "scenes/mesh/generate.h"
#include "tests/test.h"
#include <math.h>

typedef struct described_scene {
    struct scene *scene;
    tritree tree;
    scene_view view;
} described_scene;

static void describe(described_scene *out, const char *path) {
    kd_render_options options;
    kd_render_options_default(&options);
    assert_int_equal(scene_open(&out->scene, path, &options, NULL), KD_OK);
    assert_true(isnan(options.exposure));
    out->view = scene_get_view(out->scene);
    const mesh_view *body = &out->view.mesh;
    const tritree_options tree_options = tritree_options_default();
    const tritree_input input = {body->positions, body->triangles, body->position_count,
                                 body->triangle_count};
    assert_int_equal(
        tritree_open(&out->tree, &input, &tree_options, tritree_builders[0]->name, NULL), KD_OK);
    out->view.tree = tritree_get_view(&out->tree);
}

static void scene_away(described_scene *owned) {
    tritree_close(&owned->tree);
    scene_close(owned->scene);
}

static void test_camera_of_room_is_inside(void **state) {
    (void)state;
    static const struct {
        const char *path;
        bool room;
    } cases[] = {{"gen:sphere:1000", false}, {"gen:blob:3000", false}, {"gen:room:3000", true}};
    for (int i = 0; i < 3; ++i) {
        described_scene shown;
        describe(&shown, cases[i].path);
        if ((interior_kind_of(&shown.view, scene_up(shown.scene)) == INTERIOR_LIT) != cases[i].room)
            fail_msg("%s: room %d", cases[i].path, !cases[i].room);
        if (cases[i].room) {
            const camera view = room_camera(&shown.view, scene_up(shown.scene), 1.5f);
            const box3 box = shown.view.box;
            assert_true(view.eye.x > box.lo.x && view.eye.x < box.hi.x);
            assert_true(view.eye.y > box.lo.y && view.eye.y < box.hi.y);
            assert_true(view.eye.z > box.lo.z && view.eye.z < box.hi.z);
        }
        scene_away(&shown);
    }
}

/* Writes the mesh with all its faces reversed, as an OBJ file with positions and faces only. */
static void write_reversed(const char *to, const char *path) {
    mesh body;
    if (strncmp(path, "gen:", 4) == 0)
        assert_int_equal(procedural_load(&body, path), KD_OK);
    else
        assert_int_equal(obj_load(&body, path, NULL, NULL), KD_OK);
    FILE *file = fopen(to, "w");
    assert_non_null(file);
    for (uint32_t i = 0; i < body.position_count; ++i)
        fprintf(file, "v %.9g %.9g %.9g\n", (double)body.positions[i].x,
                (double)body.positions[i].y, (double)body.positions[i].z);
    for (uint64_t i = 0; i < body.triangle_count; ++i)
        fprintf(file, "f %u %u %u\n", body.triangles[3 * i + 2] + 1, body.triangles[3 * i + 1] + 1,
                body.triangles[3 * i] + 1);
    fclose(file);
    mesh_close(&body);
}

static void test_camera_of_reversed_body_is_outside(void **state) {
    (void)state;
    const char *bunny = test_model("bunny.obj"); /* has holes */
    const char *const paths[] = {"gen:sphere:1000", "gen:blob:3000", "gen:ring:2000",
                                 bunny ? bunny : "gen:wedge"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; ++i) {
        described_scene body;
        write_reversed("reversed.obj", paths[i]);
        describe(&body, "reversed.obj");
        if (interior_kind_of(&body.view, scene_up(body.scene)))
            fail_msg("%s, reversed, is a room", paths[i]);
        assert_true(scene_camera(body.scene).eye.z > body.view.box.hi.z);
        scene_away(&body);
    }
    remove("reversed.obj");
}

static void test_given_camera_is_kept(void **state) {
    (void)state;
    described_scene shown;
    describe(&shown, "gen:sphere:1000");
    camera view = scene_camera(shown.scene);
    assert_true(scene_camera_is_default(shown.scene));
    scene_set_camera(shown.scene, &view);
    assert_true(scene_camera_is_default(shown.scene));
    view.eye.x += 1;
    scene_set_camera(shown.scene, &view);
    assert_false(scene_camera_is_default(shown.scene));
    scene_away(&shown);
}

/* The ranges of the image coordinates of all vertices; 1 is the edge of the picture. */
typedef struct projected {
    double lo[2], hi[2];
} projected;

static projected project(const scene *from, const camera *view, double aspect) {
    const scene_view all = scene_get_view(from);
    const frame3 axes = camera_frame(view);
    const double tangent = tan((double)view->fov_degrees * 3.14159265358979 / 360);
    projected out = {{1e9, 1e9}, {-1e9, -1e9}};
    for (uint64_t i = 0; i < 3 * (uint64_t)all.mesh.triangle_count; ++i) {
        const vec3 to = vec3_sub(all.mesh.positions[all.mesh.triangles[i]], view->eye);
        const double depth = (double)vec3_dot(to, axes.normal);
        assert_true(depth > 0);
        const double at[2] = {(double)vec3_dot(to, axes.tangent) / (depth * tangent * aspect),
                              (double)vec3_dot(to, axes.bitangent) / (depth * tangent)};
        for (int c = 0; c < 2; ++c) {
            out.lo[c] = fmin(out.lo[c], at[c]);
            out.hi[c] = fmax(out.hi[c], at[c]);
        }
    }
    return out;
}

static void expect_fitted(const scene *from, const camera *view, double aspect) {
    const projected seen = project(from, view, aspect);
    double extent = 0;
    for (int c = 0; c < 2; ++c) {
        assert_true(seen.lo[c] > -0.95 && seen.hi[c] < 0.95);
        extent = fmax(extent, 0.5 * (seen.hi[c] - seen.lo[c]));
    }
    assert_float_equal(extent, 0.8, 0.02);
}

static void write_text(const char *to, const char *text) {
    FILE *file = fopen(to, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

/* All vertices are in the picture, and fill 80 % of its width or height. */
static void test_vertices_fill_picture(void **state) {
    (void)state;
    static const char needle[] = "v 0 0 0\nv 0.001 0 0\nv 0 9 0\nf 1 2 3\n";
    static const char flat[] = "v 0 0 0\nv 1 0 0\nv 0 0 1\nv 3 0 2\nf 1 2 3\nf 2 3 4\n";
    static const char *const paths[] = {"gen:sphere:500", "gen:blob:3000", "needle.obj",
                                        "flat.obj"};
    static const double aspects[] = {1, 16.0 / 9, 0.5};
    write_text("needle.obj", needle);
    write_text("flat.obj", flat);
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 3; ++j) {
            described_scene shown;
            describe(&shown, paths[i]);
            assert_true(scene_is_bare(shown.scene));
            camera view = scene_camera(shown.scene);
            look_camera(&view, shown.scene, (float)aspects[j]);
            expect_fitted(shown.scene, &view, aspects[j]);
            for (int side = 1; i < 2 && scene_side_name(side); ++side) {
                scene_view_from(shown.scene, side, (float)aspects[j], &view);
                expect_fitted(shown.scene, &view, aspects[j]);
            }
            scene_away(&shown);
        }
    remove("needle.obj");
    remove("flat.obj");
}

/* What stands on a large floor of its own fills the picture, unless the whole scene is to be seen
   or the large triangles are no floor. */
static void test_floor_is_not_the_subject(void **state) {
    (void)state;
    static const char cone[] = "v 3 0 4\nv 4 0 4\nv 3 0 5\nv 3 1 4\nf 1 3 2\nf 1 2 4\nf 2 3 4\n";
    static const char *const large[] = {
        "v -50 -0.1 -50\nv 50 -0.1 -50\nv 50 -0.1 50\nv -50 -0.1 50\nf 5 8 7 6\n", /* a floor */
        "v -50 -50 3\nv 50 -50 3\nv 50 50 3\nv -50 50 3\nf 5 6 7 8\n",             /* a wall */
        "v -50 9 -50\nv 50 9 -50\nv 50 9 50\nv -50 9 50\nf 5 8 7 6\n"};            /* a roof */
    for (int i = 0; i < 3; ++i) {
        described_scene shown;
        char text[256];
        snprintf(text, sizeof text, "%s%s", cone, large[i]);
        write_text("floor.obj", text);
        describe(&shown, "floor.obj");
        camera view = scene_camera(shown.scene);
        look_camera(&view, shown.scene, 1);
        const bool near = vec3_length(vec3_sub(view.eye, vec3_make(3, 0, 4))) < 10;
        if (near != (i == 0))
            fail_msg("%s: eye at %g %g", large[i], (double)view.eye.x, (double)view.eye.z);
        scene_view_from(shown.scene, 7, 1, &view);
        assert_true(vec3_length(view.eye) > 100);
        scene_away(&shown);
    }
    remove("floor.obj");
}

/* A triangle far from all others, such as an error of a scan, does not make these small. */
static void test_outlier_is_not_framed(void **state) {
    (void)state;
    for (int few = 0; few < 2; ++few) {
        described_scene body, shown;
        write_reversed("stray.obj", few ? "gen:sphere:200" : "gen:sphere:2000");
        describe(&body, "stray.obj");
        FILE *file = fopen("stray.obj", "a");
        const double at = few ? 6 : 90;
        fprintf(file, "v %g 0 0\nv %g 0 0.1\nv %g 0.1 0\nf -3 -2 -1\n", at, at, at);
        fclose(file);
        describe(&shown, "stray.obj");
        camera alone = scene_camera(body.scene), view = scene_camera(shown.scene);
        look_camera(&alone, body.scene, 1);
        look_camera(&view, shown.scene, 1);
        assert_true(vec3_length(vec3_sub(view.eye, alone.eye)) < 0.01f * vec3_length(alone.eye));
        scene_away(&shown);
        scene_away(&body);
    }
    remove("stray.obj");
}

/* STL files and terrains over x and y have z up; signs of few triangles have not. */
static void test_direction_that_is_up(void **state) {
    (void)state;
    enum { SIDE = 12 };
    described_scene shown;
    write_text("up.stl", "solid a\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\n"
                         "vertex 0 1 1\nendloop\nendfacet\nendsolid a\n");
    describe(&shown, "up.stl");
    assert_true(scene_up(shown.scene).z == 1);
    scene_away(&shown);
    for (int terrain = 0; terrain < 4; ++terrain) { /* number 2 has y up, number 3 is steep */
        const int side = terrain ? SIDE : 2;
        const double high = terrain == 3 ? 4 : 0.1;
        FILE *file = fopen("up.obj", "w");
        for (int i = 0; i < side * side; ++i)
            if (terrain == 2)
                fprintf(file, "v %d %g %d\n", i % side, high * (i % 3), i / side);
            else
                fprintf(file, "v %d %d %g\n", i % side, i / side, high * (i % 3));
        for (int i = 0; i < side * (side - 1); ++i)
            if (i % side + 1 < side)
                fprintf(file, "f %d %d %d %d\n", i + 1, i + 2, i + side + 2, i + side + 1);
        fclose(file);
        describe(&shown, "up.obj");
        assert_true(scene_up(shown.scene).z == (terrain & 1 ? 1 : 0));
        scene_away(&shown);
    }
    remove("up.stl");
    remove("up.obj");
}

static void put_box(FILE *file, const double lo[3], const double hi[3], bool inward, bool turned) {
    static const int faces[6][4] = {{0, 2, 6, 4}, {1, 5, 7, 3}, {0, 4, 5, 1},
                                    {2, 3, 7, 6}, {0, 1, 3, 2}, {4, 6, 7, 5}};
    for (int k = 0; k < 8; ++k) {
        const double x = k & 4 ? hi[0] : lo[0], y = k & 2 ? hi[1] : lo[1],
                     z = k & 1 ? hi[2] : lo[2];
        fprintf(file, "v %g %g %g\n", x, turned ? -z : y, turned ? y : z);
    }
    for (int k = 0; k < 24; ++k) {
        const int corner = faces[k / 4][inward ? 3 - k % 4 : k % 4] - 8;
        fprintf(file, "%s %d%s", k % 4 ? "" : "f", corner, k % 4 == 3 ? "\n" : "");
    }
}

/* Writes a table, or with a back a chair, whose legs end with its top; a turned one has z up. */
static void write_furniture(const char *to, bool turned, bool back) {
    static const double boxes[][6] = {{0, 0, 0, 0.1, 1, 0.1}, {0.9, 0, 0, 1, 1, 0.1},
                                      {0, 0, 0.9, 0.1, 1, 1}, {0.9, 0, 0.9, 1, 1, 1},
                                      {0, 1, 0, 1, 1.1, 1},   {0, 1.1, 0, 1, 2, 0.1}};
    FILE *file = fopen(to, "w");
    for (int i = 0; i < (back ? 6 : 5); ++i) put_box(file, boxes[i], boxes[i] + 3, false, turned);
    fclose(file);
}

/* A table or a chair stands on its legs in a file without a convention. */
static void test_furniture_stands(void **state) {
    (void)state;
    for (int i = 0; i < 4; ++i) {
        described_scene shown;
        write_furniture("up.obj", i & 1, i & 2);
        describe(&shown, "up.obj");
        if (scene_up(shown.scene).z != (float)(i & 1)) fail_msg("case %d lies on its side", i);
        scene_away(&shown);
    }
    remove("up.obj");
}

/* A room is seen from inside; what stands in it shows where the floor is. */
static void test_room_stands(void **state) {
    (void)state;
    static const double lo[3] = {0, 0, 0}, hi[3] = {4, 2.6, 5}, far[3] = {40, 2.6, 5};
    static const double things[][2][3] = {{{1.5, 0, 1.5}, {2.7, 0.7, 2.5}},
                                          {{3.3, 0, 0.5}, {3.9, 1.9, 1.7}},
                                          {{0.1, 0, 2.9}, {1.1, 0.5, 4.9}}};
    for (int i = 0; i < 6; ++i) { /* a room, a pipe, and a room whose faces are reversed */
        described_scene shown;
        const bool turned = i & 1;
        FILE *file = fopen("room.obj", "w");
        put_box(file, lo, i / 2 == 1 ? far : hi, i < 4, turned);
        for (int k = 0; k < 3; ++k) put_box(file, things[k][0], things[k][1], false, turned);
        fclose(file);
        describe(&shown, "room.obj");
        const vec3 up = interior_up(&shown.view, scene_up(shown.scene));
        const interior_kind kind = interior_kind_of(&shown.view, up);
        if (kind != (i < 2 ? INTERIOR_DARK : INTERIOR_NONE)) fail_msg("case %d", i);
        if (i < 2 && up.z != (float)turned) fail_msg("case %d lies on its side", i);
        scene_away(&shown);
    }
    remove("room.obj");
}

static void describe_materials(described_scene *out, const char *first, const char *second) {
    char text[256];
    snprintf(text, sizeof text, "newmtl a\nKd 0.5 0.5 0.5\n%s\nnewmtl b\nKd 0.5 0.5 0.5\n%s\n",
             first, second);
    write_text("two.mtl", text);
    write_text("two.obj", "mtllib two.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\n"
                          "usemtl a\nf 1 2 3\nusemtl b\nf 1 2 4\n");
    describe(out, "two.obj");
    remove("two.mtl");
    remove("two.obj");
}

/* Nothing is invisible, or black beside its own light, because a program wrote such materials. */
static void test_materials_of_other_programs(void **state) {
    (void)state;
    static const struct {
        const char *first, *second;
        float opacity;
        bool unlit;
    } cases[] = {{"Tr 1", "Tr 1", 1, true},
                 {"Tr 1", "d 0.2", 1, true},
                 {"d 0", "d 1", 0, true},
                 {"Ke 1 1 0", "Ke 0.2 0.2 0.2", 1, true},
                 {"Ke 1 1 1", "Ke 0 0 0", 1, false},
                 {"Ke 3 3 3", "Ke 1 1 1", 1, false}};
    for (int i = 0; i < 6; ++i) {
        described_scene shown;
        describe_materials(&shown, cases[i].first, cases[i].second);
        const uint32_t which = shown.view.mesh.triangle_materials[0];
        assert_float_equal(shown.view.materials[which].opacity, cases[i].opacity, 0);
        if (scene_is_unlit(shown.scene) != cases[i].unlit) fail_msg("case %d: light", i);
        scene_away(&shown);
    }
}

/* Opens a picture of `side` x `side` pixels, R = G = B = A = 0. */
static image open_picture(int32_t side, float *planes[4]) {
    static const char *const names[] = {"R", "G", "B", "A"};
    image picture;
    assert_int_equal(image_open(&picture, side, side), KD_OK);
    for (int c = 0; c < 4; ++c) assert_int_equal(image_add(&picture, names[c], &planes[c]), KD_OK);
    return picture;
}

static void set_pixel(float *planes[4], int pixel, float grey, float alpha) {
    for (int c = 0; c < 3; ++c) planes[c][pixel] = grey;
    planes[3][pixel] = alpha;
}

static float metered_exposure(const image *picture) {
    float stops = NAN;
    assert_int_equal(image_exposure(&stops, picture), KD_OK);
    assert_true(isfinite(stops));
    return stops;
}

static double clipped_share(const image *picture, float stops) {
    const float *r = image_plane(picture, "R"), *alpha = image_plane(picture, "A");
    double clipped = 0, covered = 0;
    for (int i = 0; i < picture->width * picture->height; ++i) {
        covered += alpha[i] > 0;
        clipped += alpha[i] > 0 && r[i] * exp2f(stops) > 1.001f;
    }
    return clipped / covered;
}

static void test_dark_picture_is_brightened(void **state) {
    (void)state;
    static const struct {
        float grey, stops;
    } cases[] = {{0.0225f, 3}, {0.18f, 0}, {0.9f, 0}, {4, -2}, {0, 0}};
    for (int i = 0; i < 5; ++i) {
        float *planes[4];
        image picture = open_picture(8, planes);
        /* the other half is bright, but not covered (alpha 0), so the exposure ignores it */
        for (int p = 0; p < 64; ++p) set_pixel(planes, p, p < 32 ? cases[i].grey : 100, p < 32);
        assert_float_equal(metered_exposure(&picture), cases[i].stops, 1e-5);
        image_close(&picture);
    }
}

/* Makes a subject that covers `share` of the picture, in greys from `minimum` to twice that, in
   front of a backdrop. */
static image make_picture(double share, float minimum, float backdrop) {
    enum { SIDE = 96 };
    float *planes[4];
    image picture = open_picture(SIDE, planes);
    const int rows = (int)(share * SIDE);
    for (int y = 0; y < SIDE; ++y)
        for (int x = 0; x < SIDE; ++x)
            set_pixel(planes, SIDE * y + x,
                      y < rows ? minimum + minimum * (float)x / SIDE : backdrop, 1);
    return picture;
}

static void test_dark_backdrop_does_not_overexpose_subject(void **state) {
    (void)state;
    static const float backdrops[] = {0, 1e-6f, 0.003f, 0.02f};
    static const double shares[] = {0.1, 0.45, 0.6};
    for (int b = 0; b < 4; ++b)
        for (int s = 0; s < 3; ++s) {
            image picture = make_picture(shares[s], 0.4f, backdrops[b]);
            const float stops = metered_exposure(&picture);
            assert_true(clipped_share(&picture, stops) <= (double)IMAGE_HIGHLIGHTS);
            assert_true(stops > -0.5f && stops < 1);
            image_close(&picture);
        }
}

/* If more than half of the picture is black, the exposure is chosen for the rest. */
static void test_black_median_is_metered(void **state) {
    (void)state;
    image picture = make_picture(0.3, 0.01f, 0);
    assert_float_equal(metered_exposure(&picture), 3.6, 0.3);
    image_close(&picture);
    picture = make_picture(0.02, 0.01f, 0);
    assert_true(metered_exposure(&picture) > 3);
    image_close(&picture);
}

static void test_metering_ignores_lamps_and_outliers(void **state) {
    (void)state;
    image picture = make_picture(1, 0.02f, 0);
    const float before = metered_exposure(&picture);
    for (int i = 0; i < 3; ++i) image_plane(&picture, "R")[1000 * i] = 1e9f;
    image_plane(&picture, "G")[77] = NAN;
    assert_float_equal(metered_exposure(&picture), before, 0.1);
    image_close(&picture);
}

/* The exposure chosen at 1 sample per pixel equals that at 64, for a room lit by its ceiling and
   for an object in the open. */
static void test_exposure_is_independent_of_samples(void **state) {
    (void)state;
    static const char *const paths[] = {"gen:room:3000", "gen:blob:3000"};
    for (int i = 0; i < 2; ++i) {
        float stops[2] = {0, 0};
        for (int many = 0; many < 2; ++many) {
            scene *scene = NULL;
            render_result result;
            kd_render_options options;
            kd_render_options_default(&options);
            assert_int_equal(scene_open(&scene, paths[i], &options, NULL), KD_OK);
            options.width = options.height = 64;
            options.spp = many ? 64 : 1;
            options.max_depth = 5;
            strcpy(options.look, "plain"); /* which does not suit an exposure of 0 */
            assert_int_equal(render_run(&result, scene, &options, NULL), KD_OK);
            for (int p = 0; p < 64 * 64; ++p) /* a scene so dark that an exposure must be chosen */
                for (int c = 0; c < 3; ++c) result.picture.planes[c][p] *= 0.01f;
            stops[many] = metered_exposure(&result.picture);
            render_close(&result);
            scene_close(scene);
        }
        assert_true(stops[1] > 1);
        assert_float_equal(stops[0], stops[1], 0.1);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_camera_of_room_is_inside),
        cmocka_unit_test(test_camera_of_reversed_body_is_outside),
        cmocka_unit_test(test_given_camera_is_kept),
        cmocka_unit_test(test_vertices_fill_picture),
        cmocka_unit_test(test_floor_is_not_the_subject),
        cmocka_unit_test(test_outlier_is_not_framed),
        cmocka_unit_test(test_direction_that_is_up),
        cmocka_unit_test(test_furniture_stands),
        cmocka_unit_test(test_room_stands),
        cmocka_unit_test(test_materials_of_other_programs),
        cmocka_unit_test(test_dark_picture_is_brightened),
        cmocka_unit_test(test_dark_backdrop_does_not_overexpose_subject),
        cmocka_unit_test(test_black_median_is_metered),
        cmocka_unit_test(test_metering_ignores_lamps_and_outliers),
        cmocka_unit_test(test_exposure_is_independent_of_samples),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
