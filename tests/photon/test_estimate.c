/* photon/density/: integrals of kernels over the part of a disc that is covered by surfaces, and
   unbiased densities up to edges and corners. */
#include "accel/rays/batch.h"
#include "photon/density/estimate_radius.h"
#include "photon/maps/photon_map.h"
#include "photon_scenes.h"
#include "points/select/builders.h"
#include "tests/photon/kernel_value.h"

enum { CORNERS_MAX = 16, POLAR_STEPS = 400, RADIAL_STEPS = 1000 };

static void assert_near(double value, double expected, double tolerance) {
    if (!(fabs(value - expected) <= tolerance))
        fail_msg("%.9g, expected %.9g within %g", value, expected, tolerance);
}

/* A plane patch of triangles, cut in the way a test requires. */
typedef struct patch {
    vec2 corner[CORNERS_MAX];
    uint32_t triangle[CORNERS_MAX][3];
    uint32_t corners, triangles;
} patch;

/* a square; an L; a square with a T-junction inside; a square with a square hole */
static const patch patches[] = {
    {{{-1, -1}, {1, -1}, {1, 1}, {-1, 1}}, {{0, 1, 2}, {0, 2, 3}}, 4, 2},
    {{{-1, -1}, {1, -1}, {1, 0}, {0, 0}, {0, 1}, {-1, 1}},
     {{0, 1, 3}, {1, 2, 3}, {0, 3, 5}, {3, 4, 5}},
     6,
     4},
    {{{-1, -1}, {1, -1}, {1, 0}, {-1, 0}, {-1, 1}, {1, 1}, {0.3f, 0}},
     {{0, 1, 2}, {0, 2, 3}, {3, 6, 4}, {6, 5, 4}, {6, 2, 5}},
     7,
     5},
    {{{-1, -1},
      {1, -1},
      {1, 1},
      {-1, 1},
      {-0.5f, -0.5f},
      {0.5f, -0.5f},
      {0.5f, 0.5f},
      {-0.5f, 0.5f}},
     {{0, 1, 5}, {0, 5, 4}, {1, 2, 6}, {1, 6, 5}, {2, 3, 7}, {2, 7, 6}, {3, 0, 4}, {3, 4, 7}},
     8,
     8},
};
enum { PATCHES = sizeof patches / sizeof *patches };

/* Returns the triangle that contains a point, or -1. */
static int patch_holds(const patch *patch, double x, double y) {
    for (uint32_t t = 0; t < patch->triangles; ++t) {
        bool inside = true;
        for (int k = 0; k < 3; ++k) {
            const vec2 a = patch->corner[patch->triangle[t][k]],
                       b = patch->corner[patch->triangle[t][(k + 1) % 3]];
            const double cross = ((double)b.x - (double)a.x) * (y - (double)a.y) -
                                 ((double)b.y - (double)a.y) * (x - (double)a.x);
            inside = inside && cross >= 0;
        }
        if (inside) return (int)t;
    }
    return -1;
}

/* Integrates the kernel around (x, y) over the patch, in polar coordinates. */
static double patch_integral(const patch *patch, double x, double y, double radius,
                             photon_kernel kernel) {
    double sum = 0;
    for (int i = 0; i < POLAR_STEPS; ++i)
        for (int j = 0; j < POLAR_STEPS; ++j) {
            const double s = (i + 0.5) / POLAR_STEPS, angle = 2 * M_PI * (j + 0.5) / POLAR_STEPS;
            if (patch_holds(patch, x + radius * s * cos(angle), y + radius * s * sin(angle)) < 0)
                continue;
            sum += kernel_value(kernel, s) * s;
        }
    return sum * 2 * M_PI / POLAR_STEPS / POLAR_STEPS;
}

/* Returns a point in the plane x + 2y + 2z = 3, so that nothing is axis-aligned. */
static vec3 patch_place(vec2 p) {
    const vec3 along = vec3_make(2.0f / 3, -2.0f / 3, 1.0f / 3),
               across = vec3_make(2.0f / 3, 1.0f / 3, -2.0f / 3);
    return vec3_along(vec3_along(vec3_make(1.0f / 3, 2.0f / 3, 2.0f / 3), p.x, along), p.y, across);
}

/* Builds a scene of the patch. With mixed winding, triangles of odd index have the opposite
   winding. With copies, each triangle exists twice, starting at another corner and with the
   opposite winding. */
