/* scenes/import_assimp: PLY, STL and glTF, node transforms, materials. */
#include "core/memory.h"
#include "scenes/import_assimp.h"
#include "tests/scenes/files.h"

#ifdef KD_HAVE_ASSIMP

static void ply_polygons_are_cut_without_losing_area(void **state) {
    (void)state;
    file_put_text("arrow.ply", "ply\nformat ascii 1.0\nelement vertex 5\nproperty float x\n"
                               "property float y\nproperty float z\nelement face 1\n"
                               "property list uchar int vertex_indices\nend_header\n"
                               "0 0 0\n4 0 0\n4 4 0\n2 1 0\n0 4 0\n5 0 1 2 3 4\n");
    mesh read;
    assert_int_equal(assimp_load(&read, file_in("arrow.ply"), NULL), KD_OK);
    assert_int_equal(read.face_count, 1);
    assert_int_equal(read.triangle_count, 3);
    double area = 0;
    for (uint32_t i = 0; i < read.triangle_count; ++i) area += mesh_area(&read, i);
    assert_float_equal(area, 10, 1e-6);
    assert_true(read.material_count >= 1);
    mesh_close(&read);
}

static void stl_is_read(void **state) {
    (void)state;
    file_put_text("one.stl", "solid one\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\n"
                             "vertex 1 0 0\nvertex 0 1 0\nendloop\nendfacet\nendsolid one\n");
    mesh read;
    assert_int_equal(assimp_load(&read, file_in("one.stl"), NULL), KD_OK);
    assert_int_equal(read.triangle_count, 1);
    for (int k = 0; k < 3; ++k) {
        assert_true(read.triangles[k] < read.position_count);
        assert_true(read.triangle_materials[0] < read.material_count);
    }
    mesh_close(&read);
}

/* One triangle under two nodes: moved, and mirrored. A mirrored one keeps its outside outside. */
static const char gltf[] =
    "{\"asset\":{\"version\":\"2.0\"},\"scene\":0,\"scenes\":[{\"nodes\":[0]}],\"nodes\":["
    "{\"translation\":[0,0,5],\"children\":[1,2]},{\"mesh\":0,\"translation\":[10,0,0]},"
    "{\"mesh\":0,\"scale\":[-1,1,1]}],"
    "\"meshes\":[{\"primitives\":[{\"attributes\":{\"POSITION\":0},\"material\":0}]}],"
    "\"materials\":[{\"name\":\"lamp\",\"emissiveFactor\":[1,0.5,0.25],\"pbrMetallicRoughness\":"
    "{\"baseColorFactor\":[0.5,0.25,0.125,1],\"metallicFactor\":0,\"roughnessFactor\":0.5}}],"
    "\"accessors\":[{\"bufferView\":0,\"componentType\":5126,\"count\":3,\"type\":\"VEC3\","
    "\"min\":[0,0,0],\"max\":[1,1,0]}],"
    "\"bufferViews\":[{\"buffer\":0,\"byteLength\":36}],\"buffers\":[{\"byteLength\":36,\"uri\":"
    "\"data:application/octet-stream;base64,"
    "AAAAAAAAAAAAAAAAAACAPwAAAAAAAAAAAAAAAAAAgD8AAAAA\"}]}";

static void gltf_nodes_place_their_meshes(void **state) {
    (void)state;
    file_put_text("two.gltf", gltf);
    mesh read;
    assert_int_equal(assimp_load(&read, file_in("two.gltf"), NULL), KD_OK);
    assert_int_equal(read.triangle_count, 2);
    float low = 1e9f, high = -1e9f;
    for (int i = 0; i < 6; ++i) {
        const vec3 p = read.positions[read.triangles[i]];
        low = float_min(low, p.x);
        high = float_max(high, p.x);
        assert_true(p.z == 5);
    }
    assert_true(low == -1 && high == 11);
    const mesh_material *lamp = &read.materials[read.triangle_materials[0]];
    assert_string_equal(lamp->name, "lamp");
    assert_true(lamp->record.emission.y == 0.5f && lamp->record.diffuse.x == 0.5f);
    assert_int_equal(lamp->record.kind, MATERIAL_PLASTIC);
    assert_true(lamp->record.roughness == 0.5f && lamp->record.metallic == 0);
    mesh_close(&read);
}

static void mirrored_meshes_are_turned_back(void **state) {
    (void)state;
    file_put_text("two.gltf", gltf);
    mesh read;
    assert_int_equal(assimp_load(&read, file_in("two.gltf"), NULL), KD_OK);
    for (uint32_t i = 0; i < read.triangle_count; ++i) assert_true(mesh_cross(&read, i).z > 0);
    mesh_close(&read);
}

static void damage_is_an_error(void **state) {
    (void)state;
    file_put_text("bad.gltf", "{\"asset\":");
    mesh read;
    assert_int_equal(assimp_load(&read, file_in("bad.gltf"), NULL), KD_ERROR_INPUT);
    assert_null(read.positions);
    assert_int_equal(assimp_load(&read, file_in("absent.ply"), NULL), KD_ERROR_INPUT);
    assert_non_null(strstr(kd_last_error(), "absent.ply"));
}

static void real_models_are_read(void **state) {
    (void)state;
    const char *path = test_model("dragon_48k.ply");
    if (!path) skip();
    mesh read;
    assert_int_equal(assimp_load(&read, path, NULL), KD_OK);
    assert_true(read.triangle_count > 40000);
    for (uint64_t i = 0; i < 3 * (uint64_t)read.triangle_count; ++i)
        assert_true(read.triangles[i] < read.position_count);
    mesh_close(&read);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ply_polygons_are_cut_without_losing_area),
        cmocka_unit_test(stl_is_read),
        cmocka_unit_test(gltf_nodes_place_their_meshes),
        cmocka_unit_test(mirrored_meshes_are_turned_back),
        cmocka_unit_test(damage_is_an_error),
        cmocka_unit_test(real_models_are_read),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}

#else

int main(void) {
    mesh read;
    return assimp_load(&read, "any.ply", NULL) == KD_ERROR_INPUT ? TEST_SKIPPED : 1;
}

#endif
