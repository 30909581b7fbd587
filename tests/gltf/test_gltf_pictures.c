/* scenes/import/gltf.h: removing any one of the supported extensions from a model changes its
   picture by a mean FLIP error above 0.02. The model is a sphere in front of stripes, under the
   default sky. */
#include "core/image_processing/compare.h"
#include "tests/gltf/gltf_files.h"
#include <kandela/render.h>
#include <math.h>
#include <stb/stb_image_write.h>

enum { RINGS = 24, AROUND = 32, SIDE = 40, PIXELS = SIDE * SIDE, STRIPES = 6 };
static const double pi = 3.14159265358979323846;

typedef struct ball_arrays {
    float places[(RINGS + 1) * (AROUND + 1)][3], texcoords[(RINGS + 1) * (AROUND + 1)][2];
    uint16_t indices[RINGS * AROUND * 6];
} ball_arrays;

static void ball_fill(ball_arrays *arrays) {
    int corner = 0;
    for (int i = 0; i <= RINGS; ++i)
        for (int j = 0; j <= AROUND; ++j) {
            const int at = i * (AROUND + 1) + j;
            const double theta = pi * i / RINGS, phi = 2 * pi * (j % AROUND) / AROUND;
            arrays->places[at][0] = (float)(sin(theta) * sin(phi));
            arrays->places[at][1] = (float)cos(theta);
            arrays->places[at][2] = (float)(sin(theta) * cos(phi));
            arrays->texcoords[at][0] = 2 * (float)j / AROUND;
            arrays->texcoords[at][1] = 2 * (float)i / RINGS;
        }
    for (int i = 0; i < RINGS; ++i)
        for (int j = 0; j < AROUND; ++j) {
            const int a = i * (AROUND + 1) + j, b = a + AROUND + 1;
            const int two[6] = {a, b, b + 1, a, b + 1, a + 1};
            for (int k = 0; k < 6; ++k) arrays->indices[corner++] = (uint16_t)two[k];
        }
}

/* Adds quads behind the sphere, alternating between a dark and a bright material. */
static void add_stripes(gltf_maker *maker) {
    float places[STRIPES * 6][3];
    for (int i = 0; i < STRIPES; ++i) {
        static const float x[6] = {0, 1, 1, 0, 1, 0}, y[6] = {-3, -3, 3, -3, 3, 3};
        for (int k = 0; k < 6; ++k) {
            places[6 * i + k][0] =
                -3 + (float)(6 * (i + (double)x[k]) / STRIPES / 2) + (float)i / 2;
            places[6 * i + k][1] = y[k];
            places[6 * i + k][2] = -2;
        }
    }
    gltf_put(maker, places, GLTF_FLOAT, 3, STRIPES * 6, "");
}

#define SCENE                                                                                      \
    "\"scenes\":[{\"nodes\":[0,1,2,3]}],\"nodes\":[{\"mesh\":0},{\"mesh\":1},{\"camera\":0,"       \
    "\"translation\":[0,0,4]},{\"translation\":[2,3,4]%s}],\"cameras\":[{\"type\":"                \
    "\"perspective\",\"perspective\":{\"yfov\":0.56,\"znear\":0.1}}],"                             \
    "\"meshes\":[{\"primitives\":[{\"attributes\":{\"POSITION\":0,\"NORMAL\":0,\"TEXCOORD_0\":1"   \
    "},\"indices\":2,\"material\":0}]},{\"primitives\":[{\"attributes\":{\"POSITION\":3},"         \
    "\"material\":1}]}],\"textures\":[{\"source\":0}],\"images\":[{\"uri\":\"checks.png\"}],"      \
    "\"extensions\":{\"KHR_lights_punctual\":{\"lights\":[{\"type\":\"point\",\"intensity\":9,"    \
    "\"color\":[1,0.8,0.6]}]}},"                                                                   \
    "\"materials\":[{%s},{\"doubleSided\":true,\"pbrMetallicRoughness\":{\"baseColorFactor\":["    \
    "0.1,0.5,0.9,1],\"metallicFactor\":0}}]"

