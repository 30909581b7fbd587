/* The builder `zhou`: properties of the functions of its stages, its small-node stage against a
   version that counts without bit masks, and the same tree for any number of threads. */
#include "accel/builders.h"
#include "accel/tree/tritree.h"
#include "accel/zhou/build_zhou.h"
#include "core/parallel/parallel.h"
#include "triangle_sets.h"

static float draw(uint32_t stream, uint32_t i, int k) {
    return rng_draw(rng_key_make(77, stream, i), 0, 0).value[k];
}

/* Makes the parts of a set's triangles, unclipped. */
static uint32_t parts_of(const triangle_set *set, zhou_part *parts) {
    uint32_t count = 0;
    for (uint32_t id = 0; id < set->input.triangle_count; ++id) {
        vec3 corner[3];
        for (uint32_t k = 0; k < 3; ++k) corner[k] = zhou_corner(set->positions[3 * id + k]);
        if (triangle_is_degenerate(corner[0], corner[1], corner[2])) continue;
        parts[count].id = id;
        parts[count++].box = triangle_box(corner[0], corner[1], corner[2]);
    }
    return count;
}

static void test_candidate_masks_match_positions(void **state) {
    (void)state;
    for (int which = 0; which < CASE_TRIANGLE_SETS; ++which) {
        triangle_set set = triangle_set_make((case_triangles)which, ZHOU_SMALL_MAX);
        zhou_part parts[ZHOU_SMALL_MAX];
        zhou_candidates all;
        const uint32_t count = parts_of(&set, parts);
        zhou_candidates_make(&all, parts, count);
        for (int side = 0; side < ZHOU_SIDES; ++side)
            for (uint32_t i = 0; i < count; ++i) {
                const int axis = side / 2;
                const float plane = vec3_axis(side % 2 ? parts[i].box.hi : parts[i].box.lo, axis);
                assert_true(all.plane[side][i] == plane);
                for (uint32_t j = 0; j < ZHOU_SMALL_MAX; ++j) {
                    const bool left = all.left[side][i] >> j & 1,
                               right = all.right[side][i] >> j & 1;
                    if (j >= count) {
                        assert_true(!left && !right);
                        continue;
                    }
                    const float lo = vec3_axis(parts[j].box.lo, axis);
                    const float hi = vec3_axis(parts[j].box.hi, axis);
                    const bool in_plane = lo == plane && hi == plane;
                    assert_true(left == (in_plane ? side % 2 == 1 : lo < plane));
                    assert_true(right == (in_plane ? side % 2 == 0 : hi > plane));
                }
            }
        triangle_set_close(&set);
    }
}

/* The small-node stage without bit masks: lists of parts, with every side counted anew. */
typedef struct plain {
    const tritree *tree;
    sah_costs costs;
    uint32_t max_depth;
} plain;

static zhou_choice plain_search(const plain *p, const zhou_part *parts, uint32_t count, box3 box) {
    zhou_choice best = zhou_choice_none();
    for (int side = 0; side < ZHOU_SIDES; ++side)
        for (uint32_t i = 0; i < count; ++i) {
            const int axis = side / 2;
            const sah_axis areas = zhou_axis_of(box, axis);
            zhou_choice tried = zhou_choice_none();
            tried.side = side;
            tried.plane = vec3_axis(side % 2 ? parts[i].box.hi : parts[i].box.lo, axis);
            uint32_t left = 0, right = 0, in_plane_count = 0;
            for (uint32_t j = 0; j < count; ++j) {
                const float lo = vec3_axis(parts[j].box.lo, axis);
                const float hi = vec3_axis(parts[j].box.hi, axis);
                const bool in_plane = lo == tried.plane && hi == tried.plane;
                left += in_plane ? side % 2 == 1 : lo < tried.plane;
                right += in_plane ? side % 2 == 0 : hi > tried.plane;
                in_plane_count += in_plane && tried.plane == (side % 2 ? areas.lo : areas.hi);
            }
            if (!(tried.plane > areas.lo && tried.plane < areas.hi) &&
                !(in_plane_count && areas.lo < areas.hi))
                continue;
            tried.cost = sah_split_cost(&p->costs, &areas, tried.plane, left, right);
            if (tried.cost < best.cost ||
                (tried.cost == best.cost && tried.side == best.side && tried.plane < best.plane))
                best = tried;
        }
    return best;
}

