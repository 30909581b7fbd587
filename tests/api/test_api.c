/* The public C API from a C99 program, which includes only <kandela/...> headers. */
#include <kandela/photons.h>
#include <kandela/render.h>
#include <kandela/status.h>
#include <kandela/version.h>

#include "api/moving_box.h"
#include "test.h"
#include <unistd.h>

static char folder[] = "/tmp/kandela-api-XXXXXX";
static char scene_path[64], picture_path[64], map_path[64];

static const char box[] = "mtllib box.mtl\n"
                          "v -1 0 -1\nv 1 0 -1\nv 1 0 1\nv -1 0 1\n"
                          "v -1 2 -1\nv 1 2 -1\nv 1 2 1\nv -1 2 1\n"
                          "usemtl wall\nf 4 3 2 1\nf 1 2 6 5\nusemtl lamp\nf 5 6 7 8\n";
static const char paint[] = "newmtl wall\nKd 0.5 0.6 0.7\nnewmtl lamp\nKd 0 0 0\nKe 3 2 1\n";

static void write_file(const char *name, const char *text) {
    char path[64];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static int set_up(void **state) {
    (void)state;
    if (!mkdtemp(folder)) return 1;
    write_file("box.obj", box);
    write_file("box.mtl", paint);
    snprintf(scene_path, sizeof scene_path, "%s/box.obj", folder);
    snprintf(picture_path, sizeof picture_path, "%s/box.pfm", folder);
    snprintf(map_path, sizeof map_path, "%s/box.kdp", folder);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    static const char *const names[] = {"box.obj", "box.mtl", "box.pfm", "box.kdp"};
    char path[64];
    for (int i = 0; i < 4; ++i) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        unlink(path);
    }
    return rmdir(folder);
}

typedef struct watcher {
    int calls, stop_at;
} watcher;

static int count_reports(void *context, const char *stage, int64_t done, int64_t total) {
    watcher *listener = (watcher *)context;
    if (!stage || done < 0 || done > total) return 1;
    return ++listener->calls == listener->stop_at;
}

static void test_render(void **state) {
    (void)state;
    kd_render_options options;
    kd_render_options_default(&options);
    options.width = 24;
    options.height = 16;
    options.spp = 4;
    kd_scene *scene = NULL;
    assert_int_equal(kd_scene_load(&scene, scene_path, &options), KD_OK);
    const kd_scene_counts counts = kd_scene_count(scene);
    assert_int_equal(counts.triangles, 6);
    assert_true(counts.lights >= 2);
    kd_image *image = NULL, *again = NULL;
    watcher watcher = {0, -1};
    assert_int_equal(kd_render(&image, scene, &options, count_reports, &watcher), KD_OK);
    assert_true(watcher.calls > 0);
    assert_int_equal(kd_image_width(image), 24);
    assert_int_equal(kd_image_height(image), 16);
    assert_int_equal(kd_image_samples(image), 4);
    const float *green = kd_image_channel(image, "G");
    assert_non_null(green);
    assert_null(kd_image_channel(image, "Green"));
    float brightest = 0;
    for (int i = 0; i < 24 * 16; ++i) brightest = green[i] > brightest ? green[i] : brightest;
    assert_true(brightest > 0);
    assert_int_equal(kd_render(&again, scene, &options, NULL, NULL), KD_OK);
    assert_int_equal(kd_image_hash(image), kd_image_hash(again));
    assert_int_equal(kd_image_write(image, picture_path, 0, KD_TONEMAP_LINEAR), KD_OK);
    kd_image_close(image);
    kd_image_close(again);
    kd_scene_close(scene);
}

