/* photon/density/media_estimate.h: the density of photons in a box is uniform up to its walls. */
#include "accel/builders.h"
#include "photon/density/media_estimate.h"
#include "points/select/builders.h"
#include "scene_fixture.h"
#include "test.h"

enum { PHOTONS = 100000, PLACES = 2000, STEPS = 60 };
#define FALL 0.2

static vec3 positions[PHOTONS];
static photon photons[PHOTONS];
static pointtree tree;
static scene_fixture stage;
static tritree walls;
static scene_view fog;

/* Builds the unit cube of medium 0, behind walls that transmit everything. */
static void build_walls(void) {
    fixture_clear(&stage);
    material clear = material_default();
    clear.medium = fixture_medium(&stage, vec3_all(0), vec3_all(1), 0);
    clear.opacity = 0;
    const uint32_t made_of = fixture_material(&stage, clear);
    const uint32_t faces[6] = {made_of, made_of, made_of, made_of, made_of, made_of};
    fixture_box(&stage, faces, vec3_all(0), vec3_all(1), false);
    fog = fixture_view(&stage);
    fog.environment.scene_centre = vec3_all(0.5f);
    fog.environment.scene_radius = 4;
    const tritree_input input = {fog.mesh.positions, fog.mesh.triangles, fog.mesh.position_count,
                                 fog.mesh.triangle_count};
    const tritree_options options = tritree_options_default();
    assert_int_equal(tritree_open(&walls, &input, &options, "auto", NULL), KD_OK);
    fog.tree = tritree_get_view(&walls);
}

static void remove_walls(void) {
    pointtree_close(&tree);
    tritree_close(&walls);
}

static vec3 volume_at(const photon_map_view *map, const volume_point *at) {
    uint32_t rays = 0;
    return photon_volume_radiance(&fog, map, at, &rays);
}

/* Returns a position in the cube; uniform, or with a density falling along x as exp(-x / FALL). */
static vec3 place_of(uint64_t seed, uint32_t i, bool falls) {
    const rng_block r = rng_draw(rng_key_make(seed, 0, i), 0, 0);
    const double u = (double)r.value[0], x = falls ? -FALL * log(1 - u * (1 - exp(-1 / FALL))) : u;
    return vec3_make((float)x, r.value[1], r.value[2]);
}

/* Places photons in the unit cube that fly along z and carry 1 W together. */
static photon_map_view make_photons(bool falls) {
    photon_map_view map;
    build_walls();
    memset(&map, 0, sizeof map);
    for (uint32_t i = 0; i < PHOTONS; ++i) positions[i] = place_of(1, i, falls);
    assert_int_equal(pointtree_open(&tree, positions, PHOTONS, NULL, NULL, NULL), KD_OK);
    map.tree = pointtree_get_view(&tree);
    memset(photons, 0, sizeof photons);
    for (uint32_t i = 0; i < PHOTONS; ++i) {
        photons[i].position = map.tree.points[i];
        photons[i].direction = vec3_make(0, 0, 1);
        photons[i].power = vec3_all(1.0f / PHOTONS);
    }
    map.photons = photons;
    map.scale = flux_scale(1.0f / PHOTONS);
    return map;
}

/* Returns the mean of the estimates at positions in the cube from lo to hi, for a density of 1
   W/m^3; the phase function is isotropic. */
static double density_mean(const photon_map_view *map, float lo, float hi) {
    double sum = 0;
    volume_point at;
    memset(&at, 0, sizeof at);
    at.direction = vec3_make(0, 1, 0);
    for (uint32_t i = 0; i < PLACES; ++i) {
        const rng_block r = rng_draw(rng_key_make(2, 0, i), 0, 0);
        at.position = vec3_add(vec3_all(lo),
                               vec3_scale(vec3_make(r.value[0], r.value[1], r.value[2]), hi - lo));
        sum += (double)volume_at(map, &at).x;
    }
    return sum / PLACES * 4 * M_PI; /* integrated over the isotropic phase function */
}

/* Returns the fraction of the kernels' balls around all positions of the unit cube that lies inside
   the cube: the mean of (1 - |v.x|)(1 - |v.y|)(1 - |v.z|) over offsets v distributed by the
   kernel. */
static double share_inside(photon_kernel kernel, double radius) {
    double sum = 0, whole = 0;
    for (int i = 0; i < STEPS; ++i)
        for (int j = 0; j < STEPS; ++j)
            for (int k = 0; k < STEPS; ++k) { /* over one octant */
                const double x = (i + 0.5) / STEPS, y = (j + 0.5) / STEPS, z = (k + 0.5) / STEPS;
                const double s2 = x * x + y * y + z * z;
                if (s2 >= 1) continue;
                const double weight = (double)photon_kernel_at(kernel, (float)s2);
                whole += weight;
                sum += weight * (1 - radius * x) * (1 - radius * y) * (1 - radius * z);
            }
    return sum / whole;
}