static void picture_of(const char *material_text, const char *lamp, float planes[3][PIXELS]) {
    static gltf_maker made;
    static ball_arrays ball;
    static char text[8192];
    memset(&made, 0, sizeof made);
    ball_fill(&ball);
    gltf_put(&made, ball.places, GLTF_FLOAT, 3, (RINGS + 1) * (AROUND + 1), "");
    gltf_put(&made, ball.texcoords, GLTF_FLOAT, 2, (RINGS + 1) * (AROUND + 1), "");
    gltf_put(&made, ball.indices, GLTF_USHORT, 1, RINGS * AROUND * 6, "");
    add_stripes(&made);
    snprintf(text, sizeof text, SCENE, lamp, material_text);
    gltf_write_glb("ball.glb", &made, text);
    kd_render_options options;
    kd_scene *loaded = NULL;
    kd_image *seen = NULL;
    kd_render_options_default(&options);
    if (kd_scene_load(&loaded, file_in("ball.glb"), &options) != KD_OK)
        fail_msg("%s", kd_last_error());
    options.width = options.height = SIDE;
    options.spp = 32;
    options.max_depth = 8;
    strcpy(options.device, "cpu");
    assert_int_equal(kd_render(&seen, loaded, &options, NULL, NULL), KD_OK);
    static const char *const names[3] = {"R", "G", "B"};
    for (int c = 0; c < 3; ++c)
        memcpy(planes[c], kd_image_channel(seen, names[c]), sizeof planes[c]);
    kd_image_close(seen);
    kd_scene_close(loaded);
}

static double difference(float a[3][PIXELS], float b[3][PIXELS]) {
    static float errors[PIXELS];
    const flip_picture test = {{a[0], a[1], a[2]}}, reference = {{b[0], b[1], b[2]}};
    double sum = 0;
    assert_int_equal(flip_errors(errors, &test, &reference, SIDE, SIDE), KD_OK);
    for (int i = 0; i < PIXELS; ++i) sum += (double)errors[i];
    return sum / PIXELS;
}

#define PLASTIC                                                                                    \
    "\"pbrMetallicRoughness\":{\"baseColorFactor\":[0.5,0.1,0.1,1],"                               \
    "\"metallicFactor\":0,\"roughnessFactor\":0.3}"
#define CLEAR "\"pbrMetallicRoughness\":{\"metallicFactor\":0,\"roughnessFactor\":0}"
#define GLASS "\"KHR_materials_transmission\":{\"transmissionFactor\":1}"
#define BODY GLASS ",\"KHR_materials_volume\":{\"thicknessFactor\":2}"

