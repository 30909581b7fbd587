/* shaders/material.h: phase functions, free flights and Beer's law, and colours of wavelengths. */
#include "photon/density/media_estimate.h"
#include "shaders/material.h"
#include "tests/test.h"

enum { DRAWS = 1 << 20 };

static rng_block numbers(uint32_t i, uint32_t what) {
    return rng_draw(rng_key_make(5, what, i), 0, 0);
}

/* --- the phase function ----------------------------------------------------------------------- */

static const float cosines[] = {0, 0.3f, -0.3f, 0.76f, -0.9f, 0.99f, 1e-4f, -1e-3f};

static void test_phase_integrates_to_one_with_mean_cosine_g(void **state) {
    (void)state;
    for (size_t k = 0; k < sizeof cosines / sizeof *cosines; ++k) {
        const int steps = 1 << 18;
        double sum = 0, mean = 0;
        for (int i = 0; i < steps; ++i) {
            /* fine steps at the peak, by substituting u^3 */
            const double u = (i + 0.5) / steps, position = 2 * u * u * u, width = 6 * u * u / steps;
            const double cosine = cosines[k] >= 0 ? 1 - position : position - 1;
            const double value = (double)medium_phase(cosines[k], (float)cosine);
            sum += 2 * M_PI * value * width;
            mean += 2 * M_PI * value * width * cosine;
        }
        expect_near(sum, 1, 1e-3);
        expect_near(mean, (double)cosines[k], 1e-3);
    }
}

static void test_phase_samples_follow_their_density(void **state) {
    (void)state;
    for (size_t k = 0; k < sizeof cosines / sizeof *cosines; ++k) {
        const vec3 before = vec3_normalize(vec3_make(0.3f, -2, 1));
        double mean = 0;
        uint32_t below = 0;
        for (uint32_t i = 0; i < DRAWS; ++i) {
            const rng_block random = numbers(i, 1);
            const vec3 after =
                medium_phase_draw(cosines[k], before, random.value[0], random.value[1]);
            const double cosine = (double)vec3_dot(before, after);
            assert_true(fabsf(vec3_length2(after) - 1) < 1e-5f);
            mean += cosine / DRAWS;
            below += cosine < (double)cosines[k];
        }
        expect_near(mean, (double)cosines[k], 3e-3);
        double share = 0; /* fraction of the density below the cosine g */
        for (int i = 0; i < 1 << 16; ++i) {
            const double width = (1 + (double)cosines[k]) / (1 << 16);
            const double cosine = -1 + (i + 0.5) * width;
            share += 2 * M_PI * width * (double)medium_phase(cosines[k], (float)cosine);
        }
        expect_near((double)below / DRAWS, share, 3e-3);
    }
    assert_true(vec3_is_finite(medium_phase_draw(0.99f, vec3_make(0, 0, 1), 0, 0)));
    assert_true(vec3_is_finite(medium_phase_draw(-0.99f, vec3_make(0, 0, 1), 0x1.fffffep-1f, 0)));
}

/* --- free flights ----------------------------------------------------------------------------- */

static const medium kinds[] = {
    {{0, 0, 0}, {0, 0, 0}, 0},             /* vacuum */
    {{1, 2, 3}, {0, 0, 0}, 0},             /* absorption only */
    {{0, 0, 0}, {1, 1, 1}, 0},             /* grey fog */
    {{0.5f, 0.1f, 0}, {3, 1, 0.2f}, 0},    /* coloured absorption and scattering */
    {{0, 0, 0}, {0, 5, 0}, 0},             /* one channel only */
    {{100, 0, 1}, {1000, 1e-6f, 1}, 0.5f}, /* dense and thin channels */
};

