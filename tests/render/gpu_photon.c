/* `photon` and `sppm` render the same picture on a CUDA device as on the CPU, bit for bit,
   with the same photons, rays and energy, in air and in fog: whole pictures, crops, and renderings
   resumed on either device. */
#include "accel/builders.h"
#include "core/device/device.h"
#include "core/status.h"
#include "photon/maps/photon_file.h"
#include "photon/maps/photon_map.h"
#include "render/photon_mapping/photon.h"
#include "scenes/assembly/scene.h"
#include "tests/photon/device_matches_cpu.h"
#include "tests/scenes/files.h"

/* Rough plastic under a smooth coat, frosted glass, cut-outs, and every kind of lamp. */
static const char *const still =
    "{\"kandela\": 1, \"materials\": {"
    "\"coat\": {\"kind\": \"plastic\", \"diffuse\": [0.7, 0.1, 0.1], \"roughness\": 0},"
    "\"satin\": {\"kind\": \"plastic\", \"diffuse\": [0.2, 0.5, 0.1], \"roughness\": 0.4},"
    "\"frost\": {\"kind\": \"glass\", \"ior\": 1.4, \"roughness\": 0.4},"
    "\"gold\": {\"kind\": \"conductor\", \"specular\": [1, 0.8, 0.3], \"roughness\": 0.3},"
    "\"veil\": {\"diffuse\": 0.6, \"opacity\": 0.4}},"
    "\"meshes\": ["
    "{\"quad\": [[-4, 0, 4], [4, 0, 4], [4, 0, -4], [-4, 0, -4]], \"material\": {\"diffuse\": "
    "0.7}},"
    "{\"quad\": [[-4, 0, -4], [4, 0, -4], [4, 5, -4], [-4, 5, -4]], \"material\": \"satin\"},"
    "{\"quad\": [[-2, 0, 2], [0, 0, 2], [0, 2, 2], [-2, 2, 2]], \"material\": \"veil\"},"
    "{\"sphere\": {\"centre\": [0, 1, 0], \"triangles\": 2000}, \"material\": \"coat\"},"
    "{\"sphere\": {\"centre\": [-2, 0.6, 0], \"radius\": 0.6, \"triangles\": 800}, \"material\": "
    "\"frost\"},"
    "{\"sphere\": {\"centre\": [2, 0.6, 0], \"radius\": 0.6, \"triangles\": 800}, \"material\": "
    "\"gold\"}],"
    "\"lights\": [{\"kind\": \"point\", \"position\": [2, 3, 2], \"power\": 90},"
    "{\"kind\": \"spot\", \"position\": [-2, 3, 1], \"look_at\": [0, 0, 0], \"power\": 60},"
    "{\"kind\": \"directional\", \"direction\": [1, -2, -1], \"irradiance\": 0.5},"
    "{\"kind\": \"area\", \"corner\": [-3, 2, -3], \"edge_u\": [0, 1, 0], \"edge_v\": [1, 0, 0], "
    "\"power\": 30, \"two_sided\": true}],"
    "\"camera\": {\"eye\": [0, 2, 6], \"look_at\": [0, 0.6, 0]}}";

/* A lamp that faces away from everything, so that no photon lands. */
static const char *const dark =
    "{\"kandela\": 1, \"meshes\": ["
    "{\"quad\": [[-4, 0, 4], [4, 0, 4], [4, 0, -4], [-4, 0, -4]], \"material\": {\"diffuse\": "
    "0.7}}],"
    "\"lights\": [{\"kind\": \"spot\", \"position\": [0, 3, 0], \"look_at\": [0, 9, 0], \"power\": "
    "60}],"
    "\"camera\": {\"eye\": [0, 2, 6], \"look_at\": [0, 0.6, 0]}}";

