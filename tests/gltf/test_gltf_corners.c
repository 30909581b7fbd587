/* scenes/import/gltf.h: vertex attributes besides positions and normals (tangents, a second set of
   texture coordinates), orthographic cameras, Blender's units, unsupported features. */
#include "shaders/surface.h"
/* included before the types `scene` and `mesh`, because parameters of the header above have those
   names */
#include "core/memory.h"
#include "scenes/assembly/scene.h"
#include "scenes/import/gltf.h"
#include "tests/gltf/gltf_files.h"
#include <math.h>
#include <stb/stb_image_write.h>

/* A quad in the plane z = 0, u along x and v along y, with tangents at 30 degrees to x and a
   reversed second set of texture coordinates. Two nodes share it; the second is rotated by a
   quarter turn about z. */
#define QUAD                                                                                       \
    "\"scenes\":[{\"nodes\":[0,1]}],\"nodes\":[{\"mesh\":0},{\"mesh\":0,\"translation\":[5,0,0],"  \
    "\"rotation\":[0,0,0.70710678,0.70710678]}],"                                                  \
    "\"textures\":[{\"source\":0}],\"images\":[{\"uri\":\"halves.png\"}],"                         \
    "\"materials\":[{%s}],"                                                                        \
    "\"meshes\":[{\"primitives\":[{\"attributes\":{\"POSITION\":0,\"NORMAL\":1,\"TEXCOORD_0\":2,"  \
    "\"TEXCOORD_1\":3,\"TANGENT\":4},\"indices\":5,\"material\":0}]}]"

static void quad_write(const char *name, const char *material_text, float side) {
    static const float places[4][3] = {{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1, 0}};
    static const uint16_t indices[6] = {0, 1, 2, 0, 2, 3};
    static gltf_maker made;
    static char text[4096];
    float normals[4][3], first[4][2], second[4][2], tangents[4][4];
    memset(&made, 0, sizeof made);
    for (int i = 0; i < 4; ++i) {
        normals[i][0] = normals[i][1] = 0;
        normals[i][2] = 1;
        first[i][0] = places[i][0];
        first[i][1] = 1 - places[i][1];
        second[i][0] = 1 - places[i][0];
        second[i][1] = places[i][1];
        tangents[i][0] = 0.8660254f;
        tangents[i][1] = 0.5f;
        tangents[i][2] = 0;
        tangents[i][3] = side;
    }
    gltf_put(&made, places, GLTF_FLOAT, 3, 4, "");
    gltf_put(&made, normals, GLTF_FLOAT, 3, 4, "");
    gltf_put(&made, first, GLTF_FLOAT, 2, 4, "");
    gltf_put(&made, second, GLTF_FLOAT, 2, 4, "");
    gltf_put(&made, tangents, GLTF_FLOAT, 4, 4, "");
    gltf_put(&made, indices, GLTF_USHORT, 1, 6, "");
    snprintf(text, sizeof text, QUAD, material_text);
    gltf_write_glb(name, &made, text);
}

static scene *scene_of(const char *name, bool placed) {
    kd_render_options options;
    scene *opened = NULL;
    kd_render_options_default(&options);
    const kd_status status =
        placed ? scene_open_instanced(&opened, file_in(name), NULL, &options, NULL)
               : scene_open(&opened, file_in(name), &options, NULL);
    if (status != KD_OK) fail_msg("%s", kd_last_error());
    return opened;
}

#define EXPECT_DIRECTION(direction, a, b, c)                                                       \
    assert_true(fabsf((direction).x - (a)) < 1e-5f && fabsf((direction).y - (b)) < 1e-5f &&        \
                fabsf((direction).z - (c)) < 1e-5f)

