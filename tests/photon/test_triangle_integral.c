/* photon/density/kernels.h: integrals of kernels over triangles in a ball, against sums over many
   small ones. */
#include "core/math/rng.h"
#include "photon/density/kernels.h"
#include "tests/photon/kernel_value.h"
#include "tests/test.h"

enum { STEPS = 512, TRIALS = 60 };

static vec3 random_triangle(uint32_t trial, uint32_t which, float size) {
    const rng_block r = rng_draw(rng_key_make(17, 0, trial), which, 0);
    return vec3_make(size * (2 * r.value[0] - 1), size * (2 * r.value[1] - 1),
                     size * (2 * r.value[2] - 1));
}

/* The integrals by definition, in double precision: kernel values at the centres of STEPS^2 equal
   triangles. */
static void sum_triangle(double out[PHOTON_KERNELS], const vec3 corner[3], double area) {
    memset(out, 0, PHOTON_KERNELS * sizeof *out);
    for (int i = 0; i < STEPS; ++i)
        for (int j = 0; j < 2 * (STEPS - i) - 1; ++j) {
            const double third = j % 2 ? 2.0 / 3 : 1.0 / 3;
            const double u = (i + third) / STEPS, v = (j / 2 + third) / STEPS;
            double s2 = 0;
            for (int axis = 0; axis < 3; ++axis) {
                const double a = (double)vec3_axis(corner[0], axis);
                const double p = a + u * ((double)vec3_axis(corner[1], axis) - a) +
                                 v * ((double)vec3_axis(corner[2], axis) - a);
                s2 += p * p;
            }
            for (int k = 0; k < PHOTON_KERNELS && s2 < 1; ++k)
                out[k] += kernel_value((photon_kernel)k, sqrt(s2));
        }
    for (int k = 0; k < PHOTON_KERNELS; ++k) out[k] *= area / STEPS / STEPS;
}

static void test_closed_forms_match_subdivision(void **state) {
    (void)state;
    uint32_t hit = 0;
    for (uint32_t t = 0; t < TRIALS; ++t) {
        const float size = t % 3 == 0 ? 0.5f : t % 3 == 1 ? 1 : 2;
        const vec3 corner[3] = {random_triangle(t, 0, size), random_triangle(t, 1, size),
                                random_triangle(t, 2, size)};
        const vec3 across =
            vec3_cross(vec3_sub(corner[1], corner[0]), vec3_sub(corner[2], corner[0]));
        const double area = 0.5 * (double)vec3_length(across);
        double expected[PHOTON_KERNELS];
        sum_triangle(expected, corner, area);
        hit += expected[0] > 0;
        for (int k = 0; k < PHOTON_KERNELS; ++k) {
            const double actual = (double)triangle_kernel_integral(
                (photon_kernel)k, corner[0], corner[1], corner[2], vec3_normalize(across));
            const double tolerance =
                kernel_ends_in_a_step((photon_kernel)k) ? 1e-3 * (1 + area) : 3e-5;
            if (!(fabs(actual - expected[k]) <= tolerance))
                fail_msg("triangle %u, kernel %d: %.7g, expected %.7g", t, k, actual, expected[k]);
        }
    }
    assert_true(hit > TRIALS / 2);
}

/* A triangle that contains the whole disc, at heights from 0 to beyond the ball; with the opposite
   winding; and with a corner cut off, whose parts must add up. */
static void test_parts_sum_to_full_disc(void **state) {
    (void)state;
    for (int k = 0; k < PHOTON_KERNELS; ++k)
        for (int step = 0; step <= 10; ++step) {
            const float h = 0.11f * (float)step;
            const vec3 a = vec3_make(-8, -6, h), b = vec3_make(9, -5, h), c = vec3_make(0.5f, 9, h);
            const vec3 up = vec3_make(0, 0, 1), down = vec3_make(0, 0, -1);
            const vec3 cut = vec3_make(0.2f, 0.1f, h);
            double whole = 0;
            const double rim = sqrt(fmax(0, 1 - (double)h * (double)h));
            for (int i = 0; i < 4000; ++i) {
                const double p = (i + 0.5) / 4000 * rim;
                whole += 2 * M_PI * p *
                         kernel_value((photon_kernel)k, sqrt(p * p + (double)h * (double)h)) * rim /
                         4000;
            }
            const float one = triangle_kernel_integral((photon_kernel)k, a, b, c, up);
            const float other = triangle_kernel_integral((photon_kernel)k, c, b, a, down);
            const float parts = triangle_kernel_integral((photon_kernel)k, a, b, cut, up) +
                                triangle_kernel_integral((photon_kernel)k, b, c, cut, up) +
                                triangle_kernel_integral((photon_kernel)k, c, a, cut, up);
            assert_true(fabs((double)one - whole) <= 5e-6);
            assert_true(fabsf(one - other) <= 5e-6f);
            assert_true(fabsf(one - parts) <= 5e-6f);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_closed_forms_match_subdivision),
        cmocka_unit_test(test_parts_sum_to_full_disc),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
