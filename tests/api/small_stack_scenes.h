/* Calls the functions of <kandela/render.h> and <kandela/photons.h> for test_small_stack.c. */
#ifndef KD_TESTS_API_SMALL_STACK_SCENES_H
#define KD_TESTS_API_SMALL_STACK_SCENES_H
#include <kandela/photons.h>

static const char *const stack_scenes[] = {KD_TEST_SOURCE_DIR "/scenes/cornell_caustic.json",
                                           KD_TEST_SOURCE_DIR "/scenes/cornell_fog.json",
                                           KD_TEST_SOURCE_DIR "/scenes/prism.json",
                                           KD_TEST_SOURCE_DIR "/scenes/pool.json"};

static void make_small(kd_render_options *options) {
    options->width = 20;
    options->height = 16;
    options->spp = 2;
    options->passes = 2;
    options->photons = options->caustic_photons = options->media_photons = 600;
    options->gather = 1000;
    options->final_gather = options->final_gather ? 4 : 0;
    options->threads = 1;
    options->time_seconds = 0;
    options->filter = 0; /* light and debug support box filters only */
    options->shutter = 0;
    options->target_error = 0;
    memset(options->crop, 0, sizeof options->crop);
    strcpy(options->device, "cpu");
}

static void write_all(const kd_image *image) {
    static const char *const suffixes[] = {"png", "jpg", "webp", "exr", "pfm", "hdr"};
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; ++i) {
        char name[64];
        snprintf(name, sizeof name, "small_stack.%s", suffixes[i]);
        const kd_status status = kd_image_write(image, name, 0, KD_TONEMAP_AGX);
        /* a build may lack the format's library */
        if (status != KD_OK && (status != KD_ERROR_USAGE || strcmp(suffixes[i], "png") == 0))
            fail_msg("%s: %s", name, kd_last_error());
        kd_image *read = NULL;
        if (status == KD_OK) OK(kd_image_read(&read, name, NULL));
        kd_image_close(read);
    }
    assert_non_null(kd_image_channel(image, "R"));
    assert_true(kd_image_width(image) == 20 && kd_image_height(image) == 16);
    (void)kd_image_samples(image);
    (void)kd_image_hash(image);
}

static int ignore_call(void *context, const char *stage, int64_t done, int64_t total) {
    (void)context, (void)stage, (void)done, (void)total;
    return 0;
}

static void render_with(const kd_scene *scene, const kd_render_options *options) {
    kd_image *image = NULL;
    OK(kd_render(&image, scene, options, ignore_call, NULL));
    write_all(image);
    kd_image_close(image);
}

static void render_small(const char *path, const char *method) {
    kd_scene *scene = NULL;
    kd_render_options options;
    kd_render_options_default(&options);
    OK(kd_scene_load(&scene, path, &options));
    assert_true(kd_scene_count(scene).triangles > 0);
    double origin[3];
    kd_scene_origin(scene, origin);
    assert_true(origin[0] == 0);
    make_small(&options);
    strcpy(options.integrator, method);
    render_with(scene, &options);
    kd_scene_close(scene);
}

/* Renders with the photon map options that select other code. */
static void render_variants(void) {
    static const char *const estimators[] = {"nearest", "fixed", "adaptive"};
    static const char *const lookups[] = {"leaves", "walk"};
    static const char *const shown[] = {"normals", "density", "radius", "distance"};
    kd_scene *scene = NULL;
    kd_render_options options;
    kd_render_options_default(&options);
    OK(kd_scene_load(&scene, stack_scenes[1], &options));
    make_small(&options);
    for (int i = 0; i < 12; ++i) {
        strcpy(options.integrator, "photon");
        strcpy(options.estimator, estimators[i % 3]);
        strcpy(options.lookup, lookups[i % 2]);
        strcpy(options.media, i % 4 < 2 ? "points" : "beams");
        options.radius = i % 3 == 1 ? 0.2f : 0;
        options.final_gather = i < 6 ? 0 : 4;
        options.precompute = i < 9;
        options.filter = i % 4;
        render_with(scene, &options);
    }
    for (size_t i = 0; i < sizeof shown / sizeof *shown; ++i) {
        strcpy(options.integrator, "debug");
        strcpy(options.channel, shown[i]);
        options.filter = 0;
        render_with(scene, &options);
    }
    kd_scene_close(scene);
}