static photon_scene *scene_of_patch(const patch *patch, bool mixed_winding, bool copies) {
    photon_scene *scene = photon_scene_new();
    const uint32_t grey = fixture_material(&scene->fixture, photon_scene_diffuse(0.5f, 0));
    for (uint32_t t = 0; t < patch->triangles * (copies ? 2 : 1); ++t) {
        vec3 corners[3];
        const bool copy = t >= patch->triangles;
        const uint32_t from = copy ? t - patch->triangles : t;
        for (uint32_t k = 0; k < 3; ++k) {
            const uint32_t to = copy != (mixed_winding && from % 2) ? (2 - k + copy) % 3 : k;
            corners[to] = patch_place(patch->corner[patch->triangle[from][k]]);
        }
        fixture_triangle(&scene->fixture, grey, corners, NULL);
    }
    photon_scene_finish(scene);
    return scene;
}

static void compare_patch(const patch *patch, bool mixed_winding, bool copies) {
    photon_scene *scene = scene_of_patch(patch, mixed_winding, copies);
    tile_set tiles;
    assert_int_equal(tile_set_open(&tiles, &scene->view, NULL, 0.37f, false, NULL), KD_OK);
    assert_int_equal(tiles.copies, copies ? patch->triangles : 0);
    const tile_view view = tile_set_get_view(&tiles);
    for (uint32_t i = 0; i < 8; ++i) {
        const rng_block r = rng_draw(rng_key_make(5, 0, i), 0, 0);
        const float x = 2 * r.value[0] - 1, y = 2 * r.value[1] - 1;
        const float radius = 0.1f + 0.8f * r.value[2];
        const int triangle = patch_holds(patch, (double)x, (double)y);
        if (triangle < 0) continue;
        estimate_point at;
        at.position = patch_place(vec2_make(x, y));
        at.normal = vec3_make(1.0f / 3, 2.0f / 3, 2.0f / 3);
        at.triangle = (uint32_t)triangle + (copies && i % 2 ? patch->triangles : 0);
        at.occluders = NULL;
        const photon_kernel kernel = (photon_kernel)(i % PHOTON_KERNELS);
        const double expected = patch_integral(patch, (double)x, (double)y, (double)radius, kernel);
        assert_near((double)estimate_integral(&view, &at, radius, kernel), expected, 0.004);
    }
    tile_set_close(&tiles);
    photon_scene_free(scene);
}

static void test_kernel_integrals_match_surface_area(void **state) {
    (void)state;
    for (int i = 0; i < PATCHES; ++i)
        for (int mixed = 0; mixed < (i == 2 ? 1 : 2); ++mixed)
            for (int copies = 0; copies < 2; ++copies)
                compare_patch(&patches[i], mixed != 0, copies != 0);
}

/* Among many places whose visible part is the same, the visible photons divided by the sampled
   share have the mean of the share's reciprocal. */
static void test_visible_share_has_no_outliers(void **state) {
    (void)state;
    enum { SAMPLES = 25 };
    static const double parts[] = {0.2, 0.3, 0.5, 0.9};
    for (int i = 0; i < 4; ++i) {
        const double part = parts[i];
        double odds = pow(1 - part, SAMPLES), mean = 0;
        for (int seen = 0; seen <= SAMPLES; ++seen) {
            mean += odds / (double)visibility_share_of(0.4f * (float)seen, 0.4f * SAMPLES, SAMPLES);
            odds *= part / (1 - part) * (SAMPLES - seen) / (seen + 1);
        }
        assert_near(mean * part, 1, 0.004);
    }
    assert_near((double)visibility_share_of(0, 1.5f, 3), 1, 0);
}

static void test_full_disc_matches_kernel_integral(void **state) {
    (void)state;
    tile_view none;
    memset(&none, 0, sizeof none);
    const estimate_point at = {{0, 0, 0}, {0, 0, 1}, 0, NULL, NULL};
    static const double expected[] = {M_PI, M_PI / 3, M_PI / 2};
    for (int i = 0; i < 3; ++i)
        assert_near((double)estimate_integral(&none, &at, 2, (photon_kernel)i), expected[i], 1e-6);
    for (int i = 0; i < PHOTON_KERNELS; ++i) {
        double sum = 0;
        for (int n = 0; n < RADIAL_STEPS; ++n) {
            const double s = (n + 0.5) / RADIAL_STEPS;
            assert_near((double)photon_kernel_at((photon_kernel)i, (float)(s * s)),
                        kernel_value((photon_kernel)i, s), 2e-6);
            sum += kernel_value((photon_kernel)i, s) * s;
        }
        sum *= 2 * M_PI / RADIAL_STEPS;
        assert_near((double)estimate_integral(&none, &at, 2, (photon_kernel)i), sum, 2e-6);
        assert_true(photon_kernel_at((photon_kernel)i, 1) == 0);
    }
}