/* Most light misses the scene, so that emission is guided; the lamps are a sky and a point. */
static const char *const sparse =
    "{\"kandela\": 1, \"meshes\": ["
    "{\"quad\": [[-9, 0, 9], [9, 0, 9], [9, 0, -9], [-9, 0, -9]], \"material\": {\"diffuse\": "
    "0.2}},"
    "{\"box\": {\"lo\": [-0.2, 0, -0.2], \"hi\": [0.2, 0.4, 0.2]}, \"material\": {\"diffuse\": "
    "0.2}}],"
    "\"environment\": {\"radiance\": 1},"
    "\"lights\": [{\"kind\": \"point\", \"position\": [2, 4, 1], \"intensity\": 10}],"
    "\"camera\": {\"eye\": [0, 0.4, 1.5], \"look_at\": [0, 0.1, 0]}}";

/* Two lit rooms beside a thin wall, which hides photons within the radius of estimates. */
static const char *const walled =
    "{\"kandela\": 1, \"materials\": {\"satin\": {\"kind\": \"plastic\", \"diffuse\": [0.2, 0.5, "
    "0.1], "
    "\"roughness\": 0.4}}, \"meshes\": ["
    "{\"box\": {\"lo\": [-2, 0, -1], \"hi\": [2, 1, 1]}, \"material\": {\"diffuse\": 0.7}},"
    "{\"quad\": [[-1, 0.01, -1], [-1, 0.01, 1], [1, 0.01, 1], [1, 0.01, -1]], \"material\": "
    "\"satin\"},"
    "{\"box\": {\"lo\": [-0.01, 0, -1], \"hi\": [0.01, 1, 1]}, \"material\": {\"diffuse\": 0.7}}],"
    "\"lights\": [{\"kind\": \"point\", \"position\": [-1, 0.6, 0], \"power\": 9},"
    "{\"kind\": \"point\", \"position\": [1, 0.6, 0], \"power\": 2}],"
    "\"camera\": {\"eye\": [1, 0.9, 0], \"look_at\": [0.2, 0, 0], \"up\": [0, 0, 1], \"fov\": 90}}";

/* A room of fog with a lamp, dense smoke without a surface, clear and inky glass. */
static const char *const foggy =
    "{\"kandela\": 1, \"media\": {"
    "\"fog\": {\"scattering\": [0.3, 0.4, 0.5], \"absorption\": 0.05, \"g\": 0.4},"
    "\"ink\": {\"absorption\": [3.5, 0.9, 0.4]},"
    "\"smoke\": {\"scattering\": [4, 3, 2], \"absorption\": [0.2, 0.4, 0.6], \"g\": -0.2}},"
    "\"fog\": \"fog\", \"materials\": {"
    "\"white\": {\"diffuse\": [0.7, 0.7, 0.6]},"
    "\"satin\": {\"kind\": \"plastic\", \"diffuse\": [0.2, 0.5, 0.1], \"roughness\": 0.4},"
    "\"veil\": {\"diffuse\": 0.6, \"opacity\": 0.4},"
    "\"glass\": {\"kind\": \"glass\", \"ior\": 1.5},"
    "\"ink\": {\"kind\": \"glass\", \"ior\": 1.3, \"medium\": \"ink\"},"
    "\"smoke\": {\"opacity\": 0, \"medium\": \"smoke\"}},"
    "\"meshes\": ["
    "{\"quad\": [[-2, 0, 2], [2, 0, 2], [2, 0, -2], [-2, 0, -2]], \"material\": \"white\"},"
    "{\"quad\": [[-2, 0, -2], [2, 0, -2], [2, 3, -2], [-2, 3, -2]], \"material\": \"satin\"},"
    "{\"quad\": [[-2, 0, 2], [-2, 0, -2], [-2, 3, -2], [-2, 3, 2]], \"material\": \"white\"},"
    "{\"quad\": [[-1.5, 0, 1], [-0.5, 0, 1], [-0.5, 1, 1], [-1.5, 1, 1]], \"material\": "
    "\"veil\"},"
    "{\"sphere\": {\"centre\": [0.2, 1.5, 0], \"radius\": 0.5, \"triangles\": 300}, "
    "\"material\": \"glass\"},"
    "{\"sphere\": {\"centre\": [-1, 0.5, -0.5], \"radius\": 0.5, \"triangles\": 300}, "
    "\"material\": \"ink\"},"
    "{\"box\": {\"lo\": [0.5, 0.01, -1], \"hi\": [1.5, 1, 0.5]}, \"material\": \"smoke\"}],"
    "\"lights\": [{\"kind\": \"spot\", \"position\": [0, 2.9, 0.5], \"look_at\": [0, 0, -0.3], "
    "\"power\": 60},"
    "{\"kind\": \"area\", \"corner\": [-1, 2.9, -1], \"edge_u\": [1, 0, 0], \"edge_v\": [0, 0, 1], "
    "\"power\": 30}],"
    "\"camera\": {\"eye\": [0, 1.2, 4], \"look_at\": [0, 1.1, 0], \"fov\": 50}}";

