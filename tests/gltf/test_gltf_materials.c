/* scenes/import/gltf.h: the value of each material property; locations and layouts of images,
   missing images; vertex colours, opacity, media. */
#include "core/memory.h"
#include "scenes/assembly/scene.h"
#include "scenes/import/gltf.h"
#include "tests/gltf/gltf_files.h"
#include <math.h>
#include <stb/stb_image_write.h>

/* A picture of 2 x 2 texels: red, green, blue, half transparent white. */
static const uint8_t texels[16] = {255, 0, 0,   255, 0,   255, 0,   255,
                                   0,   0, 255, 255, 255, 255, 255, 127};

typedef struct png_bytes {
    unsigned char *to;
    size_t count;
} png_bytes;

static void png_take(void *context, void *bytes, int count) {
    png_bytes *taken = (png_bytes *)context;
    memcpy(taken->to + taken->count, bytes, (size_t)count);
    taken->count += (size_t)count;
}

static size_t png_make(unsigned char *to) {
    png_bytes taken = {to, 0};
    assert_true(stbi_write_png_to_func(png_take, &taken, 2, 2, 4, texels, 8));
    return taken.count;
}

/* Writes a box with this material; `rest` is further JSON at the top level (textures, images, ...)
   with a leading comma. */
static void box_of(const char *name, const char *material_text, const char *rest) {
    static gltf_maker made;
    static char text[1 << 14];
    add_box(&made);
    snprintf(text, sizeof text,
             ONE_NODE "\"materials\":[{%s}],%s" PRIMITIVE(
                 "\"attributes\":{\"POSITION\":0,\"NORMAL\":1,\"TEXCOORD_0\":2},\"indices\":3,"
                 "\"material\":0"),
             material_text, rest);
    gltf_write_glb(name, &made, text);
}

#define NEAR(a, b) assert_true(fabs((double)(a) - (double)(b)) < 1e-6 * (1 + fabs((double)(b))))

static void test_material_factors(void **state) {
    (void)state;
    box_of("factors.glb",
           "\"name\":\"paint\",\"pbrMetallicRoughness\":{\"baseColorFactor\":[0.1,0.2,0.3,0.5],"
           "\"metallicFactor\":0.25,\"roughnessFactor\":0.75},\"emissiveFactor\":[1,0.5,0],"
           "\"doubleSided\":true,\"extensions\":{\"KHR_materials_emissive_strength\":{"
           "\"emissiveStrength\":4},\"KHR_materials_ior\":{\"ior\":1.8}}",
           "");
    mesh read = load("factors.glb");
    const mesh_material *made = &read.materials[read.triangle_materials[0]];
    assert_string_equal(made->name, "paint");
    assert_int_equal(made->record.kind, MATERIAL_PRINCIPLED);
    NEAR(made->record.diffuse.z, 0.3);
    NEAR(made->record.metallic, 0.25);
    NEAR(made->record.roughness, 0.75);
    NEAR(made->record.emission.x, 4);
    NEAR(made->record.emission.y, 2);
    NEAR(made->record.ior, 1.8);
    NEAR(made->record.opacity, 1); /* because of alphaMode OPAQUE */
    assert_int_equal(made->record.two_sided, 1);
    mesh_close(&read);
    box_of("plain.glb", "", "");
    read = load("plain.glb");
    NEAR(read.materials[0].record.metallic, 1); /* the defaults of glTF */
    NEAR(read.materials[0].record.roughness, 1);
    mesh_close(&read);
}

