/* photon/density/media_estimate.h: the density of photons strewn in a box, and what it loses at the
   walls: the share of the ball that lies beyond them, no more and no less. */
#include "photon/density/media_estimate.h"
#include "points/builders.h"
#include "test.h"

enum { STREWN = 100000, PLACES = 2000, STEPS = 60 };

static const int32_t kernels[] = {PHOTON_KERNEL_DISC, PHOTON_KERNEL_CONE,
                                  PHOTON_KERNEL_EPANECHNIKOV, PHOTON_KERNEL_GAUSSIAN};
enum { KERNELS = sizeof kernels / sizeof *kernels };

static vec3 positions[STREWN];
static photon photons[STREWN];
static pointtree tree;

/* In the unit cube, flying along z, together 1 W. */
static photon_map_view strew(void) {
    photon_map_view map;
    memset(&map, 0, sizeof map);
    for (uint32_t i = 0; i < STREWN; ++i) {
        const rng_block r = rng_draw(rng_key_make(1, 0, i), 0, 0);
        positions[i] = vec3_make(r.value[0], r.value[1], r.value[2]);
    }
    assert_int_equal(pointtree_open(&tree, positions, STREWN, NULL, NULL, NULL), KD_OK);
    map.tree = pointtree_get_view(&tree);
    memset(photons, 0, sizeof photons);
    for (uint32_t i = 0; i < STREWN; ++i) {
        photons[i].position = map.tree.points[i];
        photons[i].direction = vec3_make(0, 0, 1);
        photons[i].power = vec3_all(1.0f / STREWN);
    }
    map.photons = photons;
    map.scale = flux_scale(1.0f / STREWN);
    return map;
}

/* Mean of the estimates at places all over the cube from lo to hi, of 1 W/m^3; the phase function
   is even. */
static double density_mean(const photon_map_view *map, float lo, float hi) {
    double sum = 0;
    haze_point at;
    memset(&at, 0, sizeof at);
    at.direction = vec3_make(0, 1, 0);
    for (uint32_t i = 0; i < PLACES; ++i) {
        const rng_block r = rng_draw(rng_key_make(2, 0, i), 0, 0);
        at.position = vec3_add(vec3_all(lo),
                               vec3_scale(vec3_make(r.value[0], r.value[1], r.value[2]), hi - lo));
        sum += (double)photon_haze(map, &at).x;
    }
    return sum / PLACES * 4 * M_PI; /* over the phase function */
}

/* Share of the kernel's balls about all places of the unit cube that lies in it: the mean over
   the offset v, drawn by the kernel, of (1 - |v.x|)(1 - |v.y|)(1 - |v.z|). */
static double share_inside(int32_t kernel, double radius) {
    double sum = 0, whole = 0;
    for (int i = 0; i < STEPS; ++i)
        for (int j = 0; j < STEPS; ++j)
            for (int k = 0; k < STEPS; ++k) { /* one octant */
                const double x = (i + 0.5) / STEPS, y = (j + 0.5) / STEPS, z = (k + 0.5) / STEPS;
                const double s2 = x * x + y * y + z * z;
                if (s2 >= 1) continue;
                const double weight = (double)photon_kernel_at(kernel, (float)s2);
                whole += weight;
                sum += weight * (1 - radius * x) * (1 - radius * y) * (1 - radius * z);
            }
    return sum / whole;
}

static void expect_near(double found, double expected, double tolerance) {
    if (!(fabs(found - expected) <= tolerance))
        fail_msg("%.6f, expected %.6f within %g", found, expected, tolerance);
}

static void far_from_walls_nothing_is_lost(void **state) {
    (void)state;
    photon_map_view map = strew();
    double there = 0;
    for (uint32_t i = 0; i < STREWN; ++i) {
        const vec3 from = vec3_sub(positions[i], vec3_all(0.5f));
        there += fabsf(from.x) < 0.3f && fabsf(from.y) < 0.3f && fabsf(from.z) < 0.3f;
    }
    there /= STREWN * 0.6 * 0.6 * 0.6;
    for (int i = 0; i < KERNELS; ++i)
        for (int nearest = 0; nearest < 2; ++nearest) {
            map.kernel = kernels[i];
            map.radius = nearest ? 1 : 0.1f;
            map.gather = nearest ? 200 : 0; /* within some 0.08 */
            expect_near(density_mean(&map, 0.2f, 0.8f), there, 0.01);
        }
    pointtree_close(&tree);
}

static void walls_take_what_lies_beyond_them(void **state) {
    (void)state;
    photon_map_view map = strew();
    for (int i = 0; i < KERNELS; ++i)
        for (int half = 0; half < 2; ++half) {
            map.kernel = kernels[i];
            map.radius = half ? 0.08f : 0.16f;
            const double expected = share_inside(kernels[i], (double)map.radius);
            assert_true(expected < 0.97);
            expect_near(density_mean(&map, 0, 1), expected, 0.01);
        }
    /* the cone's loss: 1 - 3 * 0.3 r + ... */
    expect_near(share_inside(PHOTON_KERNEL_CONE, 1e-3), 1 - 0.9e-3, 2e-6);
    pointtree_close(&tree);
}

/* Light is scattered forwards as the phase function says; photons of another medium are not seen.
 */
static void photons_scatter_by_their_phase_function(void **state) {
    (void)state;
    photon_map_view map = strew();
    map.kernel = PHOTON_KERNEL_CONE;
    map.radius = 0.15f;
    haze_point at;
    memset(&at, 0, sizeof at);
    at.position = vec3_all(0.5f);
    at.direction = vec3_make(0, 1, 0);
    const double even = (double)photon_haze(&map, &at).x;
    assert_true(even > 0);
    at.g = 0.7f;
    at.direction = vec3_make(0, 0, -1); /* flying towards the eye */
    const double forwards = (1 - 0.49) / pow(1 - 0.7, 3), backwards = (1 - 0.49) / pow(1.7, 3);
    expect_near((double)photon_haze(&map, &at).x / even / forwards, 1, 1e-4);
    at.direction = vec3_make(0, 0, 1);
    expect_near((double)photon_haze(&map, &at).x / even / backwards, 1, 1e-4);
    at.where = 1;
    assert_true(photon_haze(&map, &at).x == 0);
    pointtree_close(&tree);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(far_from_walls_nothing_is_lost),
        cmocka_unit_test(walls_take_what_lies_beyond_them),
        cmocka_unit_test(photons_scatter_by_their_phase_function),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