/* A deck of small squares with gaps in a large room: more tiles than a group of lookups can
   hold. */
static void write_deck(void) {
    enum { SIDE = 24, BYTES = 160 };
    char *text = (char *)malloc(BYTES * (SIDE * SIDE + 4));
    assert_non_null(text);
    size_t used = (size_t)sprintf(
        text, "{\"kandela\": 1, \"camera\": {\"eye\": [0, 3, 1], \"look_at\": [0, 0, 0]}, "
              "\"lights\": [{\"kind\": \"point\", \"position\": [0, 4, 0], \"power\": 90}], "
              "\"meshes\": [{\"box\": {\"lo\": [-5, -5, -5], \"hi\": [5, 5, 5]}, "
              "\"inward\": true}");
    for (int i = 0; i < SIDE * SIDE; ++i) {
        const double x = i % SIDE / 12.0 - 1, z = i / SIDE / 12.0 - 1;
        used += (size_t)sprintf(text + used,
                                ", {\"quad\": [[%.3f, 0, %.3f], [%.3f, 0, %.3f], [%.3f, 0, %.3f], "
                                "[%.3f, 0, %.3f]]}",
                                x, z + 0.07, x + 0.06, z + 0.07, x + 0.06, z, x, z);
    }
    sprintf(text + used, "]}");
    file_put_text("deck.json", text);
    free(text);
}

/* The scene `still` without the cut-out. */
static void write_solid(void) {
    char *text = strdup(still);
    assert_non_null(text);
    char *veil = strstr(text, "\"opacity\": 0.4");
    assert_non_null(veil);
    memcpy(veil, "\"opacity\": 1.0", strlen("\"opacity\": 1.0"));
    file_put_text("solid.json", text);
    free(text);
}

/* Scenes without mirrors near surfaces that store photons; their final gathers are wavefront. */
static void write_rough(void) {
    char *text = strdup(still);
    assert_non_null(text);
    char *veil = strstr(text, "\"opacity\": 0.4"), *coat = strstr(text, "\"roughness\": 0}");
    assert_true(veil && coat);
    memcpy(veil, "\"opacity\": 1.0", strlen("\"opacity\": 1.0"));
    memcpy(coat, "\"roughness\": 1}", strlen("\"roughness\": 1}"));
    file_put_text("rough.json", text);
    free(text);
}

static int files_make(void **state) {
    if (folder_make(state)) return 1;
    write_deck();
    write_solid();
    write_rough();
    file_put_text("still.json", still);
    file_put_text("dark.json", dark);
    file_put_text("sparse.json", sparse);
    file_put_text("walled.json", walled);
    file_put_text("foggy.json", foggy);
    return 0;
}

static const char *scene_path(int index) {
    static const char *const paths[] = {KD_TEST_SOURCE_DIR "/scenes/cornell_diffuse.json",
                                        KD_TEST_SOURCE_DIR "/scenes/cornell_caustic.json",
                                        KD_TEST_SOURCE_DIR "/scenes/glass_of_water.json"};
    if (index < 3) return paths[index];
    return index == 3 ? file_in("still.json") : NULL;
}

static kd_render_options options_for(const char *method) {
    kd_render_options options;
    kd_render_options_default(&options);
    strcpy(options.integrator, method);
    options.width = (int32_t)gpu_size(61, 11); /* not a multiple of the tile size */
    options.height = (int32_t)gpu_size(43, 7);
    options.spp = 3;
    options.passes = 3;
    options.photons = gpu_size(20000, 800);
    if (gpu_is_emulated()) strcpy(options.builder, "sweep"); /* the CPU builds the tree faster */
    options.max_depth = 12;
    options.final_gather = 0;
    return options;
}

