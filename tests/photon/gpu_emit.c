/* Photons, energy ledgers, trees, radii and irradiance computed on the device equal the CPU's, bit
   for bit, for any batch size. */
#include "core/device/device.h"
#include "core/status.h"
#include "photon/maps/maps_device.h"
#include "photon_scenes_device.h"
#include "tests/gpu.h"

static photon_options options_for(uint64_t photons) {
    photon_options options = photon_options_default();
    options.seed = 11;
    options.photons = options.caustics = options.volume_photons = photons;
    return options;
}

static void expect_list(const photon_list *right, const photon_list_cuda *photons) {
    photon_list list;
    assert_int_equal(photon_list_cuda_download(&list, photons), KD_OK);
    assert_true(list.count == right->count);
    assert_true(list.emitted == right->emitted);
    assert_true(list.rays == right->rays);
    assert_int_equal(list.complete, right->complete);
    assert_memory_equal(&list.ledger, &right->ledger, sizeof list.ledger);
    for (uint64_t i = 0; i < list.count; ++i)
        if (memcmp(&list.photons[i], &right->photons[i], sizeof *list.photons) != 0)
            fail_msg("photon %llu of %llu differs: path %u bounce %u, expected path %u bounce %u",
                     (unsigned long long)i, (unsigned long long)list.count, list.photons[i].path,
                     list.photons[i].bounce, right->photons[i].path, right->photons[i].bounce);
    photon_list_close(&list);
}

static void expect_map(const photon_map *right, const photon_map_cuda *map) {
    assert_true(map->list.hash == right->hash);
    assert_true(map->radius == right->radius && map->scale == right->scale);
    uint32_t *ids = (uint32_t *)malloc((right->count + 1) * sizeof *ids);
    assert_non_null(ids);
    assert_int_equal(device_memory_download(ids, map->ids.memory, right->count * sizeof *ids),
                     KD_OK);
    assert_memory_equal(ids, right->tree.ids, right->count * sizeof *ids);
    free(ids);
}

/* Expects the photons in the tree's order, as kernels that traverse the tree need them. */
static void expect_in_order(const photon_map *right, const photon_map_cuda *map) {
    photon *photons = (photon *)malloc((right->count + 1) * sizeof *photons);
    assert_non_null(photons);
    assert_int_equal(
        device_memory_download(photons, map->ordered.memory, right->count * sizeof *photons),
        KD_OK);
    assert_memory_equal(photons, right->photons, right->count * sizeof *photons);
    /* reuses the memory, because positions are smaller than photons */
    vec3 *points = (vec3 *)photons;
    assert_int_equal(
        device_memory_download(points, map->ordered_points.memory, right->count * sizeof *points),
        KD_OK);
    for (uint64_t i = 0; i < right->count; ++i)
        assert_memory_equal(&points[i], &right->photons[i].position, sizeof *points);
    free(photons);
}

static void expect_irradiance(const photon_map *right, const photon_map_cuda *map) {
    irradiance_record *irradiance =
        (irradiance_record *)malloc((right->count + 1) * sizeof *irradiance);
    assert_non_null(irradiance);
    assert_true(map->has_irradiance == (right->irradiance != NULL));
    if (right->irradiance) {
        assert_int_equal(device_memory_download(irradiance, map->irradiance.memory,
                                                right->count * sizeof *irradiance),
                         KD_OK);
        assert_memory_equal(irradiance, right->irradiance, right->count * sizeof *irradiance);
    }
    free(irradiance);
}