static void test_layer_factors(void **state) {
    (void)state;
    box_of("layers.glb",
           "\"extensions\":{\"KHR_materials_clearcoat\":{\"clearcoatFactor\":0.5,"
           "\"clearcoatRoughnessFactor\":0.25},\"KHR_materials_specular\":{\"specularFactor\":0.75,"
           "\"specularColorFactor\":[1,0.5,0.25]},\"KHR_materials_sheen\":{\"sheenColorFactor\":["
           "0.1,0.2,0.3],\"sheenRoughnessFactor\":0.6},\"KHR_materials_transmission\":{"
           "\"transmissionFactor\":0.9},\"KHR_materials_volume\":{\"thicknessFactor\":1,"
           "\"attenuationDistance\":2,\"attenuationColor\":[0.25,0.5,1]},"
           "\"KHR_materials_ior\":{\"ior\":1.5},\"KHR_materials_dispersion\":{\"dispersion\":0.3}}",
           "");
    mesh read = load("layers.glb");
    const mesh_material *made = &read.materials[0];
    assert_int_equal(made->record.kind, MATERIAL_PRINCIPLED);
    NEAR(made->layers.coat, 0.5);
    NEAR(made->layers.coat_roughness, 0.25);
    NEAR(made->layers.specular, 0.75);
    NEAR(made->layers.specular_tint.y, 0.5);
    NEAR(made->layers.sheen.z, 0.3);
    NEAR(made->layers.sheen_roughness, 0.6);
    NEAR(made->layers.transmission, 0.9);
    assert_int_equal(made->record.flags & MATERIAL_THIN, 0); /* not thin, because it has a volume */
    assert_false(made->may_be_glass);
    assert_int_equal(read.medium_count, 1);
    assert_int_equal(made->record.medium, 0);
    NEAR(read.media[0].absorption.x, -log(0.25) / 2);
    NEAR(read.media[0].absorption.z, 0);
    /* the indices at the lines F, d and C have the Abbe number 20 / 0.3 */
    const float *terms = made->record.index_terms;
    const double f = 0.4861327, d = 0.5875618, c = 0.6562725;
    const double nf = (double)terms[0] + (double)terms[1] / (f * f);
    const double nd = (double)terms[0] + (double)terms[1] / (d * d);
    const double nc = (double)terms[0] + (double)terms[1] / (c * c);
    assert_int_equal(made->record.dispersion, DISPERSION_CAUCHY);
    NEAR(nd, 1.5);
    assert_true(fabs((nd - 1) / (nf - nc) - 20 / 0.3) < 0.01);
    mesh_close(&read);
    box_of("thin.glb", "\"extensions\":{\"KHR_materials_transmission\":{\"transmissionFactor\":1}}",
           "");
    read = load("thin.glb");
    assert_int_equal(read.materials[0].record.flags & MATERIAL_THIN, MATERIAL_THIN);
    assert_true(read.materials[0].may_be_glass);
    mesh_close(&read);
    scene *made_of = NULL;
    kd_render_options options;
    kd_render_options_default(&options);
    assert_int_equal(scene_open(&made_of, file_in("thin.glb"), &options, NULL), KD_OK);
    assert_int_equal(scene_get_view(made_of).materials[0].flags & MATERIAL_THIN, MATERIAL_THIN);
    assert_int_equal(scene_take_glass(made_of), KD_OK);
    assert_int_equal(scene_get_view(made_of).materials[0].flags & MATERIAL_THIN, 0);
    scene_close(made_of);
}

/* The roughnesses along and across the tangent are as glTF defines them. */
static void test_anisotropic_roughness(void **state) {
    (void)state;
    box_of("brushed.glb",
           "\"pbrMetallicRoughness\":{\"roughnessFactor\":0.5},\"extensions\":{"
           "\"KHR_materials_anisotropy\":{\"anisotropyStrength\":0.6,\"anisotropyRotation\":1}}",
           "");
    mesh read = load("brushed.glb");
    const mesh_material *made = &read.materials[0];
    const double alpha = (double)made->record.roughness * (double)made->record.roughness;
    const double a = sqrt(1 - 0.9 * (double)made->layers.anisotropy);
    NEAR(alpha * a, 0.25);
    NEAR(alpha / a, 0.25 + 0.75 * 0.36);
    NEAR(made->layers.turn, 1);
    mesh_close(&read);
}