static void compare_node(const plain *p, uint32_t at, const zhou_part *parts, uint32_t count,
                         box3 box, uint32_t depth) {
    const tritree_node node = p->tree->nodes[at];
    zhou_choice best = zhou_choice_none();
    if (depth < p->max_depth) best = plain_search(p, parts, count, box);
    if (!(best.cost < p->costs.intersect * (float)count)) {
        assert_true(tritree_is_leaf(node) && tritree_count(node) == count);
        for (uint32_t i = 0; i < count; ++i)
            assert_int_equal(p->tree->references[tritree_first(node) + i], parts[i].id);
        return;
    }
    const int axis = best.side / 2;
    assert_false(tritree_is_leaf(node));
    assert_int_equal(tritree_axis(node), axis);
    assert_true(node.split == best.plane);
    for (uint32_t right = 0; right < 2; ++right) {
        zhou_part some[ZHOU_SMALL_MAX];
        uint32_t some_count = 0;
        for (uint32_t j = 0; j < count; ++j) {
            const float lo = vec3_axis(parts[j].box.lo, axis);
            const float hi = vec3_axis(parts[j].box.hi, axis);
            const bool in_plane = lo == best.plane && hi == best.plane;
            const bool on_side = in_plane ? (best.side % 2 == 0) == (right == 1)
                                          : (right ? hi > best.plane : lo < best.plane);
            if (on_side) some[some_count++] = parts[j];
        }
        box3 half = box;
        vec3_set_axis(right ? &half.lo : &half.hi, axis, best.plane);
        compare_node(p, tritree_left(node) + right, some, some_count, half, depth + 1);
    }
}

static void test_small_roots_match_counted_costs(void **state) {
    (void)state;
    for (int which = 0; which < CASE_TRIANGLE_SETS; ++which)
        for (uint32_t count = 1; count <= ZHOU_SMALL_MAX; count += 9) {
            triangle_set set = triangle_set_make((case_triangles)which, count);
            tritree_options options = tritree_options_default();
            options.empty_factor = count % 2 ? 0.8f : 1;
            tritree tree;
            assert_int_equal(tritree_open(&tree, &set.input, &options, "zhou", NULL), KD_OK);
            zhou_part parts[ZHOU_SMALL_MAX];
            const uint32_t some = parts_of(&set, parts);
            const plain p = {&tree,
                             {options.traversal_cost, options.intersect_cost, options.empty_factor},
                             (uint32_t)tritree_depth_limit(&options, count)};
            box3 box = tree.box;
            box.lo = zhou_corner(box.lo);
            box.hi = zhou_corner(box.hi);
            compare_node(&p, 0, parts, some, box, 0);
            tritree_close(&tree);
            triangle_set_close(&set);
        }
}

static bool holds(box3 outer, box3 inner, bool loosely) {
    for (int axis = 0; axis < 3; ++axis) {
        float lo = vec3_axis(outer.lo, axis), hi = vec3_axis(outer.hi, axis);
        if (loosely) lo = float_down(lo), hi = float_up(hi);
        if (vec3_axis(inner.lo, axis) < lo || vec3_axis(inner.hi, axis) > hi) return false;
    }
    return true;
}

