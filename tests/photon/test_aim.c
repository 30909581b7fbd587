/* photon/emission/aim.c: photons aimed at specular surfaces carry the flux of those that hit them
   by chance, from every kind of light; and the sky emits photons. */
#include "photon/emission/emit.h"
#include "photon/maps/photon_map.h"
#include "photon_scenes.h"
#include "shaders/bsdf.h"

static void assert_near(double actual, double expected, double tolerance) {
    if (!(fabs(actual - expected) <= tolerance * fabs(expected)))
        fail_msg("%.9g, expected %.9g within %g of it", actual, expected, tolerance);
}

/* A floor with spheres of mirror or glass above it: two that touch, a distant one, a tiny one. */
static photon_scene *scene_with(const light *lamp, float emission, bool two_sided) {
    photon_scene *scene = photon_scene_new();
    scene_fixture *to = &scene->fixture;
    material glass = material_default(), mirror = material_default();
    material glowing = photon_scene_diffuse(0, emission);
    glowing.two_sided = two_sided;
    glass.kind = MATERIAL_GLASS;
    mirror.kind = MATERIAL_MIRROR;
    mirror.specular = vec3_all(0.9f);
    const uint32_t white = fixture_material(to, photon_scene_diffuse(0.5f, 0));
    const uint32_t clear = fixture_material(to, glass), shiny = fixture_material(to, mirror);
    fixture_quad(to, white, vec3_make(-4, 0, 4), vec3_make(4, 0, 4), vec3_make(4, 0, -4),
                 vec3_make(-4, 0, -4));
    fixture_ball(to, clear, vec3_make(-1, 0.6f, 0), 0.5f, 12);
    fixture_ball(to, shiny, vec3_make(-0.2f, 0.5f, 0.1f), 0.4f, 12);
    fixture_ball(to, clear, vec3_make(2.5f, 0.5f, -1.5f), 0.4f, 12);
    fixture_ball(to, shiny, vec3_make(1, 0.3f, 2), 0.05f, 6);
    if (emission > 0)
        fixture_quad(to, fixture_material(to, glowing), vec3_make(-0.5f, 3, -0.5f),
                     vec3_make(0.5f, 3, -0.5f), vec3_make(0.5f, 3, 0.5f),
                     vec3_make(-0.5f, 3, 0.5f));
    if (lamp) {
        if (lamp->kind == LIGHT_ENVIRONMENT) to->sky = to->light_count;
        fixture_light(to, *lamp);
    }
    photon_scene_finish(scene);
    return scene;
}

static light lamp_of(light_kind kind) {
    light made;
    memset(&made, 0, sizeof made);
    made.kind = (int32_t)kind;
    made.triangle = KD_NONE;
    made.position = vec3_make(0.5f, 2.5f, 0.5f);
    made.direction = vec3_normalize(vec3_make(-0.2f, -1, 0.1f));
    made.emitted = vec3_make(3, 2, 1);
    made.cos_inner = 0.9f;
    made.cos_outer = 0.3f;
    made.power = 10; /* the only light, so its power does not matter */
    return made;
}

static double list_watts(const photon_list *list) {
    double sum = 0;
    for (uint64_t i = 0; i < list->count; ++i) sum += photon_watts(list->photons[i].power);
    return sum;
}

/* Flux of one kind of photons, emitted over the whole scene without aiming. */
static double flux_by_chance(const photon_scene *scene, photon_kind kind, uint64_t *emitted) {
    photon_order order;
    memset(&order, 0, sizeof order);
    order.filter.kinds = 1u << kind;
    order.filter.max_depth = 32;
    order.filter.only_specular = true;
    order.target = 15000;
    order.emission = photon_emission_make(3, 0, box3_centre(scene->view.box),
                                          0.5f * vec3_length(box3_size(scene->view.box)), false);
    photon_list list;
    assert_int_equal(photon_list_open(&list, &scene->view, &order, NULL), KD_OK);
    const double watts = list_watts(&list);
    *emitted = list.emitted;
    photon_list_close(&list);
    return watts;
}

static void assert_aim_is_fair(const light *lamp, float emission, bool two_sided) {
    photon_scene *scene = scene_with(lamp, emission, two_sided);
    uint64_t tries = 0;
    const double expected = flux_by_chance(scene, PHOTON_CAUSTIC, &tries);
    photon_options options = photon_options_default();
    options.photons = 0;
    options.caustics = 15000;
    photon_maps maps;
    assert_int_equal(photon_maps_open(&maps, &scene->view, &options, NULL), KD_OK);
    double watts = 0;
    for (uint64_t i = 0; i < maps.caustic.count; ++i)
        watts += photon_watts(maps.caustic.photons[i].power);
    assert_true(expected > 0);
    assert_near(watts, expected, 0.03);
    assert_true(maps.caustic.emitted * 4 < tries);
    photon_maps_close(&maps);
    photon_scene_free(scene);
}

