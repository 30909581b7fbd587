/* Sampling of shapes is uniform, and Sobol points form the nets that theory guarantees. */
#include "core/math/sampling.h"
#include "core/math/sobol_many.h"
#include "test.h"

/* The means of x, y, x^2 and x y over a shape, from a fine grid, against their known values. */
static void test_moments(void **state) {
    (void)state;
    const int n = 512;
    double disc[4] = {0}, triangle[4] = {0}, cosine[2] = {0}, sphere[2] = {0}, cone[2] = {0};
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) {
            const float u = ((float)i + 0.5f) / (float)n, v = ((float)j + 0.5f) / (float)n;
            const vec2 d = sample_disc(u, v), t = sample_triangle(u, v);
            assert_true(t.x >= 0 && t.y >= 0 && t.x + t.y <= 1);
            const float product = d.x * d.y, share = t.x * t.y;
            disc[0] += (double)d.x, disc[1] += (double)d.y;
            disc[2] += (double)(d.x * d.x), disc[3] += (double)product;
            triangle[0] += (double)t.x, triangle[1] += (double)t.y;
            triangle[2] += (double)(t.x * t.x), triangle[3] += (double)share;
            const vec3 c = sample_cosine_hemisphere(u, v), s = sample_sphere(u, v);
            const vec3 k = sample_cone(0.4f, u, v);
            cosine[0] += (double)c.z, cosine[1] += (double)(c.x * c.x);
            sphere[0] += (double)s.z, sphere[1] += (double)(s.x * s.x);
            cone[0] += (double)k.z, cone[1] += (double)(k.x * k.x);
            expect_near((double)vec3_length(c), 1, 1e-5);
        }
    const double all = (double)n * n;
    expect_near(disc[0] / all, 0, 1e-3);
    expect_near(disc[1] / all, 0, 1e-3);
    expect_near(disc[2] / all, 0.25, 1e-3);
    expect_near(disc[3] / all, 0, 1e-3);
    expect_near(triangle[0] / all, 1.0 / 3, 1e-3);
    expect_near(triangle[1] / all, 1.0 / 3, 1e-3);
    expect_near(triangle[2] / all, 1.0 / 6, 1e-3);
    expect_near(triangle[3] / all, 1.0 / 12, 1e-3);
    expect_near(cosine[0] / all, 2.0 / 3, 1e-3);
    expect_near(cosine[1] / all, 0.25, 1e-3);
    expect_near(sphere[0] / all, 0, 1e-3);
    expect_near(sphere[1] / all, 1.0 / 3, 1e-3);
    expect_near(cone[0] / all, 0.7, 1e-3);
    expect_near(cone[1] / all, (1 - (1 + 0.4 + 0.16) / 3) / 2, 1e-3);
}

static void test_cdf(void **state) {
    (void)state;
    const float cdf[] = {0, 0, 0.25f, 0.25f, 0.75f, 1, 1};
    const uint32_t count = 6;
    uint32_t counts[6] = {0};
    for (int i = 0; i < 1000; ++i) {
        const float u = (float)i / 1000;
        const uint32_t at = cdf_search(cdf, count, u);
        assert_true(at < count && cdf[at] <= u && u < cdf[at + 1]);
        const float rest = cdf_rest(cdf, at, u);
        assert_true(rest >= 0 && rest < 1);
        ++counts[at];
    }
    assert_int_equal(counts[0] + counts[2] + counts[5], 0);
    assert_int_equal(counts[1], 250);
    assert_int_equal(counts[3], 500);
}

/* The first 2^m points lie one in each of 2^m intervals of every dimension, and one in each
   elementary box of area 2^-m of the first two dimensions. */
static void test_sobol_nets(void **state) {
    (void)state;
    for (uint32_t m = 0; m <= 8; ++m)
        for (uint32_t pixel = 0; pixel < 8; ++pixel) {
            const uint32_t count = 1u << m;
            uint32_t line[4][256] = {{0}}, box[9][256] = {{0}};
            for (uint32_t i = 0; i < count; ++i) {
                const rng_block r = sobol_draw(rng_key_make(5, 1, sobol_path(pixel, i)), pixel, 3);
                for (int d = 0; d < 4; ++d) {
                    assert_true(r.value[d] >= 0 && r.value[d] < 1);
                    ++line[d][(uint32_t)(r.value[d] * (float)count)];
                }
                for (uint32_t a = 0; a <= m; ++a) {
                    const uint32_t x = (uint32_t)(r.value[0] * (float)(1u << a));
                    const uint32_t y = (uint32_t)(r.value[1] * (float)(1u << (m - a)));
                    ++box[a][x << (m - a) | y];
                }
            }
            for (uint32_t k = 0; k < count; ++k) {
                for (int d = 0; d < 4; ++d) assert_int_equal(line[d][k], 1);
                for (uint32_t a = 0; a <= m; ++a) assert_int_equal(box[a][k], 1);
            }
        }
}