static void test_alpha_modes(void **state) {
    (void)state;
    static const struct {
        const char *text;
        double opacity;
        int flags;
    } rows[] = {{"\"alphaMode\":\"OPAQUE\"", 1, 0},
                {"\"alphaMode\":\"BLEND\"", 0.4, 0},
                {"\"alphaMode\":\"MASK\"", 0.4, MATERIAL_MASK},
                {"\"alphaMode\":\"MASK\",\"alphaCutoff\":0.25", 0.8, MATERIAL_MASK}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        char text[256];
        snprintf(text, sizeof text, "\"pbrMetallicRoughness\":{\"baseColorFactor\":[1,1,1,0.4]},%s",
                 rows[i].text);
        box_of("alpha.glb", text, "");
        mesh read = load("alpha.glb");
        NEAR(read.materials[0].record.opacity, rows[i].opacity);
        assert_int_equal(read.materials[0].record.flags, rows[i].flags);
        mesh_close(&read);
    }
}

static void test_unlit_emits_base_colour(void **state) {
    (void)state;
    box_of("unlit.glb",
           "\"pbrMetallicRoughness\":{\"baseColorFactor\":[0.2,0.4,0.6,1]},"
           "\"extensions\":{\"KHR_materials_unlit\":{}}",
           "");
    mesh read = load("unlit.glb");
    const material *made = &read.materials[0].record;
    NEAR(made->emission.y, 0.4);
    NEAR(made->diffuse.y, 0);
    assert_int_equal(made->flags, MATERIAL_UNLIT);
    mesh_close(&read);
}

/* --- images ----------------------------------------------------------------------------------- */

#define TEXTURED "\"pbrMetallicRoughness\":{\"baseColorTexture\":{\"index\":0%s}%s}"

/* Returns the texture of the box's material at (u, v) as glTF defines them, v down. */
static vec3 base_at(const scene *scene, float u, float v) {
    const scene_view view = scene_get_view(scene);
    const material *made = &view.materials[view.mesh.triangle_materials[0]];
    assert_int_not_equal(made->diffuse_map, KD_NONE);
    return texture_sample(view.textures + made->diffuse_map, vec2_make(u, 1 - v));
}

static scene *open_scene(const char *name) {
    scene *opened = NULL;
    kd_render_options options;
    kd_render_options_default(&options);
    if (scene_open(&opened, file_in(name), &options, NULL) != KD_OK)
        fail_msg("%s", kd_last_error());
    return opened;
}

/* Images in a buffer, in a data URI and in a separate file give the same texels. */
static void test_image_sources_are_equivalent(void **state) {
    (void)state;
    static gltf_maker made;
    unsigned char png[512];
    char base64[1024], rest[2048], material_text[256];
    const size_t count = png_make(png);
    file_put("a picture.png", (const char *)png, count);
    gltf_base64(base64, png, count);
    snprintf(material_text, sizeof material_text, TEXTURED, "", "");
    for (int place_kind = 0; place_kind < 3; ++place_kind) {
        add_box(&made);
        const int view = gltf_put_view(&made, png, count, 0);
        if (place_kind == 0)
            snprintf(rest, sizeof rest, "{\"bufferView\":%d,\"mimeType\":\"image/png\"}", view);
        else if (place_kind == 1)
            snprintf(rest, sizeof rest, "{\"uri\":\"data:image/png;base64,%s\"}", base64);
        else
            snprintf(rest, sizeof rest, "{\"uri\":\"a%%20picture.png\"}");
        char text[4096];
        snprintf(text, sizeof text,
                 ONE_NODE
                 "\"materials\":[{%s}],\"textures\":[{\"source\":0}],\"images\":[%s]," PRIMITIVE(
                     "\"attributes\":{\"POSITION\":0,\"NORMAL\":1,\"TEXCOORD_0\":2},"
                     "\"indices\":3,\"material\":0"),
                 material_text, rest);
        gltf_write_glb("image.glb", &made, text);
        scene *opened = open_scene("image.glb");
        const vec3 first = base_at(opened, 0.25f, 0.25f), below = base_at(opened, 0.25f, 0.75f);
        assert_true(first.x == 1 && first.y == 0 && first.z == 0);
        assert_true(below.x == 0 && below.z == 1);
        scene_close(opened);
    }
}

