/* Every traversal kernel of the device against the CPU's reference traversal, which test_trace.c
   tests against brute force. */
#include "accel/builders.h"
#include "accel/rays/batch.h"
#include "accel/rays/batch_device.h"
#include "accel/wide/compressed_form.h"
#include "core/device/device.h"
#include "core/device/device_memory.h"
#include "tests/gpu.h"
#include "triangle_sets.h"

enum { RAYS = 2048 };

typedef struct answers {
    ray rays[RAYS];
    ray_hit expected[RAYS], hits[RAYS];
    uint8_t expected_blocked[RAYS], blocked[RAYS];
} answers;

/* Casts the first `count` rays; if no kernel is named, the measured coherence selects one. */
static void cast_some(const tritree_cuda *tree, answers *a, trace_loop loop, uint32_t width,
                      uint32_t count) {
    trace_batch batch;
    memset(&batch, 0, sizeof batch);
    batch.rays = a->rays;
    batch.count = count;
    batch.loop = loop;
    batch.measured = true;
    batch.width = width;
    batch.hits = a->hits;
    memset(a->hits, 7, sizeof a->hits);
    assert_int_equal(trace_cuda(tree, &batch), KD_OK);
    batch.hits = NULL;
    batch.blocked = a->blocked;
    memset(a->blocked, 7, sizeof a->blocked);
    assert_int_equal(trace_cuda(tree, &batch), KD_OK);
}

static void cast(const tritree_cuda *tree, answers *a, trace_loop loop, uint32_t width) {
    cast_some(tree, a, loop, width, RAYS);
}

static void same_bits(const answers *a, const char *label, const char *set, uint32_t count) {
    for (uint32_t i = 0; i < RAYS; ++i) {
        if (memcmp(&a->hits[i], &a->expected[i], sizeof a->hits[i]) != 0)
            fail_msg("%s, %s %u, ray %u: triangle %u at %.9g, expected %u at %.9g", label, set,
                     count, i, a->hits[i].triangle, (double)a->hits[i].t, a->expected[i].triangle,
                     (double)a->expected[i].t);
        assert_int_equal(a->blocked[i], a->expected_blocked[i]);
    }
}

/* Images of any size and batches of any length give the results in `a`, and nothing is written past
   the end. */
static void all_tiles_and_counts_agree(const tritree_cuda *tree, answers *a, answers *b) {
    static const struct {
        trace_loop loop;
        uint32_t width, count;
    } strategies[] = {
        {TRACE_PERSISTENT, 0, RAYS}, {TRACE_AUTO, 0, RAYS},    {TRACE_PERSISTENT, 0, 0},
        {TRACE_ONCE, 0, 0},          {TRACE_PERSISTENT, 0, 1}, {TRACE_ONCE, 0, 1},
        {TRACE_PERSISTENT, 0, 33},   {TRACE_ONCE, 0, 129},     {TRACE_ONCE, 8, 8 * 4},
        {TRACE_ONCE, 8, 8 * 252},    {TRACE_ONCE, 16, 16 * 8}, {TRACE_ONCE, 24, 24 * 84},
        {TRACE_ONCE, 40, 40 * 48},   {TRACE_AUTO, 64, RAYS},   {TRACE_ONCE, 512, 512 * 4},
        {TRACE_ONCE, 24, 24 * 82},   {TRACE_ONCE, 20, 20 * 8}, {TRACE_ONCE, 4096, RAYS},
        {TRACE_NODES, 0, 129},       {TRACE_NODES, 8, 8 * 252}};
    memcpy(b->rays, a->rays, sizeof b->rays);
    for (size_t k = 0; k < sizeof strategies / sizeof *strategies; ++k) {
        const uint32_t count = strategies[k].count;
        cast_some(tree, b, strategies[k].loop, strategies[k].width, count);
        assert_memory_equal(b->hits, a->expected, count * sizeof *b->hits);
        assert_memory_equal(b->blocked, a->expected_blocked, count);
        const uint8_t *behind = (const uint8_t *)(b->hits + count);
        for (size_t i = 0; i < (RAYS - count) * sizeof *b->hits; ++i)
            assert_int_equal(behind[i], 7);
        for (uint32_t i = count; i < RAYS; ++i) assert_int_equal(b->blocked[i], 7);
    }
}

