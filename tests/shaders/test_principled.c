/* Principled surfaces: energy is conserved in a white furnace for any combination of layers;
   values, densities and samples agree; both directions are equal; each layer has its effect. */
#include "shaders/bsdf.h"
#include "test.h"
#include "tilted.h"

typedef struct layer_case {
    const char *name;
    float roughness, metallic, anisotropy, fuzz, fuzz_roughness, clear, clear_roughness, passes;
    bool thin;
    float off; /* largest deviation from 1 in the furnace */
} layer_case;

static const layer_case cases[] = {
    {"dielectric", 0.4f, 0, 0, 0, 0, 0, 0, 0, false, 0.005f},
    {"smooth dielectric", 0, 0, 0, 0, 0, 0, 0, 0, false, 0.002f},
    {"metal", 0.5f, 1, 0, 0, 0, 0, 0, 0, false, 0.008f},
    {"brushed metal", 0.4f, 1, 0.3f, 0, 0, 0, 0, 0, false, 0.007f},
    {"much brushed metal", 0.5f, 1, 0.6f, 0, 0, 0, 0, 0, false, 0.007f},
    {"brushed dielectric", 0.5f, 0, 0.8f, 0, 0, 0, 0, 0, false, 0.01f},
    {"lacquer", 0.7f, 0, 0, 0, 0, 1, 0, 0, false, 0.01f},
    {"lacquer over lacquer", 0, 0, 0, 0, 0, 1, 0, 0, false, 0.01f},
    {"rough lacquer over metal", 0.25f, 1, 0, 0, 0, 1, 0.5f, 0, false, 0.01f},
    {"lacquer over rough metal", 0.75f, 1, 0, 0, 0, 1, 0, 0, false, 0.01f},
    {"half a lacquer over half a metal", 0.5f, 0.5f, 0, 0, 0, 0.5f, 0.1f, 0, false, 0.01f},
    {"velvet", 0.9f, 0, 0, 1, 0.3f, 0, 0, 0, false, 0.01f},
    {"felt", 1, 0, 0, 0.6f, 1, 0, 0, 0, false, 0.01f},
    {"dusty metal", 0.5f, 1, 0, 0.5f, 0.6f, 0, 0, 0, false, 0.01f},
    {"fuzz on lacquer", 0.6f, 0, 0, 1, 0.5f, 1, 0, 0, false, 0.01f},
    {"frosted glass", 0.5f, 0, 0, 0, 0, 0, 0, 1, false, 0.008f},
    {"clear glass", 0, 0, 0, 0, 0, 0, 0, 1, false, 0.001f},
    {"half glass", 0.3f, 0.2f, 0, 0, 0, 0, 0, 0.5f, false, 0.01f},
    {"window", 0, 0, 0, 0, 0, 0, 0, 1, true, 0.001f},
    {"frosted window", 0.6f, 0, 0, 0, 0, 0, 0, 1, true, 0.01f},
    {"paper", 0.5f, 0, 0, 0, 0, 0.5f, 0, 0.4f, true, 0.01f},
    {"rough brushed metal", 0.75f, 1, 0.8f, 0, 0, 0, 0, 0, false, 0.007f},
    {"metal of long facets", 0.6f, 1, 1, 0, 0, 0, 0, 0, false, 0.007f},
    {"metal of the longest facets", 1, 1, 1, 0, 0, 0, 0, 0, false, 0.007f},
    {"fuzz on smooth plastic", 0, 0, 0, 1, 0.5f, 0, 0, 0, false, 0.01f},
};
enum { CASES = sizeof cases / sizeof *cases, COSINES = 5 };
static const float cosines[COSINES] = {1, 0.8f, 0.5f, 0.2f, 0.05f};

static surface made_of(const layer_case *test) {
    surface at;
    memset(&at, 0, sizeof at);
    at.kind = MATERIAL_PRINCIPLED;
    at.geometric = at.normal = at.mapped = at.layers.coat_normal = vec3_make(0, 0, 1);
    at.front = true;
    at.diffuse = at.specular = at.transmission = at.layers.specular_tint = vec3_all(1);
    at.ior = at.layers.coat_index = at.layers.clear_ior = 1.5f;
    at.opacity = 1;
    at.metallic = test->metallic;
    at.alpha = at.layers.alpha_u = at.layers.alpha_v = surface_alpha(test->roughness);
    if (test->anisotropy > 0) {
        const float aspect = sqrtf(1 - 0.9f * test->anisotropy);
        at.layers.tangent = vec3_make(0.8f, -0.6f, 0);
        at.layers.alpha_u = float_min(at.alpha / aspect, 1);
        at.layers.alpha_v = at.alpha * aspect;
    }
    at.layers.sheen = vec3_all(test->fuzz);
    at.layers.sheen_roughness = test->fuzz_roughness;
    at.layers.clear = test->clear;
    at.layers.clear_alpha = surface_alpha(test->clear_roughness);
    at.layers.transmission = test->passes;
    at.layers.thin = test->thin;
    return at;
}

