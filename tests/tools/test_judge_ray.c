/* tools/peers/judge_ray.h: for which rays two single-precision ray tracers may disagree. */
#include "tests/accel/triangle_sets.h"
#include "tools/peers/judge_ray.h"

/* Rays that start on a triangle's plane, inside the triangle, may hit it or miss it; rays that
   cross it must hit it. The same holds for rays that end there. */
static void test_rays_ending_on_a_triangle_may_hit_or_miss(void **state) {
    (void)state;
    triangle_set set = triangle_set_make(CASE_LONG_SOUP, 1000);
    uint32_t judged = 0;
    for (uint32_t i = 0; i < 1000; ++i) {
        const vec3 a = set.positions[3 * i], b = set.positions[3 * i + 1],
                   c = set.positions[3 * i + 2];
        const rng_block r = rng_draw(rng_key_make(5, 1, i), 0, 0);
        const vec3 on = triangle_point(a, b, c, 0.3f, 0.3f);
        const vec3 direction = vec3_make(r.value[0] - 0.5f, r.value[1] - 0.5f, r.value[2] - 0.5f);
        const ray starts = ray_make(on, direction, 0, INFINITY);
        const ray crosses = ray_make(vec3_along(on, -1, direction), direction, 0, INFINITY);
        const ray ends = ray_make(crosses.origin, direction, 0, 1);
        const judgement through = judge_ray(&set.input, i, &crosses);
        if (through.grazes || through.rounding > 1e-3) continue;
        ++judged;
        assert_false(through.at_end);
        assert_true(judge_ray(&set.input, i, &starts).at_end);
        assert_true(judge_ray(&set.input, i, &ends).at_end);
    }
    assert_true(judged > 500);
    triangle_set_close(&set);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rays_ending_on_a_triangle_may_hit_or_miss)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