/* Clipped boxes contain the exact clipped triangle and stay inside the original box. */
static void test_clipping_is_conservative(void **state) {
    (void)state;
    for (int which = 0; which < CASE_TRIANGLE_SETS; ++which)
        for (uint32_t i = 0; i < 400; ++i) {
            vec3 c[3];
            case_triangle((case_triangles)which, i, 400, c);
            if (triangle_is_degenerate(c[0], c[1], c[2])) continue;
            box3 part = triangle_box(c[0], c[1], c[2]);
            for (uint32_t cut = 0; cut < 6; ++cut) { /* one split after another */
                const int axis = (int)(3 * draw(1, 6 * i + cut, 0));
                const float lo = vec3_axis(part.lo, axis), hi = vec3_axis(part.hi, axis);
                const float t = draw(1, 6 * i + cut, 1), plane = lo * (1 - t) + hi * t;
                const bool right = draw(1, 6 * i + cut, 2) < 0.5f;
                if (!(lo < plane && plane < hi)) continue;
                vec3_set_axis(right ? &part.lo : &part.hi, axis, plane);
                const box3 got = zhou_clip(c[0], c[1], c[2], axis, plane, right, part);
                box3 exact;
                assert_true(holds(part, got, false));
                if (triangle_clip_box(c[0], c[1], c[2], part, &exact))
                    assert_true(holds(got, exact, true));
                part = got;
            }
        }
}

static void test_planned_cuts_remove_only_empty_space(void **state) {
    (void)state;
    uint32_t cuts = 0;
    for (uint32_t i = 0; i < 4000; ++i) {
        zhou_node node;
        memset(&node, 0, sizeof node);
        node.depth = i % 5;
        for (int axis = 0; axis < 3; ++axis) {
            const float lo = draw(2, i, axis), hi = lo + draw(3, i, axis);
            const float a = lo + (hi - lo) * draw(4, i, axis),
                        b = lo + (hi - lo) * draw(5, i, axis);
            vec3_set_axis(&node.box.lo, axis, lo);
            vec3_set_axis(&node.box.hi, axis, hi);
            vec3_set_axis(&node.tight.lo, axis, float_min(a, b));
            vec3_set_axis(&node.tight.hi, axis, i % 7 ? float_max(a, b) : float_min(a, b));
        }
        zhou_plan plan;
        const uint32_t max_depth = i % 3 ? 20 : 3;
        zhou_plan_make(&plan, &node, max_depth);
        assert_true(holds(node.box, plan.box, false) && holds(plan.box, node.tight, false));
        assert_true(plan.depth == node.depth + (uint32_t)plan.cuts && plan.cuts <= ZHOU_CUTS_MAX);
        assert_true(plan.depth <= (node.depth > max_depth ? node.depth : max_depth));
        cuts += (uint32_t)plan.cuts;
        for (int axis = 0; axis < 3 && plan.depth < max_depth; ++axis) {
            const float lo = vec3_axis(plan.box.lo, axis), hi = vec3_axis(plan.box.hi, axis);
            const float first = vec3_axis(node.tight.lo, axis),
                        last = vec3_axis(node.tight.hi, axis);
            /* the lower side is cut first, so its bound is a fraction of the extent before the
               upper side was cut */
            const float whole = vec3_axis(node.box.hi, axis) - lo;
            /* if few levels are left, cuts only empty space that a split would not remove as
               well */
            const bool has_levels = plan.depth + 1 + zhou_levels_for(node.count) <= max_depth;
            const float share = has_levels ? 0.2501f : 0.5001f;
            assert_true(first - lo <= share * whole);
            assert_true(hi - last <= share * (hi - lo));
            if (first == last) continue;
            const float extent =
                vec3_axis(plan.box.hi, plan.axis) - vec3_axis(plan.box.lo, plan.axis);
            assert_true(extent >= 0.9999f * (hi - lo));
        }
        if (plan.depth >= max_depth) assert_int_equal(plan.axis, ZHOU_NO_AXIS);
    }
    assert_true(cuts > 4000);
}

/* Many small triangles in a corner of a large floor: too few levels are left to halve space down to
   them, and the floor leaves no empty space to cut off. */
