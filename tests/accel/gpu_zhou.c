/* The builder `zhou` builds the same tree on a device as on the CPU, compared by hash; if its
   memory budget is too small, the error states the bytes needed. */
#include "accel/build_memory.h"
#include "accel/builders.h"
#include "accel/tree/tritree.h"
#include "core/device/device.h"
#include "core/device/device_memory.h"
#include "scenes/formats/mesh_formats.h"
#include "tests/gpu.h"
#include "triangle_sets.h"

static const tritree_options settings[] = {
    {1.5f, 1, 1, 0}, {1, 1, 0.8f, 0}, {0, 1, 1, 12}, {20, 1, 0.5f, 3}};
enum { SETTINGS = sizeof settings / sizeof *settings };

static uint32_t slab_triangles; /* 0: the builder chooses */
static void plan_slabs(tritree_build_cuda *build) {
    build->slab_triangles = slab_triangles;
    tritree_builder_cuda_find("zhou")->plan(build);
}

static void expect_same_tree(const tritree_input *input, const tritree_options *options,
                             const char *name) {
    const tritree_builder_cuda *found = tritree_builder_cuda_find("zhou");
    assert_non_null(found);
    tritree_builder_cuda builder = *found;
    tritree_build_memory memory;
    tritree on_device, on_cpu;
    builder.plan = plan_slabs;
    assert_int_equal(tritree_open(&on_cpu, input, options, "zhou", NULL), KD_OK);
    tritree_built built;
    assert_int_equal(tritree_build_memory_build(&memory, &built, input, options, &builder), KD_OK);
    if (tritree_build_download(&memory, &on_device, input) != KD_OK ||
        tritree_check(&on_device) != KD_OK)
        fail_msg("%s, %u triangles: %s", name, input->triangle_count, kd_last_error());
    if (tritree_hash(&on_device) != tritree_hash(&on_cpu))
        fail_msg("%s, %u triangles: %u nodes and %u references, on the CPU %u and %u", name,
                 input->triangle_count, on_device.node_count, on_device.reference_count,
                 on_cpu.node_count, on_cpu.reference_count);
    tritree_build_memory_close(&memory);
    tritree_close(&on_device);
    tritree_close(&on_cpu);
}

static void test_trees_equal_cpu_trees(void **state) {
    (void)state;
    static const uint32_t counts[] = {0,  1,   2,   3,   5,   33,   63,   64,
                                      65, 127, 500, 513, 514, 1025, 5000, 20000};
    for (int which = 0; which < CASE_TRIANGLE_SETS; ++which)
        for (size_t i = 0; i < sizeof counts / sizeof *counts; ++i) {
            if (counts[i] > gpu_size(20000, 1025) ||
                gpu_leaves_out((uint32_t)which + (uint32_t)i, test_size(11, 29)))
                continue;
            triangle_set set = triangle_set_make((case_triangles)which, counts[i]);
            expect_same_tree(&set.input, settings + i % SETTINGS,
                             case_triangles_name((case_triangles)which));
            triangle_set_close(&set);
        }
}

/* Slabs of an eighth of the mesh, a third, and all of it. */
static void test_slabs_give_the_same_trees(void **state) {
    (void)state;
    static const uint32_t counts[] = {1, 65, 514, 1500};
    for (int which = 0; which < CASE_TRIANGLE_SETS; ++which)
        for (size_t i = 0; i < sizeof counts / sizeof *counts; ++i) {
            if (gpu_leaves_out((uint32_t)which + (uint32_t)i, test_size(11, 29))) continue;
            triangle_set set = triangle_set_make((case_triangles)which, counts[i]);
            const uint32_t slabs[] = {1 + counts[i] / 8, 1 + counts[i] / 3, counts[i]};
            for (size_t k = 0; k < sizeof slabs / sizeof *slabs; ++k) {
                slab_triangles = slabs[k];
                expect_same_tree(&set.input, settings + (i + k) % SETTINGS,
                                 case_triangles_name((case_triangles)which));
            }
            triangle_set_close(&set);
        }
    slab_triangles = 0;
}

static void test_model_trees_equal_cpu_trees(void **state) {
    (void)state;
    static const char *const models[] = {"bunny.obj", "dragon.obj", "sponza.obj"};
    if (gpu_is_emulated() && test_leaves_out(1, 2)) skip();
    for (int i = 0; i < (gpu_is_emulated() ? 1 : 3); ++i) {
        const char *path = test_model(models[i]);
        if (!path) skip();
        mesh loaded = {0};
        if (obj_load(&loaded, path, NULL, NULL) != KD_OK) fail_msg("%s", kd_last_error());
        const tritree_input input = {loaded.positions, loaded.triangles, loaded.position_count,
                                     loaded.triangle_count};
        for (int k = 0; k < (gpu_is_emulated() ? 1 : 2); ++k)
            expect_same_tree(&input, settings + k, models[i]);
        mesh_close(&loaded);
    }
}

/* If the budget is too small, a budget of the bytes named in the message suffices. */
static void test_small_budget_reports_bytes_needed(void **state) {
    (void)state;
    const tritree_builder_cuda *builder = tritree_builder_cuda_find("zhou");
    triangle_set set = triangle_set_make(CASE_LONG_SOUP, 20000);
    const tritree_options options = tritree_options_default();
    tritree_build_memory memory;
    tritree_built built, again;
    assert_int_equal(tritree_build_memory_build(&memory, &built, &set.input, &options, builder),
                     KD_OK);
    assert_int_equal(device_memory_reserve(&memory.scratch, memory.build.scratch_bytes), KD_OK);
    memory.build.scratch = memory.scratch;
    for (int which = 0; which < 2; ++which) {
        const uint32_t kept[2] = {memory.build.node_capacity, memory.build.reference_capacity};
        if (which)
            memory.build.node_capacity = built.node_count - 2;
        else
            memory.build.reference_capacity = built.reference_count - 1;
        assert_int_equal(builder->build(&memory.build), KD_OK);
        assert_int_equal(tritree_build_result(&memory, &again), KD_ERROR_MEMORY);
        assert_non_null(strstr(kd_last_error(), "bytes"));
        assert_true(again.node_count == built.node_count &&
                    again.reference_count == built.reference_count && again.needed_bytes);
        memory.build.node_capacity = kept[0];
        memory.build.reference_capacity = kept[1];
    }
    assert_int_equal(builder->build(&memory.build), KD_OK);
    assert_int_equal(tritree_build_result(&memory, &again), KD_OK);
    assert_true(again.node_count == built.node_count);
    tritree_build_memory_close(&memory);
    triangle_set_close(&set);
}

int main(void) {
    if (gpu_is_missing()) return TEST_SKIPPED;
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_trees_equal_cpu_trees),
                                       cmocka_unit_test(test_slabs_give_the_same_trees),
                                       cmocka_unit_test(test_model_trees_equal_cpu_trees),
                                       cmocka_unit_test(test_small_budget_reports_bytes_needed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