/* Returns a direction in the plane across the long axis of the facets of made_of. */
static vec3 direction_at(float cosine) {
    const float sine = sqrtf(1 - cosine * cosine);
    return vec3_make(0.6f * sine, 0.8f * sine, cosine);
}

/* Returns a direction in a plane at `angle` to that one. */
static vec3 direction_turned(float cosine, float angle) {
    const float sine = sqrtf(1 - cosine * cosine);
    const float x = cosf(angle), y = sinf(angle);
    return vec3_make((0.6f * x - 0.8f * y) * sine, (0.8f * x + 0.6f * y) * sine, cosine);
}

static rng_block even(uint32_t i) {
    static const double step[3] = {0.8191725133961645, 0.6710436067037893, 0.5497004779019703};
    rng_block made;
    memset(&made, 0, sizeof made);
    for (int d = 0; d < 3; ++d)
        made.value[d] = (float)(fmod(0.5 + (i + 1) * step[d], 1) * (1 - 1e-7));
    return made;
}

/* Returns the mean weight of samples, and the fraction that is neither specular nor absorbed. */
static double drawn_by(const surface *at, vec3 wo, uint32_t draws, double *spread) {
    double sum = 0, spreads = 0;
    for (uint32_t i = 0; i < draws; ++i) {
        const bsdf_sample s = bsdf_draw(at, wo, even(i), BSDF_FLUX);
        sum += (double)s.weight.x / draws;
        if (s.pdf > 0) spreads += 1.0 / draws;
    }
    *spread = spreads;
    return sum;
}

static double drawn(const surface *at, vec3 wo, double *spread) {
    return drawn_by(at, wo, 1 << 13, spread);
}

static void test_furnace(void **state) {
    (void)state;
    for (int c = 0; c < CASES; ++c)
        for (int d = 0; d < 2 * COSINES; ++d) {
            const surface at = made_of(cases + c);
            const bool behind = d >= COSINES;
            const float cosine = behind ? -cosines[d - COSINES] : cosines[d];
            double spread;
            const double share = drawn(&at, direction_at(cosine), &spread);
            if (!(fabs(share - 1) <= (double)cases[c].off))
                fail_msg("%s from %g: %.4f of the light comes back", cases[c].name, (double)cosine,
                         share);
        }
}

/* Anisotropic facets of any two roughnesses, seen from all azimuths. */
static void test_long_facets(void **state) {
    (void)state;
    static const float widths[][2] = {{0.9f, 0.09f}, {0.7f, 0.16f},  {1, 0.03f},
                                      {0.4f, 0.3f},  {0.3f, 0.02f},  {0.15f, 0.05f},
                                      {0.05f, 0.6f}, {0.7f, 0.017f}, {0.0225f, 0.0025f}};
    static const float around[] = {0, 60, 87}; /* degrees */
    static const float seen_from[] = {1, 0.5f, 0.1f, 0.02f};
    for (size_t w = 0; w < sizeof widths / sizeof *widths; ++w) {
        if (test_leaves_out((uint32_t)w, 3)) continue;
        /* the longest facets, seen from 0.02, need the most draws */
        const uint32_t draws = widths[w][0] > 30 * widths[w][1] ? 1 << 17 : 1 << 15;
        const layer_case metal = {"", 0.5f, 1, 0.5f, 0, 0, 0, 0, 0, false, 0};
        surface at = made_of(&metal);
        at.layers.alpha_u = widths[w][0];
        at.layers.alpha_v = widths[w][1];
        for (size_t d = 0; d < sizeof seen_from / sizeof *seen_from; ++d)
            for (size_t turn = 0; turn < sizeof around / sizeof *around; ++turn) {
                if (turn > 0 && seen_from[d] == 1) continue; /* by symmetry the same as before */
                double spread;
                const vec3 wo = direction_turned(seen_from[d], around[turn] * KD_PI / 180);
                const double share = drawn_by(&at, wo, draws, &spread);
                if (!(fabs(share - 1) <= 0.01))
                    fail_msg("facets %g x %g from %g, turned %g: %.4f comes back",
                             (double)widths[w][0], (double)widths[w][1], (double)seen_from[d],
                             (double)around[turn], share);
            }
    }
}