static void every_scene(const kd_render_options *options) {
    for (int i = 0; scene_path(i); ++i)
        if (!gpu_leaves_out((uint32_t)i + 1, 2)) expect_same(scene_path(i), options);
}

static void test_photon(void **state) {
    (void)state;
    static const int32_t gathers[] = {50, 2, 16, 100, 600};
    for (int g = 0; g < 5; ++g) {
        if (gpu_leaves_out((uint32_t)g, 4)) continue;
        kd_render_options options = options_for("photon");
        options.gather = gathers[g];
        if (g == 0)
            every_scene(&options);
        else
            expect_same(scene_path(g % 4), &options);
    }
}

/* Wavefront eye paths in pictures that need several launches: mirroring coats, rough metal and
   glass; with few surfaces per path and with many. */
static void test_waves(void **state) {
    (void)state;
    static const char *const methods[] = {"photon", "sppm", "photon"};
    static const int32_t depths[] = {12, 2, 1};
    for (int i = 0; i < 3; ++i) {
        kd_render_options options = options_for(methods[i]);
        options.width = (int32_t)gpu_size(403, 13);
        options.height = (int32_t)gpu_size(298, 9);
        options.spp = options.passes = 2;
        options.max_depth = depths[i];
        expect_same(file_in("solid.json"), &options);
        if (i == 0) expect_same(scene_path(1), &options);
    }
}

static void test_estimators(void **state) {
    (void)state;
    static const char *const estimators[] = {"nearest", "fixed", "adaptive", "fixed"};
    static const char *const kernels[] = {"disc", "cone", "epanechnikov", "gaussian"};
    for (int i = 0; i < 4; ++i) {
        if (gpu_leaves_out((uint32_t)i, 2)) continue;
        kd_render_options options = options_for("photon");
        strcpy(options.estimator, estimators[i]);
        strcpy(options.kernel, kernels[i]);
        expect_same(scene_path(1), &options);
        if (!gpu_is_emulated()) expect_same(scene_path(3), &options);
        memset(options.lookup, 0, sizeof options.lookup);
        strcpy(options.lookup, "walk");
        expect_same(scene_path(1), &options);
    }
}

static void test_tiles(void **state) {
    (void)state;
    static const char *const methods[] = {"photon", "sppm", "photon"};
    for (int i = 0; i < 3; ++i) {
        kd_render_options options = options_for(methods[i]);
        if (i == 2) strcpy(options.estimator, "adaptive");
        expect_same(scene_path(1), &options);
    }
}

static void test_small_triangles(void **state) {
    (void)state;
    static const char *const kernels[] = {"gaussian", "disc", "cone", "epanechnikov"};
    for (int i = 0; i < 4; ++i) {
        if (gpu_leaves_out((uint32_t)i, 2)) continue;
        kd_render_options options = options_for("photon");
        strcpy(options.kernel, kernels[i]);
        options.photons = 2000;
        options.gather = 50;
        options.radius = 1.5f;
        expect_same(file_in("deck.json"), &options);
    }
}

static void test_final_gather(void **state) {
    (void)state;
    for (int i = 0; i < 3; ++i) {
        if (gpu_leaves_out((uint32_t)i, 2)) continue;
        kd_render_options options = options_for("photon");
        options.final_gather = 3;
        options.spp = 2;
        options.precompute = i != 1;
        expect_same(scene_path(i == 2 ? 3 : 1), &options);
    }
}

/* Lookups at the ends of gather rays: on glossy surfaces, at all ends (with a radius so large that
   no end is beyond it), with few photons and many, within a radius. */
static void test_gather_lookups(void **state) {
    (void)state;
    static const struct {
        int32_t gather;
        float radius;
        const char *estimator;
    } strategies[] = {
        {50, 0, "nearest"}, {100, 0, "nearest"}, {16, 9, "nearest"}, {50, 0.5f, "fixed"}};
    for (int i = 0; i < 4; ++i) {
        kd_render_options options = options_for("photon");
        options.width = (int32_t)gpu_size(203, 13);
        options.height = (int32_t)gpu_size(148, 9);
        /* the irradiance at these photons is precomputed */
        options.photons = gpu_size(20000, 300);
        options.final_gather = 2;
        options.spp = 2;
        options.gather = strategies[i].gather;
        options.radius = strategies[i].radius;
        snprintf(options.estimator, sizeof options.estimator, "%s", strategies[i].estimator);
        expect_same(file_in("rough.json"), &options);
        if (i == 2) expect_same(scene_path(0), &options);
    }
}