/* Compares all parts of all maps. The device's maps reuse the memory of earlier ones. */
static void check_maps(const photon_scene *scene, const device_scene *device_scene,
                       const photon_options *options, photon_maps_cuda *made) {
    photon_order orders[PHOTON_LISTS];
    photon_list lists[PHOTON_LISTS];
    photon_maps maps;
    assert_int_equal(photon_orders_make(orders, &scene->view, options), KD_OK);
    assert_int_equal(photon_lists_open(lists, &scene->view, options, NULL), KD_OK);
    assert_int_equal(photon_maps_cuda_emit(made, &device_scene->scene.view, orders, NULL), KD_OK);
    for (int l = 0; l < PHOTON_LISTS; ++l) expect_list(&lists[l], &made->map[l].list);
    assert_int_equal(photon_maps_build_trees(&maps, &scene->view, lists, options, NULL), KD_OK);
    assert_int_equal(photon_maps_cuda_build_trees(made, options, true, NULL), KD_OK);
    expect_map(&maps.global, &made->map[PHOTON_LIST_GLOBAL]);
    expect_map(&maps.caustic, &made->map[PHOTON_LIST_CAUSTIC]);
    expect_map(&maps.media, &made->map[PHOTON_LIST_MEDIA]);
    expect_in_order(&maps.media, &made->map[PHOTON_LIST_MEDIA]);
    assert_true(photon_maps_cuda_hash(made) == photon_maps_hash(&maps));
    assert_int_equal(photon_maps_precompute(&maps, NULL), KD_OK);
    assert_int_equal(photon_maps_cuda_tile(made, &maps.tiles, &device_scene->scene.view), KD_OK);
    assert_int_equal(photon_maps_cuda_precompute(made, NULL), KD_OK);
    expect_irradiance(&maps.global, &made->map[PHOTON_LIST_GLOBAL]);
    photon_maps_close(&maps);
}

static void test_maps_are_independent_of_batch_size(void **state) {
    (void)state;
    static const uint32_t batches[] = {0, 100, 777, 4096, 30000};
    photon_scene *scene = photon_scene_balls();
    device_scene device_scene;
    photon_maps_cuda made;
    memset(&made, 0, sizeof made);
    device_scene_open(&device_scene, scene);
    const uint32_t photons = gpu_size(9000, 2000);
    for (int i = 0; i < 5; ++i) {
        if (gpu_leaves_out((uint32_t)i, 2)) continue;
        /* the pool of paths is refilled several times, or holds a whole batch */
        for (int l = 0; l < PHOTON_LISTS; ++l)
            made.map[l].emitter.path_capacity = i == 2 ? 90 : 500 * (uint32_t)i;
        if (i == 4) device_scene_pack(&device_scene);
        photon_options options = options_for(i == 4 ? gpu_size(60000, 6000) : photons);
        options.batch_paths = batches[i];
        options.pass = (uint32_t)i;
        check_maps(scene, &device_scene, &options, &made);
    }
    photon_options guided = options_for(photons);
    for (int l = 0; l < PHOTON_LISTS; l += PHOTON_LIST_MEDIA) { /* the caustic list is aimed */
        photon_suit *suit = &guided.suit[l];
        suit->paths_max = gpu_size(4000, 900);
        for (uint32_t i = 0; i < 3; ++i)
            suit->guides[suit->guide_count++] =
                (emission_target){{0.2f, 0.1f, 0.3f}, 0.1f * (float)(1u << i)};
    }
    check_maps(scene, &device_scene, &guided, &made);
    assert_true(made.map[PHOTON_LIST_GLOBAL].list.emitted == gpu_size(4000, 900));
    photon_options few = options_for(photons);
    few.max_depth = 3;
    few.gather = 7;
    few.kernel = PHOTON_KERNEL_EPANECHNIKOV;
    check_maps(scene, &device_scene, &few, &made);
    few.estimator = PHOTON_ESTIMATOR_FIXED;
    check_maps(scene, &device_scene, &few, &made);
    few.estimator = PHOTON_ESTIMATOR_ADAPTIVE;
    few.kernel = PHOTON_KERNEL_GAUSSIAN;
    few.gather = 40;
    check_maps(scene, &device_scene, &few, &made);
    photon_maps_cuda_close(&made);
    device_scene_close(&device_scene);
    photon_scene_free(scene);
}