static void test_aimed_emission_is_unbiased(void **state) {
    (void)state;
    const light_kind kinds[4] = {LIGHT_POINT, LIGHT_SPOT, LIGHT_DIRECTIONAL, LIGHT_ENVIRONMENT};
    for (int i = 0; i < 4; ++i) {
        const light lamp = lamp_of(kinds[i]);
        assert_aim_is_fair(&lamp, 0, false);
    }
    assert_aim_is_fair(NULL, 5, false);
    assert_aim_is_fair(NULL, 5, true);
}

/* --- guided emission ---------------------------------------------------------------------------
 */

enum { GUIDE_SEEDS = 64 };
static const vec3 corner = {2.5f, 0, -1.5f};

/* Flux that lands on the scene and within 0.6 m of a corner: means over seeds, and the squares of
   their standard errors. */
typedef struct landed_flux {
    double all, near, all_error2, near_error2;
    uint64_t photons_near;
} landed_flux;

static landed_flux measure_flux(const photon_scene *scene, bool guided, uint64_t paths) {
    landed_flux flux = {0, 0, 0, 0, 0};
    for (uint64_t seed = 0; seed < GUIDE_SEEDS; ++seed) {
        photon_options options = photon_options_default();
        photon_order orders[PHOTON_LISTS];
        photon_suit *suit = &options.suit[PHOTON_LIST_GLOBAL];
        options.seed = seed;
        options.photons = 1000000;
        suit->paths_max = paths;
        for (uint32_t i = 0; i < 3 && guided; ++i)
            suit->guides[suit->guide_count++] = (emission_target){corner, 0.5f * (float)(1u << i)};
        assert_int_equal(photon_orders_make(orders, &scene->view, &options), KD_OK);
        photon_order *order = &orders[PHOTON_LIST_GLOBAL];
        order->filter.kinds = 1u << PHOTON_DIRECT | 1u << PHOTON_INDIRECT;
        photon_list list;
        assert_int_equal(photon_list_open(&list, &scene->view, order, NULL), KD_OK);
        assert_true(list.emitted == paths);
        double near = 0;
        for (uint64_t i = 0; i < list.count; ++i) {
            if (vec3_length(vec3_sub(list.photons[i].position, corner)) > 0.6f) continue;
            near += photon_watts(list.photons[i].power);
            ++flux.photons_near;
        }
        const double all = list_watts(&list);
        flux.all += all / GUIDE_SEEDS;
        flux.near += near / GUIDE_SEEDS;
        flux.all_error2 += all * all / GUIDE_SEEDS;
        flux.near_error2 += near * near / GUIDE_SEEDS;
        photon_list_close(&list);
    }
    flux.all_error2 = (flux.all_error2 - flux.all * flux.all) / (GUIDE_SEEDS - 1);
    flux.near_error2 = (flux.near_error2 - flux.near * flux.near) / (GUIDE_SEEDS - 1);
    return flux;
}

static void assert_guides_are_fair(const light *lamp, float emission, bool two_sided) {
    photon_scene *scene = scene_with(lamp, emission, two_sided);
    const landed_flux guided = measure_flux(scene, true, 1 << 11),
                      free = measure_flux(scene, false, 1 << 11);
    const double all = guided.all - free.all, near = guided.near - free.near;
    if (!(all * all < 16 * (guided.all_error2 + free.all_error2)) ||
        !(near * near < 16 * (guided.near_error2 + free.near_error2)))
        fail_msg("%.9g W, of them %.9g nearby; expected %.9g, %.9g", guided.all, guided.near,
                 free.all, free.near);
    assert_true(guided.photons_near > 3 * free.photons_near);
    assert_true(guided.near_error2 < free.near_error2);
    photon_scene_free(scene);
}

/* The mean flux is that of unguided emission, with more photons and no more noise at the guides. */
static void test_guided_emission_is_unbiased(void **state) {
    (void)state;
    const light_kind kinds[4] = {LIGHT_POINT, LIGHT_SPOT, LIGHT_DIRECTIONAL, LIGHT_ENVIRONMENT};
    for (int i = 0; i < 4; ++i) {
        const light lamp = lamp_of(kinds[i]);
        assert_guides_are_fair(&lamp, 0, false);
    }
    assert_guides_are_fair(NULL, 5, false);
    assert_guides_are_fair(NULL, 5, true);
}

