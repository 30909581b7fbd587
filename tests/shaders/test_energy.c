/* Energy conservation of multiple scattering between microfacets: white furnaces of all rough
   materials, by sampling and by integration; random walks from facet to facet are the reference for
   colours and for transmission through glass. */
#include "microfacet_walk.h"
#include "shaders/bsdf.h"
#include "test.h"

typedef struct energy_case {
    const char *name;
    int32_t kind;
    float metallic, ior;
} energy_case;

static const energy_case cases[] = {
    {"conductor", MATERIAL_CONDUCTOR, 0, 1.5f}, {"plastic", MATERIAL_PLASTIC, 0, 1.5f},
    {"thick coat", MATERIAL_PLASTIC, 0, 2.3f},  {"half metal", MATERIAL_PLASTIC, 0.5f, 1.4f},
    {"glass", MATERIAL_GLASS, 0, 1.5f},         {"water", MATERIAL_GLASS, 0, 1.33f},
    {"diamond", MATERIAL_GLASS, 0, 2.42f},      {"bubble", MATERIAL_GLASS, 0, 0.7f},
};
enum { CASES = sizeof cases / sizeof *cases, DRAWS = 1 << 13, COSINES = 8 };
static const float cosines[COSINES] = {1, 0.8f, 0.5f, 0.2f, 0.05f, -0.95f, -0.5f, -0.1f};
static const float roughnesses[] = {0.05f, 0.1f, 0.2f, 0.37f, 0.5f, 0.63f, 0.8f, 0.93f, 1};
enum { ROUGHNESSES = sizeof roughnesses / sizeof *roughnesses };

static surface white(const energy_case *test, float roughness) {
    surface at;
    memset(&at, 0, sizeof at);
    at.kind = test->kind;
    at.metallic = test->metallic;
    at.ior = test->ior;
    at.alpha = roughness * roughness;
    at.geometric = at.normal = at.mapped = vec3_make(0, 0, 1);
    at.front = true;
    at.diffuse = at.specular = at.transmission = vec3_all(1);
    at.opacity = 1;
    return at;
}

static vec3 direction_at(float cosine) {
    const float sine = sqrtf(1 - cosine * cosine);
    return vec3_make(0.6f * sine, 0.8f * sine, cosine);
}

static float farthest(vec3 a, vec3 b) {
    const vec3 off = vec3_sub(a, b);
    return float_max(fabsf(off.x), float_max(fabsf(off.y), fabsf(off.z)));
}

/* Returns uniformly distributed points of the cube: a Kronecker sequence based on the root of x^4 =
   x + 1. */
static rng_block even(uint32_t i) {
    static const double step[3] = {0.8191725133961645, 0.6710436067037893, 0.5497004779019703};
    rng_block made;
    memset(&made, 0, sizeof made);
    for (int d = 0; d < 3; ++d)
        made.value[d] = (float)(fmod(0.5 + (i + 1) * step[d], 1) * (1 - 1e-7));
    return made;
}

/* Returns the albedo by sampling, and the part of it that is reflected. */
static vec3 drawn(const surface *at, vec3 wo, vec3 *reflected) {
    double sum[3] = {0}, back[3] = {0};
    for (uint32_t i = 0; i < DRAWS; ++i) {
        const bsdf_sample s = bsdf_draw(at, wo, even(i), BSDF_FLUX);
        const float weight[3] = {s.weight.x, s.weight.y, s.weight.z};
        for (int c = 0; c < 3; ++c) {
            sum[c] += (double)weight[c] / DRAWS;
            if (!s.transmitted) back[c] += (double)weight[c] / DRAWS;
        }
    }
    *reflected = vec3_make((float)back[0], (float)back[1], (float)back[2]);
    return vec3_make((float)sum[0], (float)sum[1], (float)sum[2]);
}

static void test_furnace_by_sampling(void **state) {
    (void)state;
    for (int c = 0; c < CASES; ++c)
        for (int r = 0; r < ROUGHNESSES; ++r) {
            const surface at = white(cases + c, roughnesses[r]);
            if (test_leaves_out((uint32_t)(c + r), 3)) continue;
            for (int d = 0; d < (at.kind == MATERIAL_GLASS ? COSINES : 5); ++d) {
                vec3 reflected;
                const float share = drawn(&at, direction_at(cosines[d]), &reflected).x;
                if (!(fabsf(share - 1) <= 0.01f))
                    fail_msg("%s of roughness %g from cosine %g: %.4f of the light comes back",
                             cases[c].name, (double)roughnesses[r], (double)cosines[d],
                             (double)share);
            }
        }
}