/* A scene from files and the same scene from arrays render the same picture. */
static void test_parse(void **state) {
    (void)state;
    static const float vertices[8][3] = {{-1, 0, -1}, {1, 0, -1}, {1, 0, 1}, {-1, 0, 1},
                                         {-1, 2, -1}, {1, 2, -1}, {1, 2, 1}, {-1, 2, 1}};
    static const uint32_t walls[12] = {3, 2, 1, 3, 1, 0, 0, 1, 5, 0, 5, 4},
                          lamp[6] = {4, 5, 6, 4, 6, 7};
    static const char text[] =
        "{\"kandela\": 1, \"render\": {\"resolution\": [24, 16], \"spp\": 4},\n"
        "\"meshes\": [{\"file\": \"mesh:walls\", \"material\": {\"kind\": \"diffuse\", "
        "\"diffuse\": "
        "[0.5, 0.6, 0.7]}},\n{\"file\": \"mesh:lamp\", \"material\": {\"kind\": \"diffuse\", "
        "\"diffuse\": 0, \"emission\": [3, 2, 1]}}]}";
    kd_scene_mesh meshes[2] = {{"lamp", vertices[0], 8, lamp, 2, NULL, NULL},
                               {"walls", vertices[0], 8, walls, 4, NULL, NULL}};
    kd_render_options options;
    kd_scene *files = NULL, *arrays = NULL;
    kd_image *one = NULL, *other = NULL;
    kd_render_options_default(&options);
    if (kd_scene_parse(&arrays, text, sizeof text - 1, NULL, meshes, 2, &options) != KD_OK)
        fail_msg("%s", kd_last_error());
    assert_int_equal(options.width, 24);
    assert_int_equal(kd_scene_count(arrays).triangles, 6);
    assert_int_equal(kd_scene_load(&files, scene_path, NULL), KD_OK);
    assert_int_equal(kd_render(&one, files, &options, NULL, NULL), KD_OK);
    assert_int_equal(kd_render(&other, arrays, &options, NULL, NULL), KD_OK);
    assert_int_equal(kd_image_hash(one), kd_image_hash(other));
    kd_image_close(one);
    kd_image_close(other);
    kd_scene_close(files);
    kd_scene_close(arrays);
    meshes[0].name = "lamb";
    assert_int_equal(kd_scene_parse(&arrays, text, sizeof text - 1, NULL, meshes, 2, NULL),
                     KD_ERROR_INPUT);
    assert_null(arrays);
    assert_non_null(strstr(kd_last_error(), "did you mean \"lamb\"?"));
    meshes[0].name = "lamp";
    meshes[1].vertex_count = 5;
    assert_int_equal(kd_scene_parse(&arrays, text, sizeof text - 1, "/tmp", meshes, 2, NULL),
                     KD_ERROR_INPUT);
    assert_non_null(strstr(kd_last_error(), "vertex index 5; the mesh has 5"));
}

/* The arrays may change after the scene is opened. */
static void test_blur(void **state) {
    (void)state;
    kd_render_options options;
    kd_scene *opened = moving_open(&options);
    const uint64_t shut = moving_hash(opened, &options);
    options.shutter = 6;
    const uint64_t open = moving_hash(opened, &options);
    assert_int_equal(moving_hash(opened, &options), open);
    assert_true(open != shut);
    options.shutter = 0;
    assert_int_equal(moving_hash(opened, &options), shut);
    kd_image *image = NULL;
    options.shutter = 1;
    options.frame = 2;
    assert_int_equal(kd_render(&image, opened, &options, NULL, NULL), KD_ERROR_USAGE);
    assert_non_null(strstr(kd_last_error(), "was opened at frame 1, not 2"));
    kd_scene_close(opened);
}

static void test_cancel(void **state) {
    (void)state;
    kd_render_options options;
    kd_render_options_default(&options);
    options.spp = 100000;
    kd_scene *scene = NULL;
    assert_int_equal(kd_scene_load(&scene, scene_path, NULL), KD_OK);
    kd_image *image = NULL;
    watcher watcher = {0, 4};
    assert_int_equal(kd_render(&image, scene, &options, count_reports, &watcher), KD_INTERRUPTED);
    assert_non_null(image);
    assert_non_null(kd_image_channel(image, "R"));
    kd_image_close(image);
    kd_scene_close(scene);
}

/* Photons read from a file equal those written. */
static void expect_loaded(const char *path, const kd_photons *one) {
    kd_photons *loaded = NULL;
    assert_int_equal(kd_photons_load(&loaded, path), KD_OK);
    for (int map = 0; map < 3; ++map) {
        const kd_photon_counts written = kd_photons_count(one, (kd_photon_map)map);
        const kd_photon_counts read = kd_photons_count(loaded, (kd_photon_map)map);
        assert_true(read.stored == written.stored && read.emitted == written.emitted);
        assert_true(read.watts == written.watts && read.complete == written.complete);
        if (read.stored)
            assert_memory_equal(kd_photons_list(loaded, (kd_photon_map)map),
                                kd_photons_list(one, (kd_photon_map)map),
                                read.stored * sizeof(kd_photon));
    }
    kd_photons_close(loaded);
    assert_int_equal(kd_photons_load(&loaded, "/nowhere/at/all"), KD_ERROR_INPUT);
    assert_null(loaded);
}

/* Photons are the same on one thread and on two. Rendering with given photons equals rendering that
   traces the photons itself. */
