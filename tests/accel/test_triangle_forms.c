/* The variants of the watertight intersection test (accel/tree/README.md) agree with
   triangle_intersect bit for bit: triangles that triangle8 or triangle_rows reject are misses, hits
   of triangle8 have the same t, u and v, and both reject the same triangles. Tested with triangles
   of all scales, needles, points on edges and corners, and rays along axes. */
#include "accel/tree/layout.h"
#include "accel/wide/wide_lanes.h"
#include "core/math/rng.h"
#include "test.h"
#include <math.h>

enum { PAIRS = 20000, SHAPES = 5, LANES = VECTOR8_LANES };

typedef struct pair {
    struct ray ray;
    vec3 corner[3];
} pair;

typedef struct tally {
    /* by triangle8: certain misses, certain hits, and undecided cases, which triangle_intersect
       decides */
    int missed, found, left;
} tally;

static vec3 random_in_cube(rng_key key, uint32_t step) {
    const rng_block r = rng_draw(key, step, 0);
    return vec3_make(2 * r.value[0] - 1, 2 * r.value[1] - 1, 2 * r.value[2] - 1);
}

/* Shapes of ray and triangle: 0: a random ray; 1: through a point of the triangle; 2: through a
   point of an edge; 3: through a corner, along an axis; 4: through a point of a needle. */
static pair pair_make(uint32_t i, int shape, float scale) {
    const rng_key key = rng_key_make(11, (uint32_t)shape, i);
    const rng_block r = rng_draw(key, 5, 0);
    pair made;
    for (uint32_t k = 0; k < 3; ++k) made.corner[k] = random_in_cube(key, k);
    if (shape == 4) made.corner[2] = vec3_along(made.corner[1], 1e-6f, random_in_cube(key, 6));
    vec3 origin = random_in_cube(key, 3), direction = random_in_cube(key, 4), through;
    const float v = shape == 2 ? 0 : r.value[1] * (1 - r.value[0]);
    through =
        vec3_along(vec3_along(made.corner[0], r.value[0], vec3_sub(made.corner[1], made.corner[0])),
                   v, vec3_sub(made.corner[2], made.corner[0]));
    if (shape == 3) {
        through = made.corner[0];
        direction = vec3_make(i % 3 == 0, i % 3 == 1, i % 3 == 2);
        origin = vec3_sub(through, direction);
    } else if (shape != 0) {
        direction = vec3_sub(through, origin);
    }
    made.ray = ray_make(vec3_scale(origin, scale), direction, 0, INFINITY);
    for (int k = 0; k < 3; ++k) made.corner[k] = vec3_scale(made.corner[k], scale);
    return made;
}

/* Transforms the corners to the rays' coordinate system, as accel/wide/wide_packet.h and
   accel/wide/wide_walk.h do. */
static void shear(triangle8 *eight, int lane, const pair *pair, const precomputed_ray *ray) {
    for (int k = 0; k < 3; ++k) {
        const float z = vec3_axis(pair->corner[k], ray->kz) - vec3_axis(ray->origin, ray->kz);
        eight->z[k][lane] = z;
        eight->x[k][lane] =
            vec3_axis(pair->corner[k], ray->kx) - vec3_axis(ray->origin, ray->kx) - ray->sx * z;
        eight->y[k][lane] =
            vec3_axis(pair->corner[k], ray->ky) - vec3_axis(ray->origin, ray->ky) - ray->sy * z;
    }
}

static void judge(const pair *pair, const precomputed_ray *ray, const triangle8 *eight, int lane,
                  bool missed, tally *sum) {
    float t = 0, u = 0, v = 0;
    const bool hit =
        triangle_intersect(ray, pair->corner[0], pair->corner[1], pair->corner[2], &t, &u, &v);
    const triangle_rows rows =
        triangle_rows_make(pair->corner[0], pair->corner[1], pair->corner[2]);
    const bool good = eight->good[lane] != 0;
#if defined(__GNUC__)
    assert_int_equal(triangle_rows_missed(&rows, ray), missed);
#endif
    if (missed) assert_false(hit);
    if (!missed && good) {
        const float actual[3] = {eight->t[lane], eight->u[lane], eight->v[lane]};
        const float expected[3] = {t, u, v};
        assert_true(hit);
        assert_memory_equal(actual, expected, sizeof actual);
    }
    sum->missed += missed;
    sum->found += !missed && good;
    sum->left += !missed && !good;
}

static tally compare(int shape, float scale) {
    tally sum = {0, 0, 0};
    for (uint32_t first = 0; first < PAIRS; first += LANES) {
        pair pairs[LANES];
        precomputed_ray ray[LANES];
        triangle8 eight;
        float8 scales = float8_all(0);
        for (int lane = 0; lane < LANES; ++lane) {
            pairs[lane] = pair_make(first + (uint32_t)lane, shape, scale);
            ray[lane] = precomputed_ray_make(pairs[lane].ray);
            shear(&eight, lane, &pairs[lane], &ray[lane]);
            scales[lane] = ray[lane].sz;
        }
        const int8 missed = triangle8_missed(&eight);
        triangle8_intersect(&eight, scales);
        for (int lane = 0; lane < LANES; ++lane)
            judge(&pairs[lane], &ray[lane], &eight, lane, missed[lane] != 0, &sum);
    }
    return sum;
}

static void test_variants_are_bit_identical(void **state) {
    (void)state;
    for (int shape = 0; shape < SHAPES; ++shape) {
        const tally sum = compare(shape, 1);
        if (shape == 0) assert_true(sum.missed > PAIRS / 2 && sum.found > PAIRS / 50);
        if (shape == 1) assert_true(sum.found > PAIRS / 2);
        if (shape == 3)
            assert_true(sum.left == PAIRS); /* the edge functions of a corner are zero */
        if (shape != 3) assert_true(sum.left < PAIRS / 2 || shape == 4);
    }
}

/* If products overflow or underflow, triangle_intersect makes the decision. */
static void test_variants_agree_at_every_scale(void **state) {
    (void)state;
    static const float scales[] = {1e-30f, 1e-13f, 1e-6f, 1e6f, 1e13f, 1e30f};
    for (size_t i = 0; i < sizeof scales / sizeof *scales; ++i)
        for (int shape = 0; shape < 3; ++shape) {
            const tally sum = compare(shape, scales[i]);
            const bool safe = scales[i] > 1e-12f && scales[i] < 1e12f;
            assert_true(safe ? sum.left < PAIRS / 2 : sum.left > PAIRS / 100);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_variants_are_bit_identical),
        cmocka_unit_test(test_variants_agree_at_every_scale),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
