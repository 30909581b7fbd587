/* scenes/import/gltf.h: a file is rendered as its text says, or the reader says what it ignores.
   Each row has a value from the specification: a quad, seen along its normal in front of a white
   sky, so that a pixel is the reflectance plus what passes. */
#include "core/image/image.h"
#include "core/image/picture.h"
#include "scenes/import/gltf.h"
#include "tests/gltf/gltf_files.h"
#include <kandela/render.h>
#include <math.h>
#include <stb/stb_image_write.h>

enum { SIDE = 4 };

typedef struct shown {
    const char *name;
    const char *material; /* JSON of the material */
    float alpha;          /* of the vertices, 0: no COLOR_0 */
    const char *rest;     /* further JSON at the top level, with a comma at its end */
    vec3 seen;
} shown;

#define MATTE(alpha)                                                                               \
    "\"pbrMetallicRoughness\":{\"baseColorFactor\":[0.5,0.5,0.5," alpha "],\"metallicFactor\":0}," \
    "\"extensions\":{\"KHR_materials_specular\":{\"specularFactor\":0}}"
#define PAINTED                                                                                    \
    "\"pbrMetallicRoughness\":{\"baseColorTexture\":{\"index\":0},\"metallicFactor\":0},"          \
    "\"extensions\":{\"KHR_materials_specular\":{\"specularFactor\":0}}"
#define GLOSSY(rest) "\"extensions\":{\"KHR_materials_pbrSpecularGlossiness\":{" rest "}}"
#define GREY(value)                                                                                \
    { value, value, value }

/* The image "texels.png" is 1 x 1: sRGB (255, 188, 99), alpha 128; linear (1, 0.503, 0.125). */
#define TEXELS "\"images\":[{\"uri\":\"texels.png\"}],\"textures\":[{\"source\":0}],"
#define ALPHA_OF_TEXEL "0.5019607843137255"