/* A fluted wall: eight half-round grooves, narrower than the disc, in strips that bend by 22
   degrees. Estimates on it must have no outliers. */
static void test_fluted_wall_has_no_outliers(void **state) {
    (void)state;
    enum { FLUTES = 8, STRIPS = 8 };
    photon_scene *scene = photon_scene_new();
    const uint32_t grey = fixture_material(&scene->fixture, photon_scene_diffuse(0.5f, 1));
    const float radius = 0.05f;
    for (int i = 0; i < FLUTES * STRIPS; ++i) {
        vec3 edge[2];
        for (int k = 0; k < 2; ++k) {
            const float turn = KD_PI * (float)(i % STRIPS + k) / STRIPS;
            edge[k] = vec3_make(0.1f * (float)(i / STRIPS) + radius * (1 - cosf(turn)), 0,
                                -radius * sinf(turn));
        }
        const vec3 up = vec3_make(0, 2, 0);
        fixture_quad(&scene->fixture, grey, edge[0], edge[1], vec3_add(edge[1], up),
                     vec3_add(edge[0], up));
    }
    photon_scene_finish(scene);
    tile_set tiles;
    assert_int_equal(tile_set_open(&tiles, &scene->view, NULL, 0.2f, true, NULL), KD_OK);
    const tile_view view = tile_set_get_view(&tiles);
    for (uint32_t i = 0; i < 3000; ++i) {
        const rng_block r = rng_draw(rng_key_make(3, 0, i), 0, 0);
        const vec3 from = vec3_make(0.8f * r.value[0], 0.5f + r.value[1], 1);
        const ray ray = ray_make(from, vec3_make(0, 0, -1), 0, INFINITY);
        const ray_hit hit = tritree_closest(&scene->view.tree, ray);
        if (hit.triangle == KD_NONE) continue;
        const surface surface_hit = surface_at(&scene->view, &ray, hit);
        const estimate_point at = {surface_hit.position, surface_hit.geometric, hit.triangle, NULL,
                                   NULL};
        assert_true(surface_hit.front);
        const float integral = estimate_integral(&view, &at, 0.2f, PHOTON_KERNEL_CONE);
        assert_true(integral >= 0.25f * KD_PI / 3);
    }
    tile_set_close(&tiles);
    photon_scene_free(scene);
}

/* In a furnace the irradiance without direct light is pi L a / (1 - a) everywhere. Computes the
   fraction of it that estimates give, over the whole surface and within a tenth of the edges. */
