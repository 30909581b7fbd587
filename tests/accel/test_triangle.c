/* accel/tree/triangle.h and triangle_clip.h: closed surfaces have no leaks, a ray that leaves a
   triangle does not hit it again, and clipping loses no point. */
#include "accel/builders.h"
#include "accel/rays/batch.h"
#include "accel/tree/triangle_clip.h"
#include "triangle_sets.h"

static vec3 random_unit(uint32_t stream, uint32_t i) {
    const rng_block r = rng_draw(rng_key_make(7, stream, i), 0, 0);
    return vec3_normalize(
        vec3_make(r.value[0] - 0.5f, r.value[1] - 0.5f, r.value[2] - 0.5f + 1e-3f * r.value[3]));
}

/* A bumpy closed surface of 2 n (n - 1) triangles around `centre`. */
static triangle_set ball_make(uint32_t n, float size, vec3 centre) {
    triangle_set set = {0};
    const uint32_t around = n, rings = n - 1, positions = around * rings + 2;
    assert_int_equal(KD_RESERVE(set.positions, positions), KD_OK);
    assert_int_equal(KD_RESERVE(set.triangles, 6 * (uint64_t)around * rings), KD_OK);
    for (uint32_t i = 0; i < positions; ++i) {
        const uint32_t ring = i / around, step = i % around;
        const float theta = KD_PI * (float)(ring + 1) / (float)n,
                    phi = 2 * KD_PI * (float)step / (float)around;
        vec3 d = vec3_make(sinf(theta) * cosf(phi), sinf(theta) * sinf(phi), cosf(theta));
        if (i >= around * rings) d = vec3_make(0, 0, i == around * rings ? 1.0f : -1.0f);
        const float radius = 1 + 0.2f * rng_draw(rng_key_make(8, 0, i), 0, 0).value[0];
        set.positions[i] = vec3_along(centre, size * radius, d);
    }
    uint32_t count = 0;
    for (uint32_t ring = 0; ring <= rings; ++ring)
        for (uint32_t step = 0; step < around; ++step) {
            const uint32_t next = (step + 1) % around, top = around * rings, bottom = top + 1;
            const uint32_t a = ring ? (ring - 1) * around + step : top;
            const uint32_t b = ring ? (ring - 1) * around + next : top;
            const uint32_t c = ring < rings ? ring * around + step : bottom;
            const uint32_t d = ring < rings ? ring * around + next : bottom;
            const uint32_t corners[6] = {a, c, d, a, d, b};
            for (uint32_t k = 0; k < 6; k += 3) {
                if (k == 0 && ring == rings) continue;
                if (k == 3 && ring == 0) continue;
                memcpy(set.triangles + 3 * (uint64_t)count++, corners + k, 3 * sizeof *corners);
            }
        }
    set.input = (tritree_input){set.positions, set.triangles, positions, count};
    set.size = size;
    set.centre = centre;
    return set;
}

/* Rays from inside a closed surface through its corners, edges and faces all hit it. */
static void test_closed_surfaces_are_watertight(void **state) {
    (void)state;
    static const struct {
        float size;
        vec3 centre;
    } places[] = {{1, {0, 0, 0}},     {1e-6f, {0, 0, 0}}, {1e6f, {0, 0, 0}},   {1e-30f, {0, 0, 0}},
                  {1e30f, {0, 0, 0}}, {1, {100, -50, 3}}, {1, {1000, 1000, 0}}};
    for (const tritree_builder *const *row = tritree_builders; *row; ++row)
        for (size_t place = 0; place < sizeof places / sizeof *places; ++place) {
            triangle_set set = ball_make(24, places[place].size, places[place].centre);
            const tritree_options options = tritree_options_default();
            tritree tree;
            assert_int_equal(tritree_open(&tree, &set.input, &options, (*row)->name, NULL), KD_OK);
            const tritree_view view = tritree_get_view(&tree);
            for (uint32_t i = 0; i < 20000; ++i) {
                const rng_block r = rng_draw(rng_key_make(9, 0, i), 0, 0);
                const uint32_t id = (uint32_t)(r.value[0] * (float)set.input.triangle_count);
                const uint32_t *corner = set.triangles + 3 * (uint64_t)id;
                const vec3 p = set.positions[corner[0]], q = set.positions[corner[1]];
                const vec3 target = i % 3 == 0 ? p
                                    : i % 3 == 1
                                        ? vec3_along(p, r.value[1], vec3_sub(q, p))
                                        : vec3_along(set.centre, set.size, random_unit(1, i));
                const vec3 origin =
                    vec3_along(set.centre, 0.5f * set.size * r.value[2], random_unit(2, i));
                const vec3 direction =
                    i % 2 ? vec3_sub(target, origin) : vec3_normalize(vec3_sub(target, origin));
                const ray ray = ray_make(origin, direction, 0, INFINITY);
                if (tritree_closest(&view, ray).triangle == KD_NONE ||
                    !tritree_occluded(&view, ray))
                    fail_msg("%s, size %g: ray %u leaks", (*row)->name, (double)set.size, i);
            }
            tritree_close(&tree);
            triangle_set_close(&set);
        }
}