static void test_photons(void **state) {
    (void)state;
    kd_render_options options;
    kd_render_options_default(&options);
    options.photons = 2000;
    options.width = options.height = 16;
    options.spp = 1;
    strcpy(options.integrator, "photon");
    kd_scene *scene = NULL;
    kd_photons *one = NULL, *two = NULL;
    assert_int_equal(kd_scene_load(&scene, scene_path, NULL), KD_OK);
    options.threads = 1;
    assert_int_equal(kd_photons_emit(&one, scene, &options, NULL, NULL), KD_OK);
    options.threads = 2;
    watcher listener = {0, -1};
    assert_int_equal(kd_photons_emit(&two, scene, &options, count_reports, &listener), KD_OK);
    assert_true(listener.calls > 0);
    const kd_photon_counts counts = kd_photons_count(one, KD_PHOTONS_GLOBAL);
    const kd_photon *photons = kd_photons_list(one, KD_PHOTONS_GLOBAL);
    assert_true(counts.complete == 1 && counts.stored >= 2000 && counts.emitted >= 2000);
    assert_memory_equal(photons, kd_photons_list(two, KD_PHOTONS_GLOBAL),
                        counts.stored * sizeof *photons);
    double landed = 0;
    for (uint64_t i = 0; i < counts.stored; ++i) {
        const kd_photon *at = &photons[i];
        assert_true(at->triangle < 6 && at->kind == 2 && at->bounce > 0);
        assert_true(i == 0 || at->path >= at[-1].path);
        landed += (double)(at->power[0] + at->power[1] + at->power[2]) / 3;
    }
    assert_true(landed > 0 && landed < counts.watts);
    assert_null(kd_photons_list(one, KD_PHOTONS_MEDIA));
    assert_int_equal(kd_photons_write(one, map_path), KD_OK);
    expect_loaded(map_path, one);
    kd_image *image = NULL, *from_maps = NULL;
    assert_int_equal(kd_render(&image, scene, &options, NULL, NULL), KD_OK);
    options.photon_map = map_path;
    assert_int_equal(kd_render(&from_maps, scene, &options, NULL, NULL), KD_OK);
    assert_int_equal(kd_image_hash(image), kd_image_hash(from_maps));
    options.photons = 50000000;
    kd_photons *none = two;
    for (int stop_at = 1; stop_at < 9; ++stop_at) { /* in the build and during emission */
        watcher stops = {0, stop_at};
        none = two;
        assert_int_equal(kd_photons_emit(&none, scene, &options, count_reports, &stops),
                         KD_INTERRUPTED);
        assert_null(none);
    }
    options.max_depth = 0;
    assert_int_equal(kd_photons_emit(&none, scene, &options, NULL, NULL), KD_ERROR_USAGE);
    kd_image_close(image);
    kd_image_close(from_maps);
    kd_photons_close(one);
    kd_photons_close(two);
    kd_scene_close(scene);
}

static void expect_usage(const kd_scene *scene, const kd_render_options *options,
                         kd_status expected) {
    kd_image *image = NULL;
    assert_int_equal(kd_render(&image, scene, options, NULL, NULL), expected);
    assert_null(image);
    assert_true(kd_last_error()[0] != 0);
}

static void test_refusals(void **state) {
    (void)state;
    kd_scene *scene = NULL;
    assert_int_not_equal(kd_scene_load(&scene, "/nowhere/at/all.obj", NULL), KD_OK);
    assert_null(scene);
    kd_scene_close(scene);
    kd_image_close(NULL);
    assert_int_equal(kd_scene_load(&scene, scene_path, NULL), KD_OK);
    kd_render_options good, bad;
    kd_render_options_default(&good);
    good.width = good.height = 8;
    bad = good;
    bad.width = 0;
    expect_usage(scene, &bad, KD_ERROR_USAGE);
    bad = good;
    bad.spp = 0;
    expect_usage(scene, &bad, KD_ERROR_USAGE);
    bad = good;
    bad.max_depth = 0;
    expect_usage(scene, &bad, KD_ERROR_USAGE);
    bad = good;
    bad.crop[0] = 4;
    bad.crop[2] = 9;
    bad.crop[3] = 8;
    expect_usage(scene, &bad, KD_ERROR_USAGE);
    bad = good;
    strcpy(bad.integrator, "magic");
    expect_usage(scene, &bad, KD_ERROR_USAGE);
    bad = good;
    strcpy(bad.builder, "magic");
    expect_usage(scene, &bad, KD_ERROR_USAGE);
    bad = good;
    strcpy(bad.device, "cuda:99");
    expect_usage(scene, &bad, KD_ERROR_DEVICE);
    kd_scene_close(scene);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_render),  cmocka_unit_test(test_parse),
        cmocka_unit_test(test_blur),    cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_photons), cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