static const shown rows[] = {
    {"specular only",
     GLOSSY("\"diffuseFactor\":[0,0,0,1],\"specularFactor\":[1,0.77,0.34],"
            "\"glossinessFactor\":0.9"),
     0,
     "",
     {1, 0.77f, 0.34f}},
    {"rough specular", GLOSSY("\"diffuseFactor\":[0,0,0,1],\"glossinessFactor\":0"), 0, "",
     GREY(1)},
    {"defaults", GLOSSY(""), 0, "", GREY(1)},
    {"half of each", GLOSSY("\"diffuseFactor\":[0.5,0.5,0.5,1],\"specularFactor\":[0.5,0.5,0.5]"),
     0, "", GREY(0.75f)},
    {"the largest component",
     GLOSSY("\"diffuseFactor\":[1,1,1,1],\"specularFactor\":[0.6,0.2,0]"),
     0,
     "",
     {1, 0.6f, 0.4f}},
    {"weak specular",
     GLOSSY("\"diffuseFactor\":[0.5,0.5,0.5,1],\"specularFactor\":[0.02,0,0]"),
     0,
     "",
     {0.51f, 0.49f, 0.49f}},
    {"no specular",
     GLOSSY("\"diffuseFactor\":[0.2,0.4,0.6,1],\"specularFactor\":[0,0,0]"),
     0,
     "",
     {0.2f, 0.4f, 0.6f}},
    {"beside a fallback",
     "\"pbrMetallicRoughness\":{\"baseColorFactor\":[0,1,0,0.1],\"baseColorTexture\":{\"index\":0},"
     "\"metallicRoughnessTexture\":{\"index\":0}}," GLOSSY(
         "\"diffuseFactor\":[0.5,0.5,0.5,1],\"specularFactor\":[0,0,0]"),
     0, TEXELS, GREY(0.5f)},
    {"required", GLOSSY("\"diffuseFactor\":[0.5,0.5,0.5,1],\"specularFactor\":[0,0,0]"), 0,
     "\"extensionsRequired\":[\"KHR_materials_pbrSpecularGlossiness\"],", GREY(0.5f)},
    {"diffuse texture",
     GLOSSY("\"diffuseFactor\":[0.5,1,1,1],\"specularFactor\":[0,0,0],"
            "\"diffuseTexture\":{\"index\":0}"),
     0,
     TEXELS,
     {0.5f, 0.503f, 0.125f}},
    {"diffuse alpha",
     "\"alphaMode\":\"BLEND\"," GLOSSY("\"diffuseFactor\":[0,0,0,0.5],\"specularFactor\":[0,0,0]"),
     0, "", GREY(0.5f)},
    {"specular texture",
     GLOSSY("\"diffuseFactor\":[0,0,0,1],"
            "\"specularGlossinessTexture\":{\"index\":0}"),
     0,
     TEXELS,
     {1, 0.503f, 0.125f}},
    {"specular texture and factor",
     GLOSSY("\"diffuseFactor\":[0.5,0.5,0.5,1],\"specularFactor\":[0.5,1,0],\"glossinessFactor\":1,"
            "\"specularGlossinessTexture\":{\"index\":0}"),
     0,
     TEXELS,
     {0.75f, 0.75f, 0.27f}},
    {"specular texture below 0.04",
     GLOSSY("\"diffuseFactor\":[0.5,0.5,0.5,1],\"specularFactor\":[0.01,0.01,0.01],"
            "\"specularGlossinessTexture\":{\"index\":0}"),
     0, TEXELS, GREY(0.505f)},
    {"vertex alpha, BLEND", "\"alphaMode\":\"BLEND\"," MATTE("1"), 0.5f, "", GREY(0.75f)},
    {"vertex alpha, BLEND, factor", "\"alphaMode\":\"BLEND\"," MATTE("0.5"), 0.5f, "",
     GREY(0.875f)},
    {"vertex alpha, OPAQUE", MATTE("1"), 0.5f, "", GREY(0.5f)},
    {"vertex alpha, MASK", "\"alphaMode\":\"MASK\"," MATTE("1"), 0.5f, "", GREY(0.5f)},
    {"vertex alpha, MASK, factor", "\"alphaMode\":\"MASK\"," MATTE("0.9"), 0.5f, "", GREY(1)},
    {"vertex alpha below a low cutoff", "\"alphaMode\":\"MASK\",\"alphaCutoff\":0.4," MATTE("1"),
     0.39f, "", GREY(1)},
    {"vertex alpha below a high cutoff", "\"alphaMode\":\"MASK\",\"alphaCutoff\":0.7," MATTE("1"),
     0.69f, "", GREY(1)},
    {"alpha 0 at cutoff 0", "\"alphaMode\":\"MASK\",\"alphaCutoff\":0," MATTE("0"), 0, "",
     GREY(0.5f)},
    {"vertex alpha at cutoff 0", "\"alphaMode\":\"MASK\",\"alphaCutoff\":0," MATTE("0"), 0.5f, "",
     GREY(0.5f)},
    {"alpha 0.7 at cutoff 0.7", "\"alphaMode\":\"MASK\",\"alphaCutoff\":0.7," MATTE("0.7"), 0, "",
     GREY(0.5f)},
    {"vertex alpha at the cutoff", "\"alphaMode\":\"MASK\",\"alphaCutoff\":0.3," MATTE("1"), 0.3f,
     "", GREY(0.5f)},
    {"alpha of a texel at the cutoff",
     "\"alphaMode\":\"MASK\",\"alphaCutoff\":" ALPHA_OF_TEXEL "," PAINTED,
     0,
     TEXELS,
     {1, 0.503f, 0.125f}},
    {"alpha of a texel below the cutoff", "\"alphaMode\":\"MASK\",\"alphaCutoff\":0.5039," PAINTED,
     0, TEXELS, GREY(1)},
    {"cutoff above 1", "\"alphaMode\":\"MASK\",\"alphaCutoff\":1.5," MATTE("1"), 0, "", GREY(1)},
};

