/* photon/density/tiles.h, tile_set.h: the covered area by which density estimates divide, against
   closed forms for each kind of sheet, against a sum over all triangles, and in furnaces. */
#include "photon/density/estimate_radius.h"
#include "photon/maps/photon_map.h"
#include "photon_scenes.h"
#include "tests/photon/kernel_value.h"

enum { RADIAL_STEPS = 4000 };

/* The integral over an infinite plane at distance h, in units of the radius. */
static double plane_integral(photon_kernel kernel, double h) {
    double sum = 0;
    const double rim = h < 1 ? sqrt(1 - h * h) : 0;
    for (int i = 0; i < RADIAL_STEPS; ++i) {
        const double p = (i + 0.5) / RADIAL_STEPS * rim;
        sum += 2 * M_PI * p * kernel_value(kernel, sqrt(p * p + h * h)) * rim / RADIAL_STEPS;
    }
    return sum;
}

static void add_sheet(scene_fixture *fixture, uint32_t made_of, float left, float height,
                      bool down) {
    const vec3 p[4] = {{left, height, 3}, {3, height, 3}, {3, height, -3}, {left, height, -3}};
    if (down)
        fixture_quad(fixture, made_of, p[2], p[1], p[0], p[3]);
    else
        fixture_quad(fixture, made_of, p[0], p[1], p[2], p[3]);
}

static uint32_t veil_of(scene_fixture *fixture, float opacity) {
    material made = photon_scene_diffuse(0.5f, 0);
    made.opacity = opacity;
    return fixture_material(fixture, made);
}

/* Returns the integral around (0, 0, 0), facing up, for radius 1/2. */
static double measure_integral(photon_scene *scene, photon_kernel kernel) {
    tile_set tiles;
    const vec3 place = {0, 0, 0}, up = {0, 1, 0};
    assert_int_equal(tile_set_open(&tiles, &scene->view, NULL, 0.5f, false, NULL), KD_OK);
    const tile_view view = tile_set_get_view(&tiles);
    tile_lookup lookup = tile_lookup_begin(place, up, 0, 0.5f, kernel);
    const double actual = (double)tile_kernel_integral(&view, &lookup, TILE_COSINE);
    assert_true(lookup.tested <= TILE_MAX);
    tile_set_close(&tiles);
    return actual;
}

typedef enum sheet_kind { RUG, STACK, COPIES, VEIL, SHELF, STEEP, GLASS, SHEETS } sheet_kind;

/* Adds a sheet over the right half of a floor; returns the sheet's contribution, in units of that
   of a plane at its height. */
static double add_sheets(scene_fixture *fixture, sheet_kind kind, photon_kernel kernel) {
    const uint32_t white = fixture_material(fixture, photon_scene_diffuse(0.5f, 0));
    material clear = material_default();
    clear.kind = MATERIAL_GLASS;
    add_sheet(fixture, white, -3, 0, false);
    switch (kind) {
    case RUG: add_sheet(fixture, white, 0, 0.003f, false); return plane_integral(kernel, 0.006) / 2;
    case STACK:
        for (int i = 1; i <= 3; ++i) add_sheet(fixture, white, 0, 0.05f * (float)i, i == 2);
        return (plane_integral(kernel, 0.1) + plane_integral(kernel, 0.2) +
                plane_integral(kernel, 0.3)) /
               2;
    case COPIES:
        add_sheet(fixture, white, -3, 0, false);
        add_sheet(fixture, white, -3, 0, true);
        return 0;
    case VEIL:
        add_sheet(fixture, veil_of(fixture, 0.4f), -3, 0.1f, false);
        return 0.4 * plane_integral(kernel, 0.2);
    case SHELF: add_sheet(fixture, white, -3, 0.4f, true); return plane_integral(kernel, 0.8);
    case STEEP: /* inclined by 70 degrees, which counts as a different orientation */
        fixture_quad(fixture, white, vec3_make(0, 0, 3), vec3_make(1, 2.747f, 3),
                     vec3_make(1, 2.747f, -3), vec3_make(0, 0, -3));
        return 0;
    default: add_sheet(fixture, fixture_material(fixture, clear), -3, 0.1f, false); return 0;
    }
}

