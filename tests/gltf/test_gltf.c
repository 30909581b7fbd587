/* scenes/import/gltf.h: files as other programs write them, in every form of the format. The
   geometry is compared with assimp's, if assimp is installed, and with the same model in another
   form. */
#include "core/memory.h"
#include "core/parallel/parallel.h"
#include "scenes/assembly/scene.h"
#include "scenes/describe/readers.h"
#include "scenes/import/gltf.h"
#include "scenes/import/import_program.h"
#include "tests/gltf/gltf_files.h"
#include <math.h>
#include <sys/stat.h>

static uint64_t hash_of(const char *name) {
    scene *opened = NULL;
    kd_render_options options;
    kd_render_options_default(&options);
    const kd_status status = scene_open(&opened, file_in(name), &options, NULL);
    if (status != KD_OK) print_error("%s\n", kd_last_error());
    assert_int_equal(status, KD_OK);
    const scene_view view = scene_get_view(opened);
    const uint64_t hash = scene_hash(&view);
    scene_close(opened);
    return hash;
}

static vec3 corner(const mesh *mesh, uint32_t triangle, uint32_t k) {
    return mesh->positions[mesh->triangles[3 * triangle + k]];
}

/* --- one model, many forms -------------------------------------------------------------------- */

static void test_every_file_form_gives_the_same_scene(void **state) {
    (void)state;
    static gltf_maker made, sparse;
    static const uint16_t replaced[2] = {2, 6};
    add_box(&made);
    gltf_write_glb("box.glb", &made, ONE_NODE BOX_PRIMITIVE);
    gltf_write_inside("inside.gltf", &made, ONE_NODE BOX_PRIMITIVE);
    gltf_write_beside("beside.gltf", &made, ONE_NODE BOX_PRIMITIVE);
    /* two corners are wrong in the array, and a sparse accessor corrects them */
    add_box(&sparse);
    float places[8][3];
    memcpy(places, corner_places, sizeof places);
    for (int k = 0; k < 3; ++k) places[2][k] = places[6][k] = 77;
    memcpy(sparse.bin, places, sizeof places);
    const int indices = gltf_put_view(&sparse, replaced, sizeof replaced, 0);
    const float right[2][3] = {{1, 1, 0}, {1, 1, 1}};
    const int values = gltf_put_view(&sparse, right, sizeof right, 0);
    char more[256];
    snprintf(more, sizeof more,
             ",\"sparse\":{\"count\":2,\"indices\":{\"bufferView\":%d,\"componentType\":5123},"
             "\"values\":{\"bufferView\":%d}}",
             indices, values);
    gltf_put_accessor(&sparse, 0, 0, GLTF_FLOAT, 8, "VEC3", more);
    gltf_write_glb("sparse.glb", &sparse,
                   ONE_NODE PRIMITIVE("\"attributes\":{\"POSITION\":4,\"NORMAL\":1,"
                                      "\"TEXCOORD_0\":2},\"indices\":3"));
    const uint64_t hash = hash_of("box.glb");
    assert_int_equal(hash_of("inside.gltf"), hash);
    assert_int_equal(hash_of("beside.gltf"), hash);
    assert_int_equal(hash_of("sparse.glb"), hash);
    /* the same file without the correction */
    gltf_write_glb("wrong.glb", &sparse, ONE_NODE BOX_PRIMITIVE);
    assert_int_not_equal(hash_of("wrong.glb"), hash);
    mesh read = load("box.glb");
    assert_int_equal(read.triangle_count, 12);
    assert_int_equal(read.position_count, 8);
    assert_true(read.texcoords[2].x == 0.5f && read.texcoords[2].y == 1 - 0.75f);
    mesh_close(&read);
}