/* Writes a quad from -1 to 1 in the plane z = 0; `rest` is JSON at the top level. */
static void quad_write(const char *name, const char *material, float alpha, const char *node,
                       const char *mesh, const char *rest) {
    static const float places[4][3] = {{-1, -1, 0}, {1, -1, 0}, {1, 1, 0}, {-1, 1, 0}},
                       normals[4][3] = {{0, 0, 1}, {0, 0, 1}, {0, 0, 1}, {0, 0, 1}},
                       texcoords[4][2] = {{0, 1}, {1, 1}, {1, 0}, {0, 0}};
    static const uint16_t indices[6] = {0, 1, 2, 0, 2, 3};
    static gltf_maker made;
    static char text[1 << 13];
    float colours[4][4];
    memset(&made, 0, sizeof made);
    for (int i = 0; i < 4; ++i)
        for (int k = 0; k < 4; ++k) colours[i][k] = k == 3 ? alpha : 1;
    gltf_put(&made, places, GLTF_FLOAT, 3, 4, "");
    gltf_put(&made, normals, GLTF_FLOAT, 3, 4, "");
    gltf_put(&made, texcoords, GLTF_FLOAT, 2, 4, "");
    gltf_put(&made, indices, GLTF_USHORT, 1, 6, "");
    gltf_put(&made, colours, GLTF_FLOAT, 4, 4, "");
    snprintf(text, sizeof text,
             "%s\"scenes\":[{\"nodes\":[0]}],\"nodes\":[{\"mesh\":0%s}],\"materials\":[{%s}],"
             "\"meshes\":[{%s\"primitives\":[{\"attributes\":{\"POSITION\":0,\"NORMAL\":1,"
             "\"TEXCOORD_0\":2%s},\"indices\":3,\"material\":0,\"targets\":[{\"POSITION\":0},"
             "{\"POSITION\":1}]}]}]",
             rest, node, material, mesh, alpha > 0 ? ",\"COLOR_0\":4" : "");
    gltf_write_glb(name, &made, text);
}

static vec3 render(const char *name) {
    char text[256];
    kd_render_options options;
    kd_scene *scene = NULL;
    kd_image *image = NULL;
    vec3 sum = vec3_all(0);
    snprintf(text, sizeof text,
             "{\"kandela\":1,\"meshes\":[{\"file\":\"%s\"}],\"environment\":{\"radiance\":1},"
             "\"camera\":{\"eye\":[0,0,5],\"look_at\":[0,0,0],\"orthographic\":1.5}}",
             name);
    file_put_text("scene.json", text);
    kd_render_options_default(&options);
    if (kd_scene_load(&scene, file_in("scene.json"), &options) != KD_OK)
        fail_msg("%s", kd_last_error());
    options.width = options.height = SIDE;
    options.spp = 256;
    strcpy(options.device, "cpu");
    assert_int_equal(kd_render(&image, scene, &options, NULL, NULL), KD_OK);
    const float *planes[3] = {kd_image_channel(image, "R"), kd_image_channel(image, "G"),
                              kd_image_channel(image, "B")};
    for (int i = 0; i < SIDE * SIDE; ++i)
        sum = vec3_add(sum, vec3_make(planes[0][i], planes[1][i], planes[2][i]));
    kd_image_close(image);
    kd_scene_close(scene);
    return vec3_scale(sum, 1.0f / (SIDE * SIDE));
}

#define EXPECT_SEEN(what, seen, right, tolerance)                                                  \
    do {                                                                                           \
        const vec3 off = vec3_sub(seen, right);                                                    \
        if (!(fabsf(off.x) < (tolerance) && fabsf(off.y) < (tolerance) &&                          \
              fabsf(off.z) < (tolerance)))                                                         \
            fail_msg("%s: %g %g %g, expected %g %g %g", what, (double)(seen).x, (double)(seen).y,  \
                     (double)(seen).z, (double)(right).x, (double)(right).y, (double)(right).z);   \
    } while (0)

static void test_materials_look_as_specified(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        quad_write("quad.glb", rows[i].material, rows[i].alpha, "", "", rows[i].rest);
        const vec3 seen = render("quad.glb");
        EXPECT_SEEN(rows[i].name, seen, rows[i].seen, 0.02f);
    }
}

/* Weights of morph targets: those of the node replace those of the mesh. The first target doubles
   the quad, the second one moves it by 1 along z. */