static void test_file_tangents_orient_anisotropy(void **state) {
    (void)state;
    for (int side = -1; side <= 1; side += 2)
        for (int placed = 0; placed < 2; ++placed) {
            quad_write("tangents.glb",
                       "\"pbrMetallicRoughness\":{\"roughnessFactor\":0.5},\"extensions\":{"
                       "\"KHR_materials_anisotropy\":{\"anisotropyStrength\":0.5}}",
                       (float)side);
            scene *opened = scene_of("tangents.glb", placed == 1);
            const scene_view view = scene_get_view(opened);
            assert_non_null(view.mesh.tangents);
            for (uint32_t k = 0; k < 2; ++k) {
                frame3 axes;
                const uint32_t first = placed ? view.instances.shapes[0].first : 2 * k;
                const ray_hit hit = {.triangle = first, .u = 0.25f, .v = 0.5f};
                assert_true(surface_texture_frame(&view, KD_NONE, hit, placed ? k : KD_NONE,
                                                  vec3_make(0, 0, 1), &axes));
                const float c = 0.8660254f, s = 0.5f, up = (float)side;
                if (k == 0) {
                    EXPECT_DIRECTION(axes.tangent, c, s, 0);
                    EXPECT_DIRECTION(axes.bitangent, -s * up, c * up, 0);
                } else {
                    EXPECT_DIRECTION(axes.tangent, -s, c, 0);
                    EXPECT_DIRECTION(axes.bitangent, -c * up, -s * up, 0);
                }
            }
            scene_close(opened);
        }
    /* no texture uses the tangents, so they are dropped */
    quad_write("plain.glb", "\"name\":\"plain\"", 1);
    mesh read = load("plain.glb");
    assert_null(read.tangents);
    mesh_close(&read);
}

static void halves_take(void *context, void *bytes, int count) {
    fwrite(bytes, 1, (size_t)count, (FILE *)context);
}

static void test_two_texture_coordinate_sets(void **state) {
    (void)state;
    static const uint8_t texels[8] = {255, 0, 0, 255, 0, 0, 255, 255}; /* red, blue */
    FILE *file = fopen(file_in("halves.png"), "wb");
    assert_true(file && stbi_write_png_to_func(halves_take, file, 2, 1, 4, texels, 8));
    fclose(file);
    quad_write("two.glb",
               "\"pbrMetallicRoughness\":{\"baseColorTexture\":{\"index\":0}},"
               "\"emissiveFactor\":[1,1,1],\"emissiveTexture\":{\"index\":0,\"texCoord\":1}",
               1);
    mesh read = load("two.glb");
    assert_non_null(read.texcoords_second);
    assert_true(!read.materials[0].forms[MESH_MAP_DIFFUSE].second &&
                read.materials[0].forms[MESH_MAP_EMISSION].second);
    mesh_close(&read);
    scene *opened = scene_of("two.glb", false);
    const scene_view view = scene_get_view(opened);
    const ray down = ray_make(vec3_make(0.2f, 0.1f, 1), vec3_make(0, 0, -1), 0, INFINITY);
    const ray_hit hit = {.triangle = 0, .u = 0.1f, .v = 0.1f, .t = 1};
    const surface at = surface_at(&view, &down, hit);
    assert_true(at.diffuse.x > 0.8f && at.diffuse.z < 0.2f); /* left: red */
    assert_true(at.emission.x < 0.2f &&
                at.emission.z > 0.8f); /* by the second set of coordinates: blue */
    scene_close(opened);
    quad_write("three.glb",
               "\"pbrMetallicRoughness\":{\"baseColorTexture\":{\"index\":0},"
               "\"metallicRoughnessTexture\":{\"index\":0,\"texCoord\":1}},"
               "\"emissiveTexture\":{\"index\":0,\"texCoord\":2}",
               1);
    reported_problems problems = {.count = 0};
    const obj_options options = {.problem = on_problem, .context = &problems};
    assert_int_equal(gltf_load(&read, file_in("three.glb"), &options, NULL), KD_OK);
    assert_int_equal(problems.count, 1);
    assert_non_null(strstr(problems.messages[0],
                           "found TEXCOORD_2, but other maps of the material use "
                           "TEXCOORD_0 and TEXCOORD_1; it is ignored"));
    mesh_close(&read);
}

