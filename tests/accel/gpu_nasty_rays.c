/* The difficult rays of nasty_rays.h on a CUDA device, by every traversal kernel, on trees built by
   the device and by the CPU: hits equal triangle_intersect applied to every triangle, bit for
   bit. */
#include "accel/builders.h"
#include "accel/rays/batch_device.h"
#include "nasty_rays.h"
#include "tests/gpu.h"
#include <kandela/triangles.h>

enum { RAYS = 2048, TRIANGLES = 300 };

typedef struct answers {
    ray rays[RAYS];
    ray_hit expected[RAYS], got[RAYS];
    uint8_t blocked[RAYS];
} answers;

static void expect_all(const answers *a, const char *form, const char *name) {
    for (uint32_t i = 0; i < RAYS; ++i) {
        const ray_hit reference = a->expected[i], got = a->got[i];
        if (memcmp(&got, &reference, sizeof got) != 0)
            fail_msg("%s, %s, ray %u (kind %u): triangle %u at %.9g, expected %u at %.9g", name,
                     form, i, i % NASTY_KINDS, got.triangle, (double)got.t, reference.triangle,
                     (double)reference.t);
        assert_int_equal(a->blocked[i], reference.triangle != KD_NONE);
    }
}

static void cast(const tritree_cuda *tree, answers *a, trace_loop loop, uint32_t width) {
    trace_batch batch;
    memset(&batch, 0, sizeof batch);
    batch.rays = a->rays;
    batch.count = RAYS;
    batch.loop = loop;
    batch.width = width;
    batch.hits = a->got;
    assert_int_equal(trace_cuda(tree, &batch), KD_OK);
    batch.hits = NULL;
    batch.blocked = a->blocked;
    assert_int_equal(trace_cuda(tree, &batch), KD_OK);
}

/* Every traversal kernel, on a tree built on the CPU. */
static void cast_by_all_loops(const triangle_set *set, answers *a, const char *name) {
    const tritree_options options = tritree_options_default();
    tritree tree;
    tritree_cuda on_device;
    assert_int_equal(tritree_open(&tree, &set->input, &options, "median", NULL), KD_OK);
    assert_int_equal(tritree_cuda_open(&on_device, &tree), KD_OK);
    assert_int_equal(tritree_cuda_pack(&on_device, NULL), KD_OK);
    cast(&on_device, a, TRACE_PLAIN, 0);
    expect_all(a, "plain", name);
    cast(&on_device, a, TRACE_NODES, 0);
    expect_all(a, "nodes", name);
    cast(&on_device, a, TRACE_ONCE, 0);
    expect_all(a, "once", name);
    cast(&on_device, a, TRACE_ONCE, 64);
    expect_all(a, "tiles", name);
    cast(&on_device, a, TRACE_PERSISTENT, 0);
    expect_all(a, "persistent", name);
    tritree_cuda_close(&on_device);
    tritree_close(&tree);
}

/* Trees built on the device, through the C interface. */
static void cast_by_builder(const triangle_set *set, answers *a, const char *builder,
                            const char *name) {
    kd_triangles *tree = NULL;
    kd_triangles_options options;
    kd_triangles_options_default(&options);
    snprintf(options.device, sizeof options.device, "cuda:0");
    snprintf(options.builder, sizeof options.builder, "%s", builder);
    const kd_triangle_mesh mesh = kd_triangle_mesh_make(
        &set->positions[0].x, set->input.position_count, set->triangles, set->input.triangle_count);
    assert_int_equal(kd_triangles_open(&tree, &mesh, &options), KD_OK);
    assert_int_equal(
        kd_triangles_intersect(tree, (const kd_ray *)a->rays, RAYS, (kd_ray_hit *)a->got, NULL),
        KD_OK);
    assert_int_equal(kd_triangles_occluded(tree, (const kd_ray *)a->rays, RAYS, a->blocked, NULL),
                     KD_OK);
    expect_all(a, builder, name);
    kd_triangles_close(tree);
}

static void expect_hits_match(triangle_set *set, const char *name) {
    static answers a;
    for (uint32_t i = 0; i < RAYS; ++i) {
        a.rays[i] = nasty_ray(set, i);
        a.expected[i] = nasty_answer(&set->input, a.rays[i]);
    }
    cast_by_all_loops(set, &a, name);
    cast_by_builder(set, &a, "binned", name);
    cast_by_builder(set, &a, "zhou", name);
    triangle_set_close(set);
}

static void test_difficult_rays_match_brute_force(void **state) {
    (void)state;
    static const case_triangles sets[] = {CASE_SOUP,    CASE_LONG_SOUP, CASE_SLANTED,
                                          CASE_SLIVERS, CASE_FAN,       CASE_FAR_SOUP};
    for (size_t i = 0; i < sizeof sets / sizeof *sets; ++i) {
        triangle_set set = triangle_set_make(sets[i], TRIANGLES);
        expect_hits_match(&set, case_triangles_name(sets[i]));
    }
    triangle_set needles = triangle_set_needles(TRIANGLES);
    expect_hits_match(&needles, "needles");
}

int main(void) {
    if (gpu_is_missing()) return TEST_SKIPPED;
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_difficult_rays_match_brute_force)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