static void test_weights_of_nodes(void **state) {
    (void)state;
    static const struct {
        const char *node, *mesh;
        float x, z;
    } weights[] = {
        {"", "", 1, 0},
        {"", "\"weights\":[1,0],", 2, 0},
        {",\"weights\":[1,0]", "", 2, 0},
        {",\"weights\":[0,0]", "\"weights\":[1,0],", 1, 0},
        {",\"weights\":[0.5,2]", "\"weights\":[1,0],", 1.5f, 2},
        {",\"weights\":[0,-1]", "\"weights\":[1,1],", 1, -1},
    };
    for (size_t i = 0; i < sizeof weights / sizeof *weights; ++i) {
        quad_write("morph.glb", "", 0, weights[i].node, weights[i].mesh, "");
        mesh read = load("morph.glb");
        float x = -9, z = -9;
        for (uint32_t k = 0; k < read.position_count; ++k) {
            x = fmaxf(x, read.positions[k].x);
            z = fmaxf(z, read.positions[k].z);
        }
        if (x != weights[i].x || z != weights[i].z)
            fail_msg("row %zu: x %g, z %g", i, (double)x, (double)z);
        mesh_close(&read);
    }
}

/* Nodes that share a mesh may have different weights, also where they could become instances. */
static void test_nodes_with_different_weights(void **state) {
    (void)state;
    static const float places[3][3] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}};
    static gltf_maker made;
    memset(&made, 0, sizeof made);
    gltf_put(&made, places, GLTF_FLOAT, 3, 3, "");
    gltf_write_glb("shared.glb", &made,
                   "\"scenes\":[{\"nodes\":[0,1,2,3]}],\"nodes\":[{\"mesh\":0,\"weights\":[1]},"
                   "{\"mesh\":0},{\"mesh\":0,\"weights\":[2]},{\"mesh\":0}],"
                   "\"meshes\":[{\"weights\":[4],\"primitives\":[{\"attributes\":{\"POSITION\":0},"
                   "\"targets\":[{\"POSITION\":0}]}]}]");
    for (int parts = 0; parts < 2; ++parts) {
        const obj_options options = {.keep_parts = parts == 1};
        float areas[5] = {0};
        mesh read;
        assert_int_equal(gltf_load(&read, file_in("shared.glb"), &options, NULL), KD_OK);
        assert_int_equal(read.part_count, parts);
        assert_int_equal(read.put_count, 2 * parts);
        assert_int_equal(read.triangle_count, parts ? 3 : 4);
        for (uint32_t i = 0; i < read.triangle_count; ++i) areas[i] = (float)mesh_area(&read, i);
        assert_true(areas[0] == 2 && areas[1] == (parts ? 4.5f : 12.5f));
        assert_true(areas[2] == (parts ? 12.5f : 4.5f) && areas[3] == (parts ? 0 : 12.5f));
        mesh_close(&read);
    }
}

/* --- images ----------------------------------------------------------------------------------- */

#define WEBP "\"images\":[{\"uri\":\"paint.webp\"},{\"uri\":\"texels.png\"},{\"uri\":\"x.avif\"}],"
#define SOURCE(source, extension, other)                                                           \
    "\"textures\":[{" source "\"extensions\":{\"" extension "\":{\"source\":" other "}}}],"
#define REQUIRES(name) "\"extensionsRequired\":[\"" name "\"],"

/* `said`: a part of the message, or NULL for none. */
static const struct {
    const char *rest;
    vec3 seen; /* x < 0: the file is refused */
    const char *said;
} pictures[] = {
    {WEBP SOURCE("", "EXT_texture_webp", "0"), {0.8f, 0.2f, 0.05f}, NULL},
    {WEBP SOURCE("", "EXT_texture_webp", "0") REQUIRES("EXT_texture_webp"),
     {0.8f, 0.2f, 0.05f},
     NULL},
    {WEBP SOURCE("\"source\":1,", "EXT_texture_webp", "0"), {0.8f, 0.2f, 0.05f}, NULL},
    {WEBP "\"textures\":[{\"source\":0}],", {0.8f, 0.2f, 0.05f}, NULL},
    {WEBP SOURCE("\"source\":1,", "EXT_texture_avif", "2"),
     {1, 0.503f, 0.125f},
     "textures[0]: found an image in AVIF, which is not supported; the alternative is used"},
    {WEBP SOURCE("\"source\":1,", "EXT_texture_avif", "2") REQUIRES("EXT_texture_avif"),
     {1, 0.503f, 0.125f},
     "the alternative is used"},
    {WEBP SOURCE("", "EXT_texture_avif", "2"), {1, 1, 1}, "in AVIF, which is not supported; it is"},
    {WEBP SOURCE("", "EXT_texture_avif", "2") REQUIRES("EXT_texture_avif"),
     {-1, 0, 0},
     "textures[0]: found an image in AVIF only, which EXT_texture_avif requires"},
    {WEBP "\"textures\":[{\"source\":2}],", {1, 1, 1}, "images[2].uri: found an AVIF image"},
    {WEBP SOURCE("\"source\":1,", "KHR_texture_basisu", "2"),
     {1, 0.503f, 0.125f},
     "in KTX2, which is not supported; the alternative is used"},
    {WEBP SOURCE("", "KHR_texture_basisu", "2") REQUIRES("KHR_texture_basisu"),
     {-1, 0, 0},
     "in KTX2 only, which KHR_texture_basisu requires"},
};