static void furnace_estimates(photon_kernel kernel, photon_estimator estimator, double *everywhere,
                              double *at_edges) {
    photon_scene *scene = photon_scene_furnace(vec3_make(-1, -1, -1), vec3_make(1, 1, 1), 0.5f, 1);
    photon_options options = photon_options_default();
    options.photons = 20000;
    options.kernel = (photon_kernel)kernel;
    options.estimator = estimator;
    photon_maps maps;
    assert_int_equal(photon_maps_open(&maps, &scene->view, &options, NULL), KD_OK);
    double landed = 0, landed_edges = 0, estimated = 0, found_edges = 0;
    int count_edges = 0;
    for (uint64_t i = 0; i < maps.global.count; ++i) {
        const vec3 p = maps.global.photons[i].position;
        const int near = (fabsf(p.x) > 0.9f) + (fabsf(p.y) > 0.9f) + (fabsf(p.z) > 0.9f);
        const double watts = photon_watts(maps.global.photons[i].power);
        landed += watts;
        if (near > 1) landed_edges += watts;
    }
    const photon_map_view map = photon_maps_global(&maps);
    const tile_view tiles = photon_maps_tiles(&maps);
    enum { POINTS = 10000 };
    for (uint32_t i = 0; i < POINTS; ++i) {
        const rng_block r = rng_draw(rng_key_make(9, 0, i), 0, 0);
        vec3 p = vec3_make(2 * r.value[0] - 1, 2 * r.value[1] - 1, 2 * r.value[2] - 1);
        vec3 out = vec3_all(0), from = p;
        vec3_set_axis(&from, (int)(i % 3), 0);
        vec3_set_axis(&out, (int)(i % 3), i / 3 % 2 ? 1.0f : -1.0f);
        p = vec3_add(from, out);
        const ray_hit hit = tritree_closest(&scene->view.tree, ray_make(from, out, 0, INFINITY));
        const estimate_point at = {p, vec3_negate(out), hit.triangle, NULL, NULL};
        const double irradiance = photon_watts(photon_irradiance(&map, &tiles, &at));
        estimated += irradiance / POINTS;
        if ((fabsf(p.x) > 0.9f) + (fabsf(p.y) > 0.9f) + (fabsf(p.z) > 0.9f) > 1) {
            found_edges += irradiance;
            ++count_edges;
        }
    }
    *everywhere = estimated / (landed / 24);
    *at_edges = found_edges / count_edges / (landed_edges / (24 * (1 - 0.9 * 0.9)));
    photon_maps_close(&maps);
    photon_scene_free(scene);
}

static void test_estimates_are_unbiased_at_corners(void **state) {
    (void)state;
    for (int i = 0; i < PHOTON_KERNELS; ++i)
        for (int e = 0; e < PHOTON_ESTIMATORS; ++e) {
            double everywhere, at_edges;
            furnace_estimates((photon_kernel)i, (photon_estimator)e, &everywhere, &at_edges);
            assert_near(everywhere, 1, e == PHOTON_ESTIMATOR_ADAPTIVE ? 0.02 : 0.005);
            assert_near(at_edges, 1, e == PHOTON_ESTIMATOR_ADAPTIVE ? 0.04 : 0.02);
        }
}

/* --- photons placed by hand ------------------------------------------------------------------- */

enum { PHOTONS = 20000, QUERY_COUNT = 1500, K_LARGE = 400 };

/* Photons of equal power on the square from (-1, -1) to (1, 1) of the plane z = 0, with irradiance
   1 where x < 0 and `right` elsewhere. */
typedef struct photon_cloud {
    vec3 positions[PHOTONS];
    photon photons[PHOTONS];
    pointtree tree;
    tile_view none;
    photon_map_view map;
} photon_cloud;

static photon_cloud *photon_cloud_open(float right, uint64_t seed) {
    photon_cloud *made = (photon_cloud *)calloc(1, sizeof *made);
    assert_non_null(made);
    for (uint32_t i = 0; i < PHOTONS; ++i) {
        const rng_block r = rng_draw(rng_key_make(seed, 0, i), 0, 0);
        const bool left = r.value[2] * (1 + right) < 1;
        made->positions[i] = vec3_make(left ? r.value[0] - 1 : r.value[0], 2 * r.value[1] - 1, 0);
    }
    assert_int_equal(pointtree_open(&made->tree, made->positions, PHOTONS, NULL, NULL, NULL),
                     KD_OK);
    const pointtree_view tree = pointtree_get_view(&made->tree);
    for (uint32_t i = 0; i < PHOTONS; ++i) {
        photon *landed = &made->photons[i];
        landed->position = tree.points[i];
        landed->normal = vec3_make(0, 0, 1);
        landed->power = vec3_all(2 * (1 + right) / PHOTONS); /* 2 square metres on each side */
    }
    made->map.photons = made->photons;
    made->map.tree = tree;
    made->map.radius = INFINITY;
    made->map.scale = flux_scale(2 * (1 + right) / PHOTONS);
    made->map.gather = K_LARGE;
    made->map.kernel = PHOTON_KERNEL_DISC;
    return made;
}

static void photon_cloud_close(photon_cloud *owned) {
    pointtree_close(&owned->tree);
    free(owned);
}

/* Mean, standard deviation and root mean square error of the irradiance at positions with x in [x0,
   x1), far from the edges. */
typedef struct cloud_statistics {
    double mean, deviation, error;
} cloud_statistics;