/* Integrates f |cos| or the density by the midpoint rule over angles. */
static double over_sphere(const surface *at, vec3 wo, bool density) {
    const int rows = 480, columns = 100;
    double sum = 0;
    for (int r = 0; r < rows; ++r) {
        const double theta = (r + 0.5) * 3.141592653589793 / rows;
        const double z = cos(theta), radius = sin(theta);
        double row = 0;
        for (int k = 0; k < columns; ++k) {
            const double phi = (k + 0.5) * 6.283185307179586 / columns;
            const vec3 wi =
                vec3_make((float)(radius * cos(phi)), (float)(radius * sin(phi)), (float)z);
            row += density ? (double)bsdf_pdf(at, wo, wi)
                           : (double)bsdf_evaluate(at, wo, wi, BSDF_FLUX).x * fabs(z);
        }
        sum += row * radius;
    }
    return sum * 2 * 3.141592653589793 * 3.141592653589793 / ((double)rows * columns);
}

static void test_furnace_by_evaluation(void **state) {
    (void)state;
    for (int c = 0; c < CASES; ++c)
        for (int r = 4; r < ROUGHNESSES; r += 4) {
            const surface at = white(cases + c, roughnesses[r]);
            if (test_leaves_out((uint32_t)(c + r / 4), 2)) continue;
            for (int d = 0; d < (at.kind == MATERIAL_GLASS ? COSINES : 4); d += 3) {
                const vec3 wo = direction_at(cosines[d]);
                const double share = over_sphere(&at, wo, false);
                if (!(fabs(share - 1) <= 0.01))
                    fail_msg("%s of roughness %g from cosine %g: values add up to %.4f",
                             cases[c].name, (double)roughnesses[r], (double)cosines[d], share);
                double kept = 0;
                for (uint32_t i = 0; i < DRAWS; ++i)
                    kept += bsdf_draw(&at, wo, even(i), BSDF_FLUX).pdf > 0 ? 1.0 / DRAWS : 0;
                const double density = over_sphere(&at, wo, true);
                if (!(fabs(density - kept) <= 0.01))
                    fail_msg("%s of roughness %g from cosine %g: density %.4f, draws %.4f",
                             cases[c].name, (double)roughnesses[r], (double)cosines[d], density,
                             kept);
            }
        }
}

/* Reciprocity: f(a, b) for radiance equals f(b, a) for flux, for both lobes and both sides. */
static void test_reciprocity(void **state) {
    (void)state;
    for (int c = 0; c < CASES; ++c)
        for (int r = 0; r < ROUGHNESSES; ++r) {
            surface at = white(cases + c, roughnesses[r]);
            at.diffuse = at.specular = vec3_make(0.9f, 0.5f, 0.1f);
            for (uint32_t i = 0; i < 2000; ++i) {
                const rng_block n = even(i), m = even(i + 5000);
                const vec3 a = sample_sphere(n.value[0], n.value[1]);
                const vec3 b = sample_sphere(m.value[2], n.value[2]);
                if (fabsf(a.z) < 0.02f || fabsf(b.z) < 0.02f) continue;
                const vec3 one = bsdf_evaluate(&at, a, b, BSDF_RADIANCE);
                const vec3 other = bsdf_evaluate(&at, b, a, BSDF_FLUX);
                if (farthest(one, other) > 5e-3f * (vec3_largest(one) + 1e-3f))
                    fail_msg("%s of roughness %g: %g one way, %g the other", cases[c].name,
                             (double)roughnesses[r], (double)one.y, (double)other.y);
            }
        }
}

static walk_numbers numbers_of(uint64_t i) {
    walk_numbers made;
    memset(&made, 0, sizeof made);
    made.key = rng_key_make(5, 0, i);
    return made;
}

enum { WALKS = 40000 };

/* Coloured metals reflect as much as random walks from facet to facet; single-scattering ones at
   most as much as the first facets of the walks, because masking is computed separately for each
   side. */
static void test_metals_match_random_walks(void **state) {
    (void)state;
    static const float rough[3] = {0.3f, 0.6f, 1};
    for (int r = 0; r < 3; ++r)
        for (int d = 0; d < 5; ++d) {
            surface at = white(cases, rough[r]);
            at.specular = vec3_make(0.9f, 0.5f, 0.15f);
            const vec3 wo = direction_at(cosines[d]);
            vec3 walked = vec3_all(0), first = vec3_all(0), reflected;
            for (uint64_t i = 0; i < WALKS; ++i) {
                walk_numbers numbers = numbers_of(i);
                const microfacet_walk walk =
                    microfacet_walk_run(at.alpha, 0, at.specular, wo, &numbers);
                walked = vec3_along(walked, 1.0f / WALKS, walk.weight);
                if (walk.facets == 1) first = vec3_along(first, 1.0f / WALKS, walk.weight);
            }
            const vec3 full = drawn(&at, wo, &reflected);
            at.scatters_once = true;
            const vec3 single = drawn(&at, wo, &reflected);
            const float off = farthest(full, walked);
            const bool less = single.x <= first.x + 0.005f && single.x > 0.6f * first.x;
            if (!(off <= 0.01f) || !less)
                fail_msg("roughness %g from %g: %.4f %.4f %.4f, walks %.4f %.4f %.4f; once %.4f, "
                         "%.4f",
                         (double)rough[r], (double)cosines[d], (double)full.x, (double)full.y,
                         (double)full.z, (double)walked.x, (double)walked.y, (double)walked.z,
                         (double)single.x, (double)first.x);
        }
}