static const struct {
    const char *name, *plain, *without, *with, *lamp;
} rows[] = {
    {"emissive_strength", PLASTIC ",\"emissiveFactor\":[0.1,0.1,0]", "",
     "\"KHR_materials_emissive_strength\":{\"emissiveStrength\":5}", ""},
    {"transmission", CLEAR, "", GLASS, ""},
    {"volume", CLEAR, GLASS, BODY, ""},
    {"attenuation", CLEAR, BODY,
     GLASS ",\"KHR_materials_volume\":{\"thicknessFactor\":2,\"attenuationDistance\":1,"
           "\"attenuationColor\":[0.9,0.3,0.1]}",
     ""},
    {"ior", CLEAR, BODY, BODY ",\"KHR_materials_ior\":{\"ior\":2.4}", ""},
    {"dispersion", CLEAR, BODY ",\"KHR_materials_ior\":{\"ior\":1.8}",
     BODY ",\"KHR_materials_ior\":{\"ior\":1.8},\"KHR_materials_dispersion\":{\"dispersion\":8}",
     ""},
    {"clearcoat", "\"pbrMetallicRoughness\":{\"baseColorFactor\":[0.1,0.02,0.02,1]}", "",
     "\"KHR_materials_clearcoat\":{\"clearcoatFactor\":1}", ""},
    {"specular",
     "\"pbrMetallicRoughness\":{\"baseColorFactor\":[0.02,0.02,0.02,1],"
     "\"metallicFactor\":0,\"roughnessFactor\":0.2}",
     "", "\"KHR_materials_specular\":{\"specularFactor\":0}", ""},
    {"sheen", "\"pbrMetallicRoughness\":{\"baseColorFactor\":[0.1,0.1,0.1,1],\"metallicFactor\":0}",
     "", "\"KHR_materials_sheen\":{\"sheenColorFactor\":[1,0.4,0.2],\"sheenRoughnessFactor\":0.4}",
     ""},
    {"anisotropy", "\"pbrMetallicRoughness\":{\"roughnessFactor\":0.25}", "",
     "\"KHR_materials_anisotropy\":{\"anisotropyStrength\":0.9}",
     ",\"extensions\":{\"KHR_lights_punctual\":{\"light\":0}}"},
    {"unlit", PLASTIC, "", "\"KHR_materials_unlit\":{}", ""},
};

static void test_each_extension_changes_the_picture(void **state) {
    (void)state;
    static float plain[3][PIXELS], extended[3][PIXELS];
    char text[1024];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        if (test_leaves_out((uint32_t)i, 3)) continue;
        snprintf(text, sizeof text, "%s,\"extensions\":{%s}", rows[i].plain, rows[i].without);
        picture_of(text, rows[i].lamp, plain);
        snprintf(text, sizeof text, "%s,\"extensions\":{%s}", rows[i].plain, rows[i].with);
        picture_of(text, rows[i].lamp, extended);
        const double change = difference(plain, extended);
        print_message("%-18s %.3f\n", rows[i].name, change);
        if (!(change > 0.02)) fail_msg("%s changes the picture by %g", rows[i].name, change);
    }
}

static void test_lights_and_texture_transforms_change_the_picture(void **state) {
    (void)state;
    static float plain[3][PIXELS], extended[3][PIXELS];
    picture_of(PLASTIC, "", plain);
    picture_of(PLASTIC, ",\"extensions\":{\"KHR_lights_punctual\":{\"light\":0}}", extended);
    assert_true(difference(plain, extended) > 0.02);
#define CHECKED(more)                                                                              \
    "\"pbrMetallicRoughness\":{\"metallicFactor\":0,\"baseColorTexture\":{\"index\":0" more "}}"
    picture_of(CHECKED(""), "", plain);
    picture_of(CHECKED(",\"extensions\":{\"KHR_texture_transform\":{\"scale\":[3,0.5],"
                       "\"rotation\":0.4}}"),
               "", extended);
    assert_true(difference(plain, extended) > 0.02);
    /* with holes */
    picture_of(CHECKED("") ",\"alphaMode\":\"MASK\",\"alphaCutoff\":0.6", "", extended);
    assert_true(difference(plain, extended) > 0.02);
}

static void checks_take(void *context, void *bytes, int count) {
    fwrite(bytes, 1, (size_t)count, (FILE *)context);
}

static int setup(void **state) {
    static const uint8_t checks[16] = {255, 60, 20,  255, 30,  200, 60,  128,
                                       20,  60, 255, 100, 255, 255, 255, 255};
    if (folder_make(state) != 0) return 1;
    FILE *file = fopen(file_in("checks.png"), "wb");
    const int written = file && stbi_write_png_to_func(checks_take, file, 2, 2, 4, checks, 8);
    return file && fclose(file) == 0 && written ? 0 : 1;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_extension_changes_the_picture),
        cmocka_unit_test(test_lights_and_texture_transforms_change_the_picture),
    };
    return cmocka_run_group_tests(tests, setup, folder_remove);
}
