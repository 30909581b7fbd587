/* photon/emission/emit.h, photon/maps/photon_map.h: the energy ledger closes, any division of the
   work gives the same photons, and photons carry the flux that theory predicts. */
#include "core/parallel/parallel.h"
#include "core/status.h"
#include "photon/maps/photon_map.h"
#include "photon_scenes.h"

static photon_options options_for(uint64_t photons) {
    photon_options options = photon_options_default();
    options.seed = 7;
    options.photons = options.caustics = photons;
    return options;
}

static double watts_stored(const photon_map *map) {
    double sum = 0;
    for (uint64_t i = 0; i < map->count; ++i) sum += photon_watts(map->photons[i].power);
    return sum;
}

static void assert_near(double value, double expected, double relative) {
    if (!(fabs(value - expected) <= relative * fabs(expected)))
        fail_msg("%.9g, expected %.9g within %g of it", value, expected, relative);
}

static void assert_ledger_closes(const photon_ledger *ledger) {
    const double end = ledger->absorbed + ledger->escaped + ledger->ended + ledger->cut;
    assert_near(end, ledger->emitted, 1e-9);
}

/* --- energy ledger ---------------------------------------------------------------------------- */

static void test_energy_ledger_with_lenses_and_open_side(void **state) {
    (void)state;
    photon_scene *scene = photon_scene_balls();
    photon_options options = options_for(20000);
    for (uint32_t depth = 1; depth <= 32; depth *= 4) {
        photon_maps maps;
        options.max_depth = depth;
        options.photons = depth == 1 ? 0 : 20000;
        assert_int_equal(photon_maps_open(&maps, &scene->view, &options, NULL), KD_OK);
        if (depth > 1) {
            const photon_ledger *ledger = &maps.global.ledger;
            assert_ledger_closes(ledger);
            assert_near(ledger->emitted, (double)scene->view.total_power, 1e-5);
            assert_true(ledger->escaped > 0 && ledger->absorbed > 0 && ledger->cut > 0);
            assert_true(fabs(ledger->ended) < 0.05 * ledger->emitted);
        }
        photon_maps_close(&maps);
    }
    photon_scene_free(scene);
}

static void test_energy_ledger_for_every_light(void **state) {
    (void)state;
    for (int kind = LIGHT_POINT; kind <= LIGHT_ENVIRONMENT; ++kind) {
        photon_scene *scene = photon_scene_new();
        scene_fixture *to = &scene->fixture;
        const uint32_t grey = fixture_material(to, photon_scene_diffuse(0.5f, 0));
        const uint32_t greys[6] = {grey, grey, grey, grey, grey, grey};
        fixture_box(to, greys, vec3_all(-1), vec3_all(1), false);
        fixture_box(to, greys, vec3_make(-4, -3, -4), vec3_make(4, -2, 4), false);
        photon_scene_put_lamp(to, kind);
        photon_scene_finish(scene);
        photon_maps maps;
        const photon_options options = options_for(2000);
        assert_int_equal(photon_maps_open(&maps, &scene->view, &options, NULL), KD_OK);
        const photon_ledger *ledger = &maps.global.ledger;
        const double radius = (double)vec3_length(box3_size(scene->view.box)) / 2;
        const double flux = kind == LIGHT_POINT         ? 4 * M_PI * 2
                            : kind == LIGHT_SPOT        ? M_PI * (2 - 0.9 - 0.7) * 2
                            : kind == LIGHT_DIRECTIONAL ? M_PI * radius * radius * 2
                                                        : 4 * M_PI * M_PI * radius * radius * 2;
        assert_ledger_closes(ledger);
        assert_near(ledger->emitted, flux, 0.01);
        assert_true(maps.global.complete && maps.caustic.count == 0);
        photon_maps_close(&maps);
        photon_scene_free(scene);
    }
}

/* In a closed box of albedo a, flux P lands first, then P a, and so on; all landings after the
   first sum to P a / (1 - a). */
