/* points/papers/build_wald.c, step by step on the paper's example of ten points in the plane (Wald
   2022, section 5). */
#include "points/papers/build_wald.h"
#include "points/select/builders.h"
#include "tests/test.h"

enum { TEN = 10 };
static const float example[TEN][2] = {{10, 15}, {46, 63}, {68, 21}, {40, 33}, {25, 54},
                                      {15, 43}, {44, 58}, {45, 40}, {62, 69}, {53, 67}};

static void expect_step(const wald_steps *steps, const int tags[TEN], const int x[TEN],
                        const int y[TEN]) {
    for (int i = 0; i < TEN; ++i) {
        const uint32_t id = steps->order[i];
        assert_int_equal(steps->tags[id], tags[i]);
        assert_int_equal((int)example[id][0], x[i]);
        assert_int_equal((int)example[id][1], y[i]);
    }
}

static void example_goes_step_by_step(void **state) {
    (void)state;
    uint32_t ids[TEN];
    pointtree tree;
    memset(&tree, 0, sizeof tree);
    tree.ids = ids;
    tree.count = TEN;
    tree.dims = 2;
    const point_array points = point_array_make(example, TEN, 2, POINT_FLOAT);
    wald_steps steps;
    assert_int_equal(wald_open(&steps, &tree, &points), KD_OK);
    static const int x0[TEN] = {10, 15, 25, 40, 44, 45, 46, 53, 62, 68};
    static const int y0[TEN] = {15, 43, 54, 33, 58, 40, 63, 67, 69, 21};
    static const int sorted0[TEN] = {0}, updated0[TEN] = {1, 1, 1, 1, 1, 1, 0, 2, 2, 2};
    wald_sort(&steps);
    expect_step(&steps, sorted0, x0, y0);
    wald_update(&steps);
    expect_step(&steps, updated0, x0, y0);
    static const int x1[TEN] = {46, 10, 40, 45, 15, 25, 44, 68, 53, 62};
    static const int y1[TEN] = {63, 15, 33, 40, 43, 54, 58, 21, 67, 69};
    static const int sorted1[TEN] = {0, 1, 1, 1, 1, 1, 1, 2, 2, 2};
    static const int updated1[TEN] = {0, 3, 3, 3, 1, 4, 4, 5, 2, 6};
    wald_sort(&steps);
    expect_step(&steps, sorted1, x1, y1);
    wald_update(&steps);
    expect_step(&steps, updated1, x1, y1);
    static const int x2[TEN] = {46, 15, 53, 10, 40, 45, 25, 44, 68, 62};
    static const int y2[TEN] = {63, 43, 67, 15, 33, 40, 54, 58, 21, 69};
    static const int sorted2[TEN] = {0, 1, 2, 3, 3, 3, 4, 4, 5, 6};
    static const int updated2[TEN] = {0, 1, 2, 7, 3, 8, 9, 4, 5, 6};
    wald_sort(&steps);
    expect_step(&steps, sorted2, x2, y2);
    wald_update(&steps);
    expect_step(&steps, updated2, x2, y2);
    static const int x3[TEN] = {46, 15, 53, 40, 44, 68, 62, 10, 45, 25};
    static const int y3[TEN] = {63, 43, 67, 33, 58, 21, 69, 15, 40, 54};
    static const int sorted3[TEN] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
    wald_sort(&steps);
    expect_step(&steps, sorted3, x3, y3);
    wald_close(&steps);
}

static void example_gives_the_papers_tree(void **state) {
    (void)state;
    static const float expected[TEN][2] = {{46, 63}, {15, 43}, {53, 67}, {40, 33}, {44, 58},
                                           {68, 21}, {62, 69}, {10, 15}, {45, 40}, {25, 54}};
    const point_array points = point_array_make(example, TEN, 2, POINT_FLOAT);
    for (const pointtree_builder *const *row = pointtree_builders; *row; ++row) {
        pointtree tree;
        assert_int_equal(pointtree_open_nd(&tree, &points, NULL, (*row)->name, NULL), KD_OK);
        assert_memory_equal(tree.coordinates, expected, sizeof expected);
        pointtree_close(&tree);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(example_goes_step_by_step),
        cmocka_unit_test(example_gives_the_papers_tree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