/* The fraction of light that glass reflects. The masking of its first facets is separable (Walter
   2007), unlike that of the random walks, so their transmission differs by 3 % at grazing
   angles. */
static void test_glass_matches_random_walks(void **state) {
    (void)state;
    static const float rough[3] = {0.3f, 0.6f, 0.9f};
    for (int c = 4; c < 7; ++c)
        for (int r = 0; r < 3; ++r)
            for (int d = 0; d < COSINES; ++d) {
                const surface at = white(cases + c, rough[r]);
                const vec3 wo = direction_at(fabsf(cosines[d]));
                const float eta = cosines[d] > 0 ? at.ior : 1 / at.ior;
                float walked = 0;
                for (uint64_t i = 0; i < WALKS; ++i) {
                    walk_numbers numbers = numbers_of(i);
                    if (!microfacet_walk_run(at.alpha, eta, vec3_all(0), wo, &numbers).across)
                        walked += 1.0f / WALKS;
                }
                vec3 reflected;
                drawn(&at, direction_at(cosines[d]), &reflected);
                if (!(fabsf(reflected.x - walked) <= 0.03f))
                    fail_msg("%s of roughness %g from %g: %.4f comes back, of walks %.4f",
                             cases[c].name, (double)rough[r], (double)cosines[d],
                             (double)reflected.x, (double)walked);
            }
}

enum { COAT_COSINES = 24 };

/* Returns, by sampling, what single-scattering glass of the coat's roughness transmits at `cosine`,
   and what it reflects. */
static float transmit_once(surface glass, float cosine, float *reflected) {
    vec3 back;
    glass.kind = MATERIAL_GLASS;
    const float all = drawn(&glass, direction_at(cosine), &back).x;
    *reflected = back.x;
    return all - back.x;
}

/* The base of rough plastic with single scattering receives the light that single facets transmit,
   and loses no light that they reflect back. */
static void test_diffuse_base_below_single_scattering(void **state) {
    (void)state;
    static const float rough[3] = {0.3f, 0.5f, 0.7f};
    for (int c = 1; c < 3; ++c)
        for (int r = 0; r < 3; ++r) {
            surface at = white(cases + c, rough[r]);
            at.scatters_once = true;
            at.diffuse = vec3_make(0.8f, 0.4f, 0.1f);
            float inside = 0, kept, unused;
            for (int i = 0; i < COAT_COSINES; ++i) { /* uniform in the squared cosine */
                transmit_once(at, -sqrtf(((float)i + 0.5f) / COAT_COSINES), &kept);
                inside += kept / COAT_COSINES;
            }
            for (int d = 0; d < 4; ++d) {
                const vec3 wo = direction_at(cosines[d]), wi = direction_at(cosines[3 - d]);
                const float through = transmit_once(at, wo.z, &unused) *
                                      transmit_once(at, wi.z, &unused) / (at.ior * at.ior);
                const opaque_layers layers = opaque_layers_of(&at, wo);
                const vec3 actual = vec3_scale(body_evaluate(&at, &layers, wo, wi), KD_PI);
                const vec3 expected = vec3_make(0.8f * through / (1 - 0.8f * inside),
                                                0.4f * through / (1 - 0.4f * inside),
                                                0.1f * through / (1 - 0.1f * inside));
                if (!(farthest(actual, expected) <= 0.025f * expected.x))
                    fail_msg("%s of roughness %g from %g: %.4f %.4f, expected %.4f %.4f",
                             cases[c].name, (double)rough[r], (double)wo.z, (double)actual.x,
                             (double)actual.y, (double)expected.x, (double)expected.y);
            }
        }
}

/* A coat of very low roughness equals a smooth one, for any index. */
static void test_smooth_limit(void **state) {
    (void)state;
    for (int n = 0; n < 8; ++n) {
        const float eta = 1.1f + 0.25f * (float)n;
        for (int d = 0; d < 4; ++d) {
            const float smooth = fresnel_dielectric(cosines[d], eta);
            const float rough = coat_reflectance(1.001e-3f, cosines[d], eta);
            assert_true(fabsf(smooth - rough) < 0.003f);
        }
        assert_true(fabsf(coat_reflectance_mean(1.001e-3f, eta) - coat_reflectance_mean(0, eta)) <
                    0.003f);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_furnace_by_sampling),
        cmocka_unit_test(test_furnace_by_evaluation),
        cmocka_unit_test(test_reciprocity),
        cmocka_unit_test(test_metals_match_random_walks),
        cmocka_unit_test(test_glass_matches_random_walks),
        cmocka_unit_test(test_diffuse_base_below_single_scattering),
        cmocka_unit_test(test_smooth_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