static const struct {
    const char *info, *sampler;
    float u, v;
    vec3 seen;
} lying[] = {
    {"", "", 0.25f, 0.25f, {1, 0, 0}},
    {",\"extensions\":{\"KHR_texture_transform\":{\"offset\":[0.5,0]}}",
     "",
     0.25f,
     0.25f,
     {0, 1, 0}},
    {",\"extensions\":{\"KHR_texture_transform\":{\"offset\":[0,0.5]}}",
     "",
     0.25f,
     0.25f,
     {0, 0, 1}},
    {",\"extensions\":{\"KHR_texture_transform\":{\"scale\":[3,1]}}", "", 0.25f, 0.25f, {0, 1, 0}},
    {",\"extensions\":{\"KHR_texture_transform\":{\"scale\":[1,3]}}", "", 0.25f, 0.25f, {0, 0, 1}},
    /* u' = v, v' = -u */
    {",\"extensions\":{\"KHR_texture_transform\":{\"rotation\":1.57079633}}",
     "",
     0.25f,
     0.25f,
     {0, 0, 1}},
    {",\"extensions\":{\"KHR_texture_transform\":{\"rotation\":1.57079633}}",
     "",
     0.75f,
     0.25f,
     {1, 0, 0}},
    {"", "\"wrapS\":10497,\"wrapT\":10497", 1.25f, 0.25f, {1, 0, 0}},
    {"", "\"wrapS\":33071,\"wrapT\":10497", 1.25f, 0.25f, {0, 1, 0}},
    {"", "\"wrapS\":33648,\"wrapT\":10497", 1.25f, 0.25f, {0, 1, 0}},
    {"", "\"wrapS\":33648,\"wrapT\":10497", 1.75f, 0.25f, {1, 0, 0}},
    {"", "\"wrapS\":10497,\"wrapT\":33071", 0.25f, 1.25f, {0, 0, 1}},
    {"", "\"wrapS\":10497,\"wrapT\":33648", 0.25f, 1.75f, {1, 0, 0}},
};

/* Textures scaled, rotated counter-clockwise and moved: which texel appears at a corner. */
static void test_texture_transforms_and_wrap_modes(void **state) {
    (void)state;
    unsigned char png[512];
    const size_t count = png_make(png);
    file_put("four.png", (const char *)png, count);
    for (size_t i = 0; i < sizeof lying / sizeof *lying; ++i) {
        char text[512], rest[512];
        snprintf(text, sizeof text, TEXTURED, lying[i].info, "");
        snprintf(rest, sizeof rest,
                 "\"textures\":[{\"source\":0,\"sampler\":0}],\"samplers\":[{%s}],"
                 "\"images\":[{\"uri\":\"four.png\"}],",
                 lying[i].sampler);
        box_of("moved.glb", text, rest);
        scene *opened = open_scene("moved.glb");
        const vec3 seen = base_at(opened, lying[i].u, lying[i].v);
        if (vec3_length(vec3_sub(seen, lying[i].seen)) > 1e-4f)
            fail_msg("row %zu: %g %g %g", i, (double)seen.x, (double)seen.y, (double)seen.z);
        scene_close(opened);
    }
}

/* Roughness is read from green, metalness from blue, a cut-out's opacity from alpha. */
static void test_textures_read_their_channels(void **state) {
    (void)state;
    unsigned char png[512];
    file_put("four.png", (const char *)png, png_make(png));
    box_of("packed.glb",
           "\"pbrMetallicRoughness\":{\"baseColorTexture\":{\"index\":0},"
           "\"metallicRoughnessTexture\":{\"index\":0}},\"alphaMode\":\"BLEND\"",
           "\"textures\":[{\"source\":0}],\"images\":[{\"uri\":\"four.png\"}],");
    scene *opened = open_scene("packed.glb");
    const scene_view view = scene_get_view(opened);
    const material *made = &view.materials[view.mesh.triangle_materials[0]];
    const vec2 green = vec2_make(0.75f, 0.75f), blue = vec2_make(0.25f, 0.25f),
               white = vec2_make(0.75f, 0.25f);
    assert_true(texture_sample(view.textures + made->roughness_map, green).x == 1);
    assert_true(texture_sample(view.textures + made->roughness_map, blue).x == 0);
    assert_true(texture_sample(view.textures + made->metallic_map, blue).x == 1);
    assert_true(texture_sample(view.textures + made->metallic_map, green).x == 0);
    NEAR(texture_sample(view.textures + made->opacity_map, white).x, 127 / 255.0);
    scene_close(opened);
}

