/* scenes/import/gltf.h: nodes that share a mesh become placements if the caller supports them;
   copying the placements gives the scene that is read without them. */
#include "core/memory.h"
#include "scenes/assembly/scene.h"
#include "scenes/import/gltf.h"
#include "tests/gltf/gltf_files.h"
#include <math.h>

static mesh load_parts(const char *name) {
    const obj_options options = {.keep_parts = true};
    mesh read;
    const kd_status status = gltf_load(&read, file_in(name), &options, NULL);
    if (status != KD_OK) fail_msg("%s", kd_last_error());
    return read;
}

static int by_value(const void *a, const void *b) {
    return memcmp(a, b, 9 * sizeof(float));
}

typedef float corners[9];

/* Returns the corners of all triangles in a canonical order: the smallest corner first. */
static corners *corners_of(const vec3 *positions, const uint32_t *triangles, uint32_t count) {
    corners *all = NULL;
    assert_int_equal(KD_RESERVE(all, count), KD_OK);
    for (uint32_t i = 0; i < count; ++i) {
        vec3 p[3];
        int first = 0;
        for (int k = 0; k < 3; ++k) p[k] = positions[triangles[3 * (size_t)i + (size_t)k]];
        for (int k = 1; k < 3; ++k)
            if (memcmp(&p[k], &p[first], sizeof *p) < 0) first = k;
        for (int k = 0; k < 3; ++k) memcpy(all[i] + 3 * k, &p[(first + k) % 3], sizeof *p);
    }
    qsort(all, count, sizeof *all, by_value);
    return all;
}

/* Opens the scene with one copy per placement and expects the triangles of the mesh that is read
   without placements, with the same orientation. */
static void expect_same_triangles(const char *name, uint32_t instances) {
    kd_render_options options;
    scene *opened = NULL;
    kd_render_options_default(&options);
    assert_int_equal(scene_open_instanced(&opened, file_in(name), NULL, &options, NULL), KD_OK);
    assert_int_equal(scene_instance_count(opened), instances);
    assert_int_equal(scene_copy_instances(opened), KD_OK);
    mesh plain = load(name);
    assert_int_equal(plain.part_count, 0);
    const scene_view view = scene_get_view(opened);
    assert_int_equal(view.mesh.triangle_count, plain.triangle_count);
    corners *a = corners_of(view.mesh.positions, view.mesh.triangles, plain.triangle_count);
    corners *b = corners_of(plain.positions, plain.triangles, plain.triangle_count);
    assert_memory_equal(a, b, plain.triangle_count * sizeof *a);
    memory_free(a);
    memory_free(b);
    mesh_close(&plain);
    scene_close(opened);
}

/* Nodes of one box: two plain ones, two mirror images, a sheared one that cannot be a placement;
   and another box. */
#define SHARED                                                                                     \
    "\"scenes\":[{\"nodes\":[0,1,2,3,4,5]}],\"nodes\":[{\"mesh\":0},"                              \
    "{\"mesh\":0,\"translation\":[3,1,0.5],\"rotation\":[0.5,0.5,0.5,0.5]},"                       \
    "{\"mesh\":0,\"translation\":[-4,0,0],\"scale\":[-1,2,1]},"                                    \
    "{\"mesh\":0,\"translation\":[-8,0,0],\"scale\":[1,1,-0.25]},"                                 \
    "{\"mesh\":0,\"translation\":[0,9,0],\"scale\":[1,1,1e-7]},"                                   \
    "{\"mesh\":1,\"translation\":[0,0,7]}],"                                                       \
    "\"meshes\":[{\"primitives\":[{\"attributes\":{\"POSITION\":0,\"NORMAL\":1},\"indices\":3},"   \
    "{\"attributes\":{\"POSITION\":0,\"TEXCOORD_0\":2},\"mode\":5}]},"                             \
    "{\"primitives\":[{\"attributes\":{\"POSITION\":0},\"indices\":3}]}]"

static void test_nodes_sharing_a_mesh_become_instances(void **state) {
    (void)state;
    static gltf_maker made;
    add_box(&made);
    gltf_write_glb("shared.glb", &made, SHARED);
    mesh read = load_parts("shared.glb");
    const uint32_t box = 12, total = 12 + 6;
    assert_int_equal(read.part_count, 2); /* the box and its mirror image */
    assert_int_equal(read.put_count, 4);
    assert_int_equal(read.triangle_count, total + box + 2 * total);
    assert_int_equal(read.parts[0].first, total + box);
    for (int i = 0; i < 2; ++i) {
        const mesh_part *part = &read.parts[i];
        assert_int_equal(part->count, total);
        for (uint32_t k = 0; k < 3 * part->count; ++k) {
            const uint32_t corner = read.triangles[3 * part->first + k];
            assert_in_range(corner, part->position, part->position + part->position_count - 1);
            const uint32_t normal = read.normal_indices[3 * part->first + k];
            if (normal == KD_NONE) continue;
            assert_in_range(normal, part->normal, part->normal + part->normal_count - 1);
        }
        assert_int_equal(part->position_count, 8); /* the corners of both primitives, merged */
    }
    assert_true(read.puts[1].to_world.m[0][3] == 3 && read.puts[2].to_world.m[0][3] == -4);
    mesh_close(&read);
    expect_same_triangles("shared.glb", 4);
}