static void test_small_cluster_on_large_floor_is_split(void **state) {
    (void)state;
    enum { SMALL = 6000 };
    triangle_set set = triangle_set_make(CASE_SOUP, SMALL + 2);
    for (uint32_t i = 0; i < 3 * (SMALL + 2); ++i) {
        const float x = draw(31, i, 0), y = draw(31, i, 1), z = draw(31, i, 2);
        const float x0 = draw(32, i / 3, 0), to = draw(32, i / 3, 1), by = draw(32, i / 3, 2);
        set.positions[i] = vec3_make(0.3f + 1e-3f * x0 + 3e-5f * x, 1e-3f * (to - 0.5f) + 3e-5f * y,
                                     0.2f + 1e-3f * by + 3e-5f * z);
    }
    const vec3 floor[6] = {{-1, 0, -1}, {1, 0, -1}, {1, 0, 1}, {-1, 0, -1}, {1, 0, 1}, {-1, 0, 1}};
    memcpy(set.positions, floor, sizeof floor);
    const tritree_options options = tritree_options_default();
    tritree tree;
    uint32_t maximum = 0;
    assert_int_equal(tritree_open(&tree, &set.input, &options, "zhou", NULL), KD_OK);
    if (tritree_check(&tree) != KD_OK) fail_msg("%s", kd_last_error());
    for (uint32_t i = 0; i < tree.node_count; ++i)
        if (tritree_is_leaf(tree.nodes[i]) && tritree_count(tree.nodes[i]) > maximum)
            maximum = tritree_count(tree.nodes[i]);
    if (maximum > 40) fail_msg("a leaf of %u triangles", maximum);
    tritree_close(&tree);
    triangle_set_close(&set);
}

static void test_tree_is_independent_of_threads(void **state) {
    (void)state;
    static const int threads[] = {1, 2, 8};
    for (int which = 0; which < CASE_TRIANGLE_SETS; ++which) {
        triangle_set set = triangle_set_make((case_triangles)which, 4000);
        const tritree_options options = tritree_options_default();
        uint64_t hash = 0;
        for (int i = 0; i < 3; ++i) {
            parallel_set_threads(threads[i]);
            tritree tree;
            assert_int_equal(tritree_open(&tree, &set.input, &options, "zhou", NULL), KD_OK);
            if (i == 0 && which != CASE_SAME && tritree_check(&tree) != KD_OK)
                fail_msg("%s: %s", case_triangles_name((case_triangles)which), kd_last_error());
            assert_true(i == 0 || tritree_hash(&tree) == hash);
            hash = tritree_hash(&tree);
            tritree_close(&tree);
        }
        parallel_set_threads(0);
        triangle_set_close(&set);
    }
}

/* The number of references stays within the budget of the large-node stage, even if it ends in
   large leaves. */
static void test_equal_triangles_form_one_leaf(void **state) {
    (void)state;
    triangle_set set = triangle_set_make(CASE_SAME, 3000);
    const tritree_options options = tritree_options_default();
    tritree tree;
    assert_int_equal(tritree_open(&tree, &set.input, &options, "zhou", NULL), KD_OK);
    assert_int_equal(tritree_check(&tree), KD_OK);
    assert_true(tree.reference_count <= ZHOU_GROWTH_MAX * 3000u);
    double seconds = 0;
    for (int i = 0; i < TRITREE_STAGES; ++i) {
        assert_true(tree.stage_seconds[i] >= 0);
        seconds += tree.stage_seconds[i];
    }
    assert_true(seconds > 0 && seconds <= tree.statistics.build_seconds);
    tritree_close(&tree);
    triangle_set_close(&set);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_candidate_masks_match_positions),
                                       cmocka_unit_test(test_small_roots_match_counted_costs),
                                       cmocka_unit_test(test_clipping_is_conservative),
                                       cmocka_unit_test(test_planned_cuts_remove_only_empty_space),
                                       cmocka_unit_test(test_small_cluster_on_large_floor_is_split),
                                       cmocka_unit_test(test_tree_is_independent_of_threads),
                                       cmocka_unit_test(test_equal_triangles_form_one_leaf)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