static void test_maps_match_cpu_in_fog(void **state) {
    (void)state;
    static const uint32_t batches[] = {0, 333, 5000};
    photon_scene *scene = photon_scene_fog();
    device_scene device_scene;
    photon_maps_cuda made;
    memset(&made, 0, sizeof made);
    device_scene_open(&device_scene, scene);
    for (int i = 0; i < 3; ++i) {
        photon_options options = options_for(gpu_size(9000, 1500));
        for (int l = 0; l < PHOTON_LISTS; ++l)
            made.map[l].emitter.path_capacity = 200 * (uint32_t)i;
        if (i == 2) device_scene_pack(&device_scene);
        options.batch_paths = batches[i];
        options.pass = (uint32_t)i;
        options.volume_photons *= 2;
        if (i == 1) options.estimator = PHOTON_ESTIMATOR_FIXED;
        if (i == 2) options.max_depth = 4;
        check_maps(scene, &device_scene, &options, &made);
        assert_true(made.map[PHOTON_LIST_MEDIA].list.complete &&
                    made.map[PHOTON_LIST_MEDIA].list.count >= options.volume_photons);
        assert_true(made.map[PHOTON_LIST_MEDIA].radius > 0);
    }
    photon_options none = options_for(gpu_size(3000, 500));
    none.volume_photons = 0;
    check_maps(scene, &device_scene, &none, &made);
    assert_true(made.map[PHOTON_LIST_MEDIA].list.count == 0);
    photon_maps_cuda_close(&made);
    device_scene_close(&device_scene);
    photon_scene_free(scene);
}

/* A floor and a block of rough glass under each kind of light; for some of them most photons miss
   both. */
static void test_maps_match_cpu_for_every_light(void **state) {
    (void)state;
    for (int kind = LIGHT_POINT; kind <= LIGHT_ENVIRONMENT; ++kind) {
        photon_scene *scene = photon_scene_new();
        scene_fixture *to = &scene->fixture;
        material rough = material_default(), frosted = material_default();
        frosted.kind = MATERIAL_GLASS;
        rough.kind = MATERIAL_PLASTIC;
        frosted.roughness = rough.roughness = 0.3f;
        rough.diffuse = vec3_make(0.5f, 0.2f, 0.1f);
        const uint32_t grey = fixture_material(to, photon_scene_diffuse(0.5f, 0));
        const uint32_t shiny = fixture_material(to, rough);
        const uint32_t glass = fixture_material(to, frosted);
        const uint32_t greys[6] = {grey, shiny, grey, shiny, grey, grey};
        const uint32_t glasses[6] = {glass, glass, glass, glass, glass, glass};
        fixture_box(to, greys, vec3_all(-1), vec3_all(1), false);
        fixture_box(to, greys, vec3_make(-4, -3, -4), vec3_make(4, -2, 4), false);
        fixture_box(to, glasses, vec3_make(1.5f, -1.9f, 1), vec3_make(3, -1, 3), false);
        photon_scene_put_lamp(to, kind);
        photon_scene_finish(scene);
        device_scene device_scene;
        photon_maps_cuda made;
        memset(&made, 0, sizeof made);
        device_scene_open(&device_scene, scene);
        const photon_options options = options_for(gpu_size(3000, 500));
        check_maps(scene, &device_scene, &options, &made);
        photon_maps_cuda_close(&made);
        device_scene_close(&device_scene);
        photon_scene_free(scene);
    }
}

static void ignore(void *context, log_level level, const char *message) {
    (void)context, (void)level, (void)message;
}