static void test_result_is_independent_of_threads(void **state) {
    (void)state;
    static gltf_maker made;
    add_box(&made);
    gltf_write_glb("box.glb", &made, ONE_NODE BOX_PRIMITIVE);
    parallel_set_threads(1);
    const uint64_t one = hash_of("box.glb");
    parallel_set_threads(4);
    assert_int_equal(hash_of("box.glb"), one);
    parallel_set_threads(0);
}

/* Indices of every type, and no indices. */
static void test_indices_of_every_width(void **state) {
    (void)state;
    static gltf_maker made;
    uint16_t words[36];
    uint32_t wholes[36];
    float corners[36][3];
    for (int i = 0; i < 36; ++i) {
        words[i] = box_indices[i];
        wholes[i] = box_indices[i];
        memcpy(corners[i], corner_places[box_indices[i]], sizeof corners[i]);
    }
    memset(&made, 0, sizeof made);
    gltf_put(&made, corner_places, GLTF_FLOAT, 3, 8, "");
    gltf_put(&made, box_indices, GLTF_UBYTE, 1, 36, "");
    gltf_put(&made, words, GLTF_USHORT, 1, 36, "");
    gltf_put(&made, wholes, GLTF_UINT, 1, 36, "");
    gltf_put(&made, corners, GLTF_FLOAT, 3, 36, "");
    uint64_t first = 0;
    for (int i = 0; i < 4; ++i) {
        char text[512];
        snprintf(text, sizeof text,
                 i < 3 ? ONE_NODE PRIMITIVE("\"attributes\":{\"POSITION\":0},\"indices\":%d")
                       : ONE_NODE PRIMITIVE("\"attributes\":{\"POSITION\":%d}"),
                 i + 1);
        gltf_write_glb("box.glb", &made, text);
        mesh read = load("box.glb");
        assert_int_equal(read.triangle_count, 12);
        double sum = 0; /* six times the volume, which checks positions and orientation */
        for (uint32_t t = 0; t < 12; ++t)
            sum += (double)vec3_dot(corner(&read, t, 0),
                                    vec3_cross(corner(&read, t, 1), corner(&read, t, 2)));
        assert_true(fabs(sum - 6) < 1e-6);
        assert_int_equal(read.position_count, 8); /* equal positions are merged */
        mesh_close(&read);
        if (i == 0) first = hash_of("box.glb");
        if (i < 3) assert_int_equal(hash_of("box.glb"), first);
    }
}

/* The same triangle in every component type, interleaved and not. */
static void test_component_types_and_strides(void **state) {
    (void)state;
    static const struct {
        int type;
        const char *more;
        double low, high; /* the values that 0 and 100 represent */
    } rows[] = {{GLTF_BYTE, "", 0, 100},
                {GLTF_UBYTE, "", 0, 100},
                {GLTF_SHORT, "", 0, 100},
                {GLTF_USHORT, "", 0, 100},
                {GLTF_FLOAT, "", 0, 100},
                {GLTF_BYTE, ",\"normalized\":true", 0, 100 / 127.0},
                {GLTF_UBYTE, ",\"normalized\":true", 0, 100 / 255.0},
                {GLTF_SHORT, ",\"normalized\":true", 0, 100 / 32767.0},
                {GLTF_USHORT, ",\"normalized\":true", 0, 100 / 65535.0}};
    for (size_t r = 0; r < sizeof rows / sizeof *rows; ++r)
        for (int stride = 0; stride <= 20; stride += 20) {
            static gltf_maker made;
            unsigned char bytes[3 * 20] = {0};
            memset(&made, 0, sizeof made);
            const int size = gltf_type_bytes(rows[r].type), step = stride ? stride : 3 * size;
            for (int corner_at = 1; corner_at < 3; ++corner_at) {
                unsigned char *at = bytes + corner_at * step + (corner_at - 1) * size;
                const float whole = 100;
                const uint16_t word = 100;
                if (rows[r].type == GLTF_FLOAT)
                    memcpy(at, &whole, 4);
                else if (size == 2)
                    memcpy(at, &word, 2);
                else
                    *at = 100;
            }
            const int view = gltf_put_view(&made, bytes, (size_t)(2 * step + 3 * size), stride);
            gltf_put_accessor(&made, view, 0, rows[r].type, 3, "VEC3", rows[r].more);
            gltf_write_glb("one.glb", &made, ONE_NODE PRIMITIVE("\"attributes\":{\"POSITION\":0}"));
            mesh read = load("one.glb");
            assert_int_equal(read.triangle_count, 1);
            assert_true((double)corner(&read, 0, 0).x == rows[r].low);
            assert_true(fabs((double)corner(&read, 0, 1).x - rows[r].high) < 1e-6 * rows[r].high);
            assert_true(fabs((double)corner(&read, 0, 2).y - rows[r].high) < 1e-6 * rows[r].high);
            assert_true(corner(&read, 0, 1).y == 0 && corner(&read, 0, 2).x == 0);
            mesh_close(&read);
        }
}

