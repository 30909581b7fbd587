/* Every caster on the device against the CPU's walk, which is tested against all triangles. */
#include "accel/trace.h"
#include "accel/trace_cuda.h"
#include "core/device.h"
#include "core/device_memory.h"
#include "tests/gpu.h"
#include "triangle_sets.h"

enum { RAYS = 2048 };

typedef struct answers {
    ray rays[RAYS];
    ray_hit wanted[RAYS], hits[RAYS];
    uint8_t wanted_blocked[RAYS], blocked[RAYS];
} answers;

static void cast(const tritree_cuda *tree, answers *a, trace_test test, trace_loop loop,
                 uint32_t width) {
    trace_batch batch;
    memset(&batch, 0, sizeof batch);
    batch.rays = a->rays;
    batch.count = RAYS;
    batch.test = test;
    batch.loop = loop;
    batch.width = width;
    batch.hits = a->hits;
    memset(a->hits, 7, sizeof a->hits);
    assert_int_equal(trace_cuda(tree, &batch), KD_OK);
    batch.hits = NULL;
    batch.blocked = a->blocked;
    memset(a->blocked, 7, sizeof a->blocked);
    assert_int_equal(trace_cuda(tree, &batch), KD_OK);
}

static void same_bits(const answers *a, const char *what, const char *set, uint32_t count) {
    for (uint32_t i = 0; i < RAYS; ++i) {
        if (memcmp(&a->hits[i], &a->wanted[i], sizeof a->hits[i]) != 0)
            fail_msg("%s, %s %u, ray %u: triangle %u at %.9g, expected %u at %.9g", what, set,
                     count, i, a->hits[i].triangle, (double)a->hits[i].t, a->wanted[i].triangle,
                     (double)a->wanted[i].t);
        assert_int_equal(a->blocked[i], a->wanted_blocked[i]);
    }
}

/* Prepared planes may disagree where a ray is aimed at a corner, at an edge, or along a plane. */
static void nearly_the_same(const answers *a, const char *set, uint32_t count) {
    uint32_t different = 0;
    for (uint32_t i = 0; i < RAYS; i += 6) {
        const ray_hit got = a->hits[i], want = a->wanted[i];
        assert_true(a->blocked[i] == (got.triangle != KD_NONE));
        if (got.triangle == want.triangle) {
            assert_true(want.triangle == KD_NONE ||
                        (fabsf(got.u - want.u) < 1e-3f && fabsf(got.v - want.v) < 1e-3f));
            continue;
        }
        different += got.triangle == KD_NONE || want.triangle == KD_NONE ||
                     fabsf(got.t - want.t) > 1e-5f * fabsf(want.t);
    }
    if (different > 1)
        fail_msg("planes, %s %u: %u of %d answers differ", set, count, different, RAYS / 6);
}

static void compare(answers *a, case_triangles which, uint32_t count) {
    triangle_set set = triangle_set_make(which, count);
    const char *name = case_triangles_name(which);
    const tritree_options options = tritree_options_default();
    tritree tree;
    assert_int_equal(tritree_open(&tree, &set.input, &options, "auto", NULL), KD_OK);
    const tritree_view view = tritree_get_view(&tree);
    for (uint32_t i = 0; i < RAYS; ++i) a->rays[i] = triangle_set_ray(&set, i);
    assert_int_equal(trace_closest(&view, a->rays, a->wanted, RAYS, NULL, NULL), KD_OK);
    assert_int_equal(trace_occluded(&view, a->rays, a->wanted_blocked, RAYS, NULL, NULL), KD_OK);
    tritree_cuda on_device;
    assert_int_equal(tritree_cuda_open(&on_device, &tree), KD_OK);
    cast(&on_device, a, TRACE_WATERTIGHT, TRACE_PLAIN, 0);
    same_bits(a, "plain", name, count);
    cast(&on_device, a, TRACE_WATERTIGHT, TRACE_ONCE, 0);
    same_bits(a, "watertight, once", name, count);
    cast(&on_device, a, TRACE_WATERTIGHT, TRACE_ONCE, 64);
    same_bits(a, "watertight, tiles", name, count);
    cast(&on_device, a, TRACE_WATERTIGHT, TRACE_PERSISTENT, 0);
    same_bits(a, "watertight, persistent", name, count);
    for (int loop = TRACE_ONCE; loop <= TRACE_PERSISTENT; ++loop) {
        cast(&on_device, a, TRACE_PLANES, (trace_loop)loop, 0);
        if (which == CASE_SOUP) nearly_the_same(a, name, count);
    }
    tritree_cuda_close(&on_device);
    tritree_close(&tree);
    triangle_set_close(&set);
}

static void casters_answer_as_the_cpu_does(void **state) {
    (void)state;
    static const uint32_t counts[] = {0, 1, 2, 3, 17, 127, 1025};
    answers *a = (answers *)malloc(sizeof *a);
    assert_non_null(a);
    for (int which = 0; which < CASE_TRIANGLE_SETS; ++which)
        for (size_t i = 0; i < sizeof counts / sizeof *counts; ++i)
            compare(a, (case_triangles)which, counts[i]);
    free(a);
}

static void senseless_requests_are_refused(void **state) {
    (void)state;
    tritree_cuda tree;
    memset(&tree, 0, sizeof tree);
    trace_batch batch;
    memset(&batch, 0, sizeof batch);
    assert_int_equal(trace_cuda(&tree, &batch), KD_ERROR_USAGE);
}

int main(void) {
    if (gpu_is_missing()) return TEST_SKIPPED;
    const struct CMUnitTest tests[] = {cmocka_unit_test(casters_answer_as_the_cpu_does),
                                       cmocka_unit_test(senseless_requests_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
