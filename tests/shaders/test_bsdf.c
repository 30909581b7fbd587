/* Properties of every scattering function: it emits no more light than it receives, densities
   integrate to one, sampling, evaluation and pdf agree, and it is reciprocal. */
#include "shaders/bsdf.h"
#include "test.h"
#include "tilted.h"

enum { DIRECTIONS = 6 };

static surface plain_surface(int32_t kind) {
    surface at;
    memset(&at, 0, sizeof at);
    at.kind = kind;
    at.geometric = at.normal = at.mapped = vec3_make(0, 0, 1);
    at.front = true;
    at.diffuse = vec3_make(1, 0.5f, 0.1f);
    at.specular = vec3_make(1, 0.8f, 0.3f);
    at.transmission = vec3_all(1);
    at.ior = 1.5f;
    at.opacity = 1;
    return at;
}

typedef struct bsdf_case {
    const char *name;
    int32_t kind;
    float alpha, metallic, ior;
} bsdf_case;

static const bsdf_case cases[] = {
    {"diffuse", MATERIAL_DIFFUSE, 0, 0, 1.5f},
    {"mirror", MATERIAL_MIRROR, 0, 0, 1.5f},
    {"smooth glass", MATERIAL_GLASS, 0, 0, 1.5f},
    {"glass 0.1", MATERIAL_GLASS, 0.1f, 0, 1.5f},
    {"glass 0.5", MATERIAL_GLASS, 0.5f, 0, 1.33f},
    {"smooth conductor", MATERIAL_CONDUCTOR, 0, 0, 1.5f},
    {"conductor 0.05", MATERIAL_CONDUCTOR, 0.05f, 0, 1.5f},
    {"conductor 0.3", MATERIAL_CONDUCTOR, 0.3f, 0, 1.5f},
    {"conductor 1", MATERIAL_CONDUCTOR, 1, 0, 1.5f},
    {"smooth plastic", MATERIAL_PLASTIC, 0, 0, 1.5f},
    {"plastic 0.1", MATERIAL_PLASTIC, 0.1f, 0, 1.5f},
    {"plastic 0.6", MATERIAL_PLASTIC, 0.6f, 0, 1.8f},
    {"plastic without coat", MATERIAL_PLASTIC, 0.4f, 0, 1},
    {"half metal", MATERIAL_PLASTIC, 0.2f, 0.5f, 1.5f},
    {"metal", MATERIAL_PLASTIC, 0.4f, 1, 1.5f},
};
enum { CASES = sizeof cases / sizeof *cases };

static surface case_surface(int which) {
    surface at = plain_surface(cases[which].kind);
    at.alpha = cases[which].alpha;
    at.metallic = cases[which].metallic;
    at.ior = cases[which].ior;
    return at;
}

/* View directions from perpendicular to grazing, then from inside. */
static vec3 view_direction(int i) {
    static const float cosine[DIRECTIONS] = {1, 0.7f, 0.3f, 0.08f, -0.9f, -0.25f};
    const float s = sqrtf(1 - cosine[i] * cosine[i]);
    return vec3_make(s * 0.6f, s * 0.8f, cosine[i]);
}

static rng_block numbers(uint32_t pass, uint64_t i) {
    return rng_draw(rng_key_make(7, pass, i), 0, 0);
}

/* White furnace: the albedo by sampling is at most 1, and about 1 for smooth surfaces without
   absorption. */
static void test_energy(void **state) {
    (void)state;
    for (int c = 0; c < CASES; ++c) {
        const surface at = case_surface(c);
        for (int d = 0; d < DIRECTIONS; ++d) {
            double sum = 0;
            const int count = 40000;
            for (int i = 0; i < count; ++i) {
                const bsdf_sample s =
                    bsdf_draw(&at, view_direction(d), numbers(1, (uint64_t)i), BSDF_FLUX);
                assert_true(vec3_is_finite(s.weight) && s.weight.x >= 0);
                sum += (double)s.weight.x;
            }
            const double share = sum / count;
            if (share > 1.01) fail_msg("%s from %d: %.4f comes back", cases[c].name, d, share);
            const bool lossless = at.alpha <= 0.1f && at.kind != MATERIAL_MIRROR;
            if (lossless && d < 3 && share < 0.96)
                fail_msg("%s from %d: only %.4f comes back", cases[c].name, d, share);
        }
    }
}

/* Integrates over the sphere by the midpoint rule in polar angles, which resolves lobes around the
   normal. */