/* An integral over four dimensions: the error is below that of 8 times as many independent
   samples. */
static void test_sobol_converges(void **state) {
    (void)state;
    double even = 0, random = 0;
    for (uint32_t pixel = 0; pixel < 64; ++pixel) {
        double sobol_sum = 0, random_sum = 0;
        for (uint32_t i = 0; i < 256; ++i) {
            const rng_key key = rng_key_make(9, 0, sobol_path(pixel, i));
            const rng_block a = sobol_draw(key, 2, 1), b = rng_draw(key, 2, 1);
            sobol_sum += (double)(a.value[0] * a.value[1] + a.value[2] * a.value[3]);
            random_sum += (double)(b.value[0] * b.value[1] + b.value[2] * b.value[3]);
        }
        even += pow(sobol_sum / 256 - 0.5, 2);
        random += pow(random_sum / 256 - 0.5, 2);
    }
    assert_true(even * 8 < random);
}

/* Points of two decisions, two pixels or two seeds are uncorrelated. */
static void test_sobol_independence(void **state) {
    (void)state;
    double products[3] = {0};
    const uint32_t count = 4096;
    for (uint32_t i = 0; i < count; ++i) {
        const double a =
            (double)sobol_draw(rng_key_make(1, 0, sobol_path(7, i)), 1, 0).value[0] - 0.5;
        const double other[3] = {
            (double)sobol_draw(rng_key_make(1, 0, sobol_path(7, i)), 1, 1).value[0] - 0.5,
            (double)sobol_draw(rng_key_make(1, 0, sobol_path(8, i)), 1, 0).value[0] - 0.5,
            (double)sobol_draw(rng_key_make(2, 0, sobol_path(7, i)), 1, 0).value[0] - 0.5};
        for (int k = 0; k < 3; ++k) products[k] += a * other[k] / count;
    }
    for (int k = 0; k < 3; ++k) expect_near(products[k] * 12, 0, 0.08);
}

/* Sixteen points computed at once equal single ones, for random keys and keys at the ends of their
   ranges. */
static void test_sobol_many(void **state) {
    (void)state;
    static const uint64_t ends[4] = {0, UINT64_MAX, 0xffffffff0000ffffu, 0x8000000080010000u};
    for (uint32_t round = 0; round < 4096; ++round) {
        const rng_words w = rng_draw_words(rng_key_make(3, 0, round), 0, 0);
        sobol_batch request = {.seed = (uint64_t)w.word[0] << 32 | w.word[1], .pass = w.word[2]};
        request.dimension = round % 16 ? w.word[3] & 0xffffu : 0xffffu;
        for (uint32_t i = 0; i < SOBOL_MANY; ++i) {
            const rng_words k = rng_draw_words(rng_key_make(4, 0, round), i, 0);
            request.path[i] = sobol_path(k.word[0], k.word[1] >> k.word[2] % 32);
            if (round % 16 == 1) request.path[i] = ends[i % 4];
            request.bounce[i] = i == 7 ? 0xffffu : k.word[3] & 0xffffu;
        }
        rng_block many[SOBOL_MANY];
        sobol_draw_many(&request, many);
        for (uint32_t i = 0; i < SOBOL_MANY; ++i) {
            const rng_key key = rng_key_make(request.seed, request.pass, request.path[i]);
            const rng_block one = sobol_draw(key, request.bounce[i], request.dimension);
            assert_memory_equal(&many[i], &one, sizeof one);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_moments),
        cmocka_unit_test(test_cdf),
        cmocka_unit_test(test_sobol_nets),
        cmocka_unit_test(test_sobol_converges),
        cmocka_unit_test(test_sobol_independence),
        cmocka_unit_test(test_sobol_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