/* Guides are concentric, each twice as large as the one before, around the weighted median. */
static void test_guides_surround_the_places(void **state) {
    (void)state;
    photon_scene *scene = scene_with(NULL, 1, false);
    emission_target guides[EMISSION_TARGETS - 1];
    vec3 places[101];
    float weights[101];
    uint32_t count = 0;
    for (int i = 0; i < 101; ++i) {
        places[i] = vec3_make(1 + 0.001f * (float)(i - 50), 0, 2);
        weights[i] = 1;
    }
    places[0] = vec3_make(-4, 0, -4); /* one far away does not count much */
    assert_int_equal(aim_guides(guides, &count, &scene->view, places, weights, 101), KD_OK);
    assert_in_range(count, 3, EMISSION_TARGETS - 1);
    assert_true(vec3_length(vec3_sub(guides[0].centre, vec3_make(1, 0, 2))) < 0.01f);
    assert_true(guides[0].radius > 0.02f && guides[0].radius < 0.2f);
    for (uint32_t i = 1; i < count; ++i)
        assert_near((double)guides[i].radius, 2 * (double)guides[i - 1].radius, 1e-6);
    weights[0] = 1000;
    assert_int_equal(aim_guides(guides, &count, &scene->view, places, weights, 101), KD_OK);
    assert_int_equal(count, 0); /* more than half of them in one point */
    for (int i = 0; i < 101; ++i) places[i] = vec3_make(i % 2 ? -4 : 4, 0, i % 3 ? -4 : 4);
    weights[0] = 1;
    assert_int_equal(aim_guides(guides, &count, &scene->view, places, weights, 101), KD_OK);
    assert_int_equal(count, 0); /* all of the scene */
    assert_int_equal(aim_guides(guides, &count, &scene->view, NULL, NULL, 0), KD_OK);
    assert_int_equal(count, 0);
    photon_scene_free(scene);
}

/* A floor under a uniform sky: E = pi L. */
static void test_the_sky_emits_photons(void **state) {
    (void)state;
    light sky = lamp_of(LIGHT_ENVIRONMENT);
    sky.emitted = vec3_all(2);
    photon_scene *scene = photon_scene_new();
    scene_fixture *to = &scene->fixture;
    const uint32_t white = fixture_material(to, photon_scene_diffuse(0.5f, 0));
    fixture_quad(to, white, vec3_make(-1, 0, 1), vec3_make(1, 0, 1), vec3_make(1, 0, -1),
                 vec3_make(-1, 0, -1));
    to->sky = 0;
    fixture_light(to, sky);
    photon_scene_finish(scene);
    uint64_t emitted = 0;
    const double watts = flux_by_chance(scene, PHOTON_DIRECT, &emitted);
    /* the flux through 4 square metres, in both directions */
    assert_near(watts, 2 * (double)KD_PI * 2 * 4, 0.01);
    photon_scene_free(scene);
}

/* Every specular surface lies in a target sphere, and separate objects have separate spheres. */
static void test_targets_contain_specular_surfaces(void **state) {
    (void)state;
    photon_scene *scene = scene_with(NULL, 1, false);
    emission_target targets[EMISSION_TARGETS];
    uint32_t count = 0;
    double squares = 0;
    assert_int_equal(aim_targets(targets, &count, &scene->view), KD_OK);
    assert_in_range(count, 3, EMISSION_TARGETS);
    for (uint32_t t = 0; t < scene->fixture.triangle_count; ++t) {
        if (!material_passes_on(&scene->view.materials[scene->fixture.triangle_materials[t]], NULL))
            continue;
        uint32_t around = 0;
        for (uint32_t i = 0; i < count && !around; ++i) {
            around = 1;
            for (int k = 0; k < 3; ++k)
                around &= vec3_length(vec3_sub(scene->fixture.positions[3 * t + (uint32_t)k],
                                               targets[i].centre)) <= targets[i].radius;
        }
        assert_int_equal(around, 1);
    }
    for (uint32_t i = 0; i < count; ++i) squares += (double)float_square(targets[i].radius);
    /* the spheres themselves have the sum 0.57; one target around all of them would give more than
       5 */
    if (!(squares < 1)) fail_msg("%u spheres, sum of squared radii %g", count, squares);
    photon_scene_free(scene);
}

static void test_diffuse_scene_has_no_targets(void **state) {
    (void)state;
    photon_scene *scene = photon_scene_furnace(vec3_all(0), vec3_all(1), 0.5f, 1);
    emission_target targets[EMISSION_TARGETS];
    uint32_t count = 1;
    assert_int_equal(aim_targets(targets, &count, &scene->view), KD_OK);
    assert_int_equal(count, 0);
    photon_scene_free(scene);
}

/* A varnished floor reflects four per cent: to trace as many caustic photons as requested would
   take far more paths than their light is worth. The photons stored nevertheless carry the whole
   flux. */