static double over_sphere(const surface *at, vec3 wo, bool albedo, bsdf_mode mode) {
    const int rows = 400, columns = 200;
    double sum = 0;
    for (int r = 0; r < rows; ++r) {
        const double theta = (r + 0.5) * 3.141592653589793 / rows;
        const double z = cos(theta), radius = sin(theta);
        double row = 0;
        for (int k = 0; k < columns; ++k) {
            const double phi = (k + 0.5) * 6.283185307179586 / columns;
            const vec3 wi =
                vec3_make((float)(radius * cos(phi)), (float)(radius * sin(phi)), (float)z);
            row += albedo ? (double)bsdf_evaluate(at, wo, wi, mode).x * fabs(z)
                          : (double)bsdf_pdf(at, wo, wi);
        }
        sum += row * radius;
    }
    return sum * 2 * 3.141592653589793 * 3.141592653589793 / ((double)rows * columns);
}

/* The density integrates to the fraction of samples that are neither specular nor absorbed; the
   value integrates to the mean weight. */
static void test_integrals(void **state) {
    (void)state;
    for (int c = 0; c < CASES; ++c) {
        const surface at = case_surface(c);
        if (surface_is_specular(&at) || (at.alpha > 0 && at.alpha < 0.1f)) continue;
        for (int d = 0; d < DIRECTIONS; d += 2) {
            const vec3 wo = view_direction(d);
            double kept = 0, weight = 0;
            const int count = 40000;
            for (int i = 0; i < count; ++i) {
                const bsdf_sample s = bsdf_draw(&at, wo, numbers(2, (uint64_t)i), BSDF_RADIANCE);
                if (s.specular || vec3_is_zero(s.weight)) continue;
                kept += 1;
                weight += (double)s.weight.x;
            }
            const double pdf = over_sphere(&at, wo, false, BSDF_RADIANCE);
            const double value = over_sphere(&at, wo, true, BSDF_RADIANCE);
            if (fabs(pdf - kept / count) > 0.012)
                fail_msg("%s from %d: density %.4f, draws %.4f", cases[c].name, d, pdf,
                         kept / count);
            if (fabs(value - weight / count) > 0.012 * (1 + value))
                fail_msg("%s from %d: value %.4f, draws %.4f", cases[c].name, d, value,
                         weight / count);
        }
    }
}

/* The weight of each sample equals f |cos| / pdf, as the functions for evaluation and pdf return
   them. */
static void test_sample_weight_is_value_over_pdf(void **state) {
    (void)state;
    for (int c = 0; c < CASES; ++c) {
        const surface at = case_surface(c);
        for (int d = 0; d < DIRECTIONS; ++d)
            for (int mode = 0; mode < 2; ++mode)
                for (uint64_t i = 0; i < 2000; ++i) {
                    const vec3 wo = view_direction(d);
                    const bsdf_mode bsdf_mode = mode ? BSDF_FLUX : BSDF_RADIANCE;
                    const bsdf_sample s = bsdf_draw(&at, wo, numbers(3, i), bsdf_mode);
                    if (s.specular || vec3_is_zero(s.weight)) continue;
                    const float pdf = bsdf_pdf(&at, wo, s.direction);
                    const vec3 f = bsdf_evaluate(&at, wo, s.direction, bsdf_mode);
                    const float expected = f.x * fabsf(s.direction.z) / pdf;
                    if (fabsf(pdf - s.pdf) > 5e-3f * pdf ||
                        fabsf(expected - s.weight.x) > 5e-3f * (s.weight.x + 1e-3f))
                        fail_msg("%s from %d: pdf %g %g, weight %g %g", cases[c].name, d,
                                 (double)s.pdf, (double)pdf, (double)s.weight.x, (double)expected);
                }
    }
}

/* Reciprocity: f(a, b) = f(b, a); through glass f(a, b) / eta_b^2 = f(b, a) / eta_a^2; and the flux
   in one direction equals the radiance in the other. */
static void test_reciprocity(void **state) {
    (void)state;
    for (int c = 0; c < CASES; ++c) {
        const surface at = case_surface(c);
        for (uint64_t i = 0; i < 4000; ++i) {
            const rng_block r = numbers(4, i);
            const vec3 a = sample_sphere(r.value[0], r.value[1]);
            const vec3 b = sample_sphere(r.value[2], r.value[3]);
            if (fabsf(a.z) < 0.05f || fabsf(b.z) < 0.05f) continue;
            const float one = bsdf_evaluate(&at, a, b, BSDF_RADIANCE).x;
            const float other = bsdf_evaluate(&at, b, a, BSDF_FLUX).x;
            if (fabsf(one - other) > 2e-3f * (one + 1e-3f))
                fail_msg("%s: %g one way, %g the other", cases[c].name, (double)one, (double)other);
        }
    }
}