static void test_stacked_sheets_match_their_area(void **state) {
    (void)state;
    for (int kind = 0; kind < SHEETS; ++kind)
        for (int k = 0; k < PHOTON_KERNELS; ++k) {
            const photon_kernel kernel = (photon_kernel)k;
            photon_scene *scene = photon_scene_new();
            const double more = add_sheets(&scene->fixture, (sheet_kind)kind, kernel);
            photon_scene_finish(scene);
            const double expected = plane_integral(kernel, 0) + more;
            const double actual = measure_integral(scene, kernel);
            if (!(fabs(actual - expected) <= 2e-5))
                fail_msg("sheet %d, kernel %d: %.7g, expected %.7g", kind, kernel, actual,
                         expected);
            photon_scene_free(scene);
        }
}

/* --- many small sheets ------------------------------------------------------------------------ */

static vec3 random_vector(uint32_t which, uint32_t what) {
    const rng_block r = rng_draw(rng_key_make(3, 0, which), what, 0);
    return vec3_make(2 * r.value[0] - 1, 2 * r.value[1] - 1, 2 * r.value[2] - 1);
}

static void add_leaves(scene_fixture *fixture, uint32_t count, float size) {
    const uint32_t white = fixture_material(fixture, photon_scene_diffuse(0.5f, 0));
    for (uint32_t i = 0; i < count; ++i) {
        const vec3 at = random_vector(i, 0);
        const frame3 axes = frame3_around(vec3_normalize(random_vector(i, 1)));
        const vec3 corner[3] = {at, vec3_along(at, size, axes.tangent),
                                vec3_along(at, size, axes.bitangent)};
        fixture_triangle(fixture, white, corner, NULL);
    }
}

/* Integrates the kernel over all triangles, one by one. */
static double brute_force_sum(const photon_scene *scene, vec3 place, vec3 normal, float radius) {
    const scene_fixture *fixture = &scene->fixture;
    double sum = 0;
    for (uint32_t t = 0; t < fixture->triangle_count; ++t) {
        const vec3 *p = fixture->positions + 3 * t;
        const vec3 n = triangle_unit_normal(p[0], p[1], p[2]);
        vec3 q[3];
        if (!(fabsf(vec3_dot(n, normal)) >= TILE_COSINE)) continue;
        for (int k = 0; k < 3; ++k) q[k] = vec3_scale(vec3_sub(p[k], place), 1 / radius);
        sum += (double)triangle_kernel_integral(PHOTON_KERNEL_CONE, q[0], q[1], q[2], n);
    }
    return sum;
}

/* Few triangles are all integrated. Of many triangles in all directions a lookup tests at most
   TILE_MAX, and its result is unbiased. */
static void compare_leaves(uint32_t count, float size, float radius, double worst, double mean) {
    enum { SAMPLES = 100 };
    photon_scene *scene = photon_scene_new();
    tile_set tiles;
    uint32_t maximum = 0, bounded = 0;
    double ratios = 0, squares = 0;
    add_leaves(&scene->fixture, count, size);
    photon_scene_finish(scene);
    assert_int_equal(tile_set_open(&tiles, &scene->view, NULL, radius, false, NULL), KD_OK);
    const tile_view view = tile_set_get_view(&tiles);
    for (uint32_t i = 0; i < SAMPLES; ++i) {
        const vec3 place = vec3_scale(random_vector(i, 0), 0.7f),
                   normal = vec3_normalize(random_vector(i, 2));
        const double expected = brute_force_sum(scene, place, normal, radius);
        tile_lookup lookup = tile_lookup_begin(place, normal, 0, radius, PHOTON_KERNEL_CONE);
        const double actual = (double)tile_kernel_integral(&view, &lookup, TILE_COSINE);
        assert_true(lookup.tested <= TILE_MAX);
        if (lookup.tested > maximum) maximum = lookup.tested;
        bounded += lookup.tested + TILE_LEAF >= TILE_EXACT;
        const double ratio = actual / fmax(expected, (double)TILE_MIN_SHARE * M_PI / 3);
        ratios += ratio / SAMPLES;
        squares += (ratio - 1) * (ratio - 1) / SAMPLES;
    }
    if (!(fabs(ratios - 1) <= mean && sqrt(squares) <= worst))
        fail_msg("%u leaves: mean %.4f, spread %.4f", count, ratios, sqrt(squares));
    assert_true(radius < 0.5f || maximum > TILE_EXACT);
    assert_int_equal(tile_set_lookups_bounded(&tiles), bounded);
    tile_set_close(&tiles);
    photon_scene_free(scene);
}