/* Photons of a lamp that shines into empty space never land; emission must end nevertheless. */
static void test_escaping_photons_end_the_emission(void **state) {
    (void)state;
    photon_scene *scene = photon_scene_new();
    const uint32_t lamp = fixture_material(&scene->fixture, photon_scene_diffuse(0, 10));
    const vec3 p[4] = {{0, 0, 0}, {1, 0, 0}, {1, 0, 1}, {0, 0, 1}};
    fixture_quad(&scene->fixture, lamp, p[0], p[1], p[2], p[3]);
    photon_scene_finish(scene);
    device_scene device_scene;
    photon_maps_cuda made;
    memset(&made, 0, sizeof made);
    device_scene_open(&device_scene, scene);
    log_set_sink(ignore, NULL);
    photon_options options = options_for(1000);
    check_maps(scene, &device_scene, &options, &made);
    assert_true(made.map[PHOTON_LIST_GLOBAL].list.emitted == EMIT_PATHS_IN_VAIN &&
                !made.map[PHOTON_LIST_GLOBAL].list.complete);
    options.batch_paths = 300001;
    check_maps(scene, &device_scene, &options, &made);
    log_set_sink(NULL, NULL);
    photon_maps_cuda_close(&made);
    device_scene_close(&device_scene);
    photon_scene_free(scene);
}

/* The caustics of a very dark mirror are not worth their paths; emission must end early. */
static void test_faint_caustics_end_the_emission(void **state) {
    (void)state;
    photon_scene *scene = photon_scene_new();
    scene_fixture *to = &scene->fixture;
    material dark = photon_scene_diffuse(0, 0);
    dark.kind = MATERIAL_MIRROR;
    dark.specular = vec3_all(1e-4f);
    const uint32_t mirror = fixture_material(to, dark);
    const uint32_t lamp = fixture_material(to, photon_scene_diffuse(0.5f, 5));
    const uint32_t faces[6] = {lamp, lamp, mirror, lamp, lamp, lamp};
    fixture_box(to, faces, vec3_all(-1), vec3_all(1), true);
    photon_scene_finish(scene);
    device_scene device_scene;
    photon_maps_cuda made;
    memset(&made, 0, sizeof made);
    device_scene_open(&device_scene, scene);
    log_set_sink(ignore, NULL);
    const photon_options options = options_for(1000);
    check_maps(scene, &device_scene, &options, &made);
    assert_true(made.map[PHOTON_LIST_CAUSTIC].list.emitted == EMIT_PATHS_IN_VAIN);
    log_set_sink(NULL, NULL);
    photon_maps_cuda_close(&made);
    device_scene_close(&device_scene);
    photon_scene_free(scene);
}

/* A deadline ends the lists of both devices after the same batch. */
static void test_deadline_ends_lists_like_cpu(void **state) {
    (void)state;
    photon_scene *scene = photon_scene_balls();
    device_scene device_scene;
    photon_maps_cuda made;
    memset(&made, 0, sizeof made);
    device_scene_open(&device_scene, scene);
    log_set_sink(ignore, NULL);
    photon_options options = options_for(1000000);
    options.batch_paths = 1500;
    photon_options_limit(&options, 1e-9);
    check_maps(scene, &device_scene, &options, &made);
    assert_true(photon_maps_cuda_cut(&made) && made.map[PHOTON_LIST_GLOBAL].list.emitted == 1500);
    log_set_sink(NULL, NULL);
    photon_maps_cuda_close(&made);
    device_scene_close(&device_scene);
    photon_scene_free(scene);
}