static void paint_write(void) {
    static const vec3 colour = {0.8f, 0.2f, 0.05f};
    const image_encoding encoding = {.exposure = 0, .tonemap = KD_TONEMAP_LINEAR};
    const float values[3] = {colour.x, colour.y, colour.z};
    static const char *const names[3] = {"R", "G", "B"};
    image paint;
    assert_int_equal(image_open(&paint, 16, 16), KD_OK);
    for (int c = 0; c < 3; ++c) {
        float *plane = NULL;
        assert_int_equal(image_add(&paint, names[c], &plane), KD_OK);
        for (int i = 0; i < 256; ++i) plane[i] = values[c];
    }
    assert_int_equal(image_write(&paint, file_in("paint.webp"), &encoding), KD_OK);
    image_close(&paint);
}

static void test_formats_of_images(void **state) {
    (void)state;
    if (!picture_reads_webp()) skip();
    paint_write();
    file_put("x.avif",
             "\0\0\0\x1c"
             "ftypavif\0\0\0\0",
             16);
    for (size_t i = 0; i < sizeof pictures / sizeof *pictures; ++i) {
        reported_problems problems = {.count = 0};
        const obj_options options = {.problem = on_problem, .context = &problems};
        const bool is_refused = pictures[i].seen.x < 0;
        mesh read;
        quad_write("image.glb", PAINTED, 0, "", "", pictures[i].rest);
        const kd_status status = gltf_load(&read, file_in("image.glb"), &options, NULL);
        if (status != (is_refused ? KD_ERROR_INPUT : KD_OK)) fail_msg("row %zu: status", i);
        mesh_close(&read);
        assert_int_equal(problems.count, pictures[i].said ? 1 : 0);
        if (pictures[i].said && !strstr(problems.messages[0], pictures[i].said))
            fail_msg("row %zu: %s", i, problems.messages[0]);
        if (is_refused) continue;
        const vec3 seen = render("image.glb");
        EXPECT_SEEN(pictures[i].rest, seen, pictures[i].seen, 0.03f);
    }
}

/* --- data URIs -------------------------------------------------------------------------------- */

static void test_data_uris_with_blanks_and_upper_case(void **state) {
    (void)state;
    static const char *const heads[] = {
        "data:application/octet-stream;base64,", "DATA:application/octet-stream;base64,",
        "Data:application/gltf-buffer;BASE64,", " data:;base64 ,", "data: application/x ; base64,"};
    static const char *const breaks[] = {"", " ", "\\n", "\\r\\n\\t", "%0A", "%20"};
    static gltf_maker made;
    memset(&made, 0, sizeof made);
    gltf_put(&made, corner_places, GLTF_FLOAT, 3, 3, "");
    gltf_base64(gltf_uri_buffer, made.bin, made.bytes);
    for (size_t h = 0; h < sizeof heads / sizeof *heads; ++h)
        for (size_t b = 0; b < sizeof breaks / sizeof *breaks; ++b) {
            char uri[1024] = "";
            gltf_say(uri, sizeof uri, ",\"uri\":\"%s%s", heads[h], breaks[b]);
            for (size_t i = 0; gltf_uri_buffer[i]; ++i)
                gltf_say(uri, sizeof uri, "%c%s", gltf_uri_buffer[i], i % 5 ? "" : breaks[b]);
            gltf_say(uri, sizeof uri, "%s\"", breaks[b]);
            gltf_text_make(gltf_text_buffer, &made,
                           ONE_NODE PRIMITIVE("\"attributes\":{\"POSITION\":0}"), uri);
            file_put_text("blanks.gltf", gltf_text_buffer);
            mesh read = load("blanks.gltf");
            assert_int_equal(read.triangle_count, 1);
            assert_true(mesh_area(&read, 0) == 0.5);
            mesh_close(&read);
        }
}