static void test_progressive(void **state) {
    (void)state;
    const kd_render_options stochastic = options_for("sppm");
    every_scene(&stochastic);
    if (gpu_is_emulated()) return; /* there test_progressive_in_fog covers this case */
    kd_render_options options = options_for("sppm");
    options.final_gather = 2;
    expect_same(scene_path(3), &options);
}

/* The trial of emission gives the same limits and guides. */
static void test_sparse_photons(void **state) {
    (void)state;
    for (int i = 0; i < 2; ++i) {
        kd_render_options options = options_for(i ? "sppm" : "photon");
        options.photons = gpu_size(20000, 12000);
        options.passes = 2;
        expect_same(file_in("sparse.json"), &options);
    }
}

/* Lookups where a wall hides photons, by the kernels for all numbers of photons. */
static void test_wall(void **state) {
    (void)state;
    static const struct {
        const char *method, *estimator;
        int32_t gather, final_gather;
    } lookups[] = {{"photon", "nearest", 50, 0},  {"photon", "fixed", 50, 0},
                   {"photon", "nearest", 200, 0}, {"sppm", "nearest", 50, 0},
                   {"photon", "nearest", 500, 0}, {"photon", "nearest", 20, 2}};
    for (int i = 0; i < 6; ++i) {
        kd_render_options options = options_for(lookups[i].method);
        strcpy(options.estimator, lookups[i].estimator);
        options.gather = lookups[i].gather;
        options.final_gather = lookups[i].final_gather;
        options.radius = 0.5f;
        options.spp = options.passes = 2;
        expect_same(file_in("walled.json"), &options);
    }
}

static void test_crops(void **state) {
    (void)state;
    const int32_t crops[][4] = {{0, 0, 1, 1},
                                {3, 2, (int32_t)gpu_size(60, 10), (int32_t)gpu_size(40, 6)}};
    for (int c = 0; c < 2; ++c) {
        kd_render_options options = options_for(c ? "sppm" : "photon");
        memcpy(options.crop, crops[c], sizeof options.crop);
        expect_same(scene_path(3), &options);
    }
}

/* A picture rendered by both devices in turn equals that of one device. */
static void test_resumed(void **state) {
    (void)state;
    static const char *const names[] = {"photon", "sppm"};
    static const char *const device[] = {"cuda:0", "cpu", "cuda:0"};
    for (int n = 0; n < 2; ++n) {
        kd_render_options options = options_for(names[n]);
        options.spp = 6;
        options.passes = 6;
        char path[512];
        snprintf(path, sizeof path, "%s", n == 1 ? file_in("foggy.json") : scene_path(1));
        const run_result whole = run_on_device(path, &options, "cpu", NULL, NULL);
        char kept[512];
        snprintf(kept, sizeof kept, "%s", file_in("resumed.state"));
        render_keeping keeping = {.state = kept};
        for (int part = 0; part < 3; ++part) {
            options.passes = 2 * (part + 1);
            if (n == 0) options.spp = options.passes;
            keeping.resume = part > 0;
            const run_result last = run_on_device(path, &options, device[part], &keeping, NULL);
            assert_int_equal(last.status, KD_OK);
            if (part == 2) expect_equal(path, &options, &whole, &last);
        }
    }
}

/* --- media that scatter light ----------------------------------------------------------------- */

/* Expects equal pictures from both devices, to which photons in media contribute. */
static void expect_same_fog(const kd_render_options *options) {
    const char *path = file_in("foggy.json");
    const run_result cpu = run_on_device(path, options, "cpu", NULL, NULL);
    const run_result result = run_on_device(path, options, "cuda:0", NULL, NULL);
    expect_equal(path, options, &cpu, &result);
    assert_true(result.frame.volume_stored > 0 && result.frame.watts_media > 0);
}

