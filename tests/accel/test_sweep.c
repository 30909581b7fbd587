/* The fast exact builder `sweep` against `exact`, which follows the definition of the heuristic;
   and the optimised parts of `sweep` against straightforward versions. */
#include "accel/builders.h"
#include "accel/sweep/clip_halves.h"
#include "accel/sweep/sweep.h"
#include "accel/tree/triangle_clip.h"
#include "triangle_sets.h"

static void test_tree_equals_exact_tree(void **state) {
    (void)state;
    static const uint32_t counts[] = {1, 2, 7, 8, 9, 16, 33, 80, 81, 100, 333, 2000};
    static const tritree_options settings[] = {{1.5f, 1, 1, 0}, {1, 1, 0.8f, 0}, {0, 1, 1, 9}};
    for (int which = 0; which < CASE_TRIANGLE_SETS; ++which)
        for (size_t i = 0; i < sizeof counts / sizeof *counts; ++i) {
            triangle_set set = triangle_set_make((case_triangles)which, counts[i]);
            tritree tree, plain;
            const tritree_options *options = &settings[i % 3];
            assert_int_equal(tritree_open(&tree, &set.input, options, "sweep", NULL), KD_OK);
            assert_int_equal(tritree_open(&plain, &set.input, options, "exact", NULL), KD_OK);
            if (plain.node_count != tree.node_count ||
                memcmp(plain.nodes, tree.nodes, tree.node_count * sizeof *tree.nodes) != 0 ||
                plain.reference_count != tree.reference_count ||
                (tree.reference_count &&
                 memcmp(plain.references, tree.references,
                        tree.reference_count * sizeof *tree.references) != 0))
                fail_msg("%s %u: another tree", case_triangles_name((case_triangles)which),
                         counts[i]);
            tritree_close(&plain);
            tritree_close(&tree);
            triangle_set_close(&set);
        }
}

/* Returns a number on a grid, so that corners, boxes and planes coincide. */
static float on_grid(uint32_t i, uint32_t k, float scale) {
    const float at = rng_draw(rng_key_make(7, k, i), 0, 0).value[k % 4];
    const float steps = i % 2 ? 8.0f : 0x1p24f;
    const float x = (2 * floorf(at * steps) / steps - 1) * scale;
    return x == 0 && k % 3 == 0 ? -0.0f : x;
}

static void test_vector_clipping_is_bit_identical(void **state) {
    (void)state;
    static const float scales[] = {1, 1e30f, 1e-30f, 1e-44f};
    uint32_t seen[4] = {0};
    for (uint32_t i = 0; i < 40000; ++i) {
        const float scale = scales[i / 2 % 4];
        vec3 v[5];
        for (uint32_t k = 0; k < 15; ++k)
            vec3_set_axis(&v[k / 3], (int)(k % 3), on_grid(i, k, scale));
        box3 box = {vec3_min(v[3], v[4]), vec3_max(v[3], v[4])};
        const int axis = (int)(i / 8 % 3);
        const float lo = vec3_axis(box.lo, axis), hi = vec3_axis(box.hi, axis);
        const float plane =
            float_clamp(i % 5 ? on_grid(i, 15, scale) : vec3_axis(v[0], axis), lo, hi);
        box3 expected[2], got[2];
        const int parts =
            triangle_clip_halves(v[0], v[1], v[2], box, axis, plane, &expected[0], &expected[1]);
        const clip_split split = clip_split_make(box, axis, plane);
        const float4v corner[3] = {float4v_of(v[0]), float4v_of(v[1]), float4v_of(v[2])};
        clip_part part[2];
        assert_int_equal(clip_halves_by_vectors(&split, corner, part), parts);
        for (int side = 0; side < 2; ++side) got[side] = clip_part_box(&part[side]);
        assert_memory_equal(expected, got, sizeof expected);
        ++seen[parts];
    }
    for (int parts = 0; parts < 4; ++parts) assert_true(seen[parts] > 1000);
}

enum { ENDS = 3000 };

/* Returns the begin or end of a part on an axis of [lo, hi], placed so that bins can hardly
   separate the ends. */
static float place_of_end(uint32_t form, uint32_t i, uint32_t k, float lo, float hi) {
    const float x = rng_draw(rng_key_make(11, form, 2 * i + k), 0, 0).value[0];
    const float half = 0.5f * lo + 0.5f * hi, part = 0.5f * hi - 0.5f * lo;
    switch (form) {
    case 0: return lo + (hi - lo) * x;                 /* anywhere */
    case 1: return lo + (hi - lo) * floorf(x * 9) / 8; /* on a grid, including the sides */
    case 2: return half + part * ldexpf(1, -(int)(x * 60)) * 0.9f; /* accumulating at a point */
    case 3: return half;                                           /* all at one place */
    default:
        return i % 7 ? half + part * 0x1p-20f * (x - 0.5f)
                     : lo + (hi - lo) * x; /* nearly all at one place */
    }
}

