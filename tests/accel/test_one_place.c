/* Many triangles at one place: equal ones, a tiny cluster, needles through one point. The size of
   the tree stays proportional to the number of triangles, even if no plane separates them. */
#include "accel/builders.h"
#include "accel/wide/wide_tree.h"
#include "triangle_sets.h"

enum { FEW = 500, MANY = 3000, REFERENCES_MAX = 2 * 16 /* references per triangle */ };

static triangle_set set_at_one_place(int which, uint32_t count) {
    triangle_set set = triangle_set_make(which == 0 ? CASE_SAME : CASE_FAN, count);
    for (uint32_t i = 0; i < count && which > 1; ++i) {
        vec3 *corner = set.positions + 3 * (uint64_t)i;
        if (which == 2) /* a cluster of the size of the float spacing there */
            for (int k = 0; k < 3; ++k)
                corner[k] = vec3_along(vec3_make(100, 50, 70), 1e-4f, corner[k]);
        if (which == 3) corner[2] = vec3_along(corner[1], 1e-4f, corner[2]);
    }
    return set;
}

static tritree build(int which, uint32_t count, const char *builder) {
    triangle_set set = set_at_one_place(which, count);
    const tritree_options options = tritree_options_default();
    tritree tree;
    assert_int_equal(tritree_open(&tree, &set.input, &options, builder, NULL), KD_OK);
    assert_true(tree.reference_count <= (uint64_t)REFERENCES_MAX * count);
    assert_true(tree.node_count <= 8 * (uint64_t)count);
    if (tree.wide) assert_true(tree.wide->leaf_triangles <= tree.reference_count);
    if (tree.wide) assert_true(tree.wide->node_count <= tree.reference_count / 4 + 2);
    triangle_set_close(&set);
    return tree;
}

static void test_coincident_triangles_keep_references_linear(void **state) {
    (void)state;
    for (const tritree_builder *const *row = tritree_builders; *row; ++row)
        for (int which = 0; which < 4; ++which) {
            tritree few = build(which, FEW, (*row)->name), many = build(which, MANY, (*row)->name);
            if (many.reference_count > 2 * MANY / FEW * few.reference_count)
                fail_msg("%s, %d: %llu references of %d triangles, %llu of %d", (*row)->name, which,
                         (unsigned long long)few.reference_count, FEW,
                         (unsigned long long)many.reference_count, MANY);
            tritree_close(&few);
            tritree_close(&many);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_coincident_triangles_keep_references_linear)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