static void test_many_leaves_need_few_samples(void **state) {
    (void)state;
    compare_leaves(60, 0.3f, 0.3f, 1e-5, 1e-5);
    compare_leaves(200, 0.1f, 0.3f, 1e-4, 5e-5); /* each part is sampled at seven positions */
    compare_leaves(800, 0.03f, 0.3f, 0.02, 0.01);
    compare_leaves(8000, 0.05f, 0.6f, 0.1, 0.05);
}

/* --- planes ----------------------------------------------------------------------------------- */

/* A floor with a rug on its right half: the stored parts against those that lookups compute, at
   positions all over the floor and the rug, for any radius up to the precomputed one. */
static void test_coplanar_parts_match_lookups(void **state) {
    enum { PLACES = 4000 };
    (void)state;
    photon_scene *scene = photon_scene_new();
    tile_set tiles;
    uint32_t spared = 0;
    add_sheets(&scene->fixture, RUG, PHOTON_KERNEL_CONE);
    photon_scene_finish(scene);
    assert_int_equal(tile_set_open(&tiles, &scene->view, NULL, 0.1f, false, NULL), KD_OK);
    const tile_view view = tile_set_get_view(&tiles);
    tile_view unknown = view;
    unknown.patches = NULL;
    for (uint32_t i = 0; i < PLACES; ++i) {
        const vec3 at = random_vector(i, 0), up = {0, 1, 0},
                   place = {2.99f * at.x, 0, 2.99f * at.z};
        const float radius = 0.05f * (1.01f + at.y);
        const uint32_t triangle = place.z >= -place.x ? 0u : 1u;
        tile_lookup one = tile_lookup_begin(place, up, triangle, radius, PHOTON_KERNEL_CONE);
        tile_lookup other = one;
        const float actual = tile_kernel_integral(&view, &one, TILE_COSINE);
        const float expected = tile_kernel_integral(&unknown, &other, TILE_COSINE);
        if (!(fabsf(actual - expected) <= 2e-5f))
            fail_msg("at %g, %g: %g, expected %g", (double)place.x, (double)place.z, (double)actual,
                     (double)expected);
        spared += one.tested == 0;
        assert_true(place.x < 0 || one.tested > 0);
    }
    assert_in_range(spared, PLACES / 3, PLACES / 2);
    tile_set_close(&tiles);
    photon_scene_free(scene);
}

/* --- furnaces --------------------------------------------------------------------------------- */

/* A furnace with a rug, a stack of sheets and a second copy of its floor. The irradiance without
   direct light is pi L a / (1 - a), on the rug, beside it, and at the stack's edge. */