/* If all coordinates are scaled by a power of two, rays have the same hits with the same
   weights. */
static void test_intersection_is_scale_invariant(void **state) {
    (void)state;
    triangle_set set = ball_make(24, 1, vec3_make(0.5f, 3, -2));
    const tritree_options options = tritree_options_default();
    tritree tree;
    assert_int_equal(tritree_open(&tree, &set.input, &options, "auto", NULL), KD_OK);
    const tritree_view view = tritree_get_view(&tree);
    for (int exponent = -60; exponent <= 60; exponent += 20) {
        triangle_set other = ball_make(24, 1, vec3_make(0.5f, 3, -2));
        const float scale = ldexpf(1, exponent);
        for (uint32_t i = 0; i < other.input.position_count; ++i)
            other.positions[i] = vec3_scale(other.positions[i], scale);
        tritree scaled;
        assert_int_equal(tritree_open(&scaled, &other.input, &options, "auto", NULL), KD_OK);
        const tritree_view scaled_view = tritree_get_view(&scaled);
        for (uint32_t i = 0; i < 2000; ++i) {
            const vec3 d = random_unit(3, i), o = vec3_along(set.centre, 1.5f, random_unit(4, i));
            const ray_hit a = tritree_closest(&view, ray_make(o, d, 0, INFINITY));
            const ray_hit b =
                tritree_closest(&scaled_view, ray_make(vec3_scale(o, scale), d, 0, INFINITY));
            assert_int_equal(a.triangle, b.triangle);
            if (a.triangle == KD_NONE) continue;
            /* beyond 2^20 some weights come from double arithmetic */
            const float offset = abs(exponent) > 20 ? 1e-4f : 0;
            assert_true(fabsf(a.u - b.u) <= offset && fabsf(a.v - b.v) <= offset);
            assert_true(fabsf(a.t * scale - b.t) <= offset * b.t);
        }
        tritree_close(&scaled);
        triangle_set_close(&other);
    }
    tritree_close(&tree);
    triangle_set_close(&set);
}

/* A ray that leaves a triangle towards either side never hits it again, at any angle. */
static void test_leaving_rays_do_not_hit_their_origin(void **state) {
    (void)state;
    for (int which = 0; which < CASE_TRIANGLE_SETS; ++which)
        for (uint32_t i = 0; i < 3000; ++i) {
            vec3 corner[3];
            case_triangle((case_triangles)which, i, 3000, corner);
            const vec3 u = vec3_normalize(vec3_sub(corner[1], corner[0])),
                       w = vec3_normalize(vec3_sub(corner[2], corner[0]));
            const vec3 normal = vec3_normalize(vec3_cross(u, w));
            /* a sliver's normal is not known to float precision */
            if (!(vec3_length(vec3_cross(u, w)) > 1e-2f)) continue;
            const rng_block r = rng_draw(rng_key_make(10, (uint32_t)which, i), 0, 0);
            const float root = sqrtf(r.value[0]);
            const vec3 point = triangle_point(corner[0], corner[1], corner[2],
                                              root * (1 - r.value[1]), root * r.value[1]);
            vec3 direction = random_unit(5, i);
            if (i % 2) /* a grazing direction */
                direction = vec3_normalize(vec3_along(
                    direction, (1 - 1e-4f * r.value[2]) * -vec3_dot(direction, normal), normal));
            const float error = triangle_point_error(corner[0], corner[1], corner[2]);
            const ray ray =
                ray_make(ray_leave(point, error, normal, direction), direction, 0, INFINITY);
            const precomputed_ray precomputed = precomputed_ray_make(ray);
            float t = 0, s = 0, v = 0;
            if (triangle_intersect(&precomputed, corner[0], corner[1], corner[2], &t, &s, &v) &&
                t > 0)
                fail_msg("%s, triangle %u is met again at %g",
                         case_triangles_name((case_triangles)which), i, (double)t);
        }
}