/* The contents of a map: 'r', 'g' or 'a' one channel, 'c' a colour, 'd' three numbers; '-':
   ignored. */
static const struct {
    const char *text;
    /* offset of the texture index in the layers, or in the record if it belongs to no layer */
    size_t at;
    bool of_record;
    char channel;
} channels[] = {
#define IMAGE "\":{\"index\":0}"
#define EXTENSION(name, rest) "\"extensions\":{\"KHR_materials_" name "\":{\"" rest IMAGE "}}"
    {"\"emissiveFactor\":[1,1,1],\"emissiveTexture" IMAGE, offsetof(material, emission_map), true,
     'c'},
    {"\"normalTexture" IMAGE, offsetof(material, normal_map), true, 'd'},
    /* ignored: path tracing computes occlusion itself */
    {"\"occlusionTexture" IMAGE, 0, true, '-'},
    {EXTENSION("clearcoat", "clearcoatFactor\":1,\"clearcoatTexture"),
     offsetof(principled, coat_map), false, 'r'},
    {EXTENSION("clearcoat", "clearcoatFactor\":1,\"clearcoatRoughnessTexture"),
     offsetof(principled, coat_roughness_map), false, 'g'},
    {EXTENSION("clearcoat", "clearcoatFactor\":1,\"clearcoatNormalTexture"),
     offsetof(principled, coat_normal_map), false, 'd'},
    {EXTENSION("specular", "specularTexture"), offsetof(principled, specular_map), false, 'a'},
    {EXTENSION("specular", "specularColorTexture"), offsetof(principled, specular_tint_map), false,
     'c'},
    {EXTENSION("sheen", "sheenColorFactor\":[1,1,1],\"sheenColorTexture"),
     offsetof(principled, sheen_map), false, 'c'},
    {EXTENSION("sheen", "sheenColorFactor\":[1,1,1],\"sheenRoughnessTexture"),
     offsetof(principled, sheen_roughness_map), false, 'a'},
    {EXTENSION("transmission", "transmissionFactor\":1,\"transmissionTexture"),
     offsetof(principled, transmission_map), false, 'r'},
    {EXTENSION("anisotropy", "anisotropyStrength\":1,\"anisotropyTexture"),
     offsetof(principled, anisotropy_map), false, 'd'},
};

static void test_layer_textures_read_their_channels(void **state) {
    (void)state;
    static const uint8_t texels[8] = {255, 0, 0, 102, 0, 255, 255, 255};
    FILE *file = fopen(file_in("halves.png"), "wb");
    assert_true(file && stbi_write_png_to_func(halves_take, file, 2, 1, 4, texels, 8));
    fclose(file);
    quad_write("layered.glb", "", 1);
    scene *plain = scene_of("layered.glb", false);
    const uint32_t sky_textures = scene_get_view(plain).texture_count; /* the sky's textures */
    scene_close(plain);
    for (size_t i = 0; i < sizeof channels / sizeof *channels; ++i) {
        const char how = channels[i].channel;
        quad_write("layered.glb", channels[i].text, 1);
        scene *opened = scene_of("layered.glb", false);
        const scene_view view = scene_get_view(opened);
        const uint32_t material = view.mesh.triangle_materials[0];
        if (how == '-') assert_int_equal(view.texture_count, sky_textures);
        if (how != '-') {
            const char *record = channels[i].of_record ? (const char *)&view.materials[material]
                                                       : (const char *)&view.layers[material];
            uint32_t map;
            memcpy(&map, record + channels[i].at, sizeof map);
            assert_true(map < view.texture_count);
            const vec3 left = texture_sample(view.textures + map, vec2_make(0.25f, 0.5f));
            const bool wide = how == 'c' || how == 'd';
            assert_true(fabsf(left.x - (how == 'a' ? 0.4f : how == 'g' ? 0 : 1)) < 1e-6f);
            assert_true(fabsf(left.y - (wide ? 0 : left.x)) < 1e-6f);
            assert_int_equal(view.textures[map].srgb, how == 'c');
        }
        scene_close(opened);
    }
    quad_write("scaled.glb", "\"normalTexture\":{\"index\":0,\"scale\":0.5}", 1);
    mesh read = load("scaled.glb");
    assert_true(read.materials[0].layers.normal_scale == 0.5f);
    mesh_close(&read);
}