static void test_estimates_far_from_walls_are_unbiased(void **state) {
    (void)state;
    photon_map_view map = make_photons(false);
    double expected = 0;
    for (uint32_t i = 0; i < PHOTONS; ++i) {
        const vec3 from = vec3_sub(positions[i], vec3_all(0.5f));
        expected += fabsf(from.x) < 0.3f && fabsf(from.y) < 0.3f && fabsf(from.z) < 0.3f;
    }
    expected /= PHOTONS * 0.6 * 0.6 * 0.6;
    for (int i = 0; i < PHOTON_KERNELS; ++i)
        for (int nearest = 0; nearest < 2; ++nearest) {
            map.kernel = (photon_kernel)i;
            map.radius = nearest ? 1 : 0.1f;
            map.gather = nearest ? 200 : 0; /* the nearest 200 photons lie within about 0.08 */
            expect_near(density_mean(&map, 0.2f, 0.8f), expected, 0.01);
        }
    remove_walls();
}

/* The kernel's integral over a ball of radius s, against its sum over shells. */
static void test_kernel_reach_matches_integral(void **state) {
    (void)state;
    for (int i = 0; i < PHOTON_KERNELS; ++i) {
        double sum = 0;
        const int steps = 20000;
        for (int k = 0; k < steps; ++k) {
            const double s = (k + 0.5) / steps;
            sum += s * s * (double)photon_kernel_at((photon_kernel)i, (float)(s * s)) / steps;
            if ((k + 1) % (steps / 4) != 0) continue;
            const float reach =
                photon_kernel_reach((photon_kernel)i, (float)(k + 1) / (float)steps);
            expect_near(4 * M_PI * sum / (double)photon_kernel_ball((photon_kernel)i),
                        (double)reach, 1e-4);
        }
    }
}

/* Estimates are corrected for walls. Without the correction a cube would lose up to a fifth of its
   light at radius 0.16. */
static void test_estimates_near_walls_are_corrected(void **state) {
    (void)state;
    photon_map_view map = make_photons(false);
    for (int i = 0; i < PHOTON_KERNELS; ++i)
        for (int half = 0; half < 2; ++half) {
            map.kernel = (photon_kernel)i;
            map.radius = half ? 0.08f : 0.16f;
            assert_true(share_inside((photon_kernel)i, (double)map.radius) < 0.97);
            expect_near(density_mean(&map, 0, 1), 1, 0.01);
            /* a corner has few photons, so the tolerance is large */
            expect_near(density_mean(&map, 0, 0.05f), 1, 0.1);
        }
    remove_walls();
}

/* The density falls by a factor e per fifth of the cube. The estimates add up to the total light;
   those by number of photons find slightly more, since the density is convex. */
static void test_falling_density_sums_to_total(void **state) {
    (void)state;
    photon_map_view map = make_photons(true);
    for (int i = 0; i < PHOTON_KERNELS; ++i)
        for (int nearest = 0; nearest < 2; ++nearest) {
            map.kernel = (photon_kernel)i;
            map.radius = nearest ? 1 : 0.05f;
            map.gather = nearest ? 60 : 0;
            double sum = 0;
            volume_point at;
            memset(&at, 0, sizeof at);
            at.direction = vec3_make(0, 1, 0);
            for (uint32_t p = 0; p < PLACES; ++p) {
                at.position = place_of(2, p, true);
                const double density =
                    exp(-(double)at.position.x / FALL) / (FALL * (1 - exp(-1 / FALL)));
                sum += (double)volume_at(&map, &at).x * 4 * M_PI / density;
            }
            expect_near(sum / PLACES, 1, 0.012);
        }
    remove_walls();
}

/* Light is scattered as the phase function states, here forwards; photons of another medium are
   ignored. */
static void test_photons_scatter_by_their_phase_function(void **state) {
    (void)state;
    photon_map_view map = make_photons(false);
    map.kernel = PHOTON_KERNEL_CONE;
    map.radius = 0.15f;
    volume_point at;
    memset(&at, 0, sizeof at);
    at.position = vec3_all(0.5f);
    at.direction = vec3_make(0, 1, 0);
    const double even = (double)volume_at(&map, &at).x;
    assert_true(even > 0);
    at.g = 0.7f;
    at.direction = vec3_make(0, 0, -1); /* flying towards the eye */
    const double forwards = (1 - 0.49) / pow(1 - 0.7, 3), backwards = (1 - 0.49) / pow(1.7, 3);
    expect_near((double)volume_at(&map, &at).x / even / forwards, 1, 1e-4);
    at.direction = vec3_make(0, 0, 1);
    expect_near((double)volume_at(&map, &at).x / even / backwards, 1, 1e-4);
    at.medium = 1;
    assert_true(volume_at(&map, &at).x == 0);
    remove_walls();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_estimates_far_from_walls_are_unbiased),
        cmocka_unit_test(test_kernel_reach_matches_integral),
        cmocka_unit_test(test_estimates_near_walls_are_corrected),
        cmocka_unit_test(test_falling_density_sums_to_total),
        cmocka_unit_test(test_photons_scatter_by_their_phase_function),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