static void emit_small(const char *path) {
    kd_scene *scene = NULL;
    kd_photons *photons = NULL;
    kd_render_options options;
    kd_render_options_default(&options);
    OK(kd_scene_load(&scene, path, &options));
    make_small(&options);
    OK(kd_photons_emit(&photons, scene, &options, NULL, NULL));
    for (int map = KD_PHOTONS_GLOBAL; map <= (int)KD_PHOTONS_MEDIA; ++map) {
        (void)kd_photons_count(photons, (kd_photon_map)map);
        (void)kd_photons_list(photons, (kd_photon_map)map);
    }
    OK(kd_photons_write(photons, "small_stack.kdp"));
    kd_photons_close(photons);
    OK(kd_photons_load(&photons, "small_stack.kdp"));
    kd_photons_close(photons);
    options.photon_map = "small_stack.kdp";
    strcpy(options.integrator, "photon");
    render_with(scene, &options);
    kd_scene_close(scene);
}

/* --- files ------------------------------------------------------------------------------------ */

static void write_file(const char *path, const char *text) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void load_any(const char *path, int must) {
    kd_scene *scene = NULL;
    const kd_status status = kd_scene_load(&scene, path, NULL);
    if (must && status != KD_OK) fail_msg("%s: %s", path, kd_last_error());
    kd_scene_close(scene);
}

/* Writes nested brackets, the worst case for the stack of a recursive reader. */
static void load_nested(const char *path, const char *before, char open, char close) {
    enum { DEPTH = 100000 };
    static char text[2 * DEPTH + 200];
    size_t at = (size_t)snprintf(text, sizeof text, "%s", before);
    memset(text + at, open, DEPTH);
    memset(text + at + DEPTH, close, DEPTH);
    text[at + 2 * DEPTH] = '\0';
    write_file(path, text);
    load_any(path, 0);
    /* depths that a recursive reader might accept */
    for (int depth = 10; depth <= 1000; depth *= 10) {
        char *end = text + at;
        for (int i = 0; i < depth; ++i) *end++ = open;
        for (int i = 0; i < depth; ++i) *end++ = close;
        snprintf(end, 4, "}");
        write_file(path, text);
        load_any(path, 0);
    }
}

static const char obj_text[] = "mtllib small_stack.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 1 0\nv .5 2 "
                               "0\nvt 0 0\nvt 1 0\nvt 0 1\nusemtl a\nf 1/1 2/2 3/3\nf 1 2 4 5 3\n";
static const char ply_text[] =
    "ply\nformat ascii 1.0\nelement vertex 4\nproperty float x\nproperty float y\nproperty float "
    "z\nproperty uchar red\nproperty uchar green\nproperty uchar blue\nelement face 2\nproperty "
    "list "
    "uchar int vertex_indices\nend_header\n0 0 0 255 0 0\n1 0 0 0 255 0\n0 1 0 0 0 255\n1 1 0 9 9 "
    "9\n3 0 1 2\n3 1 3 2\n";
static const char stl_text[] = "solid a\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 "
                               "0\nvertex 0 1 0\nendloop\nendfacet\nendsolid a\n";

static void *files_in_thread(void *unused) {
    static const char *const pictures[] = {"small_stack.png", "small_stack.jpg", "small_stack.webp",
                                           "small_stack.exr", "small_stack.hdr"};
    render_small(stack_scenes[0], "debug"); /* writes the pictures */
    for (size_t i = 0; i < sizeof pictures / sizeof *pictures; ++i) {
        char text[200];
        snprintf(text, sizeof text, "newmtl a\nKd 1 1 1\nmap_Kd %s\n", pictures[i]);
        write_file("small_stack.mtl", text);
        write_file("small_stack.obj", obj_text);
        load_any("small_stack.obj", i == 0);
    }
    write_file("small_stack.ply", ply_text);
    write_file("small_stack.stl", stl_text);
    load_any("small_stack.ply", 1);
    load_any("small_stack.stl", 1);
    load_any("gen:blob:3000", 1);
    load_nested("small_stack.json", "{\"kandela\": 1, \"meshes\": ", '[', ']');
    load_nested("small_stack.gltf", "{\"asset\": ", '[', ']');
    write_file("small_stack.json",
               "{\"kandela\": 1, \"meshes\": [{\"file\": \"small_stack.obj\"}]}");
    load_any("small_stack.json", 0);
    kd_scene *scene = NULL;
    static const float corner[] = {0, 0, 0, 1, 0, 0, 0, 1, 0};
    const char text[] = "{\"kandela\": 1, \"meshes\": [{\"file\": \"mesh:a\"}]}";
    const kd_scene_mesh mesh = {"a", corner, 3, NULL, 1, NULL, NULL};
    OK(kd_scene_parse(&scene, text, sizeof text - 1, NULL, &mesh, 1, NULL));
    kd_scene_close(scene);
    const kd_scene_parts parts = {.struct_size = sizeof parts, .meshes = &mesh, .mesh_count = 1};
    OK(kd_scene_make(&scene, &parts, NULL));
    kd_scene_close(scene);
    return unused;
}

#endif