/* The mean transmitted and scattered light equal Beer's law. */
static void test_flights_follow_beers_law(void **state) {
    (void)state;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; ++k) {
        const medium *in = &kinds[k];
        const vec3 carried = k % 2 ? vec3_make(1, 2, 0.5f) : vec3_all(4);
        const float all = carried.x + carried.y + carried.z;
        const double length = 0.7;
        double passed[3] = {0}, scattered[3] = {0};
        for (uint32_t i = 0; i < DRAWS; ++i) {
            const rng_block random = numbers(i, 2);
            const medium_flight flight =
                medium_fly(in, (float)length, carried, random.value[0], random.value[1]);
            const vec3 weight = vec3_mul(flight.kept, flight.drawn);
            const float w[3] = {weight.x, weight.y, weight.z};
            assert_true(fabsf(vec3_dot(flight.drawn, carried) - all) < 1e-4f * all);
            assert_true(flight.length >= 0 && flight.length <= (float)length);
            for (int c = 0; c < 3; ++c) {
                assert_true(w[c] >= 0 && w[c] <= 7.01f);
                (flight.scattered ? scattered : passed)[c] += (double)w[c] / DRAWS;
            }
        }
        const float a[3] = {in->absorption.x, in->absorption.y, in->absorption.z};
        const float s[3] = {in->scattering.x, in->scattering.y, in->scattering.z};
        for (int c = 0; c < 3; ++c) {
            const double lost = (double)a[c] + (double)s[c], kept = exp(-lost * length);
            expect_near(passed[c], kept, 5e-3);
            expect_near(scattered[c], lost > 0 ? (double)s[c] / lost * (1 - kept) : 0, 5e-3);
        }
        const vec3 through = medium_transmittance(in, (float)length);
        expect_near((double)through.x, exp(-((double)a[0] + (double)s[0]) * length), 1e-6);
    }
}

/* Pure absorption has no noise: each single flight returns Beer's law. */
static void test_absorption_is_exact(void **state) {
    (void)state;
    for (uint32_t i = 0; i < 1000; ++i) {
        const rng_block random = numbers(i, 3);
        const medium_flight flight =
            medium_fly(&kinds[1], 0.7f, vec3_all(1), random.value[0], random.value[1]);
        assert_false(flight.scattered);
        expect_near((double)flight.kept.y, exp(-1.4), 1e-6);
        assert_true(flight.drawn.x == 1 && flight.drawn.y == 1 && flight.drawn.z == 1);
    }
}

/* Positions drawn along a segment integrate the light scattered into the ray. */
static void test_sampled_positions_integrate_scattering(void **state) {
    (void)state;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; ++k)
        for (int which = 0; which < 2; ++which) {
            const float length = which ? 0.7f : 1e-3f;
            const medium *in = &kinds[k];
            double sum = 0;
            for (uint32_t i = 0; i < 1 << 16; ++i) {
                const float u = ((float)i + 0.5f) / (1 << 16);
                const medium_place place = medium_draw_place(in, length, u);
                assert_true(place.length >= 0 && place.length <= length && place.pdf > 0);
                sum += (double)(in->scattering.y * place.reaching.y / place.pdf) / (1 << 16);
            }
            const double lost = (double)in->absorption.y + (double)in->scattering.y;
            const double expected =
                lost > 0 ? (double)in->scattering.y / lost * -expm1(-lost * (double)length) : 0;
            expect_near(sum, expected, 1e-3 * expected + 1e-12);
        }
}

/* The span of a ray inside a sphere. */
static void test_sphere_spans(void **state) {
    (void)state;
    const vec3 centre = vec3_make(1, 2, 3);
    for (uint32_t i = 0; i < 20000; ++i) {
        const rng_block a = numbers(i, 4), b = numbers(i, 5);
        const vec3 origin = vec3_make(8 * a.value[0] - 3, 8 * a.value[1] - 2, 8 * a.value[2] - 1);
        const vec3 direction = vec3_scale(sample_sphere(b.value[0], b.value[1]), 0.1f + a.value[3]);
        const float end = b.value[2] < 0.5f ? INFINITY : 10 * b.value[3];
        const ray ray = ray_make(origin, direction, 0, INFINITY);
        const medium_span span = medium_clip(centre, 2, &ray, end);
        assert_true(span.begin >= 0 && span.end >= span.begin && span.end <= float_max(end, 0));
        for (int step = 0; step < 16; ++step) {
            const float t = (end < 20 ? end : 20) * ((float)step + 0.5f) / 16;
            const float distance = vec3_length(vec3_sub(ray_at(&ray, t), centre));
            if (fabsf(distance - 2) < 1e-3f) continue;
            assert_int_equal(t > span.begin && t < span.end, distance < 2);
        }
    }
}