static photon_scene *furnace_of_sheets(void) {
    photon_scene *scene = photon_scene_new();
    scene_fixture *to = &scene->fixture;
    material glow = photon_scene_diffuse(0.5f, 1);
    glow.two_sided = 1;
    const uint32_t wall = fixture_material(to, glow);
    const uint32_t walls[6] = {wall, wall, wall, wall, wall, wall};
    const vec3 p[4] = {{-1, 0, 1}, {1, 0, 1}, {1, 0, -1}, {-1, 0, -1}};
    fixture_box(to, walls, vec3_make(-1, 0, -1), vec3_make(1, 2, 1), true);
    material plain = photon_scene_diffuse(0.5f, 0);
    fixture_quad(to, fixture_material(to, plain), p[0], p[1], p[2], p[3]);
    for (int i = 0; i < 4; ++i) {
        const float x = i ? 0.2f : -0.7f, y = i ? 0.02f * (float)i : 0.003f;
        fixture_quad(to, wall, vec3_make(x, y, 0.5f), vec3_make(x + 0.6f, y, 0.5f),
                     vec3_make(x + 0.6f, y, -0.5f), vec3_make(x, y, -0.5f));
    }
    photon_scene_finish(scene);
    return scene;
}

/* Computes the ratio of estimated to true irradiance: its mean over all positions, and its largest
   deviation from 1 over strips along x. */
static void expect_sheets(photon_scene *scene, const photon_maps *maps, double *mean,
                          double *worst) {
    enum { STRIPS = 20, EACH = 60 };
    const photon_map_view map = photon_maps_global(maps);
    const tile_view tiles = photon_maps_tiles(maps);
    *mean = *worst = 0;
    for (uint32_t s = 0; s < STRIPS; ++s) {
        double strip = 0;
        for (uint32_t i = 0; i < EACH; ++i) {
            const float x = -0.9f + 1.8f * ((float)s + ((float)i + 0.5f) / EACH) / STRIPS;
            const float z = 0.4f - 0.8f * rng_draw(rng_key_make(4, 0, i), s, 0).value[0];
            const ray down = ray_make(vec3_make(x, 1, z), vec3_make(0, -1, 0), 0, INFINITY);
            const ray_hit hit = tritree_closest(&scene->view.tree, down);
            const surface at = surface_at(&scene->view, &down, hit);
            const estimate_point point = {at.position, vec3_make(0, 1, 0), hit.triangle, NULL,
                                          NULL};
            strip += photon_watts(photon_irradiance(&map, &tiles, &point)) / M_PI / EACH;
        }
        *mean += strip / STRIPS;
        *worst = fmax(*worst, fabs(strip - 1));
    }
}

static void test_furnace_of_sheets(void **state) {
    (void)state;
    photon_scene *scene = furnace_of_sheets();
    for (int k = 0; k < PHOTON_KERNELS; ++k)
        for (int e = 0; e < PHOTON_ESTIMATORS; ++e) {
            const photon_kernel kernel = (photon_kernel)k;
            photon_options options = photon_options_default();
            photon_maps maps;
            double mean, worst;
            if (e != PHOTON_ESTIMATOR_NEAREST && kernel != PHOTON_KERNEL_CONE) continue;
            options.photons = 150000;
            options.caustics = 0;
            options.kernel = (photon_kernel)kernel;
            options.estimator = (photon_estimator)e;
            assert_int_equal(photon_maps_open(&maps, &scene->view, &options, NULL), KD_OK);
            expect_sheets(scene, &maps, &mean, &worst);
            if (!(fabs(mean - 1) <= 0.015 && worst <= 0.12))
                fail_msg("kernel %d, estimator %s: mean %.4f, strip off by %.4f", kernel,
                         photon_estimator_name(e), mean, worst);
            photon_maps_close(&maps);
        }
    photon_scene_free(scene);
}

/* A furnace whose floor reflects all light and emits none, so that its radiance equals that of the
   walls. On the floor is a closed box, bright outside; below and inside the box it is dark. */
