/* Every builder on the device makes the tree that the serial oracle makes, on every nasty input. */
#include "core/device.h"
#include "core/device_memory.h"
#include "photon/build_cuda.h"
#include "photon/pointtree.h"
#include "tests/cases.h"
#include "tests/test.h"

typedef struct device_tree {
    point_build_cuda arguments;
    void *points;
} device_tree;

static void device_tree_open(device_tree *tree, const vec3 *points, uint32_t count,
                             pointtree_split split, const point_builder_cuda *builder) {
    memset(tree, 0, sizeof *tree);
    point_build_cuda *a = &tree->arguments;
    assert_int_equal(device_memory_reserve(&tree->points, count * sizeof *points), KD_OK);
    assert_int_equal(device_memory_upload(tree->points, points, count * sizeof *points), KD_OK);
    a->points = point_array_make(tree->points, count, 3, POINT_FLOAT);
    a->split = split;
    assert_int_equal(device_memory_reserve((void **)&a->ids, count * sizeof *a->ids), KD_OK);
    if (split == POINTTREE_WIDEST)
        assert_int_equal(device_memory_reserve((void **)&a->axes, count), KD_OK);
    assert_int_equal(builder->scratch_bytes(&a->scratch_bytes, a), KD_OK);
    assert_int_equal(device_memory_reserve(&a->scratch, a->scratch_bytes), KD_OK);
}

static void device_tree_close(device_tree *tree) {
    device_memory_free(tree->points);
    device_memory_free(tree->arguments.ids);
    device_memory_free(tree->arguments.axes);
    device_memory_free(tree->arguments.scratch);
}

static void compare(const point_builder_cuda *builder, case_points set, uint32_t count,
                    pointtree_split split) {
    vec3 *points = (vec3 *)malloc((count + 1) * sizeof *points);
    uint32_t *ids = (uint32_t *)malloc((count + 1) * sizeof *ids);
    uint8_t *axes = (uint8_t *)malloc(count + 1);
    assert_true(points && ids && axes);
    for (uint32_t i = 0; i < count; ++i) points[i] = case_point(set, i, count);
    const pointtree_options options = {.split = split};
    pointtree oracle;
    assert_int_equal(pointtree_open(&oracle, points, count, &options, "recursive", NULL), KD_OK);
    device_tree tree;
    device_tree_open(&tree, points, count, split, builder);
    assert_int_equal(builder->build(&tree.arguments), KD_OK);
    assert_int_equal(device_wait(), KD_OK);
    assert_int_equal(device_memory_download(ids, tree.arguments.ids, count * sizeof *ids), KD_OK);
    for (uint32_t i = 0; i < count; ++i)
        if (ids[i] != oracle.ids[i])
            fail_msg("%s, %s, %u points, split %d: node %u holds %u, expected %u", builder->name,
                     case_points_name(set), count, (int)split, i, ids[i], oracle.ids[i]);
    if (split == POINTTREE_WIDEST) {
        assert_int_equal(device_memory_download(axes, tree.arguments.axes, count), KD_OK);
        assert_memory_equal(axes, oracle.axes, count);
    }
    device_tree_close(&tree);
    pointtree_close(&oracle);
    free(points);
    free(ids);
    free(axes);
}

static void builders_make_the_oracles_tree(void **state) {
    (void)state;
    for (const point_builder_cuda *builder = point_builders_cuda; builder->name; ++builder)
        for (int set = 0; set < CASE_POINT_SETS; ++set)
            for (int i = 0; i < CASE_COUNTS; ++i)
                for (int split = 0; split < 2; ++split)
                    compare(builder, (case_points)set, case_counts[i], (pointtree_split)split);
}

static void large_trees_too(void **state) {
    (void)state;
    static const uint32_t counts[] = {65535, 65536, 100003, 1000000};
    static const case_points sets[] = {CASE_UNIFORM, CASE_DUPLICATES, CASE_CLUSTERED, CASE_WILD};
    for (const point_builder_cuda *builder = point_builders_cuda; builder->name; ++builder)
        for (int set = 0; set < 4; ++set)
            for (int i = 0; i < 4; ++i)
                for (int split = 0; split < 2; ++split)
                    compare(builder, sets[set], counts[i], (pointtree_split)split);
}

int main(void) {
    if (device_cuda_count() == 0) {
        puts("skipped: no CUDA device");
        return TEST_SKIPPED;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(builders_make_the_oracles_tree),
        cmocka_unit_test(large_trees_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