/* Integrals of the kernels over the unit ball. */
static void test_kernel_integrals_over_ball(void **state) {
    (void)state;
    for (int k = 0; k < PHOTON_KERNELS; ++k) {
        const photon_kernel kernel = (photon_kernel)k;
        double sum = 0;
        for (int i = 0; i < 1 << 14; ++i) {
            const double s = (i + 0.5) / (1 << 14);
            sum += 4 * M_PI * s * s * (double)photon_kernel_at(kernel, (float)(s * s)) / (1 << 14);
        }
        expect_near((double)photon_kernel_ball(kernel), sum, 1e-5);
    }
}

/* --- wavelengths ------------------------------------------------------------------------------ */

static const vec3 white = {1, 1, 1};

static void test_wavelengths_sum_to_white(void **state) {
    (void)state;
    double sum[3] = {0};
    const int side =
        1 << 10; /* stratified over channels and positions, so that the mean has no noise */
    for (int i = 0; i < 3 * side; ++i)
        for (int j = 0; j < side; ++j) {
            const float channel = ((float)i + 0.5f) / (3 * (float)side);
            const float wavelength = spectrum_draw(white, channel, ((float)j + 0.5f) / (float)side);
            const vec3 colour = spectrum_colour(wavelength, white);
            assert_true(wavelength > SPECTRUM_SHORTEST && wavelength < SPECTRUM_LONGEST);
            assert_true(colour.x >= 0 && colour.y >= 0 && colour.z >= 0);
            expect_near((double)colour.x + (double)colour.y + (double)colour.z, 3, 1e-5);
            sum[0] += (double)colour.x;
            sum[1] += (double)colour.y;
            sum[2] += (double)colour.z;
        }
    for (int c = 0; c < 3; ++c) expect_near(sum[c] / (3.0 * side * side), 1, 5e-4);
}

static void test_spectral_colours(void **state) {
    (void)state;
    const vec3 violet = spectrum_colour(0.43f, white), blue = spectrum_colour(0.465f, white);
    const vec3 green = spectrum_colour(0.535f, white), yellow = spectrum_colour(0.575f, white);
    const vec3 red = spectrum_colour(0.64f, white);
    assert_true(violet.z > violet.x && violet.x > 0 && violet.y == 0);
    assert_true(blue.z > 2.5f && blue.x == 0);
    assert_true(green.y > 2 && green.y > green.x && green.y > green.z);
    assert_true(yellow.x > 1 && yellow.y > 1 && yellow.z == 0);
    assert_true(red.y == 0 && red.z == 0 && red.x > 2.99f);
}

/* Schott's BK7: n_F 1.52238, n_d 1.51680, n_C 1.51432. */
static void test_glass_index_matches_catalogue(void **state) {
    (void)state;
    material glass = material_default();
    const float bk7[6] = {1.03961212f,    0.231792344f,  1.01046945f,
                          0.00600069867f, 0.0200179144f, 103.560653f};
    glass.dispersion = DISPERSION_SELLMEIER;
    memcpy(glass.index_terms, bk7, sizeof bk7);
    expect_near((double)spectrum_index(&glass, 0.48613f), 1.52238, 2e-5);
    expect_near((double)spectrum_index(&glass, 0.58756f), 1.51680, 2e-5);
    expect_near((double)spectrum_index(&glass, 0.65627f), 1.51432, 2e-5);
    const float cauchy[6] = {1.5046f, 0.0042f, 0.0001f, 0, 0, 0};
    glass.dispersion = DISPERSION_CAUCHY;
    memcpy(glass.index_terms, cauchy, sizeof cauchy);
    expect_near((double)spectrum_index(&glass, 0.5f), 1.5046 + 0.0168 + 0.0016, 1e-5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_phase_integrates_to_one_with_mean_cosine_g),
        cmocka_unit_test(test_phase_samples_follow_their_density),
        cmocka_unit_test(test_flights_follow_beers_law),
        cmocka_unit_test(test_absorption_is_exact),
        cmocka_unit_test(test_sampled_positions_integrate_scattering),
        cmocka_unit_test(test_sphere_spans),
        cmocka_unit_test(test_kernel_integrals_over_ball),
        cmocka_unit_test(test_wavelengths_sum_to_white),
        cmocka_unit_test(test_spectral_colours),
        cmocka_unit_test(test_glass_index_matches_catalogue),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