/* Strips and fans cover the same squares with the same side up. */
static void test_strips_and_fans(void **state) {
    (void)state;
    static gltf_maker made;
    static const float strip[6][3] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0},
                                      {1, 1, 0}, {0, 2, 0}, {1, 2, 0}};
    static const uint8_t fan[6] = {0, 1, 3, 5, 4, 2};
    static const double areas[2] = {2, 2};
    memset(&made, 0, sizeof made);
    gltf_put(&made, strip, GLTF_FLOAT, 3, 6, "");
    gltf_put(&made, fan, GLTF_UBYTE, 1, 6, "");
    for (int i = 0; i < 2; ++i) {
        gltf_write_glb("strip.glb", &made,
                       i == 0 ? ONE_NODE PRIMITIVE("\"attributes\":{\"POSITION\":0},\"mode\":5")
                              : ONE_NODE PRIMITIVE("\"attributes\":{\"POSITION\":0},\"mode\":6,"
                                                   "\"indices\":1"));
        mesh read = load("strip.glb");
        double area = 0;
        assert_int_equal(read.triangle_count, 4);
        for (uint32_t t = 0; t < read.triangle_count; ++t) {
            assert_true(mesh_cross(&read, t).z >= 0);
            area += mesh_area(&read, t);
        }
        assert_true(fabs(area - areas[i]) < 1e-6);
        mesh_close(&read);
    }
}

/* --- nodes ------------------------------------------------------------------------------------ */

/* A node's transform is scale, then rotation, then translation, then its parent's. */
#define NODES                                                                                      \
    "\"scene\":1,\"scenes\":[{},{\"nodes\":[3,4]}],\"nodes\":["                                    \
    "{\"mesh\":0,\"scale\":[-1,1,1]},"                                                             \
    "{\"mesh\":0,\"translation\":[0,0,7],\"rotation\":[0,0,0.70710678,0.70710678],"                \
    "\"scale\":[2,3,4]},"                                                                          \
    "{\"mesh\":0,\"matrix\":[1,0,0,0, 0,0,1,0, 0,-1,0,0, 5,6,7,1]},"                               \
    "{\"translation\":[10,0,0],\"children\":[0,2]},"                                               \
    "{\"scale\":[1,2,1],\"children\":[1]}],"

