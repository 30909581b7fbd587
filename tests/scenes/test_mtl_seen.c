/* MTL materials as shaders evaluate them: a square of the material with its textures, at two points
   and from both sides. */
#include "shaders/surface.h"
/* included before the type `scene`, because parameters of the header above have that name */
#include "scenes/assembly/scene.h"
#include "tests/scenes/files.h"
#include <math.h>
#include <stb/stb_image_write.h>

#define BLENDER "# Blender 5.0.1 MTL File: 'x.blend'\n"

static scene *opened;

/* Opens the scene of a unit square with this material, after closing the previous one. */
static scene_view view_of(const char *first, const char *lines) {
    char text[512];
    kd_render_options options;
    if (opened) scene_close(opened);
    opened = NULL;
    snprintf(text, sizeof text, "%snewmtl m\n%s", first, lines);
    file_put_text("m.mtl", text);
    file_put_text("square.obj", "mtllib m.mtl\nv 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nvt 0 0\nvt 1 0\n"
                                "vt 1 1\nvt 0 1\nusemtl m\nf 1/1 2/2 3/3 4/4\n");
    kd_render_options_default(&options);
    if (scene_open(&opened, file_in("square.obj"), &options, NULL) != KD_OK)
        fail_msg("%s", kd_last_error());
    return scene_get_view(opened);
}

/* Returns the surface at (x, 0.1), seen from the front (z = 1) or the back. */
static surface radiance_seen(const scene_view *view, float x, bool front) {
    const float side = front ? 1.0f : -1.0f;
    const ray ray = ray_make(vec3_make(x, 0.1f, side), vec3_make(0, 0, -side), 0, INFINITY);
    const ray_hit hit = {.triangle = 0, .u = x - 0.1f, .v = 0.1f, .t = 1};
    return surface_at(view, &ray, hit);
}

static void file_take(void *context, void *bytes, int count) {
    fwrite(bytes, 1, (size_t)count, (FILE *)context);
}

/* Writes a picture of one row. */
static void write_row(const char *name, const uint8_t *texels, int count, int channels) {
    FILE *file = fopen(file_in(name), "wb");
    assert_true(file && stbi_write_png_to_func(file_take, file, count, 1, channels, texels, 0));
    fclose(file);
}

