/* shaders/tritree_trace.h on the trees of every builder, against testing all triangles. */
#include "shaders/tritree_trace.h"
#include "triangle_sets.h"

enum { RAYS = 540 };

static ray_hit brute_force(const tritree_input *input, ray cast) {
    ray_hit best = {cast.tmax, 0, 0, KD_NONE};
    const triangle_caster caster = triangle_caster_make(cast);
    for (uint32_t id = 0; id < input->triangle_count; ++id) {
        const vec3 a = input->positions[input->triangles[3 * id]],
                   b = input->positions[input->triangles[3 * id + 1]],
                   c = input->positions[input->triangles[3 * id + 2]];
        float t = 0, u = 0, v = 0;
        if (triangle_is_degenerate(a, b, c)) continue;
        if (triangle_meet(&caster, a, b, c, &t, &u, &v) && t > cast.tmin && t < best.t)
            best = (ray_hit){t, u, v, id};
    }
    return best;
}

static void compare(const tritree_builder *builder, case_triangles which, uint32_t count) {
    triangle_set set = triangle_set_make(which, count);
    const tritree_options options = tritree_options_default();
    tritree tree;
    assert_int_equal(tritree_open(&tree, &set.input, &options, builder->name, NULL), KD_OK);
    const tritree_view view = tritree_get_view(&tree);
    uint32_t hits = 0;
    for (uint32_t i = 0; i < RAYS; ++i) {
        const ray cast = triangle_set_ray(&set, i);
        const ray_hit want = brute_force(&set.input, cast), got = tritree_closest(&view, cast);
        if (want.triangle != got.triangle || want.t != got.t)
            fail_msg("%s, %s %u, ray %u: triangle %u at %.9g, expected %u at %.9g", builder->name,
                     case_triangles_name(which), count, i, got.triangle, (double)got.t,
                     want.triangle, (double)want.t);
        assert_true(tritree_occluded(&view, cast) == (want.triangle != KD_NONE));
        hits += got.triangle != KD_NONE;
    }
    if (count >= 100) assert_in_range(hits, RAYS / 50, RAYS);
    tritree_close(&tree);
    triangle_set_close(&set);
}

static void every_tree_answers_as_all_triangles_do(void **state) {
    (void)state;
    static const uint32_t counts[] = {0, 1, 2, 3, 5, 16, 17, 64, 127, 500, 1025};
    for (const tritree_builder *row = tritree_builders; row->name; ++row)
        for (int which = 0; which < CASE_TRIANGLE_SETS; ++which)
            for (size_t i = 0; i < sizeof counts / sizeof *counts; ++i)
                compare(row, (case_triangles)which, counts[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_tree_answers_as_all_triangles_do)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
