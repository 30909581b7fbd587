/* Colours of vertices and faces, and textures of PLY files, as shaders evaluate them: the diffuse
   colour at points of a square. */
#include "shaders/surface.h"
/* included before the type `scene`, because parameters of the header above have that name */
#include "scenes/assembly/scene.h"
#include "tests/scenes/files.h"
#include <math.h>
#include <stb/stb_image_write.h>

static scene *opened;

static scene_view view_of(const char *name) {
    kd_render_options options;
    if (opened) scene_close(opened);
    opened = NULL;
    kd_render_options_default(&options);
    if (scene_open(&opened, file_in(name), &options, NULL) != KD_OK)
        fail_msg("%s: %s", name, kd_last_error());
    return scene_get_view(opened);
}

static scene_view view_of_text(const char *name, const char *text) {
    file_put_text(name, text);
    return view_of(name);
}

/* Returns the barycentric coordinate of (x, y) towards corner c. */
static float share_of(vec3 a, vec3 b, vec3 c, float x, float y) {
    const float area = (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
    return ((b.x - a.x) * (y - a.y) - (b.y - a.y) * (x - a.x)) / area;
}

/* Returns the diffuse colour of the triangle over (x, y), seen from +z. */
static vec3 seen_at(const scene_view *view, float x, float y) {
    for (uint32_t i = 0; i < view->mesh.triangle_count; ++i) {
        vec3 p[3];
        for (uint32_t k = 0; k < 3; ++k)
            p[k] = view->mesh.positions[view->mesh.triangles[3 * i + k]];
        const float v = share_of(p[0], p[1], p[2], x, y), u = share_of(p[2], p[0], p[1], x, y);
        if (!(u >= 0 && v >= 0 && u + v <= 1)) continue;
        const ray ray = ray_make(vec3_make(x, y, 1), vec3_make(0, 0, -1), 0, INFINITY);
        const ray_hit hit = {.triangle = i, .u = u, .v = v, .t = 1};
        return surface_at(view, &ray, hit).diffuse;
    }
    fail_msg("no triangle at %g %g", (double)x, (double)y);
    return vec3_all(0);
}

static void expect(const char *what, const scene_view *view, float x, float y, vec3 meant) {
    const vec3 is = seen_at(view, x, y);
    if (!(vec3_length(vec3_sub(is, meant)) <= 2e-4f))
        fail_msg("%s at %g %g: %g %g %g, not %g %g %g", what, (double)x, (double)y, (double)is.x,
                 (double)is.y, (double)is.z, (double)meant.x, (double)meant.y, (double)meant.z);
}

static const float half = 0.5028865f; /* sRGB 188 */

static const vec3 red = {1, 0, 0}, green = {0, 1, 0}, blue = {0, 0, 1};

/* Returns the colour of a material without colours and textures. */
static vec3 plain(void) {
    return material_default().diffuse;
}

static void file_take(void *context, void *bytes, int count) {
    fwrite(bytes, 1, (size_t)count, (FILE *)context);
}

/* Writes a picture of one row. */
static void write_row(const char *name, const uint8_t *texels, int count) {
    FILE *file = fopen(file_in(name), "wb");
    assert_true(file && stbi_write_png_to_func(file_take, file, count, 1, 3, texels, 0));
    fclose(file);
}

/* a.png is red on the left and green on the right, b.png blue. */
static void write_pictures(void) {
    static const uint8_t two[6] = {255, 0, 0, 0, 255, 0}, one[3] = {0, 0, 255};
    write_row("a.png", two, 2);
    write_row("b.png", one, 1);
}

#define PLY(comments, more, faces)                                                                 \
    "ply\nformat ascii 1.0\n" comments "element vertex 4\nproperty float x\nproperty float y\n"    \
    "property float z\n" more "element " faces
#define COLOUR(type) "property " type " red\nproperty " type " green\nproperty " type " blue\n"
#define INDICES "property list uchar int vertex_indices\n"
#define WEDGES "property list uchar float texcoord\n"
#define PLACES "0 0 0\n1 0 0\n1 1 0\n0 1 0\n"

/* Colours are interpolated linearly between vertices; whole numbers are sRGB, real ones linear
   unless they are bytes. */
static void test_ply_vertex_colours(void **state) {
    (void)state;
    static const struct {
        const char *type, *full, *middle;
        float right;
    } cases[] = {{"uchar", "255", "188", 0.5028865f}, {"ushort", "65535", "48316", 0.5028865f},
                 {"int", "255", "188", 0.5028865f},   {"float", "1", "0.5", 0.5f},
                 {"double", "1", "0.25", 0.25f},      {"float", "255", "188", 0.5028865f}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        char text[1024];
        const char *type = cases[i].type, *full = cases[i].full, *middle = cases[i].middle;
        snprintf(text, sizeof text,
                 PLY("", "property %s red\nproperty %s green\nproperty %s blue\n", "face 1\n")
                     INDICES "end_header\n0 0 0 %s 0 0\n1 0 0 0 0 %s\n1 1 0 0 0 %s\n0 1 0 %s 0 0\n"
                             "4 0 1 2 3\n",
                 type, type, type, full, middle, middle, full);
        const scene_view view = view_of_text("v.ply", text);
        const float b = cases[i].right;
        expect(type, &view, 0.001f, 0.5f, vec3_make(0.999f, 0, 0.001f * b));
        expect(type, &view, 0.25f, 0.3f, vec3_make(0.75f, 0, 0.25f * b));
        expect(type, &view, 0.75f, 0.6f, vec3_make(0.25f, 0, 0.75f * b));
    }
}

/* A face keeps its colour up to its edges; colours of vertices take precedence. */
static void test_ply_face_colours(void **state) {
    (void)state;
    static const char *const types[] = {"uchar", "ushort", "float"};
    static const char *const full[] = {"255", "65535", "1"};
    for (int i = 0; i < 3; ++i) {
        char text[1024];
        snprintf(text, sizeof text,
                 PLY("", "", "face 2\n") INDICES "property %s red\nproperty %s green\n"
                                                 "property %s blue\nend_header\n" PLACES
                                                 "3 0 1 2 %s 0 0\n3 0 2 3 0 0 %s\n",
                 types[i], types[i], types[i], full[i], full[i]);
        const scene_view view = view_of_text("f.ply", text);
        expect(types[i], &view, 0.6f, 0.59f, red);
        expect(types[i], &view, 0.59f, 0.6f, blue);
    }
    const scene_view both = view_of_text(
        "f.ply",
        PLY("", COLOUR("uchar"), "face 1\n") INDICES COLOUR(
            "uchar") "end_header\n0 0 0 0 255 0\n1 0 0 0 255 0\n1 1 0 0 255 0\n0 1 0 0 255 0\n"
                     "4 0 1 2 3 255 0 0\n");
    expect("both", &both, 0.5f, 0.25f, green);
}

/* Corners of a face have texture coordinates of their own; faces without one are not textured. */
static void test_ply_corner_texcoords(void **state) {
    (void)state;
    write_pictures();
    const scene_view whole =
        view_of_text("w.ply", PLY("comment TextureFile a.png\n", "", "face 1\n") INDICES WEDGES
                     "end_header\n" PLACES "4 0 1 2 3 8 0 0 1 0 1 1 0 1\n");
    expect("whole", &whole, 0.25f, 0.5f, red);
    expect("whole", &whole, 0.75f, 0.5f, green);
    /* the same vertices, other corners: the picture is turned round in the second face */
    const scene_view apart =
        view_of_text("w.ply", PLY("comment TextureFile a.png\n", "", "face 2\n") WEDGES INDICES
                     "end_header\n" PLACES "6 0 0 1 0 1 1 3 0 1 2\n6 1 1 0 0 1 0 3 0 2 3\n");
    expect("apart", &apart, 0.75f, 0.5f, green);
    expect("apart", &apart, 0.25f, 0.75f, green);
    const scene_view some =
        view_of_text("w.ply", PLY("comment TextureFile a.png\n", "", "face 2\n") INDICES WEDGES
                     "end_header\n" PLACES "3 0 1 2 6 0 0 1 0 1 1\n3 0 2 3 0\n");
    expect("some", &some, 0.75f, 0.5f, green);
    expect("some", &some, 0.25f, 0.75f, plain());
}

/* Colours of corners, as MeshLab writes them (bytes divided by 255): of two faces that share
   vertices, before colours of vertices and faces, with alpha, as bytes, and times a texture. */
static void test_ply_corner_colours(void **state) {
    (void)state;
    static const struct {
        const char *type, *full, *middle;
        bool alpha;
    } cases[] = {{"float", "1", "0.7372549", false},
                 {"float", "1", "0.7372549", true},
                 {"uchar", "255", "188", false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        char text[1024];
        const char *f = cases[i].full, *m = cases[i].middle, *a = cases[i].alpha ? " 0" : "";
        const int items = cases[i].alpha ? 12 : 9;
        snprintf(text, sizeof text,
                 PLY("", COLOUR("uchar"), "face 2\n") INDICES
                 "property list uchar %s color\n" COLOUR(
                     "uchar") "end_header\n0 0 0 1 2 3\n1 0 0 1 2 3\n1 1 0 1 2 3\n0 1 0 1 2 3\n"
                              "3 0 1 2 %d %s 0 0%s %s 0 0%s %s 0 0%s 7 7 7\n"
                              "3 0 2 3 %d 0 0 0%s 0 0 %s%s 0 0 0%s 7 7 7\n",
                 cases[i].type, items, f, a, f, a, m, a, items, a, m, a, a);
        const scene_view view = view_of_text("c.ply", text);
        expect("corners", &view, 0.9f, 0.3f, vec3_make(0.7f + 0.3f * half, 0, 0));
        expect("corners", &view, 0.3f, 0.9f, vec3_make(0, 0, 0.3f * half));
    }
    write_pictures();
    const scene_view textured =
        view_of_text("c.ply", PLY("comment TextureFile a.png\n", "", "face 1\n") INDICES WEDGES
                     "property list uchar float color\nend_header\n" PLACES
                     "4 0 1 2 3 8 0 0 1 0 1 1 0 1 12 1 0 0 0 1 0 0 1 0 1 0 0\n");
    expect("textured", &textured, 0.25f, 0.3f, vec3_make(0.75f, 0, 0));
    expect("textured", &textured, 0.75f, 0.3f, vec3_make(0, 0.75f, 0));
    reported_problems problems = {.count = 0};
    const obj_options options = {.problem = on_problem, .context = &problems};
    mesh read;
    file_put_text("c.ply", PLY("", "", "face 1\n") INDICES
                  "property list uchar float color\nend_header\n" PLACES "4 0 1 2 3 5 1 0 0 0 1\n");
    assert_int_equal(ply_load(&read, file_in("c.ply"), &options, NULL), KD_OK);
    assert_int_equal(problems.count, 1);
    assert_string_equal(problems.kinds[0], "color-count");
    mesh_close(&read);
}

/* texnumber chooses among several textures; a number without texture gives none. */
static void test_ply_several_textures(void **state) {
    (void)state;
    write_pictures();
    const scene_view view = view_of_text(
        "n.ply",
        PLY("comment TextureFile a.png\ncomment made by hand\ncomment TextureFile b.png\n", "",
            "face 2\n") INDICES WEDGES "property int texnumber\nend_header\n" PLACES
                                       "3 0 1 2 6 .75 0 .75 0 .75 0 0\n3 0 2 3 6 0 0 1 1 0 1 1\n");
    expect("a.png", &view, 0.75f, 0.5f, green);
    expect("b.png", &view, 0.25f, 0.5f, blue);
    const scene_view none = view_of_text(
        "n.ply", PLY("comment TextureFile b.png\n", "property float s\nproperty float t\n",
                     "face 2\n") INDICES
        "property int texnumber\nend_header\n0 0 0 0 0\n1 0 0 1 0\n1 1 0 1 1\n0 1 0 0 1\n"
        "3 0 1 2 -1\n3 0 2 3 0\n");
    expect("no texture", &none, 0.75f, 0.5f, plain());
    expect("vertex texcoords", &none, 0.25f, 0.5f, blue);
}

/* A texture is multiplied by the colours of vertices or faces. */
static void test_ply_colour_times_texture(void **state) {
    (void)state;
    write_pictures();
    const scene_view vertices = view_of_text(
        "t.ply", PLY("comment TextureFile a.png\n",
                     COLOUR("uchar") "property float s\nproperty float t\n", "face 1\n") INDICES
        "end_header\n0 0 0 188 255 0 0 0\n1 0 0 188 188 0 1 0\n1 1 0 188 188 0 1 1\n"
        "0 1 0 188 255 0 0 1\n4 0 1 2 3\n");
    expect("vertices", &vertices, 0.25f, 0.5f, vec3_scale(red, half));
    expect("vertices", &vertices, 0.75f, 0.5f, vec3_scale(green, 0.25f + 0.75f * half));
    const scene_view corners = view_of_text(
        "t.ply", PLY("comment TextureFile a.png\n", COLOUR("uchar"), "face 1\n") INDICES WEDGES
        "end_header\n0 0 0 188 0 0\n1 0 0 0 188 0\n1 1 0 0 188 0\n0 1 0 188 0 0\n"
        "4 0 1 2 3 8 0 0 1 0 1 1 0 1\n");
    expect("corners", &corners, 0.25f, 0.5f, vec3_scale(red, 0.75f * half));
    const scene_view faces = view_of_text(
        "t.ply", PLY("comment TextureFile a.png\n", "property float u\nproperty float v\n",
                     "face 1\n") INDICES COLOUR("uchar") "end_header\n0 0 0 0 0\n1 0 0 1 0\n1 1 0 "
                                                         "1 1\n0 1 0 0 1\n4 0 1 2 3 188 255 0\n");
    expect("faces", &faces, 0.25f, 0.5f, vec3_scale(red, half));
    expect("faces", &faces, 0.75f, 0.5f, green);
}

static void put_u32(FILE *file, uint32_t bits, bool big) {
    for (int i = 0; i < 4; ++i) fputc((int)(bits >> (big ? 24 - 8 * i : 8 * i) & 255), file);
}

static void put_float(FILE *file, float value, bool big) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    put_u32(file, bits, big);
}

static void test_ply_binary(void **state) {
    (void)state;
    static const float places[4][3] = {{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1, 0}};
    static const float texcoords[6] = {0, 0, 1, 0, 1, 1};
    write_pictures();
    for (int big = 0; big < 2; ++big) {
        FILE *file = fopen(file_in("b.ply"), "wb");
        assert_non_null(file);
        fprintf(file,
                "ply\nformat binary_%s_endian 1.0\ncomment TextureFile b.png\n"
                "comment TextureFile a.png\nelement vertex 4\nproperty float x\nproperty float y\n"
                "property float z\nelement polygon 2\n" INDICES WEDGES "property uchar texnumber\n"
                "property uchar red\nproperty uchar green\nproperty uchar blue\nend_header\n",
                big ? "big" : "little");
        for (int i = 0; i < 12; ++i) put_float(file, places[i / 3][i % 3], big);
        for (uint32_t face = 0; face < 2; ++face) {
            fputc(3, file);
            for (uint32_t k = 0; k < 3; ++k) put_u32(file, k ? k + face : 0, big);
            fputc(6, file);
            for (int k = 0; k < 6; ++k) put_float(file, texcoords[k], big);
            fputc(face == 0, file);
            for (int k = 0; k < 3; ++k) fputc(face == 0 ? 188 : 255, file);
        }
        assert_int_equal(fclose(file), 0);
        const scene_view view = view_of("b.ply");
        expect("a.png", &view, 0.75f, 0.5f, vec3_scale(green, half));
        expect("b.png", &view, 0.25f, 0.5f, blue);
    }
}

/* Rows of a text may be broken over lines, or share one; faces may be called polygons. */
static void test_ply_rows_over_lines(void **state) {
    (void)state;
#define HEAD PLY("", COLOUR("uchar"), "polygon 2\n") INDICES "end_header\n"
    static const char *const texts[] = {
        HEAD "0 0 0\n255 0 0\n1 0 0 255\n0 0\n1 1 0 255 0 0\n\n0 1 0 255 0 0\n3 0 1\n2\n3 0 2 3\n",
        HEAD "0 0 0 255 0 0 1 0 0 255 0 0 1 1 0 255 0 0 0 1 0 255 0 0 3 0 1 2 3 0 2 3",
        HEAD
        "0 0 0 255 0 0\r\n1 0 0\t255 0\r\n 0\r\n1 1 0 255 0\r\n0\r\n0 1 0 255 0 0\r\n3 0 1 2 3 0 "
        "2 3\r\n\r\n",
        HEAD "0 0 0 255 0 0\n1 0 0 255 0 0\n1 1 0 255 0 0\n0 1 0 255 0 0\n3 0 1 2\n3 0 2 3\n"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i)
        for (uint32_t bytes = 0; bytes < 64; bytes += 16) {
            const obj_options options = {.chunk_bytes = bytes};
            mesh read;
            file_put_text("l.ply", texts[i]);
            if (ply_load(&read, file_in("l.ply"), &options, NULL) != KD_OK)
                fail_msg("text %zu: %s", i, kd_last_error());
            static const vec3 corners[4] = {{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1, 0}};
            static const uint32_t triangles[6] = {0, 1, 2, 0, 2, 3};
            assert_int_equal(read.position_count, 4);
            assert_memory_equal(read.positions, corners, sizeof corners);
            assert_int_equal(read.triangle_count, 2);
            assert_memory_equal(read.triangles, triangles, sizeof triangles);
            for (int k = 0; k < 4; ++k) assert_true(read.colours[4 * k] == 1);
            mesh_close(&read);
        }
    mesh read;
    file_put_text("l.ply", HEAD "0 0 0\n255 0 0\n1 0 0 255\n"); /* rows are missing */
    assert_int_equal(ply_load(&read, file_in("l.ply"), NULL, NULL), KD_ERROR_INPUT);
}

#define QUAD "f 1 2 3 4\n"

static void test_obj_vertex_colours(void **state) {
    (void)state;
    static const char *const texts[] = {
        "v 0 0 0 1 0 0\nv 1 0 0 0 0 .7372549\nv 1 1 0 0 0 .7372549\nv 0 1 0 1 0 0\n" QUAD,
        "v 0 0 0 255 0 0\nv 1 0 0 0 0 188\nv 1 1 0 0 0 188\nv 0 1 0 255 0 0\n" QUAD,
        "v 0 0 0 1 0 0 .5\nv 1 0 0 1 0 0 .7372549 1\nv 1 1 0 0 0 .7372549\nv 0 1 0 1 0 0\n" QUAD,
        "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\n#MRGB ffff0000ff0000bcFF0000BCffff0000\n" QUAD,
        "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\n" QUAD
        "#MRGB 00ff0000000000bc\n#MRGB 000000bc00ff0000"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i) {
        const scene_view view = view_of_text("c.obj", texts[i]);
        expect(texts[i], &view, 0.25f, 0.3f, vec3_make(0.75f, 0, 0.25f * half));
        expect(texts[i], &view, 0.75f, 0.6f, vec3_make(0.25f, 0, 0.75f * half));
    }
}

/* Parts of a file without colours keep their material. */
static void test_obj_with_some_colours(void **state) {
    (void)state;
    static const char *const texts[] = {
        "v 0 0 0\nv 1 0 0\nv 1 1 0\nf 1 2 3\nv 0 0 0 1 0 0\nv 1 1 0 1 0 0\nv 0 1 0 1 0 0\nf 4 5 "
        "6\n",
        "v 0 0 0\nv 1 0 0\nv 1 1 0\nf 1 2 3\nv 0 0 0\nv 1 1 0\nv 0 1 0\n"
        "#MRGB ffff0000ffff0000ffff0000\nf 4 5 6\n"};
    for (int i = 0; i < 2; ++i) {
        const scene_view view = view_of_text("s.obj", texts[i]);
        expect("plain", &view, 0.75f, 0.5f, plain());
        expect("red", &view, 0.25f, 0.5f, red);
    }
}

/* Colours are multiplied by Kd and map_Kd, also where vertices of different colours share a texture
   coordinate. */
static void test_obj_colour_times_texture(void **state) {
    (void)state;
    write_pictures();
    file_put_text("t.mtl", "newmtl t\nmap_Kd a.png\nnewmtl k\nKd .5 .5 .5\n");
#define COLOURED "mtllib t.mtl\nv 0 0 0 1 1 1\nv 1 0 0 0 0 0\nv 1 1 0 0 0 0\nv 0 1 0 1 1 1\n"
    const scene_view own = view_of_text(
        "t.obj", COLOURED "vt 0 0\nvt 1 0\nvt 1 1\nvt 0 1\nusemtl t\nf 1/1 2/2 3/3 4/4\n");
    expect("own", &own, 0.25f, 0.5f, vec3_scale(red, 0.75f));
    expect("own", &own, 0.75f, 0.5f, vec3_scale(green, 0.25f));
    const scene_view shared =
        view_of_text("t.obj", COLOURED "vt .75 .5\nusemtl t\nf 1/1 2/1 3/1\nf 1/1 3/1 4/1\n");
    expect("shared", &shared, 0.25f, 0.1f, vec3_scale(green, 0.75f));
    expect("shared", &shared, 0.75f, 0.8f, vec3_scale(green, 0.25f));
    const scene_view without =
        view_of_text("t.obj", COLOURED "vt .75 .5\nusemtl k\nf 1/1 2/1 3/1\nf 1 3 4\n");
    expect("without", &without, 0.25f, 0.1f, vec3_all(0.375f));
    expect("without", &without, 0.25f, 0.5f, vec3_all(0.375f));
}

/* Writes a square of two facets with their attributes, and `more` zeros after the last. */
static void write_stl(const char *header, uint32_t first, uint32_t second, int more) {
    static const float corners[2][9] = {{0, 0, 0, 1, 0, 0, 1, 1, 0}, {0, 0, 0, 1, 1, 0, 0, 1, 0}};
    FILE *file = fopen(file_in("a.stl"), "wb");
    assert_non_null(file);
    fprintf(file, "%s", header);
    for (size_t i = strlen(header); i < 80; ++i) fputc(' ', file);
    put_u32(file, 2, false);
    for (int facet = 0; facet < 2; ++facet) {
        const uint32_t attribute = facet ? second : first;
        for (int k = 0; k < 3; ++k) put_float(file, k == 2, false);
        for (int k = 0; k < 9; ++k) put_float(file, corners[facet][k], false);
        fputc((int)(attribute & 255), file);
        fputc((int)(attribute >> 8), file);
    }
    for (int i = 0; i < more; ++i) fputc(0, file);
    assert_int_equal(fclose(file), 0);
}

static void test_stl_colours(void **state) {
    (void)state;
    static const struct {
        const char *header;
        uint32_t first, second;
        vec3 right, left;
    } cases[] = {
        {"VisCAM", 0x8000 | 31 << 10, 0x8000 | 31, {1, 0, 0}, {0, 0, 1}},
        {"solid VisCAM", 0x8000 | 31 << 5, 0x8000 | 16 << 5, {0, 1, 0}, {0, 0.2307401f, 0}},
        {"Magics COLOR=\x1\xff\x1\xff", 31, 31 << 10, {1, 0, 0}, {0, 0, 1}},
        {"COLOR=\xbc\xbc\xbc\xff,MATERIAL=",
         0x8000,
         31 << 5,
         {0.5028865f, 0.5028865f, 0.5028865f},
         {0, 1, 0}},
        {"COLOR=\xff\xbc\xff\xff", 0, 0, {1, 0.5028865f, 1}, {1, 0.5028865f, 1}}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        write_stl(cases[i].header, cases[i].first, cases[i].second, 0);
        const scene_view view = view_of("a.stl");
        expect(cases[i].header, &view, 0.75f, 0.5f, cases[i].right);
        expect(cases[i].header, &view, 0.25f, 0.5f, cases[i].left);
    }
    write_stl("some program", 0x8000 | 31, 0, 0);
    const scene_view some = view_of("a.stl");
    expect("coloured facet", &some, 0.75f, 0.5f, blue);
    expect("plain facet", &some, 0.25f, 0.5f, plain());
    write_stl("some program", 7, 0x7fff, 0); /* attributes that are not colours */
    const scene_view none = view_of("a.stl");
    assert_null(none.mesh.colours);
    expect("no colour", &none, 0.75f, 0.5f, plain());
}

/* Bytes after the last facet, in a binary file that begins with "solid", are a warning. */
static void test_stl_with_a_tail(void **state) {
    (void)state;
    reported_problems to = {.count = 0};
    const obj_options options = {.problem = on_problem, .context = &to, .keep_going = true};
    mesh read;
    write_stl("solid from CAD", 0, 0, 2);
    assert_int_equal(stl_load(&read, file_in("a.stl"), &options, NULL), KD_OK);
    assert_int_equal(read.triangle_count, 2);
    assert_int_equal(to.count, 1);
    assert_string_equal(to.kinds[0], "trailing");
    mesh_close(&read);
}

static int close_all(void **state) {
    if (opened) scene_close(opened);
    return folder_remove(state);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ply_vertex_colours),
        cmocka_unit_test(test_ply_face_colours),
        cmocka_unit_test(test_ply_corner_texcoords),
        cmocka_unit_test(test_ply_corner_colours),
        cmocka_unit_test(test_ply_several_textures),
        cmocka_unit_test(test_ply_colour_times_texture),
        cmocka_unit_test(test_ply_binary),
        cmocka_unit_test(test_ply_rows_over_lines),
        cmocka_unit_test(test_obj_vertex_colours),
        cmocka_unit_test(test_obj_with_some_colours),
        cmocka_unit_test(test_obj_colour_times_texture),
        cmocka_unit_test(test_stl_colours),
        cmocka_unit_test(test_stl_with_a_tail),
    };
    return cmocka_run_group_tests(tests, folder_make, close_all);
}