static void test_photon_in_fog(void **state) {
    (void)state;
    static const char *const estimators[] = {"nearest", "fixed", "adaptive", "nearest", "nearest"};
    static const char *const kernels[] = {"cone", "gaussian", "disc", "epanechnikov", "cone"};
    for (int i = 0; i < 5; ++i) {
        if (gpu_leaves_out((uint32_t)i, 2)) continue;
        kd_render_options options = options_for("photon");
        strcpy(options.estimator, estimators[i]);
        strcpy(options.kernel, kernels[i]);
        options.spp = 2;
        options.media_photons = gpu_size(30000, 800);
        options.final_gather = i == 3 ? 2 : 0;
        options.batches = i == 4 ? 2 : 1;
        expect_same_fog(&options);
    }
}

static void test_progressive_in_fog(void **state) {
    (void)state;
    for (int i = 0; i < 3; ++i) {
        if (gpu_leaves_out((uint32_t)i, 2)) continue;
        kd_render_options options = options_for("sppm");
        options.final_gather = i == 2;
        options.batches = i == 0 ? 2 : 1;
        expect_same_fog(&options);
    }
}

/* Writes a photon map as `kandela photons` does. */
static void write_map(const char *path, const char *scene_path, uint64_t photons) {
    scene *made = NULL;
    kd_render_options unused;
    kd_render_options_default(&unused);
    assert_int_equal(scene_open(&made, scene_path, &unused, NULL), KD_OK);
    scene_view view = scene_get_view(made);
    const tritree_input input = {view.mesh.positions, view.mesh.triangles, view.mesh.position_count,
                                 view.mesh.triangle_count};
    const tritree_options tree_options = tritree_options_default();
    tritree tree;
    assert_int_equal(tritree_open(&tree, &input, &tree_options, "sweep", NULL), KD_OK);
    view.tree = tritree_get_view(&tree);
    photon_options options = photon_options_default();
    options.photons = options.caustics = options.volume_photons = photons;
    photon_file file;
    memset(&file, 0, sizeof file);
    file.scene = scene_hash(&view);
    assert_int_equal(photon_lists_open(file.lists, &view, &options, NULL), KD_OK);
    assert_true(file.lists[PHOTON_LIST_MEDIA].count >= photons);
    assert_int_equal(photon_file_write(path, &file), KD_OK);
    photon_file_close(&file);
    tritree_close(&tree);
    scene_close(made);
}

static void test_map_of_fog(void **state) {
    (void)state;
    kd_render_options options = options_for("photon");
    char map[512];
    snprintf(map, sizeof map, "%s", file_in("fog.kdp"));
    write_map(map, file_in("foggy.json"), gpu_size(10000, 1000));
    options.photon_map = map;
    options.spp = 1;
    expect_same_fog(&options);
}

static void ignore(void *context, log_level level, const char *message) {
    (void)context, (void)level, (void)message;
}

static void test_without_photons(void **state) {
    (void)state;
    log_set_sink(ignore, NULL);
    const char *methods[] = {"photon", "sppm"};
    for (int m = 0; m < 2; ++m) {
        kd_render_options options = options_for(methods[m]);
        options.passes = options.spp = 1;
        expect_same(file_in("dark.json"), &options);
    }
    log_set_sink(NULL, NULL);
}

int main(void) {
    if (gpu_is_missing()) return TEST_SKIPPED;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_photon),          cmocka_unit_test(test_waves),
        cmocka_unit_test(test_estimators),      cmocka_unit_test(test_tiles),
        cmocka_unit_test(test_small_triangles), cmocka_unit_test(test_final_gather),
        cmocka_unit_test(test_gather_lookups),  cmocka_unit_test(test_progressive),
        cmocka_unit_test(test_sparse_photons),  cmocka_unit_test(test_wall),
        cmocka_unit_test(test_crops),           cmocka_unit_test(test_resumed),
        cmocka_unit_test(test_photon_in_fog),   cmocka_unit_test(test_progressive_in_fog),
        cmocka_unit_test(test_map_of_fog),      cmocka_unit_test(test_without_photons),
    };
    return cmocka_run_group_tests(tests, files_make, folder_remove);
}
