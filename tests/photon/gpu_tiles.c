/* Tiles whose probes were traced on the device equal the CPU's, byte for byte. */
#include "photon/density/tile_set.h"
#include "photon_scenes_device.h"
#include "tests/gpu.h"

static void expect_same_tiles(const photon_scene *scene, const scene_view *view, float radius) {
    tile_set right, tiles;
    assert_int_equal(tile_set_open(&right, &scene->view, NULL, radius, true, NULL), KD_OK);
    assert_int_equal(tile_set_open(&tiles, &scene->view, view, radius, true, NULL), KD_OK);
    assert_int_equal(tiles.count, right.count);
    assert_int_equal(tiles.box_count, right.box_count);
    assert_int_equal(tiles.wide_count, right.wide_count);
    for (uint32_t i = 0; i < right.count; ++i)
        if (memcmp(&tiles.tiles[i], &right.tiles[i], sizeof *right.tiles) != 0)
            fail_msg("radius %g: tile %u of %u differs: weights %g %g, expected %g %g",
                     (double)radius, i, right.count, (double)tiles.tiles[i].weight[0],
                     (double)tiles.tiles[i].weight[1], (double)right.tiles[i].weight[0],
                     (double)right.tiles[i].weight[1]);
    if (right.wide_count) {
        assert_memory_equal(tiles.wide, right.wide, right.wide_count);
        assert_memory_equal(tiles.patches, right.patches,
                            scene->view.mesh.triangle_count * sizeof *right.patches);
    }
    tile_set_close(&right);
    tile_set_close(&tiles);
}

/* Radii from small ones, where each tile has its own part, to large ones, where triangles share
   their probes; first with plain nodes, then with the compressed form of the tree. */
static void check_scene(photon_scene *scene) {
    static const float radii[] = {1e-30f, 0.02f, 0.1f, 3};
    device_scene device_scene;
    device_scene_open(&device_scene, scene);
    for (int i = gpu_is_emulated() ? 2 : 0; i < 4; ++i) {
        if (i == 3) device_scene_pack(&device_scene);
        expect_same_tiles(scene, &device_scene.scene.view, radii[i]);
    }
    device_scene_close(&device_scene);
    photon_scene_free(scene);
}

static void test_tiles_of_balls_match_cpu(void **state) {
    (void)state;
    check_scene(photon_scene_balls());
}

static void test_tiles_behind_cutouts_match_cpu(void **state) {
    (void)state;
    check_scene(photon_scene_fog());
}

/* Surfaces that photons cannot reach: the inside and underside of boxes, touching sheets, triangles
   without area. */
static void test_tiles_of_unlit_surfaces_match_cpu(void **state) {
    (void)state;
    photon_scene *scene = photon_scene_new();
    scene_fixture *to = &scene->fixture;
    const uint32_t wall = fixture_material(to, photon_scene_diffuse(0.5f, 1));
    const uint32_t grey = fixture_material(to, photon_scene_diffuse(0.5f, 0));
    const uint32_t walls[6] = {wall, wall, wall, wall, wall, wall};
    const uint32_t greys[6] = {grey, grey, grey, grey, grey, grey};
    fixture_box(to, walls, vec3_all(-1), vec3_all(1), true);
    fixture_box(to, greys, vec3_make(-0.5f, -1, -0.5f), vec3_make(0, -0.6f, 0), false);
    for (int i = 0; i < 3; ++i) {
        const float y = -0.99f + 0.0001f * (float)i;
        fixture_quad(to, grey, vec3_make(0.2f, y, 0.5f), vec3_make(0.8f, y, 0.5f),
                     vec3_make(0.8f, y, -0.5f), vec3_make(0.2f, y, -0.5f));
    }
    fixture_quad(to, grey, vec3_all(0), vec3_all(0.5f), vec3_all(0.5f), vec3_all(0));
    photon_scene_finish(scene);
    check_scene(scene);
}

static void test_tiles_match_cpu_for_every_light(void **state) {
    (void)state;
    for (int kind = LIGHT_POINT; kind <= LIGHT_ENVIRONMENT; ++kind) {
        photon_scene *scene = photon_scene_new();
        scene_fixture *to = &scene->fixture;
        const uint32_t grey = fixture_material(to, photon_scene_diffuse(0.5f, 0));
        const uint32_t greys[6] = {grey, grey, grey, grey, grey, grey};
        fixture_box(to, greys, vec3_all(-0.2f), vec3_all(0.2f), false);
        fixture_box(to, greys, vec3_make(-1, -0.5f, -1), vec3_make(1, -0.2f, 1), false);
        photon_scene_put_lamp(to, kind);
        photon_scene_finish(scene);
        check_scene(scene);
    }
}

int main(void) {
    if (gpu_is_missing()) return TEST_SKIPPED;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tiles_of_balls_match_cpu),
        cmocka_unit_test(test_tiles_behind_cutouts_match_cpu),
        cmocka_unit_test(test_tiles_of_unlit_surfaces_match_cpu),
        cmocka_unit_test(test_tiles_match_cpu_for_every_light),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