static cloud_statistics photon_cloud_measure(const photon_cloud *cloud, float x0, float x1,
                                             double expected) {
    double sum = 0, squares = 0, errors = 0;
    for (uint32_t i = 0; i < QUERY_COUNT; ++i) {
        const rng_block r = rng_draw(rng_key_make(77, 0, i), 0, 0);
        const estimate_point at = {
            {x0 + (x1 - x0) * r.value[0], r.value[1] - 0.5f, 0}, {0, 0, 1}, 0, NULL, NULL};
        const double actual = (double)photon_irradiance(&cloud->map, &cloud->none, &at).x;
        sum += actual;
        squares += actual * actual;
        errors += (actual - expected) * (actual - expected);
    }
    const double mean = sum / QUERY_COUNT;
    const cloud_statistics figures = {mean, sqrt(squares / QUERY_COUNT - mean * mean),
                                      sqrt(errors / QUERY_COUNT)};
    return figures;
}

/* Every estimator gives the irradiance of a uniformly lit plane. */
static void test_uniform_plane_irradiance(void **state) {
    (void)state;
    photon_cloud *plane = photon_cloud_open(1, 1);
    for (int i = 0; i < PHOTON_KERNELS; ++i)
        for (int e = 0; e < PHOTON_ESTIMATORS; ++e) {
            plane->map.kernel = (photon_kernel)i;
            plane->map.adaptive = e == PHOTON_ESTIMATOR_ADAPTIVE;
            plane->map.gather = e == PHOTON_ESTIMATOR_FIXED ? 0 : K_LARGE;
            plane->map.radius = e == PHOTON_ESTIMATOR_FIXED ? 0.2f : INFINITY;
            const cloud_statistics figures = photon_cloud_measure(plane, -0.5f, 0.5f, 1);
            assert_near(figures.mean, 1, e == PHOTON_ESTIMATOR_ADAPTIVE ? 0.02 : 0.01);
        }
    photon_cloud_close(plane);
}

/* At a step of the irradiance the adaptive estimate has less bias than one of many photons; on a
   uniform plane it has less noise than one of few photons. */
static void test_adaptive_estimates_reduce_bias_and_noise(void **state) {
    (void)state;
    photon_cloud *even = photon_cloud_open(1, 2), *step = photon_cloud_open(0.1f, 3);
    even->map.gather = ADAPT_MIN + 1;
    const cloud_statistics few = photon_cloud_measure(even, -0.5f, 0.5f, 1);
    even->map.gather = step->map.gather = K_LARGE;
    even->map.adaptive = true;
    const cloud_statistics quiet = photon_cloud_measure(even, -0.5f, 0.5f, 1);
    assert_true(quiet.deviation < 0.5 * few.deviation);
    const cloud_statistics blurred = photon_cloud_measure(step, 0.06f, 0.12f, 0.1);
    step->map.adaptive = true;
    const cloud_statistics sharp = photon_cloud_measure(step, 0.06f, 0.12f, 0.1);
    print_message("even: %d photons %.3f, adaptive %.3f; step: %d photons %.3f (mean %.3f), "
                  "adaptive %.3f (%.3f)\n",
                  ADAPT_MIN, few.deviation, quiet.deviation, K_LARGE, blurred.error, blurred.mean,
                  sharp.error, sharp.mean);
    assert_true(fabs(sharp.mean - 0.1) < 0.5 * fabs(blurred.mean - 0.1));
    assert_true(sharp.error < blurred.error);
    photon_cloud_close(even);
    photon_cloud_close(step);
}

/* Estimates are finite without photons, with all photons at one position, and with fewer photons
   than an estimate uses. */
static void test_sparse_maps_have_finite_estimates(void **state) {
    (void)state;
    photon_cloud *all = photon_cloud_open(1, 4);
    const estimate_point at = {{0.1f, 0.1f, 0}, {0, 0, 1}, 0, NULL, NULL};
    for (int e = 0; e < PHOTON_ESTIMATORS; ++e)
        for (uint32_t count = 0; count < 40; count += 13) {
            pointtree tree;
            vec3 same[40];
            for (int i = 0; i < 40; ++i) same[i] = at.position;
            assert_int_equal(pointtree_open(&tree, same, count, NULL, NULL, NULL), KD_OK);
            all->map.tree = pointtree_get_view(&tree);
            all->map.adaptive = e == PHOTON_ESTIMATOR_ADAPTIVE;
            all->map.gather = e == PHOTON_ESTIMATOR_FIXED ? 0 : 20;
            all->map.radius = 0.5f;
            assert_true(vec3_is_finite(photon_irradiance(&all->map, &all->none, &at)));
            pointtree_close(&tree);
        }
    photon_cloud_close(all);
}