#define EXPECT(found, expected, within)                                                            \
    do {                                                                                           \
        const double is = (double)(found), meant = (expected);                                     \
        if (!(fabs(is - meant) <= (within))) fail_msg("%s: %g, not %g", #found, is, meant);        \
    } while (0)

/* The picture controls the opacity, 0.2 on the left and 1 on the right: by its alpha, or by its
   grey if it has no alpha. */
static void test_opacity_textures(void **state) {
    (void)state;
    static const uint8_t opaque[8] = {51, 51, 51, 255, 255, 255, 255, 255};
    static const uint8_t alpha[8] = {255, 255, 255, 51, 255, 255, 255, 255};
    static const uint8_t grey[6] = {51, 51, 51, 255, 255, 255};
    write_row("opaque.png", opaque, 2, 4);
    write_row("alpha.png", alpha, 2, 4);
    write_row("grey.png", grey, 2, 3);
    static const char *const keys[] = {"map_d", "map_opacity"};
    static const char *const files[] = {"opaque.png", "alpha.png", "grey.png"};
    for (int i = 0; i < 6; ++i) {
        char lines[128];
        snprintf(lines, sizeof lines, "Kd 1 1 1\n%s %s\n", keys[i % 2], files[i / 2]);
        const scene_view view = view_of("", lines);
        const ray_hit left = {.triangle = 0, .u = 0.15f, .v = 0.1f, .t = 1};
        EXPECT(radiance_seen(&view, 0.25f, true).opacity, 0.2, 1e-6);
        EXPECT(radiance_seen(&view, 0.75f, true).opacity, 1, 1e-6);
        EXPECT(surface_passes(&view, left), 0.8, 1e-6);
    }
    /* a channel by name: red 0.2, green 0.4, blue 0.6, alpha 0.8 */
    static const uint8_t apart[4] = {51, 102, 153, 204};
    static const char *const channels = "rgbml";
    static const double values[5] = {0.2, 0.4, 0.6, 0.8, 0.372549};
    write_row("apart.png", apart, 1, 4);
    for (int i = 0; i < 5; ++i) {
        char lines[128];
        snprintf(lines, sizeof lines, "Kd 1 1 1\nmap_d -imfchan %c apart.png\n", channels[i]);
        const scene_view view = view_of("", lines);
        EXPECT(radiance_seen(&view, 0.5f, true).opacity, values[i], 1e-6);
    }
    static const char *const kinds[] = {"illum 9\n",
                                        "illum 4\nNi 1\n"}; /* the second is SketchUp's */
    for (int i = 0; i < 2; ++i) {
        char lines[128];
        snprintf(lines, sizeof lines, "Kd 1 1 1\nd .5\n%s", kinds[i]);
        const scene_view view = view_of("", lines);
        EXPECT(radiance_seen(&view, 0.25f, true).opacity, 0.5, 0);
        assert_int_not_equal(radiance_seen(&view, 0.25f, true).kind, MATERIAL_GLASS);
    }
}

/* A normal of (0.6, 0, 0.8) by either key, from a normal map and from heights that rise by 4/3
   along u. */
static void test_normal_and_bump_maps(void **state) {
    (void)state;
    static const uint8_t normals[6] = {204, 128, 230, 204, 128, 230};
    static const uint8_t heights[12] = {0, 0, 0, 85, 85, 85, 170, 170, 170, 255, 255, 255};
    write_row("normals.png", normals, 2, 3);
    write_row("heights.png", heights, 4, 3);
    static const struct {
        const char *lines;
        double x, z;
    } rows[] = {{"Kd 1 1 1\nmap_Bump normals.png\n", 0.6, 0.8},
                {"Kd 1 1 1\nmap_Bump -bm 1 normals.png\n", 0.6, 0.8},
                {"Kd 1 1 1\nbump normals.png\n", 0.6, 0.8},
                {"Kd 1 1 1\nnorm normals.png\n", 0.6, 0.8},
                {"Kd 1 1 1\nnorm -bm .5 normals.png\n", 0.3496, 0.9369},
                {"Kd 1 1 1\nPr 1\nPs 1\nnorm -bm .5 normals.png\n", 0.3496, 0.9369},
                {"Kd 1 1 1\nnorm -bm 0 normals.png\n", 0, 1},
                {"Kd 1 1 1\nmap_Bump -bm 100 heights.png\n", -0.8, 0.6},
                {"Kd 1 1 1\nmap_Bump -bm 50 -mm 0 2 heights.png\n", -0.8, 0.6},
                {"Kd 1 1 1\n", 0, 1}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        const scene_view view = view_of("", rows[i].lines);
        const surface at = radiance_seen(&view, 0.5f, true);
        EXPECT(at.normal.x, rows[i].x, 0.007);
        EXPECT(at.normal.y, 0, 0.007);
        EXPECT(at.normal.z, rows[i].z, 0.007);
    }
}

/* A picture for Ks scales the coat: black means no coat, white the coat of Ks 0.04, an index of
   1.5. */
static void test_ks_texture_scales_the_coat(void **state) {
    (void)state;
    static const uint8_t halves[6] = {0, 0, 0, 255, 255, 255};
    write_row("halves.png", halves, 2, 3);
    scene_view view = view_of("", "Kd .5 .5 .5\nKs .04 .04 .04\nNs 50\nmap_Ks halves.png\n");
    EXPECT(radiance_seen(&view, 0.25f, true).layers.coat_index, 1, 1e-3);
    EXPECT(radiance_seen(&view, 0.75f, true).layers.coat_index, 1.5, 1e-3);
    /* Blender's map_Ns holds roughness, of which shaders take the square */
    view = view_of(BLENDER, "Kd 1 1 1\nmap_Ns halves.png\n");
    EXPECT(radiance_seen(&view, 0.25f, true).alpha, 0, 0);
    EXPECT(radiance_seen(&view, 0.75f, true).alpha, 1, 1e-6);
    /* map_Ns is ignored in files of other programs */
    view = view_of("", "Kd 1 1 1\nKs .04 .04 .04\nNs 98\nmap_Ns halves.png\n");
    EXPECT(radiance_seen(&view, 0.25f, true).alpha, sqrt(0.02), 1e-6);
    EXPECT(radiance_seen(&view, 0.75f, true).alpha, sqrt(0.02), 1e-6);
}

/* -mm base gain, -cc off, -blendu off, and a transform of a second map, by what is seen at x of a
   picture of two texels: 0.2 and 1 as stored, 0.0331 and 1 as sRGB. */
static void test_map_options(void **state) {
    (void)state;
    static const uint8_t pair[6] = {51, 51, 51, 255, 255, 255};
    static const struct {
        const char *lines;
        float x;
        double diffuse, opacity, emission;
    } rows[] = {
        {"map_Kd -mm .5 .25 pair.png\n", 0.25f, 0.508276, 1, 0},
        {"map_Kd -mm .5 2 pair.png\n", 0.75f, 1, 1, 0}, /* no surface reflects more than it gets */
        {"Kd .5 .5 .5\nmap_Kd -mm .5 .25 pair.png\n", 0.25f, 0.254138, 1, 0},
        {"Kd 1 1 1\nmap_d -mm .5 .25 pair.png\n", 0.25f, 1, 0.55, 0},
        {"Kd 1 1 1\nmap_d -mm 1 -1 pair.png\n", 0.75f, 1, 0, 0},
        {"Kd 1 1 1\nmap_d -mm 1 -1 pair.png\n", 0.25f, 1, 0.8, 0},
        {"Kd 0 0 0\nmap_Ke -mm 1 4 pair.png\n", 0.75f, 0, 1, 5},
        {"map_Kd -cc off pair.png\n", 0.25f, 0.2, 1, 0},
        {"map_Kd -cc on pair.png\n", 0.25f, 0.0331048, 1, 0},
        {"map_Kd -colorspace linear pair.png\n", 0.25f, 0.2, 1, 0},
        {"map_Kd -cc off -mm .5 .25 pair.png\n", 0.25f, 0.55, 1, 0},
        {"map_Kd pair.png\n", 0.5f, 0.516552, 1, 0},
        {"map_Kd -blendu off pair.png\n", 0.4375f, 0.0331048, 1, 0},
        {"map_Kd -blendv off pair.png\n", 0.5f, 0.516552, 1, 0},
        {"map_Kd pair.png\nmap_d -o .5 0 again.png\n", 0.25f, 0.0331048, 1, 0},
        {"map_Kd pair.png\nmap_d -o .5 0 again.png\n", 0.75f, 1, 0.2, 0}};
    write_row("pair.png", pair, 2, 3);
    write_row("again.png", pair, 2, 3);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        const scene_view view = view_of("", rows[i].lines);
        const surface at = radiance_seen(&view, rows[i].x, true);
        if (fabs((double)at.diffuse.y - rows[i].diffuse) > 2e-5 ||
            fabs((double)at.opacity - rows[i].opacity) > 2e-5 ||
            fabs((double)at.emission.y - rows[i].emission) > 2e-5)
            fail_msg("%s: %g %g %g", rows[i].lines, (double)at.diffuse.y, (double)at.opacity,
                     (double)at.emission.y);
    }
}

