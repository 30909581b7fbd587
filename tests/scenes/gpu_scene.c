/* A scene uploaded to a device equals the host's, array for array. */
#include "accel/builders.h"
#include "accel/rays/tree_device.h"
#include "core/device/device.h"
#include "core/device/device_memory.h"
#include "scene_fixture.h"
#include "scenes/assembly/scene_cuda.h"
#include "tests/gpu.h"

static void expect_same(const void *host, const void *device_data, size_t bytes) {
    void *back = malloc(bytes);
    assert_non_null(back);
    assert_true(device_memory_owns(device_data));
    assert_int_equal(device_memory_download(back, device_data, bytes), KD_OK);
    assert_memory_equal(host, back, bytes);
    free(back);
}

static scene_fixture stage;
static uint8_t bytes[4 * 35];
static float floats[3 * 12], rows[4 + 1], columns[4 * (3 + 1)];
static vec2 texcoords[10];
static texture_view textures[3];

/* Makes a scene with a lit sphere, two images, one of them used twice, and a sky's sampling
   tables. */
static scene_view make_scene(void) {
    fixture_clear(&stage);
    material made = material_default();
    fixture_material(&stage, made);
    made.emission = vec3_all(2);
    fixture_material(&stage, made);
    fixture_ball(&stage, 0, vec3_all(0), 1, 8);
    fixture_quad(&stage, 1, vec3_make(0, 2, 0), vec3_make(1, 2, 0), vec3_make(1, 2, 1),
                 vec3_make(0, 2, 1));
    fixture_finish(&stage);
    for (size_t i = 0; i < sizeof bytes; ++i) bytes[i] = (uint8_t)(7 * i);
    for (size_t i = 0; i < 36; ++i) floats[i] = (float)i;
    for (size_t i = 0; i < 5; ++i) rows[i] = (float)i / 4;
    for (size_t i = 0; i < 16; ++i) columns[i] = (float)i;
    memset(textures, 0, sizeof textures);
    textures[0].bytes = textures[2].bytes = bytes;
    textures[0].samples = textures[2].samples = 4;
    textures[0].width = textures[2].width = 5;
    textures[0].height = textures[2].height = 7;
    textures[1].floats = floats;
    textures[1].width = 4;
    textures[1].height = 3;
    scene_view view = fixture_view(&stage);
    view.mesh.texcoords = texcoords;
    view.mesh.texcoord_count = 10;
    view.textures = textures;
    view.texture_count = 3;
    view.environment.row_cdf = rows;
    view.environment.column_cdf = columns;
    view.environment.height = 4;
    view.environment.width = 3;
    return view;
}

static void expect_textures(const scene_view *view) {
    texture_view back[3];
    assert_int_equal(device_memory_download(back, view->textures, sizeof back), KD_OK);
    expect_same(bytes, back[0].bytes, sizeof bytes);
    expect_same(floats, back[1].floats, sizeof floats);
    assert_ptr_equal(back[0].bytes, back[2].bytes);
    assert_null(back[1].bytes);
    assert_null(back[0].floats);
    assert_int_equal(back[2].height, 7);
}

static void test_every_array_is_uploaded(void **state) {
    (void)state;
    const scene_view host = make_scene();
    const tritree_input input = {host.mesh.positions, host.mesh.triangles, host.mesh.position_count,
                                 host.mesh.triangle_count};
    const tritree_options options = tritree_options_default();
    tritree tree;
    tritree_cuda device_tree;
    scene_cuda moved;
    assert_int_equal(tritree_open(&tree, &input, &options, "auto", NULL), KD_OK);
    assert_int_equal(tritree_cuda_open(&device_tree, &tree), KD_OK);
    assert_int_equal(scene_cuda_open(&moved, &host, &device_tree.view), KD_OK);
    const scene_view *view = &moved.view;
    const mesh_view *mesh = &view->mesh;
    const size_t triangles = mesh->triangle_count, vertices = mesh->position_count;
    expect_same(host.mesh.positions, mesh->positions, vertices * sizeof(vec3));
    expect_same(host.mesh.normals, mesh->normals, vertices * sizeof(vec3));
    expect_same(texcoords, mesh->texcoords, sizeof texcoords);
    expect_same(host.mesh.triangles, mesh->triangles, triangles * 12);
    expect_same(host.mesh.normal_indices, mesh->normal_indices, triangles * 12);
    expect_same(host.mesh.triangle_materials, mesh->triangle_materials, triangles * 4);
    assert_null(mesh->texcoord_indices);
    expect_same(host.materials, view->materials, 2 * sizeof(material));
    expect_same(host.lights, view->lights, host.light_count * sizeof(light));
    expect_same(host.light_cdf, view->light_cdf, (host.light_count + 1) * sizeof(float));
    assert_int_equal(host.light_tree.light_count, 2);
    expect_same(host.light_tree.nodes, view->light_tree.nodes,
                host.light_tree.node_count * sizeof(light_node));
    expect_same(host.light_tree.trails, view->light_tree.trails, 2 * sizeof(uint32_t));
    expect_same(host.triangle_lights, view->triangle_lights, triangles * 4);
    expect_same(rows, view->environment.row_cdf, sizeof rows);
    expect_same(columns, view->environment.column_cdf, sizeof columns);
    assert_ptr_equal(view->tree.nodes, device_tree.view.nodes);
    expect_textures(view);
    assert_true(moved.bytes > sizeof bytes + sizeof floats);
    scene_cuda_close(&moved);
    tritree_cuda_close(&device_tree);
    tritree_close(&tree);
}

static void test_oversized_scene_is_rejected(void **state) {
    (void)state;
    scene_view host = make_scene();
    tritree_view tree;
    scene_cuda moved;
    memset(&tree, 0, sizeof tree);
    textures[1].width = textures[1].height = 1 << 24; /* 3 x 2^50 bytes, which are never read */
    assert_int_equal(scene_cuda_open(&moved, &host, &tree), KD_ERROR_MEMORY);
    assert_non_null(strstr(kd_last_error(), "bytes were needed"));
    assert_null(moved.memory);
    scene_cuda_close(&moved);
}

int main(void) {
    if (gpu_is_missing()) return TEST_SKIPPED;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_array_is_uploaded),
        cmocka_unit_test(test_oversized_scene_is_rejected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
