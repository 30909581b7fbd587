/* shaders/estimate.h, photon/crease: kernels over what is really there of a disc, and densities
   that keep their mean up to the corners. */
#include "photon/photon_map.h"
#include "photon_scenes.h"

enum { OUTLINE_MAX = 16, POLAR_STEPS = 1000 };

static const int32_t kernels[] = {PHOTON_KERNEL_DISC, PHOTON_KERNEL_CONE,
                                  PHOTON_KERNEL_EPANECHNIKOV};

static void assert_near(double value, double expected, double tolerance) {
    if (!(fabs(value - expected) <= tolerance))
        fail_msg("%.9g, expected %.9g within %g", value, expected, tolerance);
}

/* A plane patch with an outline, as triangles that a test cuts as it likes. */
typedef struct patch {
    vec2 corner[OUTLINE_MAX];
    uint32_t triangle[OUTLINE_MAX][3];
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

/* The triangle that holds a point, -1: none. */
static int patch_holds(const patch *of, double x, double y) {
    for (uint32_t t = 0; t < of->triangles; ++t) {
        bool inside = true;
        for (int k = 0; k < 3; ++k) {
            const vec2 a = of->corner[of->triangle[t][k]],
                       b = of->corner[of->triangle[t][(k + 1) % 3]];
            const double cross = ((double)b.x - (double)a.x) * (y - (double)a.y) -
                                 ((double)b.y - (double)a.y) * (x - (double)a.x);
            inside = inside && cross >= 0;
        }
        if (inside) return (int)t;
    }
    return -1;
}

/* The kernel's integral over the patch about (x, y), of the unit disc: by summing in polar
   coordinates. */
static double patch_integral(const patch *of, double x, double y, double radius, int32_t kernel) {
    double sum = 0;
    for (int i = 0; i < POLAR_STEPS; ++i)
        for (int j = 0; j < POLAR_STEPS; ++j) {
            const double s = (i + 0.5) / POLAR_STEPS, angle = 2 * M_PI * (j + 0.5) / POLAR_STEPS;
            if (patch_holds(of, x + radius * s * cos(angle), y + radius * s * sin(angle)) < 0)
                continue;
            const double value = kernel == PHOTON_KERNEL_DISC   ? 1
                                 : kernel == PHOTON_KERNEL_CONE ? 1 - s
                                                                : 1 - s * s;
            sum += value * s;
        }
    return sum * 2 * M_PI / POLAR_STEPS / POLAR_STEPS;
}

/* In the plane x + 2y + 2z = 3, so that nothing is aligned; triangles of odd index are wound the
   other way if asked. */
static vec3 patch_place(vec2 p) {
    const vec3 along = vec3_make(2.0f / 3, -2.0f / 3, 1.0f / 3),
               across = vec3_make(2.0f / 3, 1.0f / 3, -2.0f / 3);
    return vec3_along(vec3_along(vec3_make(1.0f / 3, 2.0f / 3, 2.0f / 3), p.x, along), p.y, across);
}

static void compare_patch(const patch *of, bool mixed_winding) {
    vec3 positions[3 * OUTLINE_MAX];
    uint32_t triangles[3 * OUTLINE_MAX];
    for (uint32_t t = 0; t < of->triangles; ++t)
        for (uint32_t k = 0; k < 3; ++k) {
            const uint32_t to = mixed_winding && t % 2 ? 2 - k : k;
            positions[3 * t + to] = patch_place(of->corner[of->triangle[t][k]]);
            triangles[3 * t + k] = 3 * t + k;
        }
    mesh_view mesh;
    memset(&mesh, 0, sizeof mesh);
    mesh.positions = positions;
    mesh.triangles = triangles;
    mesh.position_count = 3 * of->triangles;
    mesh.triangle_count = of->triangles;
    crease_set creases;
    assert_int_equal(crease_set_open(&creases, &mesh, 0.37f, NULL), KD_OK);
    const crease_view view = crease_set_get_view(&creases);
    for (uint32_t i = 0; i < 8; ++i) {
        const rng_block r = rng_draw(rng_key_make(5, 0, i), 0, 0);
        const float x = 2 * r.value[0] - 1, y = 2 * r.value[1] - 1;
        const float radius = 0.1f + 0.8f * r.value[2];
        const int triangle = patch_holds(of, (double)x, (double)y);
        if (triangle < 0) continue;
        estimate_point at;
        at.position = patch_place(vec2_make(x, y));
        at.normal = vec3_make(1.0f / 3, 2.0f / 3, 2.0f / 3);
        at.triangle = (uint32_t)triangle;
        at.back = mixed_winding && triangle % 2;
        const int32_t kernel = kernels[i % 3];
        const double expected = patch_integral(of, (double)x, (double)y, (double)radius, kernel);
        const double integral = (double)crease_kernel_integral(&view, &at, radius, kernel);
        assert_near(integral, expected, 0.004);
    }
    crease_set_close(&creases);
}

static void integrals_are_those_of_the_surface_there(void **state) {
    (void)state;
    for (int i = 0; i < PATCHES; ++i)
        for (int mixed = 0; mixed < (i == 2 ? 1 : 2); ++mixed)
            compare_patch(&patches[i], mixed != 0);
}

static void a_whole_disc_has_the_kernels_integral(void **state) {
    (void)state;
    crease_view none;
    memset(&none, 0, sizeof none);
    const estimate_point at = {{0, 0, 0}, {0, 0, 1}, false, 0};
    static const double expected[] = {M_PI, M_PI / 3, M_PI / 2};
    for (int i = 0; i < 3; ++i)
        assert_near((double)crease_kernel_integral(&none, &at, 2, kernels[i]), expected[i], 1e-6);
}

/* A smooth ball has no outline; a cube has twelve edges, one for each side of each; a box is the
   same whichever way its faces are wound. */
static void creases_are_found(void **state) {
    (void)state;
    photon_scene *scene = photon_scene_new();
    const uint32_t grey = fixture_material(&scene->fixture, photon_scene_diffuse(0.5f, 1));
    fixture_ball(&scene->fixture, grey, vec3_make(3, 4, 5), 2, 12);
    photon_scene_finish(scene);
    crease_set creases;
    assert_int_equal(crease_set_open(&creases, &scene->view.mesh, 1, NULL), KD_OK);
    assert_int_equal(creases.edge_count, 0);
    crease_set_close(&creases);
    photon_scene_free(scene);
    scene = photon_scene_furnace(vec3_all(0), vec3_all(1), 0.5f, 1);
    assert_int_equal(crease_set_open(&creases, &scene->view.mesh, 10, NULL), KD_OK);
    assert_int_equal(creases.edge_count, 24);
    assert_int_equal(creases.middles.count, 24);
    crease_set_close(&creases);
    assert_int_equal(crease_set_open(&creases, &scene->view.mesh, 0.25f, NULL), KD_OK);
    assert_int_equal(creases.middles.count, 24 * 4);
    assert_near((double)creases.reach, 0.125, 1e-4);
    crease_set_close(&creases);
    assert_int_equal(crease_set_open(&creases, &scene->view.mesh, 0, NULL), KD_ERROR_USAGE);
    photon_scene_free(scene);
    /* nothing at all */
    mesh_view empty;
    memset(&empty, 0, sizeof empty);
    assert_int_equal(crease_set_open(&creases, &empty, 1, NULL), KD_OK);
    assert_int_equal(creases.middles.count, 0);
    crease_set_close(&creases);
}

/* A fluted wall: eight grooves of half a turn each, narrower than the disc, in strips that bend by
   22 degrees. No tangent plane fits; the estimate may be dark there, but must not make sparks. */
static void ragged_surfaces_make_no_sparks(void **state) {
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
    crease_set creases;
    assert_int_equal(crease_set_open(&creases, &scene->view.mesh, 0.5f, NULL), KD_OK);
    const crease_view view = crease_set_get_view(&creases);
    for (uint32_t i = 0; i < 3000; ++i) {
        const rng_block r = rng_draw(rng_key_make(3, 0, i), 0, 0);
        const vec3 from = vec3_make(0.8f * r.value[0], 0.5f + r.value[1], 1);
        const ray cast = ray_make(from, vec3_make(0, 0, -1), 0, INFINITY);
        const ray_hit hit = tritree_closest(&scene->view.tree, cast);
        if (hit.triangle == KD_NONE) continue;
        const surface met = surface_at(&scene->view, &cast, hit);
        const estimate_point at = {met.position, met.geometric, false, hit.triangle};
        assert_true(met.front);
        const float integral = crease_kernel_integral(&view, &at, 0.2f, PHOTON_KERNEL_CONE);
        assert_true(integral >= 0.25f * KD_PI / 3);
    }
    crease_set_close(&creases);
    photon_scene_free(scene);
}

/* In a furnace the irradiance by all but direct light is pi L a / (1 - a) everywhere: `share` of it
   is found, over the whole surface and within a tenth of the edges. */
static void furnace_estimates(int32_t kernel, double *everywhere, double *at_edges) {
    photon_scene *scene = photon_scene_furnace(vec3_make(-1, -1, -1), vec3_make(1, 1, 1), 0.5f, 1);
    photon_options options = photon_options_default();
    options.photons = 60000;
    options.kernel = (photon_kernel)kernel;
    photon_maps maps;
    assert_int_equal(photon_maps_open(&maps, &scene->view, &options, NULL), KD_OK);
    double landed = 0, landed_edges = 0, found = 0, found_edges = 0;
    int count_edges = 0;
    for (uint64_t i = 0; i < maps.global.count; ++i) {
        const vec3 p = maps.global.photons[i].position;
        const int near = (fabsf(p.x) > 0.9f) + (fabsf(p.y) > 0.9f) + (fabsf(p.z) > 0.9f);
        const double watts = photon_watts(maps.global.photons[i].power);
        landed += watts;
        if (near > 1) landed_edges += watts;
    }
    const photon_map_view map = photon_maps_global(&maps);
    const crease_view creases = crease_set_get_view(&maps.creases);
    enum { POINTS = 30000 };
    for (uint32_t i = 0; i < POINTS; ++i) {
        const rng_block r = rng_draw(rng_key_make(9, 0, i), 0, 0);
        vec3 p = vec3_make(2 * r.value[0] - 1, 2 * r.value[1] - 1, 2 * r.value[2] - 1);
        vec3 out = vec3_all(0), from = p;
        vec3_set_axis(&from, (int)(i % 3), 0);
        vec3_set_axis(&out, (int)(i % 3), i / 3 % 2 ? 1.0f : -1.0f);
        p = vec3_add(from, out);
        const ray_hit hit = tritree_closest(&scene->view.tree, ray_make(from, out, 0, INFINITY));
        const estimate_point at = {p, vec3_negate(out), false, hit.triangle};
        const double irradiance = photon_watts(photon_irradiance(&map, &creases, &at));
        found += irradiance / POINTS;
        if ((fabsf(p.x) > 0.9f) + (fabsf(p.y) > 0.9f) + (fabsf(p.z) > 0.9f) > 1) {
            found_edges += irradiance;
            ++count_edges;
        }
    }
    *everywhere = found / (landed / 24);
    *at_edges = found_edges / count_edges / (landed_edges / (24 * (1 - 0.9 * 0.9)));
    photon_maps_close(&maps);
    photon_scene_free(scene);
}

static void estimates_lose_nothing_at_corners(void **state) {
    (void)state;
    for (int i = 0; i < 3; ++i) {
        double everywhere, at_edges;
        furnace_estimates(kernels[i], &everywhere, &at_edges);
        assert_near(everywhere, 1, 0.005);
        assert_near(at_edges, 1, 0.02);
    }
}

/* Photons that landed on the other side of a thin wall do not count. */
static void far_sides_are_rejected(void **state) {
    (void)state;
    photon landed;
    memset(&landed, 0, sizeof landed);
    landed.normal = vec3_make(0, 0, 1);
    landed.position = vec3_make(0.1f, 0, 0);
    estimate_point at = {{0, 0, 0}, {0, 0, 1}, false, 0};
    assert_true(estimate_accepts(&landed, &at, 0.5f));
    landed.normal = vec3_make(0, 0, -1);
    assert_false(estimate_accepts(&landed, &at, 0.5f));
    landed.normal = vec3_make(0, 1, 0);
    assert_false(estimate_accepts(&landed, &at, 0.5f));
    landed.normal = vec3_make(0, 0, 1);
    landed.position = vec3_make(0.1f, 0, 0.3f);
    assert_false(estimate_accepts(&landed, &at, 0.5f));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_disc_has_the_kernels_integral),
        cmocka_unit_test(integrals_are_those_of_the_surface_there),
        cmocka_unit_test(creases_are_found),
        cmocka_unit_test(ragged_surfaces_make_no_sparks),
        cmocka_unit_test(estimates_lose_nothing_at_corners),
        cmocka_unit_test(far_sides_are_rejected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