static void test_blender_emission_is_two_sided(void **state) {
    (void)state;
    for (int blender = 0; blender < 2; ++blender) {
        const scene_view view = view_of(blender ? BLENDER : "", "Kd 0 0 0\nKe 2 3 4\n");
        EXPECT(radiance_seen(&view, 0.5f, true).emission.y, 3, 0);
        EXPECT(radiance_seen(&view, 0.5f, false).emission.y, blender ? 3 : 0, 0);
    }
}

static void test_metals_keep_colour_and_roughness(void **state) {
    (void)state;
    scene_view view = view_of(BLENDER, "Ka .25 .25 .25\nKd .9 .6 .1\nKs .5 .5 .5\nNs 250\n"
                                       "illum 3\n");
    surface at = radiance_seen(&view, 0.5f, true);
    EXPECT(at.metallic, 0.25, 0);
    EXPECT(at.diffuse.y, 0.6, 1e-6);
    EXPECT(at.alpha, 0.25, 1e-6); /* the square of the roughness 0.5, which Ns 250 means */
    view = view_of("", "Kd .25 .2 .07\nKs .63 .56 .37\nNs 98\n");
    at = radiance_seen(&view, 0.5f, true);
    assert_int_equal(at.kind, MATERIAL_CONDUCTOR);
    EXPECT(at.specular.x, 0.88, 1e-6);
    EXPECT(at.specular.z, 0.44, 1e-6);
    EXPECT(at.alpha, sqrt(0.02), 1e-6);
}

/* Glass as Blender exports it: opaque by default, glass if requested; with the PBR extensions,
   glass. */
static void test_glass_if_requested(void **state) {
    (void)state;
    scene_view view = view_of(BLENDER, "Kd 1 1 1\nKs .5 .5 .5\nNs 1000\nNi 1.45\nd 1\nillum 2\n");
    EXPECT(radiance_seen(&view, 0.5f, true).layers.transmission, 0, 0);
    assert_int_equal(scene_take_glass(opened), KD_OK);
    view = scene_get_view(opened);
    surface at = radiance_seen(&view, 0.5f, true);
    EXPECT(at.layers.transmission, 1, 0);
    EXPECT(at.ior, 1.45, 1e-6);
    EXPECT(at.alpha, 0, 0);
    assert_false(at.layers.thin);
    /* rough, so it is not taken for glass */
    view = view_of(BLENDER, "Kd 1 1 1\nNs 250\nNi 1.5\nd 1\nillum 2\n");
    assert_int_equal(scene_take_glass(opened), KD_OK);
    view = scene_get_view(opened);
    EXPECT(radiance_seen(&view, 0.5f, true).layers.transmission, 0, 0);
    view = view_of(BLENDER, "Kd 1 1 1\nNi 1.45\nPr .5\nPm 0\nPc 2\nTf 1 1 1\nillum 2\n");
    at = radiance_seen(&view, 0.5f, true);
    EXPECT(at.layers.transmission, 1, 1e-6);
    EXPECT(at.layers.clear, 0.5, 1e-6); /* Pc 4 would be a full coat */
    EXPECT(at.alpha, 0.25, 1e-6);
}

static int end(void **state) {
    if (opened) scene_close(opened);
    return folder_remove(state);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_opacity_textures),
        cmocka_unit_test(test_normal_and_bump_maps),
        cmocka_unit_test(test_ks_texture_scales_the_coat),
        cmocka_unit_test(test_map_options),
        cmocka_unit_test(test_blender_emission_is_two_sided),
        cmocka_unit_test(test_metals_keep_colour_and_roughness),
        cmocka_unit_test(test_glass_if_requested),
    };
    return cmocka_run_group_tests(tests, folder_make, end);
}