/* --- extensions ------------------------------------------------------------------------------- */

#define NAMED(text) "extensions: found " text " not supported and "

/* One line names all extensions that are ignored, wherever they are, whether the file declares them
   or not. */
static void test_ignored_extensions_are_named(void **state) {
    (void)state;
    static const struct {
        const char *rest, *node, *material, *said;
    } extensions[] = {
        {"", "", "", NULL},
        {"\"extensionsUsed\":[\"KHR_materials_ior\"],", "", "", NULL},
        {"\"extensionsUsed\":[\"KHR_materials_diffuse_transmission\"],", "", "",
         NAMED("KHR_materials_diffuse_transmission, which is") "is ignored"},
        {"\"extensionsUsed\":[\"KHR_animation_pointer\",\"KHR_xmp_json_ld\"],", "",
         "\"extensions\":{\"KHR_materials_iridescence\":{}}",
         NAMED("KHR_animation_pointer, KHR_xmp_json_ld and KHR_materials_iridescence, which "
               "are") "are ignored"},
        {"", ",\"extensions\":{\"KHR_node_visibility\":{\"visible\":false}}", "",
         NAMED("KHR_node_visibility, which is") "is ignored"},
        {"\"extensionsUsed\":[\"KHR_materials_variants\"],", "",
         "\"extensions\":{\"KHR_materials_variants\":{}}",
         NAMED("KHR_materials_variants, which is") "is ignored"},
        {"\"extensionsRequired\":[\"KHR_materials_variants\"],", "",
         "\"extensions\":{\"KHR_materials_variants\":{}}",
         NAMED("KHR_materials_variants, which is") "is ignored"},
        {"\"extras\":{\"extensions\":{\"ACME_note\":{}}},", "", "", NULL},
    };
    for (size_t i = 0; i < sizeof extensions / sizeof *extensions; ++i) {
        reported_problems problems = {.count = 0};
        const obj_options options = {.problem = on_problem, .context = &problems};
        mesh read;
        quad_write("names.glb", extensions[i].material, 0, extensions[i].node, "",
                   extensions[i].rest);
        assert_int_equal(gltf_load(&read, file_in("names.glb"), &options, NULL), KD_OK);
        mesh_close(&read);
        assert_int_equal(problems.count, extensions[i].said ? 1 : 0);
        if (extensions[i].said && strcmp(problems.messages[0], extensions[i].said) != 0)
            fail_msg("row %zu: %s", i, problems.messages[0]);
    }
    mesh read;
    quad_write("names.glb", "", 0, "", "", REQUIRES("KHR_materials_iridescence"));
    assert_int_equal(gltf_load(&read, file_in("names.glb"), NULL, NULL), KD_ERROR_INPUT);
    assert_non_null(strstr(kd_last_error(), "extensionsRequired: found "
                                            "\"KHR_materials_iridescence\""));
}

/* --- samplers, and what is named because it has no effect --------------------------------------
 */

#define SAMPLED(filters)                                                                           \
    "\"images\":[{\"uri\":\"texels.png\"}],\"samplers\":[{" filters "}],"                          \
    "\"textures\":[{\"source\":0,\"sampler\":0}],"
#define COATED(rest)                                                                               \
    "\"extensions\":{\"KHR_materials_clearcoat\":{\"clearcoatFactor\":1,"                          \
    "\"clearcoatNormalTexture\":{\"index\":0" rest "}}}"
#define VOLUME(rest)                                                                               \
    "\"extensions\":{\"KHR_materials_transmission\":{\"transmissionFactor\":1},"                   \
    "\"KHR_materials_volume\":{\"thicknessFactor\":1" rest "}}"