static void test_uploaded_photons_equal_originals(void **state) {
    (void)state;
    photon_scene *scene = photon_scene_fog();
    const photon_options options = options_for(5000);
    photon_list lists[PHOTON_LISTS];
    photon_maps maps;
    photon_maps_cuda made;
    memset(&made, 0, sizeof made);
    assert_int_equal(photon_lists_open(lists, &scene->view, &options, NULL), KD_OK);
    for (int l = 0; l < PHOTON_LISTS; ++l) {
        assert_int_equal(photon_list_cuda_upload(&made.map[l].list, &lists[l]), KD_OK);
        expect_list(&lists[l], &made.map[l].list);
    }
    assert_int_equal(photon_maps_build_trees(&maps, &scene->view, lists, &options, NULL), KD_OK);
    assert_int_equal(photon_maps_cuda_build_trees(&made, &options, false, NULL), KD_OK);
    expect_map(&maps.global, &made.map[PHOTON_LIST_GLOBAL]);
    expect_map(&maps.caustic, &made.map[PHOTON_LIST_CAUSTIC]);
    expect_map(&maps.media, &made.map[PHOTON_LIST_MEDIA]);
    expect_in_order(&maps.media, &made.map[PHOTON_LIST_MEDIA]);
    photon_maps_close(&maps);
    photon_maps_cuda_close(&made);
    photon_scene_free(scene);
}

/* A tree stored with its photons is checked, then used without rebuilding it. */
static void test_stored_trees_are_validated(void **state) {
    (void)state;
    photon_scene *scene = photon_scene_fog();
    const photon_options options = options_for(1000);
    photon_list lists[PHOTON_LISTS];
    photon_maps maps;
    photon_maps_cuda made;
    uint32_t *nodes[PHOTON_LISTS];
    memset(&made, 0, sizeof made);
    assert_int_equal(photon_lists_open(lists, &scene->view, &options, NULL), KD_OK);
    assert_int_equal(photon_maps_build_trees(&maps, &scene->view, lists, &options, NULL), KD_OK);
    const photon_map *right[PHOTON_LISTS] = {&maps.global, &maps.caustic, &maps.media};
    assert_int_equal(photon_lists_open(lists, &scene->view, &options, NULL), KD_OK);
    for (int l = 0; l < PHOTON_LISTS; ++l) {
        const uint64_t bytes = right[l]->count * sizeof(uint32_t);
        nodes[l] = (uint32_t *)malloc(bytes + 1);
        assert_non_null(nodes[l]);
        memcpy(nodes[l], right[l]->tree.ids, bytes);
        lists[l].nodes = nodes[l];
    }
    assert_int_equal(photon_maps_cuda_take(&made, lists), KD_OK);
    assert_int_equal(photon_maps_cuda_build_trees(&made, &options, false, NULL), KD_OK);
    for (int l = 0; l < PHOTON_LISTS; ++l) {
        assert_true(made.map[l].has_tree);
        expect_map(right[l], &made.map[l]);
    }
    const uint32_t kept = nodes[0][0];
    nodes[0][0] = nodes[0][5], nodes[0][5] = kept;
    assert_int_equal(photon_maps_cuda_take(&made, lists), KD_OK);
    assert_int_equal(photon_maps_cuda_build_trees(&made, &options, false, NULL), KD_ERROR_INPUT);
    nodes[0][5] = KD_NONE;
    assert_int_equal(photon_maps_cuda_take(&made, lists), KD_OK);
    assert_int_equal(photon_maps_cuda_build_trees(&made, &options, false, NULL), KD_ERROR_INPUT);
    for (int l = 0; l < PHOTON_LISTS; ++l) {
        photon_list_close(&lists[l]);
        free(nodes[l]);
    }
    photon_maps_close(&maps);
    photon_maps_cuda_close(&made);
    photon_scene_free(scene);
}

int main(void) {
    if (gpu_is_missing()) return TEST_SKIPPED;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_maps_are_independent_of_batch_size),
        cmocka_unit_test(test_maps_match_cpu_in_fog),
        cmocka_unit_test(test_maps_match_cpu_for_every_light),
        cmocka_unit_test(test_escaping_photons_end_the_emission),
        cmocka_unit_test(test_faint_caustics_end_the_emission),
        cmocka_unit_test(test_deadline_ends_lists_like_cpu),
        cmocka_unit_test(test_uploaded_photons_equal_originals),
        cmocka_unit_test(test_stored_trees_are_validated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