/* A texture that cannot be read gives one warning, and the material works without it. */
static void test_missing_texture_is_reported(void **state) {
    (void)state;
    static const struct {
        const char *rest, *kind;
    } rows[] = {
        {"\"textures\":[{\"source\":0}],\"images\":[{\"uri\":\"absent.png\"}],", "missing-texture"},
        {"\"textures\":[{\"extensions\":{\"KHR_texture_basisu\":{\"source\":0}}}],"
         "\"images\":[{\"uri\":\"a.ktx2\"}],",
         "unusable-texture"},
        {"\"textures\":[{\"source\":0,\"extensions\":{\"KHR_texture_basisu\":{\"source\":1}}}],"
         "\"images\":[{\"uri\":\"four.png\"},{\"uri\":\"a.ktx2\"}],",
         "unusable-texture"},
    };
    unsigned char png[512];
    file_put("four.png", (const char *)png, png_make(png));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        char text[256];
        snprintf(text, sizeof text, TEXTURED, "", "");
        box_of("less.glb", text, rows[i].rest);
        reported_problems problems = {.count = 0};
        obj_options options = {.problem = on_problem, .context = &problems};
        mesh read;
        assert_int_equal(gltf_load(&read, file_in("less.glb"), &options, NULL), KD_OK);
        assert_int_equal(problems.count, 1);
        assert_string_equal(problems.kinds[0], rows[i].kind);
        assert_int_equal(read.materials[0].diffuse_map != NULL, i == 2); /* the fallback image */
        mesh_close(&read);
    }
    box_of("out.glb", "\"pbrMetallicRoughness\":{\"baseColorTexture\":{\"index\":0}}",
           "\"textures\":[{\"source\":0}],\"images\":[{\"uri\":\"../../etc/passwd\"}],");
    mesh read;
    assert_int_equal(gltf_load(&read, file_in("out.glb"), NULL, NULL), KD_ERROR_INPUT);
    assert_non_null(strstr(kd_last_error(), "images[0].uri: found \"../../etc/passwd\""));
}

/* --- vertex colours --------------------------------------------------------------------------- */

static void test_vertex_colours_of_every_type(void **state) {
    (void)state;
    static const float floats[3][4] = {{1, 0.5f, 0.25f, 0.5f}, {0, 1, 0, 1}, {0, 0, 1, 1}};
    static const uint8_t bytes[3][4] = {{255, 51, 0, 102}, {0, 255, 0, 255}, {0, 0, 255, 255}};
    static const uint16_t words[3][4] = {
        {65535, 13107, 0, 26214}, {0, 65535, 0, 65535}, {0, 0, 65535, 65535}};
    static const float plain[3][3] = {{0.5f, 1, 1}, {1, 1, 1}, {1, 1, 1}};
    static const float expected[4][4] = {
        {1, 0.5f, 0.25f, 0.5f}, {1, 0.2f, 0, 0.4f}, {1, 0.2f, 0, 0.4f}, {0.5f, 1, 1, 1}};
    for (int i = 0; i < 8; ++i) {
        static gltf_maker made;
        char text[512];
        memset(&made, 0, sizeof made);
        gltf_put(&made, corner_places, GLTF_FLOAT, 3, 3, "");
        if (i % 4 == 0) gltf_put(&made, floats, GLTF_FLOAT, 4, 3, "");
        if (i % 4 == 1) gltf_put(&made, bytes, GLTF_UBYTE, 4, 3, ",\"normalized\":true");
        if (i % 4 == 2) gltf_put(&made, words, GLTF_USHORT, 4, 3, ",\"normalized\":true");
        if (i % 4 == 3) gltf_put(&made, plain, GLTF_FLOAT, 3, 3, "");
        snprintf(text, sizeof text,
                 ONE_NODE "\"materials\":[{\"alphaMode\":\"%s\"}]," PRIMITIVE(
                     "\"attributes\":{\"POSITION\":0,\"COLOR_0\":1},\"material\":0"),
                 i < 4 ? "BLEND" : "OPAQUE");
        gltf_write_glb("colours.glb", &made, text);
        mesh read = load("colours.glb");
        assert_non_null(read.colours);
        for (int k = 0; k < 4; ++k)
            NEAR(read.colours[k], i >= 4 && k == 3 ? 1 : expected[i % 4][k]);
        mesh_close(&read);
    }
}