static photon_scene *furnace_with_box(void) {
    photon_scene *scene = photon_scene_new();
    scene_fixture *to = &scene->fixture;
    const uint32_t wall = fixture_material(to, photon_scene_diffuse(0.5f, 1));
    const uint32_t ground = fixture_material(to, photon_scene_diffuse(1, 0));
    const uint32_t walls[6] = {wall, wall, ground, wall, wall, wall};
    const uint32_t faces[6] = {wall, wall, wall, wall, wall, wall};
    fixture_box(to, walls, vec3_make(-1, 0, -1), vec3_make(1, 2, 1), true);
    fixture_box(to, faces, vec3_make(-0.5f, 0, -0.5f), vec3_make(0.5f, 0.4f, 0.5f), false);
    photon_scene_finish(scene);
    return scene;
}

/* Returns the mean ratio of estimated to true irradiance on the floor within 0.12 of the box. */
static double mean_ratio_near_box(photon_scene *scene, const photon_map_view *map,
                                  const tile_view *tiles) {
    enum { PLACES = 2000 };
    double sum = 0;
    for (uint32_t i = 0; i < PLACES; ++i) {
        const rng_block r = rng_draw(rng_key_make(8, 0, i), 0, 0);
        const float offset = (i % 2 ? 1.0f : -1.0f) * (0.5f + 0.12f * r.value[0]);
        const float along = 0.9f * r.value[1] - 0.45f;
        const vec3 from = i % 4 < 2 ? vec3_make(offset, 1, along) : vec3_make(along, 1, offset);
        const ray down = ray_make(from, vec3_make(0, -1, 0), 0, INFINITY);
        const ray_hit hit = tritree_closest(&scene->view.tree, down);
        const estimate_point at = {vec3_make(from.x, 0, from.z), vec3_make(0, 1, 0), hit.triangle,
                                   NULL, NULL};
        sum += photon_watts(photon_irradiance(map, tiles, &at)) / M_PI / PLACES;
    }
    return sum;
}

static void test_unlit_surfaces_are_omitted(void **state) {
    (void)state;
    photon_scene *scene = furnace_with_box();
    photon_options options = photon_options_default();
    photon_maps maps;
    tile_set all_lit;
    options.photons = 100000;
    options.caustics = 0;
    assert_int_equal(photon_maps_open(&maps, &scene->view, &options, NULL), KD_OK);
    const photon_map_view map = photon_maps_global(&maps);
    tile_view tiles = photon_maps_tiles(&maps);
    const double actual = mean_ratio_near_box(scene, &map, &tiles);
    assert_int_equal(tile_set_open(&all_lit, &scene->view, NULL, map.radius, false, NULL), KD_OK);
    tiles = tile_set_get_view(&all_lit);
    const double otherwise = mean_ratio_near_box(scene, &map, &tiles);
    if (!(fabs(actual - 1) <= 0.05 && otherwise < 0.93))
        fail_msg("%.4f of the light, %.4f if all is lit", actual, otherwise);
    tile_set_close(&all_lit);
    photon_maps_close(&maps);
    photon_scene_free(scene);
}

static void test_invalid_radii_are_rejected(void **state) {
    (void)state;
    photon_scene *scene = furnace_of_sheets();
    tile_set tiles;
    assert_int_equal(tile_set_open(&tiles, &scene->view, NULL, 0, true, NULL), KD_ERROR_USAGE);
    assert_int_equal(tile_set_open(&tiles, &scene->view, NULL, NAN, true, NULL), KD_ERROR_USAGE);
    /* a tiny radius does not make millions of tiles */
    assert_int_equal(tile_set_open(&tiles, &scene->view, NULL, 1e-30f, true, NULL), KD_OK);
    assert_true(tiles.count < 1u << 21 && tiles.copies == 2);
    tile_set_close(&tiles);
    photon_scene_free(scene);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stacked_sheets_match_their_area),
        cmocka_unit_test(test_many_leaves_need_few_samples),
        cmocka_unit_test(test_coplanar_parts_match_lookups),
        cmocka_unit_test(test_furnace_of_sheets),
        cmocka_unit_test(test_unlit_surfaces_are_omitted),
        cmocka_unit_test(test_invalid_radii_are_rejected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
