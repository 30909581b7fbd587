/* Rays through instanced meshes return the same hits as brute force over every triangle of every
   copy, bit for bit; and the bounding volume hierarchy satisfies its invariants. */
#include "accel/instance_walk.h"
#include "accel/instances.h"
#include "tests/instances/transform_cases.h"

enum { PUT = 24, SHAPE_TRIANGLES = 40, RAYS = 400 };

typedef struct instance_case {
    triangle_set
        two_shapes; /* the first half of its triangles is shape 0, the second half shape 1 */
    triangle_set copies;
    /* id of the shape's triangle for each copied triangle */
    uint32_t shape_triangle[PUT * SHAPE_TRIANGLES];
    uint32_t instance_of[PUT * SHAPE_TRIANGLES]; /* and the instance that it belongs to */
    instance list[PUT];
    instanced_shape shapes[2];
    instance_view view;
    instance_trees trees;
} instance_case;

static void open_instances(instance_case *c, case_triangles which) {
    const uint32_t half = SHAPE_TRIANGLES / 2;
    memset(c, 0, sizeof *c);
    c->two_shapes = triangle_set_make(which, SHAPE_TRIANGLES);
    c->copies = triangle_set_make(which, PUT * half);
    for (uint32_t s = 0; s < 2; ++s)
        c->shapes[s] = (instanced_shape){.first = s * half, .count = half, .box = box3_empty()};
    box3 box = box3_empty();
    for (uint32_t i = 0; i < PUT; ++i) {
        const transform transform = case_transform(i, c->two_shapes.size);
        assert_int_equal(instance_make(&c->list[i], &transform, i / 3 % 2), KD_OK);
        for (uint32_t t = 0; t < half; ++t) {
            const uint32_t copy = i * half + t, from = c->list[i].shape * half + t;
            c->shape_triangle[copy] = from;
            c->instance_of[copy] = i;
            for (uint32_t k = 0; k < 3; ++k) {
                const vec3 at = instance_corner(&c->list[i], c->two_shapes.positions[3 * from + k]);
                c->copies.positions[3 * copy + k] = at;
                box3_include(&box, at);
            }
        }
    }
    c->copies.size = vec3_largest(box3_size(box));
    c->copies.centre = box3_centre(box);
    c->view = (instance_view){.shapes = c->shapes, .list = c->list, .count = PUT, .shape_count = 2};
    const tritree_options options = tritree_options_default();
    assert_int_equal(
        instance_trees_open(&c->trees, &c->view, &c->two_shapes.input, &options, "sweep", NULL),
        KD_OK);
}

static void close_instances(instance_case *c) {
    instance_trees_close(&c->trees);
    triangle_set_close(&c->two_shapes);
    triangle_set_close(&c->copies);
}

static bool is_flat(const triangle_set *set, uint32_t t) {
    const vec3 *p = set->positions + 3 * (size_t)t;
    return triangle_is_degenerate(p[0], p[1], p[2]);
}

/* Returns the closest hit by testing every triangle of every copy. */
static instance_hit test_all(const instance_case *c, ray ray) {
    instance_hit best = {{ray.tmax, 0, 0, KD_NONE}, KD_NONE};
    const precomputed_ray precomputed = precomputed_ray_make(ray);
    for (uint32_t i = 0; i < c->copies.input.triangle_count; ++i) {
        const vec3 *p = c->copies.positions + 3 * (size_t)i;
        if (is_flat(&c->two_shapes, c->shape_triangle[i]) || is_flat(&c->copies, i)) continue;
        tritree_triangle_intersect(&precomputed, p[0], p[1], p[2], i, ray.tmin, &best.at);
    }
    if (best.at.triangle == KD_NONE) return best;
    best.instance_id = c->instance_of[best.at.triangle];
    best.at.triangle = c->shape_triangle[best.at.triangle];
    return best;
}

static instance_hit walk(const instance_case *c, ray ray, bool any) {
    const ray_hit before = {ray.tmax, 0, 0, KD_NONE};
    return instance_cast(&c->view, c->two_shapes.positions, c->two_shapes.triangles, ray, before,
                         any);
}

static void expect_same(const instance_case *c, ray ray, const char *name, uint32_t number) {
    const instance_hit all = test_all(c, ray), hit = walk(c, ray, false);
    if (memcmp(&all, &hit, sizeof all) != 0)
        fail_msg("%s, ray %u: triangle %u of placement %u at %a, by the trees %u of %u at %a", name,
                 number, all.at.triangle, all.instance_id, (double)all.at.t, hit.at.triangle,
                 hit.instance_id, (double)hit.at.t);
    assert_true((walk(c, ray, true).at.triangle != KD_NONE) == (all.at.triangle != KD_NONE));
}