static sah_split try_all_planes(const sweep_line *line, const sah_costs *costs) {
    sah_split best = {INFINITY, 0, 0, true};
    for (uint32_t i = 0; i < 2 * line->count; ++i) {
        const float plane = i % 2 ? line->hi[i / 2] : line->lo[i / 2];
        uint32_t left = 0, right = 0, planar = 0;
        for (uint32_t k = 0; k < line->count; ++k) {
            left += line->lo[k] < plane;
            right += line->hi[k] > plane;
            planar += line->lo[k] == plane && line->hi[k] == plane;
        }
        const bool side = plane == line->areas.lo || plane == line->areas.hi;
        if (!(line->areas.lo < line->areas.hi) || (side && planar == 0)) continue;
        const float to_left = sah_split_cost(costs, &line->areas, plane, left + planar, right);
        const float to_right = sah_split_cost(costs, &line->areas, plane, left, right + planar);
        const sah_split split = {side ? (plane == line->areas.lo ? to_left : to_right)
                                      : float_min(to_left, to_right),
                                 plane, 0, true};
        if (sah_split_before(&split, &best)) best = split;
    }
    return best;
}

static void test_bins_miss_no_plane(void **state) {
    (void)state;
    static const float sides[][2] = {
        {-1, 1},           {0, 1}, {1000, 1001},  {-2e38f, 2e38f}, {-3e-39f, 3e-39f},
        {-1e-30f, 1e-30f}, {5, 5}, {-3, 0x1p-10f}};
    static const uint32_t counts[] = {1, 17, 81, 400, ENDS};
    static const sah_costs costs[] = {{1.5f, 1, 1}, {0, 1, 0.5f}};
    static float lo[ENDS + 8], hi[ENDS + 8];
    static sweep_bins bins;
    uint32_t found_some = 0;
    for (uint32_t which = 0; which < 8 * 5 * 5; ++which) {
        const float *side = sides[which % 8];
        const uint32_t form = which / 8 % 5, count = counts[which / 40];
        if (count == ENDS && which % 8 > 4) continue;
        for (uint32_t i = 0; i < count; ++i) {
            const float a =
                float_clamp(place_of_end(form, i, 0, side[0], side[1]), side[0], side[1]);
            const float b =
                float_clamp(place_of_end(form, i, 1, side[0], side[1]), side[0], side[1]);
            lo[i] = float_min(a, b);
            hi[i] = i % 5 ? float_max(a, b) : lo[i];
        }
        const box3 box = {vec3_make(side[0], 0, 0), vec3_make(side[1], 1, 2)};
        const sweep_line line = {lo, hi, count, sah_axis_of(box, 0)};
        const sah_costs *cost = &costs[which % 3 == 0];
        const sah_split expected = try_all_planes(&line, cost);
        sah_split got = {INFINITY, 0, 3, true};
        sweep_bins_count(&bins, &line, cost);
        if (which % 2) /* search some of the bins first, as a build does */
            assert_int_equal(
                sweep_bins_search(&bins, &line, cost, 0, bins.count / 3, bins.count / 2, &got),
                KD_OK);
        sweep_try_sides(&bins, &line, cost, 0, &got);
        assert_int_equal(sweep_bins_search(&bins, &line, cost, 0, 0, bins.count, &got), KD_OK);
        if (expected.cost < INFINITY) {
            assert_true(got.cost == expected.cost && got.position == expected.position);
            ++found_some;
        } else {
            assert_int_equal(got.axis, 3);
        }
    }
    sweep_bins_close(&bins);
    assert_true(found_some > 100);
}

static void test_reference_growth_is_bounded(void **state) {
    (void)state;
    triangle_set set = triangle_set_make(CASE_FAN, 20000);
    const tritree_options options = tritree_options_default();
    tritree tree;
    assert_int_equal(tritree_open(&tree, &set.input, &options, "sweep", NULL), KD_OK);
    assert_true(tree.statistics.references_per_triangle < 2 * EXACT_GROWTH_MAX);
    tritree_close(&tree);
    triangle_set_close(&set);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_tree_equals_exact_tree),
                                       cmocka_unit_test(test_vector_clipping_is_bit_identical),
                                       cmocka_unit_test(test_bins_miss_no_plane),
                                       cmocka_unit_test(test_reference_growth_is_bounded)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