/* Photons on the other side of a thin wall are ignored; those on a sheet above count for an
   estimate, but their precomputed irradiance is not used. */
static void test_photons_of_the_other_side_are_rejected(void **state) {
    (void)state;
    photon landed;
    memset(&landed, 0, sizeof landed);
    landed.normal = vec3_make(0, 0, 1);
    landed.position = vec3_make(0.1f, 0, 0);
    estimate_point at = {{0, 0, 0}, {0, 0, 1}, 0, NULL, NULL};
    assert_true(estimate_accepts(&landed, &at) && estimate_knows(&landed, &at, 0.1f));
    landed.normal = vec3_make(0, 0, -1);
    assert_false(estimate_accepts(&landed, &at) || estimate_knows(&landed, &at, 0.1f));
    landed.normal = vec3_make(0, 1, 0);
    assert_false(estimate_accepts(&landed, &at) || estimate_knows(&landed, &at, 0.1f));
    landed.normal = vec3_make(0, 0, 1);
    landed.position = vec3_make(0.1f, 0, 0.3f);
    assert_true(estimate_accepts(&landed, &at));
    assert_false(estimate_knows(&landed, &at, 0.316f));
}

static vec3 direction_of(rng_block r) {
    return vec3_normalize(vec3_make(r.value[0] - 0.5f, r.value[1] - 0.5f, r.value[2] - 0.5f));
}

/* The simplified evaluation for diffuse surfaces equals the scattering function. */
static void test_diffuse_short_form_matches_bsdf(void **state) {
    (void)state;
    uint32_t lit = 0;
    for (uint32_t i = 0; i < 20000; ++i) {
        surface at;
        photon landed;
        memset(&at, 0, sizeof at);
        memset(&landed, 0, sizeof landed);
        const rng_key key = rng_key_make(21, 0, i);
        at.kind = MATERIAL_DIFFUSE;
        at.diffuse = vec3_make(0.7f, 0.1f, 0.4f);
        at.geometric = direction_of(rng_draw(key, 0, 0));
        at.normal =
            i % 2
                ? at.geometric
                : vec3_normalize(vec3_along(at.geometric, 0.5f, direction_of(rng_draw(key, 0, 1))));
        landed.direction = direction_of(rng_draw(key, 0, 2));
        landed.power = vec3_make(2, 0.3f, 1);
        const vec3 wo = direction_of(rng_draw(key, 0, 3)), wi = vec3_negate(landed.direction);
        const float true_cosine = fabsf(vec3_dot(wi, at.geometric));
        const float cosine = fabsf(vec3_dot(wi, at.normal));
        const float ratio = true_cosine > 0 ? float_min(cosine / true_cosine, 8) : 0;
        const vec3 right =
            vec3_scale(vec3_mul(bsdf_evaluate(&at, wo, wi, BSDF_RADIANCE), landed.power), ratio);
        const vec3 actual = photon_scattered(&at, wo, &landed);
        if (actual.x != right.x || actual.y != right.y || actual.z != right.z)
            fail_msg("surface %u: %g %g %g, expected %g %g %g", i, (double)actual.x,
                     (double)actual.y, (double)actual.z, (double)right.x, (double)right.y,
                     (double)right.z);
        lit += !vec3_is_zero(right);
    }
    assert_true(lit > 5000 && lit < 15000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_visible_share_has_no_outliers),
        cmocka_unit_test(test_full_disc_matches_kernel_integral),
        cmocka_unit_test(test_kernel_integrals_match_surface_area),
        cmocka_unit_test(test_fluted_wall_has_no_outliers),
        cmocka_unit_test(test_estimates_are_unbiased_at_corners),
        cmocka_unit_test(test_photons_of_the_other_side_are_rejected),
        cmocka_unit_test(test_uniform_plane_irradiance),
        cmocka_unit_test(test_adaptive_estimates_reduce_bias_and_noise),
        cmocka_unit_test(test_sparse_maps_have_finite_estimates),
        cmocka_unit_test(test_diffuse_short_form_matches_bsdf),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