static void test_rays_match_copies(void **state) {
    (void)state;
    static instance_case c;
    uint32_t hits = 0;
    for (int which = 0; which < CASE_TRIANGLE_SETS; ++which) {
        open_instances(&c, (case_triangles)which);
        for (uint32_t i = 0; i < RAYS; ++i) {
            ray ray = nasty_ray(&c.copies, i);
            expect_same(&c, ray, case_triangles_name((case_triangles)which), i);
            const instance_hit first = test_all(&c, ray);
            if (first.at.triangle == KD_NONE) continue;
            ++hits;
            const float begin = ray.tmin;
            /* first only behind the closest hit, then only in front of it */
            ray.tmin = first.at.t;
            expect_same(&c, ray, case_triangles_name((case_triangles)which), i);
            ray.tmin = begin;
            ray.tmax = first.at.t;
            assert_true(walk(&c, ray, false).at.triangle == KD_NONE);
        }
        close_instances(&c);
    }
    print_message("%u hits\n", hits);
    assert_true(hits > 1500);
}

/* Of several instances in the same place the first is hit; triangles without an instance precede
   all. */
static void test_ties_match_copies(void **state) {
    (void)state;
    static instance_case c;
    open_instances(&c, CASE_SAME);
    const transform unmoved = transform_identity();
    for (uint32_t i = 0; i < PUT; ++i)
        assert_int_equal(instance_make(&c.list[i], &unmoved, (i + 1) % 2), KD_OK);
    instance_trees_close(&c.trees);
    c.view = (instance_view){.shapes = c.shapes, .list = c.list, .count = PUT, .shape_count = 2};
    const tritree_options options = tritree_options_default();
    assert_int_equal(
        instance_trees_open(&c.trees, &c.view, &c.two_shapes.input, &options, "sweep", NULL),
        KD_OK);
    const ray ray = ray_make(vec3_make(0.25f, 0.25f, 2), vec3_make(0, 0, -1), 0, INFINITY);
    const instance_hit hit = walk(&c, ray, false);
    assert_int_equal(hit.instance_id, 0);
    assert_int_equal(hit.at.triangle, SHAPE_TRIANGLES / 2);
    ray_hit before = hit.at;
    before.triangle = 5;
    const instance_hit kept =
        instance_cast(&c.view, c.two_shapes.positions, c.two_shapes.triangles, ray, before, false);
    assert_true(kept.instance_id == KD_NONE && kept.at.triangle == 5);
    close_instances(&c);
}

static uint32_t count_boxes(const instance_case *c, uint32_t at, box3 around, uint8_t *seen) {
    const instance_node *node = c->view.nodes + at;
    box3 joined = around;
    box3_join(&joined, node->box);
    assert_memory_equal(&joined, &around, sizeof joined);
    if (node->count == 0)
        return 1 + count_boxes(c, node->first, node->box, seen) +
               count_boxes(c, node->first + 1, node->box, seen);
    for (uint32_t i = 0; i < node->count; ++i) {
        const uint32_t put = c->view.order[node->first + i];
        assert_true(put < PUT && !seen[put]);
        seen[put] = 1;
        box3 whole = node->box;
        for (uint32_t t = 0; t < c->copies.input.triangle_count; ++t)
            for (uint32_t k = 0; k < 3 && c->instance_of[t] == put; ++k)
                if (!is_flat(&c->two_shapes, c->shape_triangle[t]))
                    box3_include(&whole, c->copies.positions[3 * t + k]);
        assert_memory_equal(&whole, &node->box, sizeof whole);
    }
    return 1;
}

static void test_instance_boxes(void **state) {
    (void)state;
    static instance_case c;
    for (int which = 0; which < CASE_TRIANGLE_SETS; ++which) {
        uint8_t seen[PUT] = {0};
        open_instances(&c, (case_triangles)which);
        assert_int_equal(count_boxes(&c, 0, c.view.nodes[0].box, seen), c.view.node_count);
        for (uint32_t i = 0; i < PUT; ++i) assert_true(seen[i]);
        close_instances(&c);
    }
}

static void test_invalid_input_is_rejected(void **state) {
    (void)state;
    instance out;
    const transform flat = transform_scale(vec3_make(1, 0, 1));
    const transform thin = transform_scale(vec3_make(1, 0x1p-20f, 1));
    assert_int_equal(instance_make(&out, &flat, 0), KD_ERROR_INPUT);
    assert_int_equal(instance_make(&out, &thin, 0), KD_ERROR_INPUT);
    assert_non_null(strstr(kd_last_error(), "in a ratio of"));
}

/* A mesh without area is never hit. */
static void test_empty_instances(void **state) {
    (void)state;
    vec3 points[3] = {{0, 0, 0}, {0, 0, 0}, {1, 1, 1}};
    const uint32_t corners[3] = {0, 1, 2};
    const tritree_input input = {points, corners, 3, 1};
    const instanced_shape shape = {.first = 0, .count = 1};
    const transform unmoved = transform_identity();
    const tritree_options options = tritree_options_default();
    instance put;
    instance_trees trees;
    assert_int_equal(instance_make(&put, &unmoved, 0), KD_OK);
    instance_view view = {.shapes = &shape, .list = &put, .count = 1, .shape_count = 1};
    assert_int_equal(instance_trees_open(&trees, &view, &input, &options, "sweep", NULL), KD_OK);
    assert_int_equal(view.count, 0);
    instance_trees_close(&trees);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rays_match_copies), cmocka_unit_test(test_ties_match_copies),
        cmocka_unit_test(test_instance_boxes), cmocka_unit_test(test_invalid_input_is_rejected),
        cmocka_unit_test(test_empty_instances)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
