/* What a mesh file gets that says nothing about its view: a camera inside rooms, an exposure. */
#include "accel/tritree.h"
#include "render/image.h"
#include "render/room_camera.h"
#include "scenes/obj.h"
#include "scenes/procedural.h"
#include "scenes/scene.h"
#include "tests/test.h"
#include <math.h>

typedef struct seen {
    scene *of;
    tritree tree;
    scene_view view;
} seen;

static void look(seen *out, const char *path) {
    kd_render_options options;
    kd_render_options_default(&options);
    assert_int_equal(scene_open(&out->of, path, &options, NULL), KD_OK);
    assert_true(isnan(options.exposure));
    out->view = scene_get_view(out->of);
    const mesh_view *mesh = &out->view.mesh;
    const tritree_options how = tritree_options_default();
    const tritree_input input = {mesh->positions, mesh->triangles, mesh->position_count,
                                 mesh->triangle_count};
    assert_int_equal(tritree_open(&out->tree, &input, &how, tritree_builders->name, NULL), KD_OK);
    out->view.tree = tritree_get_view(&out->tree);
}

static void look_away(seen *owned) {
    tritree_close(&owned->tree);
    scene_close(owned->of);
}

static void rooms_are_seen_from_inside(void **state) {
    (void)state;
    static const struct {
        const char *path;
        bool room;
    } cases[] = {{"gen:sphere:1000", false}, {"gen:blob:3000", false}, {"gen:room:3000", true}};
    for (int i = 0; i < 3; ++i) {
        seen mesh;
        look(&mesh, cases[i].path);
        if (room_camera_is_room(&mesh.view) != cases[i].room)
            fail_msg("%s: room %d", cases[i].path, !cases[i].room);
        if (cases[i].room) {
            const camera view = room_camera(&mesh.view, 1.5f);
            const box3 box = mesh.view.box;
            assert_true(view.eye.x > box.lo.x && view.eye.x < box.hi.x);
            assert_true(view.eye.y > box.lo.y && view.eye.y < box.hi.y);
            assert_true(view.eye.z > box.lo.z && view.eye.z < box.hi.z);
        }
        look_away(&mesh);
    }
}

/* The mesh with all its faces wound the other way, as an OBJ file of places and faces alone. */
static void reversed_put(const char *to, const char *path) {
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

static void bodies_wound_inwards_are_seen_from_outside(void **state) {
    (void)state;
    const char *bunny = test_model("bunny.obj"); /* it has holes */
    const char *const paths[] = {"gen:sphere:1000", "gen:blob:3000", "gen:ring:2000",
                                 bunny ? bunny : "gen:wedge"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; ++i) {
        seen body;
        reversed_put("reversed.obj", paths[i]);
        look(&body, "reversed.obj");
        if (room_camera_is_room(&body.view)) fail_msg("%s, reversed, is a room", paths[i]);
        assert_true(scene_camera(body.of).eye.z > body.view.box.hi.z);
        look_away(&body);
    }
    remove("reversed.obj");
}

static void a_chosen_camera_stays(void **state) {
    (void)state;
    seen mesh;
    look(&mesh, "gen:sphere:1000");
    camera view = scene_camera(mesh.of);
    assert_true(scene_camera_is_default(mesh.of));
    scene_set_camera(mesh.of, &view);
    assert_true(scene_camera_is_default(mesh.of));
    view.eye.x += 1;
    scene_set_camera(mesh.of, &view);
    assert_false(scene_camera_is_default(mesh.of));
    look_away(&mesh);
}

static void dark_pictures_are_raised(void **state) {
    (void)state;
    static const struct { float grey, stops; } cases[] = {{0.0225f, 3}, {0.18f, 0}, {4, 0}, {0, 0}};
    for (int i = 0; i < 4; ++i) {
        image picture;
        assert_int_equal(image_open(&picture, 8, 8), KD_OK);
        static const char *const names[] = {"R", "G", "B", "A"};
        for (int c = 0; c < 4; ++c) {
            float *plane = NULL;
            assert_int_equal(image_add(&picture, names[c], &plane), KD_OK);
            for (int p = 0; p < 64; ++p) /* the uncovered half is bright and does not count */
                plane[p] = c == 3 ? (p < 32 ? 1.0f : 0.0f) : p < 32 ? cases[i].grey : 100;
        }
        float stops = -1;
        assert_int_equal(image_exposure(&stops, &picture), KD_OK);
        assert_float_equal(stops, cases[i].stops, 1e-5);
        image_close(&picture);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rooms_are_seen_from_inside),
        cmocka_unit_test(bodies_wound_inwards_are_seen_from_outside),
        cmocka_unit_test(a_chosen_camera_stays),
        cmocka_unit_test(dark_pictures_are_raised),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