static void test_faint_caustics_end_emission_early(void **state) {
    (void)state;
    photon_scene *scene = photon_scene_new();
    scene_fixture *to = &scene->fixture;
    material varnish = photon_scene_diffuse(0.5f, 0);
    varnish.kind = MATERIAL_PLASTIC;
    const uint32_t coated = fixture_material(to, varnish);
    const uint32_t white = fixture_material(to, photon_scene_diffuse(0.5f, 0));
    const uint32_t lamp = fixture_material(to, photon_scene_diffuse(0, 5));
    const uint32_t faces[6] = {white, white, coated, white, white, white};
    fixture_box(to, faces, vec3_all(-1), vec3_all(1), true);
    fixture_quad(to, lamp, vec3_make(-0.5f, 0.9f, -0.5f), vec3_make(0.5f, 0.9f, -0.5f),
                 vec3_make(0.5f, 0.9f, 0.5f), vec3_make(-0.5f, 0.9f, 0.5f));
    photon_scene_finish(scene);
    photon_options options = photon_options_default();
    options.photons = 0;
    options.caustics = 60000;
    photon_order orders[PHOTON_LISTS];
    assert_int_equal(photon_orders_make(orders, &scene->view, &options), KD_OK);
    photon_list ended, whole;
    assert_int_equal(photon_list_open(&ended, &scene->view, &orders[PHOTON_LIST_CAUSTIC], NULL),
                     KD_OK);
    orders[PHOTON_LIST_CAUSTIC].filter.only_specular =
        false; /* traces all paths to their ends, as many as necessary */
    orders[PHOTON_LIST_CAUSTIC].target = 20000;
    assert_int_equal(photon_list_open(&whole, &scene->view, &orders[PHOTON_LIST_CAUSTIC], NULL),
                     KD_OK);
    assert_true(!ended.complete && ended.count > 5000 && whole.complete);
    assert_int_equal(ended.emitted, EMIT_PATHS_SPARE / 4 + EMIT_PATHS_PER_CAUSTIC * 60000);
    assert_near(list_watts(&ended), list_watts(&whole), 0.03);
    photon_list_close(&ended);
    photon_list_close(&whole);
    photon_scene_free(scene);
}

/* The floor is a dark mirror. If fewer than one in 4096 aimed paths stores a photon, caustics add
   at most that fraction of the light, so their emission ends at once. */
static void test_negligible_caustics_end_at_once(void **state) {
    (void)state;
    for (int bright = 0; bright < 2; ++bright) {
        photon_scene *scene = photon_scene_new();
        scene_fixture *to = &scene->fixture;
        material dark = photon_scene_diffuse(0, 0);
        dark.kind = MATERIAL_MIRROR;
        dark.specular = vec3_all(bright ? 1e-2f : 1e-4f);
        const uint32_t mirror = fixture_material(to, dark);
        const uint32_t white = fixture_material(to, photon_scene_diffuse(0.5f, 0));
        const uint32_t lamp = fixture_material(to, photon_scene_diffuse(0, 5));
        const uint32_t faces[6] = {white, white, mirror, white, white, white};
        fixture_box(to, faces, vec3_all(-1), vec3_all(1), true);
        fixture_quad(to, lamp, vec3_make(-0.5f, 0.9f, -0.5f), vec3_make(0.5f, 0.9f, -0.5f),
                     vec3_make(0.5f, 0.9f, 0.5f), vec3_make(-0.5f, 0.9f, 0.5f));
        photon_scene_finish(scene);
        photon_options options = photon_options_default();
        options.photons = 0;
        options.caustics = 20000;
        photon_order orders[PHOTON_LISTS];
        assert_int_equal(photon_orders_make(orders, &scene->view, &options), KD_OK);
        photon_list list;
        assert_int_equal(photon_list_open(&list, &scene->view, &orders[PHOTON_LIST_CAUSTIC], NULL),
                         KD_OK);
        if (bright)
            assert_true(list.emitted > EMIT_PATHS_IN_VAIN && list.count > 100);
        else
            assert_true(list.emitted == EMIT_PATHS_IN_VAIN && list.count < EMIT_FAINT_CAUSTICS &&
                        !list.complete && !list.cut);
        photon_list_close(&list);
        photon_scene_free(scene);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_aimed_emission_is_unbiased),
        cmocka_unit_test(test_the_sky_emits_photons),
        cmocka_unit_test(test_guided_emission_is_unbiased),
        cmocka_unit_test(test_guides_surround_the_places),
        cmocka_unit_test(test_targets_contain_specular_surfaces),
        cmocka_unit_test(test_faint_caustics_end_emission_early),
        cmocka_unit_test(test_diffuse_scene_has_no_targets),
        cmocka_unit_test(test_negligible_caustics_end_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