/* With a tilted shading normal no light leaks through, and flux and radiance stay adjoint. */
static void test_tilted_normal(void **state) {
    (void)state;
    surface at = plain_surface(MATERIAL_DIFFUSE);
    at.normal = at.mapped = vec3_normalize(vec3_make(0.6f, 0, 0.8f));
    for (uint64_t i = 0; i < 20000; ++i) {
        const rng_block r = numbers(5, i);
        const vec3 a = sample_sphere(r.value[0], r.value[1]);
        const vec3 b = sample_sphere(r.value[2], r.value[3]);
        const vec3 f = bsdf_evaluate(&at, a, b, BSDF_RADIANCE);
        if (a.z * b.z <= 0) assert_true(vec3_is_zero(f));
        const bsdf_sample s = bsdf_draw(&at, a, r, BSDF_RADIANCE);
        if (!vec3_is_zero(s.weight)) assert_true(s.direction.z * a.z > 0);
        /* Veach 1997, section 5.3: f* cos_n cos_g' is symmetric under exchange of both ends */
        if (fabsf(a.z) < 0.05f || vec3_is_zero(f)) continue;
        const float flux = bsdf_evaluate(&at, b, a, BSDF_FLUX).x;
        const float left = flux * fabsf(vec3_dot(a, at.normal) * b.z);
        const float right = f.x * fabsf(vec3_dot(b, at.normal) * a.z);
        if (!vec3_is_zero(bsdf_evaluate(&at, b, a, BSDF_RADIANCE)))
            assert_true(fabsf(left - right) <= 1e-4f * (left + right));
    }
}

/* Photons are scattered as an eye sees it, also where a direction lies below the shading normal or
   bends it. */
static void test_flux_is_what_eyes_see(void **state) {
    (void)state;
    static const float lights[4][3] = {
        {0.5f, 0.2f, 0.6f}, {-0.9f, 0.1f, 0.3f}, {0.95f, 0, 0.2f}, {-0.3f, 0.3f, -0.8f}};
    for (int c = 0; c < CASES; ++c)
        for (int l = 0; l < 4; ++l) {
            surface at = case_surface(c);
            at.mapped = vec3_normalize(vec3_make(0.6f, 0, 0.8f));
            const vec3 light = vec3_normalize(vec3_make(lights[l][0], lights[l][1], lights[l][2]));
            const double off = tilted_difference(at, light, numbers);
            if (off > 0.03) fail_msg("%s, light %d: %.4f", cases[c].name, l, off);
        }
}

/* Exact Fresnel values: normal incidence, the critical angle, Snell's law. */
static void test_fresnel(void **state) {
    (void)state;
    expect_near((double)fresnel_dielectric(1, 1.5f), 0.04, 1e-6);
    expect_near((double)fresnel_dielectric(1, 1 / 1.5f), 0.04, 1e-6);
    expect_near((double)fresnel_dielectric(0, 1.5f), 1, 1e-6);
    /* beyond the critical angle of 41.8 degrees */
    expect_near((double)fresnel_dielectric(0.7f, 1 / 1.5f), 1, 0);
    const vec3 wo = vec3_normalize(vec3_make(0.6f, 0, 0.8f));
    vec3 wi;
    assert_true(fresnel_refract(wo, vec3_make(0, 0, 1), 1.5f, &wi));
    expect_near((double)wi.x, -0.4, 1e-6);
    assert_true(wi.z < 0);
    for (int e = 0; e <= 20; ++e) { /* the polynomial fit against the integral */
        const float eta = 1 + 0.1f * (float)e;
        double sum = 0;
        for (int i = 0; i < 2000; ++i) {
            const double cosine = (i + 0.5) / 2000;
            sum += 2 * cosine * (double)fresnel_dielectric((float)cosine, eta) / 2000;
        }
        expect_near((double)fresnel_dielectric_average(eta), sum, 1.3e-3);
    }
}

/* Radiance that enters a denser medium is scaled by eta^2, and scaled back when it leaves. */
static void test_glass_scaling(void **state) {
    (void)state;
    const surface at = plain_surface(MATERIAL_GLASS);
    rng_block pass = {{0.5f, 0.5f, 0.9f, 0}};
    const bsdf_sample in = bsdf_draw(&at, vec3_make(0, 0, 1), pass, BSDF_RADIANCE);
    const bsdf_sample out = bsdf_draw(&at, vec3_make(0, 0, -1), pass, BSDF_RADIANCE);
    assert_true(in.transmitted && out.transmitted && in.specular);
    expect_near((double)in.weight.x, 1 / 2.25, 1e-5);
    expect_near((double)out.weight.x, 2.25, 1e-5);
    const bsdf_sample flux = bsdf_draw(&at, vec3_make(0, 0, 1), pass, BSDF_FLUX);
    expect_near((double)flux.weight.x, 1, 1e-5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_energy),
        cmocka_unit_test(test_integrals),
        cmocka_unit_test(test_sample_weight_is_value_over_pdf),
        cmocka_unit_test(test_reciprocity),
        cmocka_unit_test(test_tilted_normal),
        cmocka_unit_test(test_flux_is_what_eyes_see),
        cmocka_unit_test(test_fresnel),
        cmocka_unit_test(test_glass_scaling),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
