/* Every builder on inputs for which trees could grow without bound: many triangles through one
   point, many equal triangles. Builds terminate, references stay within a budget, and the
   invariants T1 to T7 hold. A device builder may also fail with the number of bytes it needs. */
#include "accel/build_memory.h"
#include "accel/builders.h"
#include "accel/tree/tritree.h"
#include "core/device/device.h"
#include "triangle_sets.h"

enum { MANY = 1000000, MANY_ON_CPU = 300000 /* takes seconds per builder */ };
enum { REFERENCES_MAX = 2 * 16 /* per triangle */ };

static void expect_hits_match(const tritree *tree, const char *builder, const char *name) {
    if (tritree_check(tree) != KD_OK) fail_msg("%s, %s: %s", builder, name, kd_last_error());
    print_message("%s, %s: %.2f references a triangle, %u deep, SAH cost %.6g, %.3f s\n", builder,
                  name, tree->statistics.references_per_triangle, tree->statistics.depth,
                  tree->statistics.sah_cost, tree->statistics.build_seconds);
    assert_true(tree->reference_count <= (uint64_t)REFERENCES_MAX * tree->input.triangle_count);
}

static void build_on_cpu(case_triangles which, const char *name) {
    const tritree_options options = tritree_options_default();
    triangle_set set = triangle_set_make(which, MANY_ON_CPU);
    for (const tritree_builder *const *row = tritree_builders; *row; ++row) {
        if ((*row)->exact && !(*row)->all_cores)
            continue; /* builds the same tree as a faster builder */
        tritree tree;
        if (tritree_open(&tree, &set.input, &options, (*row)->name, NULL) != KD_OK)
            fail_msg("%s, %s: %s", (*row)->name, name, kd_last_error());
        expect_hits_match(&tree, (*row)->name, name);
        tritree_close(&tree);
    }
    triangle_set_close(&set);
}

static void build_on_cuda(case_triangles which, const char *name) {
    const tritree_options options = tritree_options_default();
    if (device_cuda_count() == 0) return;
    triangle_set set = triangle_set_make(which, MANY);
    for (const tritree_builder_cuda *const *row = tritree_builders_cuda; *row; ++row) {
        tritree_build_memory memory;
        tritree tree;
        tritree_built built;
        kd_status status = tritree_build_memory_build(&memory, &built, &set.input, &options, *row);
        if (status == KD_OK) status = tritree_build_download(&memory, &tree, &set.input);
        if (status == KD_OK) {
            expect_hits_match(&tree, (*row)->name, name);
            tritree_close(&tree);
        } else {
            print_message("%s on the device, %s: %s\n", (*row)->name, name, kd_last_error());
            assert_int_equal(status, KD_ERROR_MEMORY);
            assert_non_null(strstr(kd_last_error(), "bytes"));
        }
        tritree_build_memory_close(&memory);
    }
    triangle_set_close(&set);
}

static void test_many_triangles_through_one_point(void **state) {
    (void)state;
    build_on_cuda(CASE_FAN, "fan");
    build_on_cpu(CASE_FAN, "fan");
}

static void test_many_equal_triangles(void **state) {
    (void)state;
    build_on_cuda(CASE_SAME, "same");
    build_on_cpu(CASE_SAME, "same");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_many_equal_triangles),
                                       cmocka_unit_test(test_many_triangles_through_one_point)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