static void test_node_transforms(void **state) {
    (void)state;
    static gltf_maker made;
    add_box(&made);
    gltf_write_glb("nodes.glb", &made, NODES BOX_PRIMITIVE);
    mesh read = load("nodes.glb");
    assert_int_equal(read.triangle_count, 36);
    for (uint32_t copy = 0; copy < 3; ++copy) {
        double volume = 0;
        vec3 low = vec3_all(1e9f), high = vec3_all(-1e9f);
        for (uint32_t t = 12 * copy; t < 12 * copy + 12; ++t) {
            const vec3 a = corner(&read, t, 0), b = corner(&read, t, 1), c = corner(&read, t, 2);
            volume += (double)vec3_dot(a, vec3_cross(b, c)) / 6;
            low = vec3_min(low, vec3_min(a, vec3_min(b, c)));
            high = vec3_max(high, vec3_max(a, vec3_max(b, c)));
        }
        /* of boxes: mirrored; rotated by a matrix; scaled, rotated, moved, scaled again */
        static const double volumes[3] = {1, 1, 48};
        static const vec3 lows[3] = {{9, 0, 0}, {15, 5, 7}, {-3, 0, 7}},
                          highs[3] = {{10, 1, 1}, {16, 6, 8}, {0, 4, 11}};
        assert_true(fabs(volume - volumes[copy]) < 1e-3); /* faces point outward */
        assert_true(vec3_length(vec3_sub(low, lows[copy])) < 1e-5f);
        assert_true(vec3_length(vec3_sub(high, highs[copy])) < 1e-5f);
    }
    mesh_close(&read);
}

#if KD_HAVE_ASSIMP
static int compare_triangles(const void *a, const void *b) {
    const float *x = (const float *)a, *y = (const float *)b;
    for (int i = 0; i < 9; ++i) {
        const long u = lrintf(x[i] * 1024), v = lrintf(y[i] * 1024);
        if (u != v) return u < v ? -1 : 1;
    }
    return 0;
}

/* Returns the triangles in an order independent of the reader: sorted, smallest corner first. */
static float *triangles_sorted(const mesh *mesh) {
    float *sorted = (float *)malloc(mesh->triangle_count * 9 * sizeof(float));
    assert_non_null(sorted);
    for (uint32_t t = 0; t < mesh->triangle_count; ++t) {
        float turns[3][9];
        for (uint32_t turn = 0; turn < 3; ++turn)
            for (uint32_t k = 0; k < 3; ++k) {
                const vec3 p = corner(mesh, t, (turn + k) % 3);
                memcpy(turns[turn] + 3 * k, &p, sizeof p);
            }
        qsort(turns, 3, sizeof turns[0], compare_triangles);
        memcpy(sorted + 9 * (size_t)t, turns[0], sizeof turns[0]);
    }
    qsort(sorted, mesh->triangle_count, 9 * sizeof(float), compare_triangles);
    return sorted;
}

static void test_result_matches_assimp(void **state) {
    (void)state;
    static gltf_maker made;
    /* files without references, because kandela-import may open no other file */
    static const char *const names[] = {"box.glb", "nodes.glb", "inside.gltf"};
    add_box(&made);
    gltf_write_glb("box.glb", &made, ONE_NODE BOX_PRIMITIVE);
    gltf_write_glb("nodes.glb", &made, NODES BOX_PRIMITIVE);
    gltf_write_inside("inside.gltf", &made, ONE_NODE BOX_PRIMITIVE);
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
        mesh kd_mesh = load(names[i]), peer_mesh;
        if (assimp_load(&peer_mesh, file_in(names[i]), NULL, NULL) != KD_OK)
            fail_msg("%s", kd_last_error());
        assert_int_equal(kd_mesh.triangle_count, peer_mesh.triangle_count);
        float *a = triangles_sorted(&kd_mesh), *b = triangles_sorted(&peer_mesh);
        for (size_t k = 0; k < 9 * (size_t)kd_mesh.triangle_count; ++k)
            assert_true(fabsf(a[k] - b[k]) < 1e-4f);
        free(a);
        free(b);
        mesh_close(&kd_mesh);
        mesh_close(&peer_mesh);
    }
}
#endif