#define MANY                                                                                       \
    "\"scenes\":[{\"nodes\":[0]}],\"nodes\":[{\"children\":[1],\"scale\":[2,2,2]},"                \
    "{\"mesh\":0,\"translation\":[1,0,0],\"extensions\":{\"EXT_mesh_gpu_instancing\":{"            \
    "\"attributes\":{\"TRANSLATION\":4,\"ROTATION\":5,\"SCALE\":6}}}}],"

static void test_instances_of_one_node(void **state) {
    (void)state;
    enum { COUNT = 100 };
    static gltf_maker made;
    static float moves[COUNT][3], scales[COUNT][3];
    static int16_t turns[COUNT][4];
    add_box(&made);
    for (int i = 0; i < COUNT; ++i) {
        moves[i][0] = (float)(2 * i);
        moves[i][2] = (float)(i % 7);
        for (int k = 0; k < 3; ++k) scales[i][k] = 1 + 0.01f * (float)(i + k);
        turns[i][1] = turns[i][3] = 23170;
    }
    gltf_put(&made, moves, GLTF_FLOAT, 3, COUNT, "");
    gltf_put(&made, turns, GLTF_SHORT, 4, COUNT, ",\"normalized\":true");
    gltf_put(&made, scales, GLTF_FLOAT, 3, COUNT, "");
    gltf_write_glb("many.glb", &made, MANY BOX_PRIMITIVE);
    mesh read = load_parts("many.glb");
    assert_int_equal(read.part_count, 1);
    assert_int_equal(read.put_count, COUNT);
    assert_int_equal(read.triangle_count, 12);
    const transform *last = &read.puts[COUNT - 1].to_world;
    assert_true(fabs(last->m[0][3] - 2 * (1 + 198)) < 1e-4 && last->m[2][3] == 2 * (99 % 7));
    assert_true(fabs(last->m[0][2] - 2 * (1 + 0.01 * 101)) < 1e-3); /* rotated about y */
    mesh_close(&read);
    expect_same_triangles("many.glb", COUNT);
    gltf_put(&made, moves, GLTF_FLOAT, 3, COUNT - 1, "");
    gltf_write_glb("fewer.glb", &made,
                   "\"scenes\":[{\"nodes\":[0]}],\"nodes\":[{\"mesh\":0,\"extensions\":{"
                   "\"EXT_mesh_gpu_instancing\":{\"attributes\":{\"TRANSLATION\":7,"
                   "\"SCALE\":6}}}}]," BOX_PRIMITIVE);
    assert_int_equal(gltf_load(&read, file_in("fewer.glb"), NULL, NULL), KD_ERROR_INPUT);
    assert_non_null(strstr(kd_last_error(), "SCALE: found 100 elements, expected 99 as before"));
}

/* Dropping invalid triangles keeps the ranges of the parts contiguous. */
static void test_parts_with_dropped_triangles(void **state) {
    (void)state;
    static gltf_maker made;
    float places[8][3];
    memcpy(places, corner_places, sizeof places);
    places[6][1] = NAN;
    add_box(&made);
    gltf_put(&made, places, GLTF_FLOAT, 3, 8, "");
    gltf_write_glb("holes.glb", &made,
                   "\"scenes\":[{\"nodes\":[0,1,2,3]}],\"nodes\":[{\"mesh\":0},{\"mesh\":1},"
                   "{\"mesh\":0,\"translation\":[2,0,0]},{\"mesh\":1,\"translation\":[4,0,0]}],"
                   "\"meshes\":[{\"primitives\":[{\"attributes\":{\"POSITION\":4},\"indices\":3}]},"
                   "{\"primitives\":[{\"attributes\":{\"POSITION\":0},\"indices\":3}]}]");
    mesh read = load_parts("holes.glb");
    assert_int_equal(read.part_count, 2);
    assert_true(read.parts[0].count < 12 && read.parts[0].count > 0);
    assert_int_equal(read.parts[1].first, read.parts[0].count);
    assert_int_equal(read.parts[1].count, 12);
    assert_int_equal(read.triangle_count, read.parts[0].count + 12);
    mesh_close(&read);
    expect_same_triangles("holes.glb", 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nodes_sharing_a_mesh_become_instances),
        cmocka_unit_test(test_instances_of_one_node),
        cmocka_unit_test(test_parts_with_dropped_triangles),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