static void test_stored_power_matches_geometric_series(void **state) {
    (void)state;
    static const float albedos[] = {0.2f, 0.5f, 0.8f};
    for (int i = 0; i < 3; ++i) {
        photon_scene *scene =
            photon_scene_furnace(vec3_make(-1, -2, -3), vec3_make(2, 1, 3), albedos[i], 1);
        photon_options options = options_for(60000);
        options.max_depth = 255;
        photon_maps maps;
        assert_int_equal(photon_maps_open(&maps, &scene->view, &options, NULL), KD_OK);
        const double power = (double)scene->view.total_power, a = (double)albedos[i];
        assert_near(watts_stored(&maps.global), power * a / (1 - a), 0.01);
        assert_near(maps.global.ledger.emitted, power, 1e-5);
        assert_true(maps.global.ledger.escaped == 0);
        photon_maps_close(&maps);
        photon_scene_free(scene);
    }
}

/* --- the same photons for any division of the work -------------------------------------------- */

static void test_maps_are_independent_of_threads_and_batches(void **state) {
    (void)state;
    photon_scene *scene = photon_scene_balls();
    static const uint32_t batches[] = {0, 100, 256, 777, 4096, 30000};
    uint64_t hash = 0, emitted = 0;
    photon_ledger ledger;
    memset(&ledger, 0, sizeof ledger);
    for (int run = 0; run < 9; ++run) {
        parallel_set_threads(1 << run / 3);
        photon_options options = options_for(9000);
        options.batch_paths = batches[2 * (run % 3) + run / 3 % 2];
        photon_maps maps;
        assert_int_equal(photon_maps_open(&maps, &scene->view, &options, NULL), KD_OK);
        if (run == 0) {
            hash = photon_maps_hash(&maps);
            emitted = maps.global.emitted;
            ledger = maps.global.ledger;
            assert_true(maps.global.count >= 9000 && maps.caustic.count >= 9000);
        }
        assert_true(photon_maps_hash(&maps) == hash);
        assert_true(maps.global.emitted == emitted);
        assert_memory_equal(&maps.global.ledger, &ledger, sizeof ledger);
        photon_maps_close(&maps);
    }
    parallel_set_threads(0);
    photon_options other = options_for(9000);
    other.pass = 1;
    photon_maps maps;
    assert_int_equal(photon_maps_open(&maps, &scene->view, &other, NULL), KD_OK);
    assert_true(photon_maps_hash(&maps) != hash);
    photon_maps_close(&maps);
    photon_scene_free(scene);
}

/* Paths traced together store the same photons as paths traced singly. */
static void test_batched_paths_match_single_paths(void **state) {
    (void)state;
    enum { LIMIT = 256 };
    static photon alone[LIMIT];
    for (int which = 0; which < 4; ++which) {
        photon_scene *scene = which % 2 ? photon_scene_fog() : photon_scene_balls();
        const vec3 centre = box3_centre(scene->view.box);
        const float radius = 0.5f * vec3_length(vec3_sub(scene->view.box.hi, scene->view.box.lo));
        const photon_order order = {
            .emission = photon_emission_make(7, (uint32_t)which, centre, radius, false),
            .filter = {~0u, ~0u, which < 2 ? 32 : 3, 0, which == 2, false},
            .target = 5000};
        photon_list list;
        uint64_t at = 0, rays = 0;
        assert_int_equal(photon_list_open(&list, &scene->view, &order, NULL), KD_OK);
        assert_true(list.count >= 5000);
        const float factor = (float)(1 / (double)list.emitted);
        for (uint64_t path = 0; path < list.emitted; ++path) {
            photon_ledger ledger;
            const uint32_t landed = photon_trace(&scene->view, &order.emission, path, &order.filter,
                                                 alone, LIMIT, &ledger);
            assert_true(landed <= LIMIT && at + landed <= list.count);
            for (uint32_t i = 0; i < landed; ++i)
                alone[i].power = vec3_scale(alone[i].power, factor);
            assert_memory_equal(list.photons + at, alone, landed * sizeof *alone);
            at += landed;
            rays += ledger.rays;
        }
        assert_true(at == list.count && rays == list.rays);
        photon_list_close(&list);
        photon_scene_free(scene);
    }
}

static void test_photon_fields_are_valid(void **state) {
    (void)state;
    photon_scene *scene = photon_scene_balls();
    const photon_options options = options_for(20000);
    photon_maps maps;
    assert_int_equal(photon_maps_open(&maps, &scene->view, &options, NULL), KD_OK);
    for (int which = 0; which < 2; ++which) {
        const photon_map *map = which ? &maps.caustic : &maps.global;
        for (uint64_t i = 0; i < map->count; ++i) {
            const photon *p = &map->photons[i];
            assert_int_equal(p->kind, which ? PHOTON_CAUSTIC : PHOTON_INDIRECT);
            assert_true(p->bounce > 0 && vec3_dot(p->direction, p->normal) < 0);
            assert_true(vec3_is_finite(p->power) && photon_watts(p->power) > 0);
            assert_memory_equal(&p->position, &map->tree.points[i], sizeof p->position);
        }
    }
    photon_maps_close(&maps);
    photon_scene_free(scene);
}