/* A chain of nodes too deep for a recursive reader. */
static void test_deep_node_chain(void **state) {
    (void)state;
    enum { DEEP = 8000 };
    static gltf_maker made;
    char *text = (char *)malloc(DEEP * 64);
    assert_non_null(text);
    add_box(&made);
    strcpy(text, "\"scenes\":[{\"nodes\":[0]}],\"nodes\":[");
    size_t used = strlen(text);
    for (int i = 0; i < DEEP; ++i)
        used += (size_t)sprintf(text + used, "{\"translation\":[0,0,1],\"children\":[%d]},", i + 1);
    strcpy(text + used, "{\"mesh\":0}]," BOX_PRIMITIVE);
    gltf_write_glb("deep.glb", &made, text);
    mesh read = load("deep.glb");
    assert_int_equal(read.triangle_count, 12);
    assert_true(read.positions[0].z >= DEEP);
    mesh_close(&read);
    free(text);
}

/* --- skins and morph targets ------------------------------------------------------------------ */

/* A skin with two joints, one of which is 2 higher than in the bind pose. The transform of the
   mesh's node, a large translation, must be ignored. */
static void test_skins_follow_joint_transforms(void **state) {
    (void)state;
    static gltf_maker made;
    uint8_t joints[8][4] = {{0}};
    float weights[8][4] = {{0}};
    float inverse[2][16] = {{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1},
                            {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, -5, 0, 1}};
    for (int i = 0; i < 8; ++i) {
        const float high = corner_places[i][1];
        joints[i][1] = 1;
        weights[i][0] = 1 - 0.5f * high; /* half the weight of the upper corners, scaled by 3 */
        weights[i][1] = 0.5f * high;
        for (int k = 0; k < 2; ++k) weights[i][k] *= high > 0 ? 3 : 1;
    }
    add_box(&made);
    gltf_put(&made, joints, GLTF_UBYTE, 4, 8, "");
    gltf_put(&made, weights, GLTF_FLOAT, 4, 8, "");
    const int view = gltf_put_view(&made, inverse, sizeof inverse, 0);
    gltf_put_accessor(&made, view, 0, GLTF_FLOAT, 2, "MAT4", "");
    gltf_write_glb("skin.glb", &made,
                   "\"scenes\":[{\"nodes\":[0,1]}],\"nodes\":[{\"mesh\":0,\"skin\":0,"
                   "\"translation\":[99,0,0]},{\"children\":[2]},{\"translation\":[0,7,0]}],"
                   "\"skins\":[{\"joints\":[1,2],\"inverseBindMatrices\":6}]," PRIMITIVE(
                       "\"attributes\":{\"POSITION\":0,\"JOINTS_0\":4,\"WEIGHTS_0\":5},"
                       "\"indices\":3"));
    mesh read = load("skin.glb");
    vec3 low = vec3_all(1e9f), high = vec3_all(-1e9f);
    for (uint32_t i = 0; i < read.position_count; ++i) {
        low = vec3_min(low, read.positions[i]);
        high = vec3_max(high, read.positions[i]);
    }
    assert_true(vec3_length(vec3_sub(low, vec3_all(0))) < 1e-5f);
    assert_true(vec3_length(vec3_sub(high, vec3_make(1, 2, 1))) < 1e-5f); /* 1 + half of 2 */
    mesh_close(&read);
}

static void test_morph_targets_use_default_weights(void **state) {
    (void)state;
    static gltf_maker made;
    float moves[8][3] = {{0}};
    for (int i = 0; i < 8; ++i) moves[i][2] = corner_places[i][2];
    add_box(&made);
    gltf_put(&made, moves, GLTF_FLOAT, 3, 8, "");
    gltf_write_glb("morph.glb", &made,
                   ONE_NODE "\"meshes\":[{\"weights\":[0,3],\"primitives\":[{\"attributes\":{"
                            "\"POSITION\":0},\"indices\":3,\"targets\":[{\"POSITION\":0},"
                            "{\"POSITION\":4}]}]}]");
    mesh read = load("morph.glb");
    float high = 0;
    for (uint32_t i = 0; i < read.position_count; ++i) high = float_max(high, read.positions[i].z);
    assert_true(high == 4);
    mesh_close(&read);
}