/* A point that lies in a triangle and in a box also lies in the bounds of the triangle clipped to
   the box, and to half of the box. */
static void test_clipping_is_conservative(void **state) {
    (void)state;
    uint32_t inside = 0;
    for (int which = 0; which < CASE_TRIANGLE_SETS; ++which)
        for (uint32_t i = 0; i < 300; ++i) {
            vec3 corner[3];
            case_triangle((case_triangles)which, i, 300, corner);
            const box3 whole = triangle_box(corner[0], corner[1], corner[2]);
            const rng_block r = rng_draw(rng_key_make(11, (uint32_t)which, i), 0, 0),
                            s = rng_draw(rng_key_make(11, (uint32_t)which, i), 0, 1);
            const vec3 size = box3_size(whole);
            box3 box;
            box.lo = vec3_add(
                whole.lo,
                vec3_mul(size, vec3_make(r.value[0] - 0.5f, r.value[1] - 0.5f, r.value[2] - 0.5f)));
            box.hi =
                vec3_add(box.lo, vec3_mul(size, vec3_make(s.value[0], s.value[1], s.value[2])));
            const int axis = (int)(3 * r.value[3]);
            const float plane = vec3_axis(box.lo, axis) +
                                s.value[3] * (vec3_axis(box.hi, axis) - vec3_axis(box.lo, axis));
            box3 clipped, half[2];
            const bool any = triangle_clip_box(corner[0], corner[1], corner[2], box, &clipped);
            const int parts = triangle_clip_halves(corner[0], corner[1], corner[2], box, axis,
                                                   plane, &half[0], &half[1]);
            assert_int_equal(any, parts != 0);
            for (uint32_t k = 0; k < 200; ++k) {
                const rng_block w = rng_draw(rng_key_make(12, k, i), 0, 0);
                const double root = sqrt((double)w.value[0]), b = root * (1 - (double)w.value[1]),
                             c = root * (double)w.value[1];
                double p[3];
                bool is_in = true;
                for (int d = 0; d < 3; ++d) {
                    p[d] = (1 - b - c) * (double)vec3_axis(corner[0], d) +
                           b * (double)vec3_axis(corner[1], d) +
                           c * (double)vec3_axis(corner[2], d);
                    is_in &=
                        p[d] > (double)vec3_axis(box.lo, d) && p[d] < (double)vec3_axis(box.hi, d);
                }
                if (!is_in) continue;
                ++inside;
                const int side = p[axis] > (double)plane;
                assert_true(any && parts >> side & 1);
                for (int d = 0; d < 3; ++d) {
                    assert_true(p[d] >= (double)vec3_axis(clipped.lo, d));
                    assert_true(p[d] <= (double)vec3_axis(clipped.hi, d));
                    assert_true(p[d] >= (double)vec3_axis(half[side].lo, d));
                    assert_true(p[d] <= (double)vec3_axis(half[side].hi, d));
                }
            }
        }
    assert_true(inside > 1000);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_closed_surfaces_are_watertight),
                                       cmocka_unit_test(test_intersection_is_scale_invariant),
                                       cmocka_unit_test(test_leaving_rays_do_not_hit_their_origin),
                                       cmocka_unit_test(test_clipping_is_conservative)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