/* Caustics by photons aimed at specular surfaces carry the flux of those that hit them by
   chance. */
static void test_aimed_photons_carry_the_same_flux(void **state) {
    (void)state;
    photon_scene *scene = photon_scene_balls();
    photon_order order;
    memset(&order, 0, sizeof order);
    order.filter.kinds = 1u << PHOTON_CAUSTIC;
    order.filter.max_depth = 32;
    order.filter.only_specular = true;
    order.target = 20000;
    order.emission = photon_emission_make(3, 0, vec3_all(0.5f), 1, false);
    photon_list chance;
    assert_int_equal(photon_list_open(&chance, &scene->view, &order, NULL), KD_OK);
    double by_chance = 0, aimed = 0;
    for (uint64_t i = 0; i < chance.count; ++i) by_chance += photon_watts(chance.photons[i].power);
    photon_maps maps;
    photon_options options = options_for(20000);
    options.photons = 0;
    assert_int_equal(photon_maps_open(&maps, &scene->view, &options, NULL), KD_OK);
    aimed = watts_stored(&maps.caustic);
    assert_near(aimed, by_chance, 0.02);
    assert_true(maps.caustic.emitted * 2 < chance.emitted);
    photon_maps_close(&maps);
    photon_list_close(&chance);
    photon_scene_free(scene);
}

/* In a box of perfect mirrors that emit, every photon path ends at the limit of specular events,
   and all of its power counts as cut. Diffuse walls do not count towards the limit. */
static void test_specular_limit(void **state) {
    (void)state;
    enum { LIMIT_OF_EVENTS = 7, PATHS = 1000 };
    for (int mirrors = 0; mirrors < 2; ++mirrors) {
        photon_scene *scene = photon_scene_new();
        material made = photon_scene_diffuse(mirrors ? 0 : 0.9f, 1);
        if (mirrors) made.kind = MATERIAL_MIRROR, made.specular = vec3_all(1);
        const uint32_t wall = fixture_material(&scene->fixture, made);
        const uint32_t walls[6] = {wall, wall, wall, wall, wall, wall};
        fixture_box(&scene->fixture, walls, vec3_make(-1, -1, -1), vec3_make(1, 1, 1), true);
        photon_scene_finish(scene);
        photon_order order;
        memset(&order, 0, sizeof order);
        order.filter.kinds = 1u << PHOTON_INDIRECT;
        order.filter.max_depth = 255;
        order.filter.max_specular = LIMIT_OF_EVENTS;
        order.target = PATHS;
        order.paths_max = PATHS;
        order.emission = photon_emission_make(3, 0, vec3_all(0), 2, false);
        photon_list list;
        assert_int_equal(photon_list_open(&list, &scene->view, &order, NULL), KD_OK);
        assert_true(list.ledger.emitted > 0);
        if (mirrors) {
            assert_near(list.ledger.cut, list.ledger.emitted, 1e-6);
            assert_true(list.rays == LIMIT_OF_EVENTS * list.emitted);
        } else {
            assert_true(list.ledger.cut < 1e-6 * list.ledger.emitted);
            assert_true(list.rays > LIMIT_OF_EVENTS * list.emitted);
        }
        photon_list_close(&list);
        photon_scene_free(scene);
    }
}

/* --- scenes without photons ------------------------------------------------------------------- */

static int warnings;
static void count_warnings(void *context, log_level level, const char *message) {
    (void)context;
    assert_true(strstr(message, "photon map") != NULL);
    warnings += level == LOG_WARNING;
}