/* Integrates by the midpoint rule over angles. */
static double over_sphere(const surface *at, vec3 wo, bool density) {
    const int rows = 200, columns = 128;
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

/* Values integrate to the mean weight of samples, and densities to their total probability, for
   surfaces without specular lobes. */
static void test_integrals(void **state) {
    (void)state;
    for (int c = 0; c < CASES; ++c) {
        const surface at = made_of(cases + c);
        const float clear = at.layers.clear_alpha;
        const bool fine =
            (at.layers.alpha_v > 0 && at.layers.alpha_v < 0.1f) || (clear > 0 && clear < 0.1f);
        if (surface_is_specular(&at) || fine) continue;
        for (int d = 0; d < 4; d += 3) {
            double spread;
            const vec3 wo = direction_at(cosines[d]);
            const double share = drawn(&at, wo, &spread), density = over_sphere(&at, wo, true);
            if (!(fabs(density - spread) <= 0.012))
                fail_msg("%s from %g: density %.4f, draws %.4f", cases[c].name, (double)cosines[d],
                         density, spread);
            const double values = over_sphere(&at, wo, false);
            if (spread > 0.999 && !(fabs(values - share) <= 0.012))
                fail_msg("%s from %g: values %.4f, draws %.4f", cases[c].name, (double)cosines[d],
                         values, share);
        }
    }
}

static void tint(surface *at) {
    at->diffuse = vec3_make(0.9f, 0.4f, 0.1f);
    at->layers.specular_tint = vec3_make(0.3f, 0.9f, 0.6f);
    at->layers.sheen = vec3_mul(at->layers.sheen, vec3_make(0.2f, 1, 0.5f));
    at->transmission = vec3_make(1, 0.8f, 0.6f);
}

/* The weight of a sample is value over density; radiance in one direction is flux in the other. */
static void test_sampling_and_reciprocity(void **state) {
    (void)state;
    for (int c = 0; c < CASES; ++c) {
        surface at = made_of(cases + c);
        tint(&at);
        for (uint32_t i = 0; i < 600; ++i) {
            const rng_block n = even(i), m = even(i + 5000);
            const vec3 a = sample_sphere(n.value[0], n.value[1]);
            const vec3 b = sample_sphere(m.value[2], n.value[2]);
            if (fabsf(a.z) < 0.02f || fabsf(b.z) < 0.02f) continue;
            for (int mode = 0; mode < 2; ++mode) {
                const bsdf_sample s = bsdf_draw(&at, a, m, (bsdf_mode)mode);
                if (!(s.pdf > 0) || vec3_is_zero(s.weight)) continue;
                const vec3 f = bsdf_evaluate(&at, a, s.direction, (bsdf_mode)mode);
                const float pdf = bsdf_pdf(&at, a, s.direction);
                const float expected = f.y * fabsf(s.direction.z) / pdf;
                if (!(fabsf(expected - s.weight.y) <= 2e-3f * (s.weight.y + 0.01f)) ||
                    !(fabsf(pdf - s.pdf) <= 2e-3f * pdf))
                    fail_msg("%s: weight %g, expected %g", cases[c].name, (double)s.weight.y,
                             (double)expected);
            }
            const vec3 one = bsdf_evaluate(&at, a, b, BSDF_RADIANCE);
            const vec3 other = bsdf_evaluate(&at, b, a, BSDF_FLUX);
            if (!(fabsf(one.y - other.y) <= 5e-3f * (one.y + 1e-3f)))
                fail_msg("%s: %g one way, %g the other", cases[c].name, (double)one.y,
                         (double)other.y);
        }
    }
}

static rng_block tilted_numbers(uint32_t pass, uint64_t i) {
    (void)pass;
    return even((uint32_t)i);
}

/* The same under a tilted shading normal (tilted.h). */
static void test_tilted_normal(void **state) {
    (void)state;
    for (int c = 0; c < CASES; c += 3) {
        surface at = made_of(cases + c);
        at.mapped = vec3_normalize(vec3_make(0.5f, 0, 0.8f));
        at.layers.coat_normal = vec3_normalize(vec3_make(0.1f, 0, 1));
        const double off =
            tilted_difference(at, vec3_normalize(vec3_make(-0.8f, 0.1f, 0.4f)), tilted_numbers);
        if (off > 0.03) fail_msg("%s: %.4f", cases[c].name, off);
    }
}

/* Without layers a white surface equals plastic; fully transmissive, it equals glass. */
static void test_plain_limits(void **state) {
    (void)state;
    for (int g = 0; g < 2; ++g)
        for (uint32_t i = 0; i < 2000; ++i) {
            surface at = made_of(cases + (g ? 15 : 0));
            if (!g) at.metallic = 0.3f;
            at.diffuse = g ? vec3_make(0.81f, 0.49f, 0.25f) : vec3_all(1);
            surface plain = at;
            plain.kind = g ? MATERIAL_GLASS : MATERIAL_PLASTIC;
            if (g) plain.transmission = vec3_make(0.9f, 0.7f, 0.5f);
            const rng_block n = even(i);
            const vec3 a = sample_sphere(n.value[0], n.value[1]);
            const vec3 b = sample_sphere(n.value[2], even(i + 7000).value[0]);
            const vec3 f = bsdf_evaluate(&at, a, b, BSDF_RADIANCE);
            const vec3 expected = bsdf_evaluate(&plain, a, b, BSDF_RADIANCE);
            assert_true(fabsf(f.x - expected.x) <= 1e-4f * (expected.x + 1));
            assert_true(fabsf(f.z - expected.z) <= 1e-4f * (expected.z + 1));
            assert_true(fabsf(bsdf_pdf(&at, a, b) - bsdf_pdf(&plain, a, b)) <= 1e-3f);
        }
}

/* The base colour is an albedo: the light from below the boundary is proportional to it, as in
   Blender and glTF. In `plastic`, which reflects light back down internally, that light is
   darker. */
static void test_base_colour(void **state) {
    (void)state;
    for (uint32_t i = 0; i < 500; ++i) {
        surface at = made_of(cases + i % 2);
        const rng_block n = even(i);
        const vec3 a = sample_cosine_hemisphere(n.value[0], n.value[1]);
        const vec3 b = sample_cosine_hemisphere(n.value[2], n.value[3]);
        at.diffuse = vec3_make(1, 0, 0.5f);
        const vec3 f = bsdf_evaluate(&at, a, b, BSDF_RADIANCE);
        assert_true(fabsf(f.z - 0.5f * (f.x + f.y)) <= 1e-5f * (f.x + 1));
        at.kind = MATERIAL_PLASTIC;
        const vec3 darker = bsdf_evaluate(&at, a, b, BSDF_RADIANCE);
        assert_true(f.x - f.y < 0.01f || darker.z - darker.y < 0.9f * (f.z - f.y));
    }
}

/* A thin sheet transmits light straight, without refraction; it reflects as both of its faces
   do. */
static void test_thin_sheet(void **state) {
    (void)state;
    const surface at = made_of(cases + 18);
    const vec3 wo = direction_at(0.5f);
    const float single = fresnel_dielectric(0.5f, 1.5f), sheet = 2 * single / (1 + single);
    double back = 0;
    for (uint32_t i = 0; i < 4096; ++i) {
        const bsdf_sample s = bsdf_draw(&at, wo, even(i), BSDF_RADIANCE);
        assert_true(s.specular && s.weight.x == 1);
        if (s.transmitted) assert_true(vec3_length(vec3_add(s.direction, wo)) < 1e-6f);
        back += s.transmitted ? 0 : 1.0 / 4096;
    }
    assert_true(fabs(back - (double)sheet) < 0.002);
    assert_true(surface_eta(&at) == 1 && surface_is_clear(&at) && surface_is_specular(&at));
}

/* With an index of refraction of 1 there is no boundary; a rough one loses no light. */
static void test_index_of_one(void **state) {
    (void)state;
    material made = material_default();
    scene_view scene;
    memset(&scene, 0, sizeof scene);
    made.kind = MATERIAL_PRINCIPLED;
    made.ior = 1;
    made.roughness = 0.5f;
    scene.materials = &made;
    surface dressed = made_of(cases + 15), at = dressed;
    const surface_uv nowhere = {{0, 0}, {0, 0}};
    surface_dress(&dressed, &scene, nowhere, SURFACE_ANY);
    at.ior = at.layers.coat_index = dressed.ior;
    for (int d = 0; d < COSINES; ++d) {
        double spread;
        const double share = drawn(&at, direction_at(cosines[d]), &spread);
        if (!(fabs(share - 1) < 0.011)) fail_msg("%.4f of the light passes", share);
    }
}

/* At 82 degrees a metal with a black edge colour reflects nothing, along the normal it reflects its
   base colour. */
static void test_metal_edge(void **state) {
    (void)state;
    principled_side side;
    memset(&side, 0, sizeof side);
    side.specular_tint = vec3_make(0, 0.5f, 1);
    const vec3 base = vec3_make(0.5f, 0.5f, 0.5f);
    const vec3 edge = principled_metal(&side, base, 1.0f / 7);
    const vec3 plain = fresnel_schlick(base, 1.0f / 7);
    assert_true(fabsf(edge.x) < 1e-5f && fabsf(edge.y - 0.5f * plain.y) < 1e-5f);
    assert_true(edge.z == plain.z && principled_metal(&side, base, 1).x == 0.5f);
    assert_true(principled_metal(&side, base, 0).x == 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_furnace),
        cmocka_unit_test(test_long_facets),
        cmocka_unit_test(test_integrals),
        cmocka_unit_test(test_tilted_normal),
        cmocka_unit_test(test_plain_limits),
        cmocka_unit_test(test_base_colour),
        cmocka_unit_test(test_sampling_and_reciprocity),
        cmocka_unit_test(test_thin_sheet),
        cmocka_unit_test(test_metal_edge),
        cmocka_unit_test(test_index_of_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
