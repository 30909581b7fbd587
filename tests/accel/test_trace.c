/* The reference traversal (accel/tree/walk.h) on the trees of every builder, against brute
   force. */
#include "accel/builders.h"
#include "accel/rays/batch.h"
#include "accel/wide/wide_tree.h"
#include "core/parallel/parallel.h"
#include "triangle_sets.h"

enum { RAYS = 540 };

static ray_hit brute_force(const tritree_input *input, ray ray) {
    ray_hit best = {ray.tmax, 0, 0, KD_NONE};
    const precomputed_ray precomputed = precomputed_ray_make(ray);
    for (uint32_t id = 0; id < input->triangle_count; ++id) {
        const vec3 a = input->positions[input->triangles[3 * id]],
                   b = input->positions[input->triangles[3 * id + 1]],
                   c = input->positions[input->triangles[3 * id + 2]];
        float t = 0, u = 0, v = 0;
        if (triangle_is_degenerate(a, b, c)) continue;
        if (triangle_intersect(&precomputed, a, b, c, &t, &u, &v) && t > ray.tmin && t < best.t)
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
    tritree_view bare = view; /* without the CPU's packed leaves */
    bare.rows = NULL;
    bare.wide = NULL;
    uint32_t hits = 0;
    for (uint32_t i = 0; i < RAYS; ++i) {
        const ray ray = triangle_set_ray(&set, i);
        const ray_hit expected = brute_force(&set.input, ray), got = tritree_closest(&view, ray);
        if (expected.triangle != got.triangle || expected.t != got.t)
            fail_msg("%s, %s %u, ray %u: triangle %u at %.9g, expected %u at %.9g", builder->name,
                     case_triangles_name(which), count, i, got.triangle, (double)got.t,
                     expected.triangle, (double)expected.t);
        assert_true(tritree_occluded(&view, ray) == (expected.triangle != KD_NONE));
        const ray_hit also = tritree_closest(&bare, ray);
        assert_memory_equal(&also, &got, sizeof got);
        hits += got.triangle != KD_NONE;
    }
    if (count >= 100) assert_in_range(hits, RAYS / 50, RAYS);
    tritree_close(&tree);
    triangle_set_close(&set);
}

static void test_trees_match_brute_force(void **state) {
    (void)state;
    static const uint32_t counts[] = {0, 1, 2, 3, 5, 16, 17, 64, 127, 500, 1025};
    for (const tritree_builder *const *row = tritree_builders; *row; ++row)
        for (int which = 0; which < CASE_TRIANGLE_SETS; ++which)
            for (size_t i = 0; i < sizeof counts / sizeof *counts; ++i)
                if (!test_leaves_out((uint32_t)((row - tritree_builders) + which) + (uint32_t)i, 7))
                    compare(*row, (case_triangles)which, counts[i]);
}

/* Batches return the results of single rays, on any number of threads, with and without
   counting. */
static void test_batches_match_single_rays(void **state) {
    (void)state;
    enum { BATCH = 5000 };
    triangle_set set = triangle_set_make(CASE_SOUP, 1000);
    const tritree_options options = tritree_options_default();
    tritree tree;
    assert_int_equal(tritree_open(&tree, &set.input, &options, "auto", NULL), KD_OK);
    const tritree_view view = tritree_get_view(&tree);
    ray *rays = NULL;
    ray_hit *hits = NULL;
    uint8_t *blocked = NULL;
    tritree_counts *counts = NULL;
    assert_int_equal(KD_RESERVE(rays, BATCH), KD_OK);
    assert_int_equal(KD_RESERVE(hits, BATCH), KD_OK);
    assert_int_equal(KD_RESERVE(blocked, BATCH), KD_OK);
    assert_int_equal(KD_RESERVE(counts, BATCH), KD_OK);
    for (uint32_t i = 0; i < BATCH; ++i) rays[i] = triangle_set_ray(&set, i);
    for (int threads = 1; threads <= 4; ++threads) {
        parallel_set_threads(threads);
        memset(hits, 0, BATCH * sizeof *hits);
        memset(blocked, 7, BATCH);
        tritree_counts *requested = threads % 2 ? counts : NULL;
        assert_int_equal(trace_closest(&view, rays, hits, BATCH, requested, NULL), KD_OK);
        assert_int_equal(trace_occluded(&view, rays, blocked, BATCH, NULL, NULL), KD_OK);
        for (uint32_t i = 0; i < BATCH; ++i) {
            tritree_counts one = {0, 0, 0};
            const ray_hit expected = tritree_closest_counted(&view, rays[i], &one);
            assert_memory_equal(&hits[i], &expected, sizeof expected);
            assert_int_equal(blocked[i], expected.triangle != KD_NONE);
            if (requested) assert_memory_equal(&counts[i], &one, sizeof one);
        }
    }
    parallel_set_threads(0);
    job_control job;
    job_init(&job);
    job.cancelled = true;
    assert_int_equal(trace_closest(&view, rays, hits, BATCH, NULL, &job), KD_INTERRUPTED);
    memory_free(rays);
    memory_free(hits);
    memory_free(blocked);
    memory_free(counts);
    tritree_close(&tree);
    triangle_set_close(&set);
}

/* Makes sixteen rays in a narrow fan; the first is the set's ray `i`. */
static void fan_out(const triangle_set *set, uint32_t i, ray fan[WIDE_PACKET]) {
    const ray middle = triangle_set_ray(set, i);
    for (uint32_t k = 0; k < WIDE_PACKET; ++k) {
        const rng_block r = rng_draw(rng_key_make(77, k, i), 0, 0);
        const vec3 turn = vec3_make(r.value[0] - 0.5f, r.value[1] - 0.5f, r.value[2] - 0.5f);
        const float offset = k ? 0.1f * set->size : 0;
        fan[k] = middle;
        if (i % 2)
            fan[k].direction = vec3_along(middle.direction, offset, turn);
        else
            fan[k].origin = vec3_along(middle.origin, offset, turn);
        if (i % 5 == 0 && k > 4 && k % 3)
            fan[k].tmax = k % 3 == 1 ? 0 : NAN; /* an empty interval */
    }
}

/* A packet returns the same result for each of its rays as a single ray does, bit for bit. */
static void test_packets_match_single_rays(void **state) {
    (void)state;
    uint32_t packets = 0, hit = 0;
    packet_use use = {0, 0};
    for (int which = 0; which < CASE_TRIANGLE_SETS; ++which) {
        if (test_leaves_out((uint32_t)which, 2)) continue;
        triangle_set set = triangle_set_make((case_triangles)which, 1000);
        const tritree_options options = tritree_options_default();
        tritree tree;
        assert_int_equal(tritree_open(&tree, &set.input, &options, "auto", NULL), KD_OK);
        const tritree_view view = tritree_get_view(&tree);
        for (uint32_t i = 0; i < 1000; ++i) {
            ray fan[WIDE_PACKET];
            ray_hit closest[WIDE_PACKET], any[WIDE_PACKET];
            fan_out(&set, i, fan);
            if (!trace_wide_packet(&view, fan, false, closest, &use)) continue;
            assert_true(trace_wide_packet(&view, fan, true, any, &use));
            ++packets;
            for (int k = 0; k < WIDE_PACKET; ++k) {
                const ray_hit expected = tritree_closest(&view, fan[k]);
                /* t of a miss may be NaN, which equals nothing */
                if (expected.triangle == KD_NONE) closest[k].t = expected.t;
                if (memcmp(&expected, &closest[k], sizeof expected) != 0)
                    fail_msg("%s, packet %u, ray %d: triangle %u at %.9g, expected %u at %.9g",
                             case_triangles_name((case_triangles)which), i, k, closest[k].triangle,
                             (double)closest[k].t, expected.triangle, (double)expected.t);
                assert_true((any[k].triangle == KD_NONE) == (expected.triangle == KD_NONE));
                hit += expected.triangle != KD_NONE;
            }
        }
        tritree_close(&tree);
        triangle_set_close(&set);
    }
    assert_true(packets > 2000 && hit > 2000);
    assert_true(use.together > 0 && use.separate > 0);
}

/* Rays through the wide tree, singly and in streams, return the reference traversal's results, bit
   for bit. Rays that are not in a stream's list are left unchanged. */
static void test_streams_match_single_rays(void **state) {
    (void)state;
    static ray rays[RAYS];
    static ray_hit closest[RAYS];
    static uint8_t any[RAYS];
    for (int which = 0; which < CASE_TRIANGLE_SETS; ++which) {
        if (test_leaves_out((uint32_t)which + 1, 2)) continue;
        triangle_set set = triangle_set_make((case_triangles)which, 1000);
        const tritree_options options = tritree_options_default();
        tritree tree;
        uint32_t listed[RAYS], count = 0;
        assert_int_equal(tritree_open(&tree, &set.input, &options, "auto", NULL), KD_OK);
        const tritree_view view = tritree_get_view(&tree);
        for (uint32_t i = 0; i < RAYS; ++i) {
            rays[i] = triangle_set_ray(&set, i);
            if (i % 11 == 0) rays[i].tmax = i % 2 ? 0 : NAN;
            if (i % 13 == 0) rays[i].direction = vec3_all(i % 2 ? 0 : NAN);
            if (i % 3) listed[count++] = i;
        }
        memset(closest, 0x55, sizeof closest);
        memset(any, 0x55, sizeof any);
        for (uint32_t few = 0; few < 10; ++few) {
            trace_wide(&view, rays, listed, few, closest);
            trace_wide_any(&view, rays, listed, few, any);
        }
        memset(closest, 0x55, sizeof closest);
        memset(any, 0x55, sizeof any);
        trace_wide(&view, rays, listed, count, closest);
        trace_wide_any(&view, rays, listed, count, any);
        for (uint32_t i = 0; i < RAYS; ++i) {
            tritree_counts unused;
            ray_hit expected = tritree_closest_counted(&view, rays[i], &unused);
            ray_hit one = tritree_closest(&view, rays[i]);
            if (expected.triangle == KD_NONE) one.t = expected.t;
            assert_memory_equal(&expected, &one, sizeof expected);
            assert_true(tritree_occluded(&view, rays[i]) == (expected.triangle != KD_NONE));
            if (i % 3 == 0) memset(&expected, 0x55, sizeof expected);
            /* t of a miss may be NaN, which equals nothing */
            if (expected.triangle == KD_NONE) closest[i].t = expected.t;
            assert_memory_equal(&expected, &closest[i], sizeof expected);
            assert_int_equal(any[i], i % 3 ? expected.triangle != KD_NONE : 0x55);
        }
        tritree_close(&tree);
        triangle_set_close(&set);
    }
}

/* Invalid rays hit nothing, and their traversal ends. */
static void test_invalid_rays_hit_nothing(void **state) {
    (void)state;
    triangle_set set = triangle_set_make(CASE_SOUP, 500);
    const tritree_options options = tritree_options_default();
    tritree tree;
    assert_int_equal(tritree_open(&tree, &set.input, &options, "auto", NULL), KD_OK);
    const tritree_view view = tritree_get_view(&tree);
    const vec3 at = vec3_all(0.5f), along = vec3_make(0.3f, 0.5f, 0.7f);
    const ray senseless[] = {ray_make(at, vec3_all(0), 0, INFINITY),
                             ray_make(at, vec3_all(NAN), 0, INFINITY),
                             ray_make(at, vec3_make(INFINITY, 0, 0), 0, INFINITY),
                             ray_make(vec3_make(NAN, 0, 0), along, 0, INFINITY),
                             ray_make(vec3_all(INFINITY), along, 0, INFINITY),
                             ray_make(at, along, 1, 0),
                             ray_make(at, along, 0, 0),
                             ray_make(at, along, NAN, NAN),
                             ray_make(at, along, 0, NAN)};
    for (size_t i = 0; i < sizeof senseless / sizeof *senseless; ++i) {
        assert_int_equal(tritree_closest(&view, senseless[i]).triangle, KD_NONE);
        assert_false(tritree_occluded(&view, senseless[i]));
    }
    tritree_close(&tree);
    triangle_set_close(&set);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_trees_match_brute_force),
                                       cmocka_unit_test(test_batches_match_single_rays),
                                       cmocka_unit_test(test_packets_match_single_rays),
                                       cmocka_unit_test(test_streams_match_single_rays),
                                       cmocka_unit_test(test_invalid_rays_hit_nothing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
