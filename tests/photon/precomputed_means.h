/* photon/density/estimate_radius.h: a gather ray reads the irradiance precomputed at the nearest
   photon, if that reaches. Its mean over all positions equals that of estimates made at those
   positions, for every kernel and estimator. test_precomputed.c and nightly_precomputed.c set the
   number of photon sets, the kernels and the tolerance. */
#ifndef KD_TESTS_PHOTON_PRECOMPUTED_MEANS_H
#define KD_TESTS_PHOTON_PRECOMPUTED_MEANS_H
#include "core/math/rng.h"
#include "photon/density/estimate_radius.h"
#include "points/select/builders.h"
#include "tests/test.h"

enum { PHOTONS = 20000, PLACES = 30000 };
/* distance from the edges of the square of side 2; exceeds the largest radius */
#define MARGIN 0.3f

static const int round_count = ROUNDS;
static const double bound = BOUND;

/* Photons of equal power on the square from (-1, -1) to (1, 1) of the plane z = 0. */
typedef struct photon_cloud {
    vec3 positions[PHOTONS];
    irradiance_record irradiance[PHOTONS];
    photon photons[PHOTONS];
    pointtree tree;
    tile_view none;
    photon_map_view map;
} photon_cloud;

static void cloud_make(photon_cloud *cloud, uint64_t seed) {
    for (uint32_t i = 0; i < PHOTONS; ++i) {
        const rng_block r = rng_draw(rng_key_make(seed, 0, i), 0, 0);
        cloud->positions[i] = vec3_make(2 * r.value[0] - 1, 2 * r.value[1] - 1, 0);
    }
    assert_int_equal(pointtree_open(&cloud->tree, cloud->positions, PHOTONS, NULL, NULL, NULL),
                     KD_OK);
    memset(&cloud->map, 0, sizeof cloud->map);
    cloud->map.tree = pointtree_get_view(&cloud->tree);
    for (uint32_t i = 0; i < PHOTONS; ++i) {
        memset(&cloud->photons[i], 0, sizeof cloud->photons[i]);
        cloud->photons[i].position = cloud->map.tree.points[i];
        cloud->photons[i].normal = vec3_make(0, 0, 1);
        cloud->photons[i].power = vec3_all(4.0f / PHOTONS);
    }
    cloud->map.photons = cloud->photons;
    cloud->map.scale = flux_scale(4.0f / PHOTONS);
}

/* Returns the ratio of two means: precomputed values, and estimates at the ends of gather rays.
 *beyond: fraction of the positions that no precomputed value reaches, where an estimate is made. */
static double precomputed_ratio(photon_cloud *cloud, double *beyond) {
    double precomputed = 0, estimated = 0;
    uint32_t out_of_reach = 0;
    cloud->map.irradiance = NULL;
    for (uint32_t i = 0; i < PHOTONS; ++i) {
        estimate_point at = {cloud->photons[i].position, {0, 0, 1}, 0, NULL, NULL};
        if (float_max(fabsf(at.position.x), fabsf(at.position.y)) < 1 - MARGIN + 0.05f)
            cloud->irradiance[i] = photon_irradiance_at_photon(&cloud->map, &cloud->none, &at, i);
    }
    cloud->map.irradiance = cloud->irradiance;
    for (uint32_t i = 0; i < PLACES; ++i) {
        const rng_block r = rng_draw(rng_key_make(99, 0, i), 0, 0);
        const float across = 2 * (1 - MARGIN);
        estimate_point at = {{across * (r.value[0] - 0.5f), across * (r.value[1] - 0.5f), 0},
                             {0, 0, 1},
                             0,
                             NULL,
                             NULL};
        const vec3 right = photon_irradiance(&cloud->map, &cloud->none, &at);
        vec3 actual = vec3_all(0);
        const bool found = photon_precomputed_irradiance(&cloud->map, NULL, &at, &actual);
        precomputed += (double)(found ? actual : right).x;
        estimated += (double)right.x;
        out_of_reach += !found;
    }
    *beyond = (double)out_of_reach / PLACES;
    return precomputed / estimated;
}

/* `most_beyond`: upper bound of the fraction of positions that no precomputed value reaches. */
static void compare_means(uint32_t gather, float radius, bool adaptive, double most_beyond) {
    for (int k = 0; k <= LAST_KERNEL; ++k) {
        const photon_kernel kernel = (photon_kernel)k;
        double sum = 0, squares = 0;
        for (int round = 0; round < round_count; ++round) {
            photon_cloud *plane = (photon_cloud *)calloc(1, sizeof *plane);
            assert_non_null(plane);
            cloud_make(plane, (uint64_t)round + 1);
            plane->map.kernel = kernel;
            plane->map.gather = gather;
            plane->map.radius = radius;
            plane->map.adaptive = adaptive;
            double beyond = 0;
            const double ratio = precomputed_ratio(plane, &beyond);
            if (!(beyond < most_beyond))
                fail_msg("%.2f %% of the positions are out of reach", 100 * beyond);
            sum += ratio, squares += ratio * ratio;
            pointtree_close(&plane->tree);
            free(plane);
        }
        const double mean = sum / round_count;
        print_message("kernel %d, k %u: %.5f +- %.5f\n", kernel, gather, mean,
                      sqrt(fabs(squares / round_count - mean * mean) / round_count));
        assert_true(fabs(mean - 1) <= bound);
    }
}

static void test_precomputed_mean_is_unbiased(void **state) {
    (void)state;
    compare_means(20, 1, false, 0.005);
    compare_means(50, 1, false, 0.004);
}

static void test_precomputed_mean_with_fixed_radius(void **state) {
    (void)state;
    compare_means(0, 0.04f, false, 0.05); /* the radius contains 25 photons on average */
}

static void test_precomputed_mean_with_adaptive_count(void **state) {
    (void)state;
    compare_means(50, 1, true, 0.008);
}

static int compare_all_means(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_precomputed_mean_is_unbiased),
        cmocka_unit_test(test_precomputed_mean_with_fixed_radius),
        cmocka_unit_test(test_precomputed_mean_with_adaptive_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