/* The hits do not depend on the slabs in which the compressed form was made, nor on its leaves. */
static void all_forms_agree(const tritree_cuda *tree, answers *a, const char *set, uint32_t count) {
    for (int indexed = 0; indexed < 2; ++indexed) {
        tritree_cuda other = *tree;
        void *units = NULL;
        uint64_t bytes = 0;
        assert_int_equal(compressed_device_open(&units, &bytes, &tree->view,
                                                indexed ? 0 : tree->view.node_count / 8 + 1,
                                                indexed != 0, NULL),
                         KD_OK);
        assert_int_equal(units == NULL, tree->compressed == NULL);
        if (indexed) assert_true(bytes <= tree->compressed_bytes);
        other.view.compressed = units;
        other.view.indexed = indexed != 0;
        cast(&other, a, TRACE_PERSISTENT, 0);
        same_bits(a, indexed ? "indexed" : "in slabs", set, count);
        device_memory_free(units);
    }
}

static void compare(answers *a, answers *b, case_triangles which, uint32_t count) {
    triangle_set set = triangle_set_make(which, count);
    const char *name = case_triangles_name(which);
    const tritree_options options = tritree_options_default();
    tritree tree;
    assert_int_equal(tritree_open(&tree, &set.input, &options, "auto", NULL), KD_OK);
    const tritree_view view = tritree_get_view(&tree);
    for (uint32_t i = 0; i < RAYS; ++i) a->rays[i] = triangle_set_ray(&set, i);
    assert_int_equal(trace_closest(&view, a->rays, a->expected, RAYS, NULL, NULL), KD_OK);
    assert_int_equal(trace_occluded(&view, a->rays, a->expected_blocked, RAYS, NULL, NULL), KD_OK);
    tritree_cuda on_device;
    assert_int_equal(tritree_cuda_open(&on_device, &tree), KD_OK);
    assert_int_equal(tritree_cuda_pack(&on_device, NULL), KD_OK);
    cast(&on_device, a, TRACE_PLAIN, 0);
    same_bits(a, "plain", name, count);
    cast(&on_device, a, TRACE_ONCE, 0);
    same_bits(a, "once", name, count);
    cast(&on_device, a, TRACE_ONCE, 64);
    same_bits(a, "tiles", name, count);
    cast(&on_device, a, TRACE_PERSISTENT, 0);
    same_bits(a, "persistent", name, count);
    cast(&on_device, a, TRACE_NODES, 0);
    same_bits(a, "by nodes", name, count);
    cast(&on_device, a, TRACE_NODES, 64);
    same_bits(a, "by nodes and tiles", name, count);
    cast(&on_device, a, TRACE_AUTO, 64);
    same_bits(a, "order measured", name, count);
    cast(&on_device, a, TRACE_ONCE, 8);
    same_bits(a, "narrow tiles", name, count);
    all_tiles_and_counts_agree(&on_device, a, b);
    all_forms_agree(&on_device, a, name, count);
    tritree_cuda_close(&on_device);
    tritree_close(&tree);
    triangle_set_close(&set);
}

static void test_traversals_match_cpu(void **state) {
    (void)state;
    static const uint32_t counts[] = {0, 1, 2, 3, 17, 127, 1025};
    answers *a = (answers *)malloc(2 * sizeof *a);
    assert_non_null(a);
    for (int which = 0; which < CASE_TRIANGLE_SETS; ++which)
        for (size_t i = 0; i < sizeof counts / sizeof *counts; ++i)
            if (!gpu_leaves_out((uint32_t)which + (uint32_t)i, 4) &&
                !test_leaves_out((uint32_t)which + (uint32_t)i, 8))
                compare(a, a + 1, (case_triangles)which, counts[i]);
    free(a);
}

/* Trees that keep only the compressed form and the mesh: batches, and rays with such small
   directions that they are cast one at a time. */
static void compare_lean(answers *a, case_triangles which, uint32_t count) {
    triangle_set set = triangle_set_make(which, count);
    const tritree_options options = tritree_options_default();
    tritree tree;
    tritree_cuda on_device;
    assert_int_equal(tritree_open(&tree, &set.input, &options, "auto", NULL), KD_OK);
    const tritree_view view = tritree_get_view(&tree);
    for (uint32_t i = 0; i < RAYS; ++i) {
        ray *r = &a->rays[i];
        *r = triangle_set_ray(&set, i);
        if (i % 3) *r = ray_make(r->origin, vec3_scale(r->direction, 0x1p-70f), 0, INFINITY);
    }
    assert_int_equal(trace_closest(&view, a->rays, a->expected, RAYS, NULL, NULL), KD_OK);
    assert_int_equal(trace_occluded(&view, a->rays, a->expected_blocked, RAYS, NULL, NULL), KD_OK);
    tritree_cuda_lean_from(0);
    assert_int_equal(tritree_cuda_open(&on_device, &tree), KD_OK);
    assert_int_equal(tritree_cuda_settle(&on_device, NULL), KD_OK);
    assert_null(on_device.view.rows);
    assert_int_equal(on_device.view.nodes == NULL, on_device.compressed != NULL);
    tritree_cuda_lean_from(COMPRESSED_MANY);
    cast(&on_device, a, TRACE_ONCE, 0);
    same_bits(a, "once, lean", case_triangles_name(which), count);
    cast(&on_device, a, TRACE_PERSISTENT, 0);
    same_bits(a, "persistent, lean", case_triangles_name(which), count);
    tritree_cuda_close(&on_device);
    tritree_close(&tree);
    triangle_set_close(&set);
}