/* Surfaces of one colour that only emit are the only lights of a model; others get the default. */
static void test_emissive_only_model_gets_no_other_light(void **state) {
    (void)state;
    static gltf_maker made;
    kd_render_options options;
    scene *opened = NULL;
    static const char *const further[][2] = {
        {"", ""},
        {",\"emissiveTexture\":{\"index\":0}", ""},
        {"},{", "},{\"attributes\":{\"POSITION\":0},\"indices\":3,\"material\":1"}};
    kd_render_options_default(&options);
    file_put_text("white.ppm", "P1 1 1 0\n");
    for (int i = 0; i < 3; ++i) {
        char text[720];
        add_box(&made);
        snprintf(text, sizeof text,
                 ONE_NODE "\"materials\":[{\"emissiveFactor\":[1,1,1],\"pbrMetallicRoughness\":"
                          "{\"baseColorFactor\":[0,0,0,1]}%s}],\"textures\":[{\"source\":0}],"
                          "\"images\":[{\"uri\":\"white.ppm\"}]," PRIMITIVE(
                              "\"attributes\":{\"POSITION\":0,\"TEXCOORD_0\":2},\"indices\":3,"
                              "\"material\":0%s"),
                 further[i][0], further[i][1]);
        gltf_write_glb("nodes.glb", &made, text);
        assert_int_equal(scene_open(&opened, file_in("nodes.glb"), &options, NULL), KD_OK);
        const scene_view view = scene_get_view(opened);
        assert_int_equal(view.light_count, 12 + (i > 0));
        assert_int_equal(view.environment.light != KD_NONE, i > 0);
        scene_close(opened);
    }
    static const char sky[] = "#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y 1 +X 2\n"
                              "\200\200\200\203\200\200\200\203";
    char path[256];
    file_put("sky.hdr", sky, sizeof sky - 1);
    snprintf(path, sizeof path, "%s", file_in("sky.hdr"));
    assert_int_equal(scene_open_lit(&opened, file_in("nodes.glb"), path, &options, NULL), KD_OK);
    const scene_view view = scene_get_view(opened);
    assert_true(view.light_count == 13 && view.lights[view.environment.light].emitted.x == 1);
    assert_int_equal(view.environment.width, 2);
    scene_close(opened);
}

/* --- cameras and lights ----------------------------------------------------------------------- */

#define STAGE                                                                                      \
    "\"scenes\":[{\"nodes\":[0,1,2,3,4]}],\"nodes\":[{\"mesh\":0},"                                \
    "{\"name\":\"side\",\"camera\":0,\"translation\":[3,4,5],"                                     \
    "\"rotation\":[0,0.70710678,0,0.70710678]},"                                                   \
    "{\"name\":\"front\",\"camera\":1,\"translation\":[0,0,9]},"                                   \
    "{\"extensions\":{\"KHR_lights_punctual\":{\"light\":0}},\"translation\":[1,2,3]},"            \
    "{\"extensions\":{\"KHR_lights_punctual\":{\"light\":1}},\"rotation\":[-0.70710678,0,0,"       \
    "0.70710678]}],"                                                                               \
    "\"cameras\":[{\"type\":\"perspective\",\"perspective\":{\"yfov\":0.5,\"znear\":0.1}},"        \
    "{\"type\":\"perspective\",\"perspective\":{\"yfov\":1,\"znear\":0.1}}],"                      \
    "\"extensions\":{\"KHR_lights_punctual\":{\"lights\":["                                        \
    "{\"type\":\"spot\",\"intensity\":683,\"color\":[1,0.5,0],\"spot\":{\"innerConeAngle\":0.1,"   \
    "\"outerConeAngle\":0.2}},{\"type\":\"directional\",\"intensity\":3}]}},"