static void test_empty_maps_are_reported(void **state) {
    (void)state;
    log_set_sink(count_warnings, NULL);
    for (int which = 0; which < 3; ++which) {
        /* a black box; a lamp whose light meets no surface; no light at all */
        photon_scene *scene =
            which == 0 ? photon_scene_furnace(vec3_all(0), vec3_all(1), 0, 1) : photon_scene_new();
        if (which > 0) {
            const uint32_t lamp = fixture_material(
                &scene->fixture, photon_scene_diffuse(0.5f, which == 1 ? 1.0f : 0.0f));
            fixture_quad(&scene->fixture, lamp, vec3_make(0, 0, 0), vec3_make(1, 0, 0),
                         vec3_make(1, 1, 0), vec3_make(0, 1, 0));
            photon_scene_finish(scene);
        }
        photon_options options = options_for(1000000);
        photon_maps maps;
        warnings = 0;
        assert_int_equal(photon_maps_open(&maps, &scene->view, &options, NULL), KD_OK);
        assert_int_equal(maps.global.count, 0);
        /* no warning about the caustic map, because nothing is specular */
        assert_int_equal(warnings, 1);
        assert_true(maps.global.emitted <= 65536 && maps.global.rays <= 4 * 65536);
        photon_maps_close(&maps);
        photon_scene_free(scene);
    }
    log_set_sink(NULL, NULL);
}

/* A lamp over a small plate: most of its light misses the plate, and little is reflected. At most
   65536 paths are traced per stored photon, however many photons are requested. */
static void test_paths_per_stored_photon_are_bounded(void **state) {
    (void)state;
    log_set_sink(count_warnings, NULL);
    for (int which = 0; which < 2; ++which) {
        photon_scene *scene = photon_scene_new();
        const float side = which ? 0.3f : 0.06f;
        const uint32_t lamp = fixture_material(&scene->fixture, photon_scene_diffuse(0.5f, 1));
        const uint32_t plate = fixture_material(&scene->fixture, photon_scene_diffuse(0.5f, 0));
        fixture_quad(&scene->fixture, lamp, vec3_make(0, 0, 0), vec3_make(1, 0, 0),
                     vec3_make(1, 1, 0), vec3_make(0, 1, 0));
        fixture_quad(&scene->fixture, plate, vec3_make(0, 0, 3), vec3_make(0, side, 3),
                     vec3_make(side, side, 3), vec3_make(side, 0, 3));
        photon_scene_finish(scene);
        photon_options options = options_for(which ? 30 : 1000000);
        photon_maps maps;
        assert_int_equal(photon_maps_open(&maps, &scene->view, &options, NULL), KD_OK);
        assert_true(maps.global.emitted <= 65536 * (maps.global.count + 1));
        assert_true(maps.global.complete == (which == 1));
        photon_maps_close(&maps);
        photon_scene_free(scene);
    }
    log_set_sink(NULL, NULL);
}

static void test_invalid_options_are_rejected(void **state) {
    (void)state;
    photon_scene *scene = photon_scene_furnace(vec3_all(0), vec3_all(1), 0.5f, 1);
    photon_maps maps;
    photon_options options = options_for(100);
    options.gather = 1;
    assert_int_equal(photon_maps_open(&maps, &scene->view, &options, NULL), KD_ERROR_USAGE);
    options.gather = ESTIMATE_GATHER_MAX + 1;
    assert_int_equal(photon_maps_open(&maps, &scene->view, &options, NULL), KD_ERROR_USAGE);
    options = options_for(UINT64_MAX);
    assert_int_equal(photon_maps_open(&maps, &scene->view, &options, NULL), KD_ERROR_USAGE);
    options = options_for(100);
    options.radius = NAN;
    assert_int_equal(photon_maps_open(&maps, &scene->view, &options, NULL), KD_ERROR_USAGE);
    photon_kernel kernel;
    assert_int_equal(photon_kernel_find(&kernel, "gauss"), KD_ERROR_USAGE);
    assert_int_equal(photon_kernel_find(&kernel, "disc"), KD_OK);
    photon_scene_free(scene);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_energy_ledger_with_lenses_and_open_side),
        cmocka_unit_test(test_energy_ledger_for_every_light),
        cmocka_unit_test(test_stored_power_matches_geometric_series),
        cmocka_unit_test(test_maps_are_independent_of_threads_and_batches),
        cmocka_unit_test(test_batched_paths_match_single_paths),
        cmocka_unit_test(test_photon_fields_are_valid),
        cmocka_unit_test(test_aimed_photons_carry_the_same_flux),
        cmocka_unit_test(test_specular_limit),
        cmocka_unit_test(test_empty_maps_are_reported),
        cmocka_unit_test(test_paths_per_stored_photon_are_bounded),
        cmocka_unit_test(test_invalid_options_are_rejected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