static void test_lean_trees_match_cpu(void **state) {
    (void)state;
    static const uint32_t counts[] = {1, 17, 1025};
    answers *a = (answers *)malloc(sizeof *a);
    assert_non_null(a);
    for (int which = 0; which < CASE_TRIANGLE_SETS; ++which)
        for (size_t i = 0; i < sizeof counts / sizeof *counts; ++i)
            if (!gpu_leaves_out((uint32_t)which + (uint32_t)i, test_size(4, 8)))
                compare_lean(a, (case_triangles)which, counts[i]);
    free(a);
}

/* Returns ray i with an invalid component, so that it must not hit anything. */
static ray unsound_ray(const triangle_set *set, uint32_t i) {
    ray out = triangle_set_ray(set, i);
    float *const places[] = {&out.origin.x,    &out.origin.y,    &out.origin.z,
                             &out.direction.x, &out.direction.y, &out.direction.z};
    const float sign = i % 2 ? 1.0f : -1.0f;
    out.tmax = i % 3 ? INFINITY : 5;
    switch (i / 6 % 6) {
    case 0: *places[i % 6] = NAN; break;
    case 1: *places[i % 6] = sign * INFINITY; break;
    case 2: out.direction = vec3_make(sign * 0, 0, -sign * 0); break;
    case 3: out.tmin = out.tmax = 2; break;
    case 4: out.tmin = 3, out.tmax = 2; break;
    default:
        out.origin = vec3_along(set->centre, -9 * set->size, vec3_make(sign, 1, 1));
        out.direction = vec3_make(-sign, 1, -1);
    }
    return out;
}

/* Invalid rays among valid ones, in every kernel. */
static void test_invalid_rays_miss(void **state) {
    (void)state;
    triangle_set set = triangle_set_make(CASE_SOUP, 127);
    const tritree_options options = tritree_options_default();
    tritree tree;
    assert_int_equal(tritree_open(&tree, &set.input, &options, "auto", NULL), KD_OK);
    tritree_cuda on_device;
    assert_int_equal(tritree_cuda_open(&on_device, &tree), KD_OK);
    assert_int_equal(tritree_cuda_pack(&on_device, NULL), KD_OK);
    answers *a = (answers *)malloc(sizeof *a);
    assert_non_null(a);
    for (uint32_t i = 0; i < RAYS; ++i)
        a->rays[i] = i % 5 ? unsound_ray(&set, i) : triangle_set_ray(&set, i);
    static const trace_loop loops[] = {TRACE_ONCE, TRACE_ONCE, TRACE_PERSISTENT, TRACE_NODES};
    for (int form = 0; form < 4; ++form) {
        cast(&on_device, a, loops[form], form == 1 ? 8 : 0);
        for (uint32_t i = 0; i < RAYS; ++i) {
            const ray_hit miss = {a->rays[i].tmax, 0, 0, KD_NONE};
            if (i % 5 == 0) continue;
            assert_memory_equal(&a->hits[i], &miss, sizeof miss);
            assert_int_equal(a->blocked[i], 0);
        }
    }
    free(a);
    tritree_cuda_close(&on_device);
    tritree_close(&tree);
    triangle_set_close(&set);
}

static void test_invalid_requests_are_rejected(void **state) {
    (void)state;
    tritree_cuda tree;
    memset(&tree, 0, sizeof tree);
    trace_batch batch;
    memset(&batch, 0, sizeof batch);
    assert_int_equal(trace_cuda(&tree, &batch), KD_ERROR_USAGE);
    ray_hit hit;
    uint8_t blocked;
    batch.hits = &hit;
    batch.blocked = &blocked;
    assert_int_equal(trace_cuda(&tree, &batch), KD_ERROR_USAGE);
}

int main(void) {
    if (gpu_is_missing()) return TEST_SKIPPED;
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_traversals_match_cpu),
                                       cmocka_unit_test(test_lean_trees_match_cpu),
                                       cmocka_unit_test(test_invalid_rays_miss),
                                       cmocka_unit_test(test_invalid_requests_are_rejected)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