/* Rays of an orthographic camera are parallel, and the camera's height sets their spacing. */
static void test_orthographic_cameras(void **state) {
    (void)state;
    static gltf_maker made;
    add_box(&made);
    gltf_write_glb(
        "parallel.glb", &made,
        "\"scenes\":[{\"nodes\":[0,1]}],\"nodes\":[{\"mesh\":0},{\"camera\":0,"
        "\"translation\":[0,0,9]}],\"cameras\":[{\"type\":\"orthographic\","
        "\"orthographic\":{\"xmag\":3,\"ymag\":2,\"znear\":0,\"zfar\":50}}]," BOX_PRIMITIVE);
    scene *opened = scene_of("parallel.glb", false);
    const camera view = scene_camera(opened);
    const rng_block middle = {{0.5f, 0.5f, 0, 0}};
    assert_true(view.tall == 4);
    for (int32_t y = 0; y < 8; ++y)
        for (int32_t x = 0; x < 12; ++x) {
            const ray ray = camera_ray(&view, 12, 8, x, y, middle);
            EXPECT_DIRECTION(ray.direction, 0, 0, -1);
            EXPECT_DIRECTION(ray.origin, 0.5f * ((float)x - 5.5f), 0.5f * (3.5f - (float)y), 9);
        }
    scene_close(opened);
}

static void test_blender_anisotropy_is_converted(void **state) {
    (void)state;
    static gltf_maker made;
    static unsigned char whole[GLTF_TEXT];
    static const char said[] = "\"generator\":\"Khronos glTF Blender I/O v5.0\",";
    add_box(&made);
    gltf_text_make(gltf_text_buffer, &made,
                   ONE_NODE "\"materials\":[{\"pbrMetallicRoughness\":{\"roughnessFactor\":0.4},"
                            "\"extensions\":{\"KHR_materials_anisotropy\":{\"anisotropyStrength\":"
                            "0.8}}}]," PRIMITIVE("\"attributes\":{\"POSITION\":0},\"indices\":3,"
                                                 "\"material\":0"),
                   "");
    char *version = strstr(gltf_text_buffer, "\"version\":\"2.0\"");
    memmove(version + strlen(said), version, strlen(version) + 1);
    memcpy(version, said, strlen(said));
    file_put("blender.glb", (const char *)whole,
             glb_make(whole, gltf_text_buffer, made.bin, made.bytes));
    mesh read = load("blender.glb");
    assert_true(fabsf(read.materials[0].layers.anisotropy - 0.8f) < 1e-6f);
    assert_true(fabsf(read.materials[0].record.roughness - 0.4f) < 1e-6f);
    mesh_close(&read);
}

static void test_unsupported_extensions_are_reported(void **state) {
    (void)state;
    quad_write("film.glb",
               "\"extensions\":{\"KHR_materials_iridescence\":{\"iridescenceFactor\":1},"
               "\"KHR_materials_ior\":{\"ior\":1.4}}",
               1);
    reported_problems problems = {.count = 0};
    const obj_options options = {.problem = on_problem, .context = &problems};
    mesh read;
    assert_int_equal(gltf_load(&read, file_in("film.glb"), &options, NULL), KD_OK);
    assert_int_equal(problems.count, 1);
    assert_non_null(strstr(problems.messages[0],
                           "extensions: found KHR_materials_iridescence, which is not supported "
                           "and is ignored"));
    mesh_close(&read);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_file_tangents_orient_anisotropy),
        cmocka_unit_test(test_two_texture_coordinate_sets),
        cmocka_unit_test(test_layer_textures_read_their_channels),
        cmocka_unit_test(test_orthographic_cameras),
        cmocka_unit_test(test_blender_anisotropy_is_converted),
        cmocka_unit_test(test_unsupported_extensions_are_reported),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