static void test_camera_and_light_node_transforms(void **state) {
    (void)state;
    static gltf_maker made;
    add_box(&made);
    gltf_write_glb("stage.glb", &made, STAGE BOX_PRIMITIVE);
    mesh read = load("stage.glb");
    assert_int_equal(read.camera_count, 2);
    assert_int_equal(read.light_count, 2);
    const camera *side = &read.cameras[0].view;
    assert_string_equal(read.cameras[0].name, "side");
    assert_true(side->eye.x == 3 && side->eye.y == 4 && side->eye.z == 5);
    assert_true(fabsf(side->look_at.x - 2) < 1e-5f && fabsf(side->look_at.z - 5) < 1e-5f);
    assert_true(fabsf(side->fov_degrees - 28.6479f) < 1e-3f);
    const light *spot = &read.lights[0], *sun = &read.lights[1];
    assert_true(spot->kind == LIGHT_SPOT && spot->position.y == 2 && spot->direction.z == -1);
    assert_true(spot->emitted.x == 683 && spot->emitted.y == 341.5f && spot->emitted.z == 0);
    assert_true(fabsf(spot->cos_outer - cosf(0.2f)) < 1e-6f);
    assert_true(sun->kind == LIGHT_DIRECTIONAL && fabsf(sun->direction.y + 1) < 1e-5f);
    assert_true(sun->emitted.x == 3);
    mesh_close(&read);
    scene *opened = NULL;
    kd_render_options options;
    camera view;
    kd_render_options_default(&options);
    assert_int_equal(scene_open(&opened, file_in("stage.glb"), &options, NULL), KD_OK);
    assert_int_equal(scene_get_view(opened).light_count, 2);
    assert_true(scene_camera(opened).eye.x == 3 && !scene_camera_is_default(opened));
    assert_int_equal(scene_find_camera(opened, "front", &view), KD_OK);
    assert_true(view.eye.z == 9);
    assert_int_equal(scene_find_camera(opened, "1", &view), KD_OK);
    assert_true(view.eye.z == 9);
    assert_int_equal(scene_find_camera(opened, "rear", &view), KD_ERROR_USAGE);
    assert_non_null(strstr(kd_last_error(), "0 (side), 1 (front)"));
    scene_close(opened);
}

/* Blender's exporter multiplies watts by 683; the importer divides by it. */
static void test_blender_lights_are_converted_to_watts(void **state) {
    (void)state;
    static gltf_maker made;
    add_box(&made);
    gltf_text_make(gltf_text_buffer, &made, STAGE BOX_PRIMITIVE, "");
    char *version = strstr(gltf_text_buffer, "\"version\":\"2.0\"");
    const char *said = "\"generator\":\"Khronos glTF Blender I/O v5.0\",";
    memmove(version + strlen(said), version, strlen(version) + 1);
    memcpy(version, said, strlen(said));
    static unsigned char whole[GLTF_TEXT];
    file_put("blender.glb", (const char *)whole,
             glb_make(whole, gltf_text_buffer, made.bin, made.bytes));
    mesh read = load("blender.glb");
    assert_true(fabsf(read.lights[0].emitted.x - 1) < 1e-6f);
    mesh_close(&read);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_file_form_gives_the_same_scene),
        cmocka_unit_test(test_result_is_independent_of_threads),
        cmocka_unit_test(test_indices_of_every_width),
        cmocka_unit_test(test_component_types_and_strides),
        cmocka_unit_test(test_strips_and_fans),
        cmocka_unit_test(test_node_transforms),
#if KD_HAVE_ASSIMP
        cmocka_unit_test(test_result_matches_assimp),
#endif
        cmocka_unit_test(test_deep_node_chain),
        cmocka_unit_test(test_skins_follow_joint_transforms),
        cmocka_unit_test(test_morph_targets_use_default_weights),
        cmocka_unit_test(test_emissive_only_model_gets_no_other_light),
        cmocka_unit_test(test_camera_and_light_node_transforms),
        cmocka_unit_test(test_blender_lights_are_converted_to_watts),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