/* A glTF file in a scene description: each picture is read once, and each placement has its own
   media and colours. */
static void test_gltf_in_scene_description(void **state) {
    (void)state;
    static gltf_maker made;
    static const float colours[8][3] = {{0.5f, 0.5f, 0.5f}};
    unsigned char png[512];
    char text[2048];
    add_box(&made);
    gltf_put(&made, colours, GLTF_FLOAT, 3, 8, "");
    const int view = gltf_put_view(&made, png, png_make(png), 0);
    snprintf(text, sizeof text,
             ONE_NODE
             "\"textures\":[{\"source\":0}],\"images\":[{\"bufferView\":%d}],\"materials\":[{"
             "\"pbrMetallicRoughness\":{\"baseColorTexture\":{\"index\":0}},\"extensions\":{"
             "\"KHR_materials_transmission\":{\"transmissionFactor\":1},\"KHR_materials_volume\":{"
             "\"thicknessFactor\":1,\"attenuationDistance\":1,\"attenuationColor\":[0.5,1,1]}}}]"
             "," PRIMITIVE("\"attributes\":{\"POSITION\":0,\"TEXCOORD_0\":2,\"COLOR_0\":4},"
                           "\"indices\":3,\"material\":0"),
             view);
    gltf_write_glb("jar.glb", &made, text);
    file_put_text("two.json", "{\"kandela\":1,\"media\":{\"smoke\":{\"scattering\":1}},\"meshes\":["
                              "{\"quad\":[[0,0,0],[1,0,0],[1,1,0],[0,1,0]]},{\"file\":\"jar.glb\"},"
                              "{\"file\":\"jar.glb\",\"transform\":[{\"translate\":[5,0,0]}]},"
                              "{\"quad\":[[0,0,9],[1,0,9],[1,1,9],[0,1,9]]}]}");
    scene *opened = open_scene("two.json");
    const scene_view whole = scene_get_view(opened);
    assert_int_equal(whole.medium_count, 3);
    assert_int_equal(whole.mesh.triangle_count, 28);
    assert_non_null(whole.mesh.colours);
    assert_int_equal(whole.mesh.texcoord_count, 4 + 8 + 8 + 4);
    assert_true(whole.mesh.colours[0] == 1 && whole.mesh.colours[4 * 23] == 1);
    assert_true(whole.mesh.colours[4 * 4] == 0.5f && whole.mesh.colours[4 * 12] == 0.5f);
    for (uint32_t i = 0, before = 0; i < 2; ++i) {
        const material *jar = &whole.materials[whole.mesh.triangle_materials[2 + 12 * i]];
        assert_true(jar->medium > before && jar->medium < 3);
        NEAR(whole.media[jar->medium].absorption.x, log(2.0));
        assert_true(texture_sample(whole.textures + jar->diffuse_map, vec2_make(0.25f, 0.75f)).x ==
                    1);
        before = jar->medium;
    }
    scene_close(opened);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_material_factors),
        cmocka_unit_test(test_layer_factors),
        cmocka_unit_test(test_anisotropic_roughness),
        cmocka_unit_test(test_alpha_modes),
        cmocka_unit_test(test_unlit_emits_base_colour),
        cmocka_unit_test(test_image_sources_are_equivalent),
        cmocka_unit_test(test_texture_transforms_and_wrap_modes),
        cmocka_unit_test(test_textures_read_their_channels),
        cmocka_unit_test(test_missing_texture_is_reported),
        cmocka_unit_test(test_vertex_colours_of_every_type),
        cmocka_unit_test(test_gltf_in_scene_description),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