static const struct {
    const char *material, *rest, *said; /* said: NULL for nothing */
    mesh_map map;
    bool nearest;
    float gain; /* 0: none */
} samplers[] = {
    {PAINTED, SAMPLED("\"magFilter\":9728"), NULL, MESH_MAP_DIFFUSE, true, 0},
    {PAINTED, SAMPLED("\"magFilter\":9728,\"minFilter\":9984"), NULL, MESH_MAP_DIFFUSE, true, 0},
    {PAINTED, SAMPLED("\"magFilter\":9729,\"minFilter\":9987"), NULL, MESH_MAP_DIFFUSE, false, 0},
    {PAINTED, SAMPLED("\"minFilter\":9728"), "the minFilter 9728", MESH_MAP_DIFFUSE, false, 0},
    {COATED(",\"scale\":0.5"), TEXELS, NULL, MESH_MAP_COAT_NORMAL, false, 0.5f},
    {COATED(""), TEXELS, NULL, MESH_MAP_COAT_NORMAL, false, 0},
    {VOLUME(",\"thicknessTexture\":{\"index\":0}"), TEXELS, "found a thicknessTexture",
     MESH_MAP_DIFFUSE, false, 0},
    {VOLUME(""), TEXELS, NULL, MESH_MAP_DIFFUSE, false, 0},
    {"\"occlusionTexture\":{\"index\":0}", TEXELS, "found an occlusionTexture", MESH_MAP_DIFFUSE,
     false, 0}};

static void test_samplers_and_omissions(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof samplers / sizeof *samplers; ++i) {
        reported_problems problems = {.count = 0};
        const obj_options options = {.problem = on_problem, .context = &problems};
        mesh read;
        quad_write("sampled.glb", samplers[i].material, 0, "", "", samplers[i].rest);
        if (gltf_load(&read, file_in("sampled.glb"), &options, NULL) != KD_OK)
            fail_msg("row %zu: %s", i, kd_last_error());
        const mesh_map_form *form = &read.materials[0].forms[samplers[i].map];
        if (form->nearest[0] != samplers[i].nearest || form->nearest[1] != samplers[i].nearest ||
            form->ranged != (samplers[i].gain > 0) ||
            (form->ranged && form->gain != samplers[i].gain))
            fail_msg("row %zu: nearest %d, gain %g", i, form->nearest[0], (double)form->gain);
        if (problems.count != (samplers[i].said ? 1 : 0) ||
            (samplers[i].said && !strstr(problems.messages[0], samplers[i].said)))
            fail_msg("row %zu: %d problems: %s", i, problems.count, problems.messages[0]);
        mesh_close(&read);
    }
    /* once for a file, not for each light */
    reported_problems problems = {.count = 0};
    const obj_options options = {.problem = on_problem, .context = &problems};
    mesh read;
    file_put_text(
        "ranges.gltf",
        "{\"asset\":{\"version\":\"2.0\"},\"extensionsUsed\":[\"KHR_lights_punctual\"],"
        "\"extensions\":{\"KHR_lights_punctual\":{\"lights\":[{\"type\":\"point\",\"range\":"
        "5},{\"type\":\"spot\",\"range\":2}]}},\"nodes\":[{\"extensions\":{"
        "\"KHR_lights_punctual\":{\"light\":0}}},{\"extensions\":{\"KHR_lights_punctual\":{"
        "\"light\":1}}}]}");
    assert_int_equal(gltf_load(&read, file_in("ranges.gltf"), &options, NULL), KD_OK);
    assert_int_equal(read.light_count, 2);
    assert_int_equal(problems.count, 1);
    assert_non_null(strstr(problems.messages[0], "the range of a light"));
    mesh_close(&read);
}

static void texels_take(void *context, void *bytes, int count) {
    fwrite(bytes, 1, (size_t)count, (FILE *)context);
}

static int setup(void **state) {
    static const uint8_t texel[4] = {255, 188, 99, 128};
    if (folder_make(state) != 0) return 1;
    FILE *file = fopen(file_in("texels.png"), "wb");
    const int written = file && stbi_write_png_to_func(texels_take, file, 1, 1, 4, texel, 4);
    return file && fclose(file) == 0 && written ? 0 : 1;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_materials_look_as_specified),
        cmocka_unit_test(test_weights_of_nodes),
        cmocka_unit_test(test_nodes_with_different_weights),
        cmocka_unit_test(test_formats_of_images),
        cmocka_unit_test(test_samplers_and_omissions),
        cmocka_unit_test(test_data_uris_with_blanks_and_upper_case),
        cmocka_unit_test(test_ignored_extensions_are_named),
    };
    return cmocka_run_group_tests(tests, setup, folder_remove);
}
