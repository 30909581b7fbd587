/* Every builder on the device builds the same tree as on the CPU, for every set of cases.h;
   builders with the same total order are compared with the serial reference. The device's checker
   accepts these trees and rejects damaged ones. */
#include "core/device/device.h"
#include "core/device/device_memory.h"
#include "points/papers/build_wehr.h"
#include "points/select/build_select.h"
#include "points/select/builders.h"
#include "points/tree/check_device.h"
#include "tests/cases.h"
#include "tests/gpu.h"

typedef struct build_case {
    const point_builder_cuda *builder;
    case_points set;
    uint32_t count, dims;
    point_scalar scalar;
    pointtree_options options;
    wehr_parameters parameters; /* block size 0: the defaults */
    select_parameters groups;   /* large 0: the defaults */
} build_case;

typedef struct device_tree {
    point_build_cuda arguments;
    void *points;
    uint32_t kept;
} device_tree;

/* Coordinate `axis` of point i: the first three are those of the case, further ones those of later
   points. */
static float coordinate_of(const build_case *test, uint32_t i, uint32_t axis) {
    return vec3_axis(case_point(test->set, i + axis / 3 * 1000003, test->count), (int)axis % 3);
}

static void *make_points(const build_case *test) {
    const size_t bytes = test->dims * point_scalar_bytes(test->scalar);
    char *points = (char *)malloc((test->count + 1) * bytes);
    assert_non_null(points);
    for (uint32_t i = 0; i < test->count; ++i)
        for (uint32_t axis = 0; axis < test->dims; ++axis) {
            const float x = coordinate_of(test, i, axis);
            if (test->scalar == POINT_DOUBLE)
                ((double *)(void *)points)[i * test->dims + axis] = (double)x * 1.1;
            else
                ((float *)(void *)points)[i * test->dims + axis] = x;
        }
    return points;
}

static void device_tree_open(device_tree *tree, const build_case *test, const void *points,
                             const point_box *box) {
    memset(tree, 0, sizeof *tree);
    point_build_cuda *a = &tree->arguments;
    const uint64_t bytes = test->count * test->dims * point_scalar_bytes(test->scalar);
    assert_int_equal(device_memory_reserve(&tree->points, bytes), KD_OK);
    assert_int_equal(device_memory_upload(tree->points, points, bytes), KD_OK);
    a->points = point_array_make(tree->points, test->count, test->dims, test->scalar);
    a->split = test->options.split;
    a->unique = test->options.unique;
    a->cells = test->options.cells;
    a->box = *box;
    a->kept = &tree->kept;
    tree->kept = test->count;
    assert_int_equal(device_memory_reserve((void **)&a->ids, test->count * sizeof *a->ids), KD_OK);
    if (a->split == POINTTREE_WIDEST)
        assert_int_equal(device_memory_reserve((void **)&a->axes, test->count), KD_OK);
    assert_int_equal(test->builder->scratch_bytes(&a->scratch_bytes, a), KD_OK);
    assert_int_equal(device_memory_reserve(&a->scratch, a->scratch_bytes), KD_OK);
}

static void device_tree_close(device_tree *tree) {
    device_memory_free(tree->points);
    device_memory_free(tree->arguments.ids);
    device_memory_free(tree->arguments.axes);
    device_memory_free(tree->arguments.scratch);
}

static void same_nodes(const build_case *test, const device_tree *tree, const pointtree *oracle) {
    uint32_t *ids = (uint32_t *)malloc((test->count + 1) * sizeof *ids);
    uint8_t *axes = (uint8_t *)malloc(test->count + 1);
    assert_true(ids && axes);
    assert_int_equal(device_memory_download(ids, tree->arguments.ids, test->count * sizeof *ids),
                     KD_OK);
    for (uint32_t i = 0; i < oracle->count; ++i)
        if (ids[i] != oracle->ids[i])
            fail_msg(
                "%s, %s, %u points, %u dims, scalar %d, split %d, unique %d, cells %g: node %u "
                "holds %u, expected %u",
                test->builder->name, case_points_name(test->set), test->count, test->dims,
                (int)test->scalar, (int)test->options.split, test->options.unique,
                test->options.cells, i, ids[i], oracle->ids[i]);
    if (test->options.split == POINTTREE_WIDEST) {
        assert_int_equal(device_memory_download(axes, tree->arguments.axes, oracle->count), KD_OK);
        assert_memory_equal(axes, oracle->axes, oracle->count);
    }
    free(ids);
    free(axes);
}

static void compare(const build_case *test) {
    const pointtree_builder *named = pointtree_builder_find(test->builder->name);
    assert_non_null(named);
    const char *name = named->order == POINTTREE_BY_COORDINATE ? "recursive" : named->name;
    void *points = make_points(test);
    const point_array array = point_array_make(points, test->count, test->dims, test->scalar);
    pointtree oracle;
    assert_int_equal(pointtree_open_nd(&oracle, &array, &test->options, name, NULL), KD_OK);
    device_tree tree;
    device_tree_open(&tree, test, points, &oracle.box);
    assert_int_equal(test->parameters.block
                         ? build_wehr_cuda_with(&tree.arguments, &test->parameters)
                     : test->groups.large ? build_select_cuda_with(&tree.arguments, &test->groups)
                                          : test->builder->build(&tree.arguments),
                     KD_OK);
    assert_int_equal(device_wait(), KD_OK);
    if (test->builder->removes) assert_int_equal(tree.kept, oracle.count);
    same_nodes(test, &tree, &oracle);
    assert_int_equal(point_check_cuda(&tree.arguments, oracle.count, oracle.order, &oracle.box),
                     KD_OK);
    device_tree_close(&tree);
    pointtree_close(&oracle);
    free(points);
}

static build_case case_of(const point_builder_cuda *builder, case_points set, uint32_t count,
                          int split) {
    build_case test;
    memset(&test, 0, sizeof test);
    test.builder = builder;
    test.set = set;
    test.count = count;
    test.dims = 3;
    test.scalar = POINT_FLOAT;
    test.options.split = (pointtree_split)split;
    return test;
}

static void builders_make_the_oracles_tree(void **state) {
    (void)state;
    for (const point_builder_cuda *const *builder = point_builders_cuda; *builder; ++builder)
        for (int set = 0; set < CASE_POINT_SETS; ++set)
            for (int i = 0; i < CASE_COUNTS; ++i)
                for (int split = 0; split < 2; ++split) {
                    if (gpu_leaves_out((uint32_t)(set + i + split), 11)) continue;
                    const build_case test =
                        case_of(*builder, (case_points)set, case_counts[i], split);
                    compare(&test);
                }
}

static const case_points large_sets[] = {CASE_UNIFORM, CASE_DUPLICATES, CASE_CLUSTERED, CASE_WILD};

static void large_trees_too(void **state) {
    (void)state;
    static const uint32_t counts[] = {65535, 65536, 100003, 1000000};
    const uint32_t maximum = gpu_size(1000000, 100003);
    for (const point_builder_cuda *const *builder = point_builders_cuda; *builder; ++builder)
        for (int set = 0; set < 4; ++set)
            for (int i = 0; i < 4; ++i)
                for (int split = 0; split < 2; ++split) {
                    if (gpu_leaves_out((uint32_t)(3 * set + i + split), 12) || counts[i] > maximum)
                        continue;
                    const build_case test = case_of(*builder, large_sets[set], counts[i], split);
                    compare(&test);
                }
}

static void all_dimensions_and_scalars_too(void **state) {
    (void)state;
    static const uint32_t counts[] = {1, 7, 1000, 8191, 16385, 300007};
    for (const point_builder_cuda *const *builder = point_builders_cuda; *builder; ++builder)
        for (uint32_t dims = POINT_DIMS_MIN; dims <= POINT_DIMS_MAX; ++dims)
            for (int scalar = 0; scalar < 2; ++scalar)
                for (int i = 0; i < 6; ++i)
                    for (int split = 0; split < 2; ++split) {
                        if (gpu_leaves_out(7 * dims + (uint32_t)(i + split), 19)) continue;
                        if (counts[i] > gpu_size(300007, 16385)) continue;
                        build_case test = case_of(*builder, large_sets[dims % 4], counts[i], split);
                        test.dims = dims;
                        test.scalar = (point_scalar)scalar;
                        compare(&test);
                    }
}

static void duplicates_go_when_asked(void **state) {
    (void)state;
    for (const point_builder_cuda *const *builder = point_builders_cuda; *builder; ++builder)
        for (int set = 0; (*builder)->removes && set < CASE_POINT_SETS; ++set)
            for (int i = 0; i < CASE_COUNTS + 3; ++i) {
                if (gpu_leaves_out((uint32_t)(set + i), 9)) continue;
                const uint32_t count =
                    i < CASE_COUNTS ? case_counts[i] : 25000 * (uint32_t)(i - CASE_COUNTS + 1);
                build_case test = case_of(*builder, (case_points)set, count, 0);
                test.options.unique = true;
                test.options.split = (pointtree_split)(i % 2);
                test.dims = 1 + (uint32_t)i % 4;
                compare(&test);
            }
}

/* The tree is the same for all parameters that tuning may try. */
static void wehr_rounds_and_is_tuned(void **state) {
    (void)state;
    static const double cells[] = {0, 3, 1000};
    static const case_points sets[] = {CASE_UNIFORM, CASE_DUPLICATES, CASE_CLUSTERED,
                                       CASE_STRETCHED, CASE_SIGNED_ZERO};
    const point_builder_cuda *builder = point_builder_cuda_find("wehr");
    for (int i = 0; i < 60; ++i) {
        if (gpu_leaves_out((uint32_t)i, 19)) continue;
        build_case test = case_of(builder, sets[i % 5], i < 20 ? 20011 : 3001, i % 2);
        test.options.cells = cells[i % 3];
        test.dims = 1 + (uint32_t)i % 5;
        test.scalar = (point_scalar)(i / 2 % 2);
        test.parameters.block = 1024u << i % 3;
        test.parameters.digit_bits = 2 + (uint32_t)i % 4;
        test.parameters.cutoff = 512u << i / 3 % 3;
        compare(&test);
    }
    build_case config = case_of(builder, CASE_UNIFORM, 1000, 0);
    config.parameters.block = 1000;
    void *points = make_points(&config);
    const point_box box = point_box_empty();
    device_tree tree;
    device_tree_open(&tree, &config, points, &box);
    assert_int_equal(build_wehr_cuda_with(&tree.arguments, &config.parameters), KD_ERROR_USAGE);
    tree.arguments.cells = 1e300;
    tree.arguments.box.lo[0] = 0, tree.arguments.box.hi[0] = 1;
    assert_int_equal(builder->scratch_bytes(&tree.arguments.scratch_bytes, &tree.arguments),
                     KD_ERROR_USAGE);
    device_tree_close(&tree);
    free(points);
}

/* Builds levels in groups, as for large inputs: groups of every height, with brackets that contain
   the median and with brackets that miss it, so that nodes must be repaired. */
static void kandela_goes_by_groups(void **state) {
    (void)state;
    static const uint32_t counts[] = {8192, 12287, 20000, 33000, 65535, 100003, 140000, 300007};
    static const float sigmas[] = {4.5f, 1, 0.02f};
    const uint32_t maximum = gpu_size(300007, 140000);
    for (int set = 0; set < CASE_POINT_SETS; ++set)
        for (int i = 0; i < 8; ++i)
            for (uint32_t group = 0; group <= 3; ++group)
                for (int sigma = 0; sigma < 3; ++sigma) {
                    if (gpu_leaves_out((uint32_t)(5 * set + 3 * i + sigma) + group, 19)) continue;
                    if (counts[i] > maximum) continue;
                    build_case test =
                        case_of(point_builders_cuda[0], (case_points)set, counts[i], 0);
                    test.groups = (select_parameters){1, group, 20000u << 2 * ((i + sigma) % 3),
                                                      sigmas[sigma]};
                    if (group == 0) test.options.split = (pointtree_split)(i % 2);
                    compare(&test);
                }
}

/* The checker on the device detects a node in the wrong place, a duplicate, and a wrong axis. */
static void sabotage_is_found(void **state) {
    (void)state;
    const build_case test = case_of(point_builders_cuda[0], CASE_UNIFORM, 1000, 1);
    vec3 *points = (vec3 *)make_points(&test);
    pointtree oracle;
    device_tree tree;
    assert_int_equal(pointtree_open(&oracle, points, 1000, &test.options, "recursive", NULL),
                     KD_OK);
    device_tree_open(&tree, &test, points, &oracle.box);
    const point_build_cuda *a = &tree.arguments;
    for (int wrong = 0; wrong < 4; ++wrong) {
        uint32_t *ids = oracle.ids;
        uint8_t *axes = oracle.axes;
        const uint32_t kept = ids[700];
        const uint8_t axis = axes[300];
        if (wrong == 1) ids[700] = ids[3];
        if (wrong == 2) ids[700] = ids[0], ids[0] = kept;
        if (wrong == 3) axes[300] = (uint8_t)((axis + 1) % 3);
        assert_int_equal(device_memory_upload(a->ids, ids, 4000), KD_OK);
        assert_int_equal(device_memory_upload(a->axes, axes, 1000), KD_OK);
        const kd_status status = point_check_cuda(a, 1000, oracle.order, &oracle.box);
        assert_int_equal(status, wrong ? KD_ERROR_CHECK : KD_OK);
        static const char *const named[] = {"", "P1", "P2", "P3"};
        if (wrong) assert_non_null(strstr(kd_last_error(), named[wrong]));
        if (wrong == 2) ids[0] = ids[700];
        ids[700] = kept, axes[300] = axis;
    }
    device_tree_close(&tree);
    pointtree_close(&oracle);
    free(points);
}

static void nonsense_is_refused(void **state) {
    (void)state;
    for (const point_builder_cuda *const *builder = point_builders_cuda; *builder; ++builder) {
        point_build_cuda a;
        size_t bytes = 0;
        memset(&a, 0, sizeof a);
        a.points = point_array_make(NULL, 1ull << 31, 3, POINT_FLOAT);
        assert_int_equal((*builder)->scratch_bytes(&bytes, &a), KD_ERROR_USAGE);
        assert_non_null(strstr(kd_last_error(), "2147483648"));
        assert_int_equal((*builder)->build(&a), KD_ERROR_USAGE);
        a.points = point_array_make(NULL, 10, 9, POINT_FLOAT);
        assert_int_equal((*builder)->scratch_bytes(&bytes, &a), KD_ERROR_USAGE);
        a.points = point_array_make(NULL, 100000, 3, POINT_FLOAT);
        assert_int_equal((*builder)->scratch_bytes(&a.scratch_bytes, &a), KD_OK);
        a.scratch_bytes -= 256;
        assert_int_equal((*builder)->build(&a), KD_ERROR_MEMORY);
    }
}

int main(int argc, char **argv) {
    if (gpu_is_missing()) return TEST_SKIPPED;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nonsense_is_refused),
        cmocka_unit_test(sabotage_is_found),
        cmocka_unit_test(builders_make_the_oracles_tree),
        cmocka_unit_test(all_dimensions_and_scalars_too),
        cmocka_unit_test(duplicates_go_when_asked),
        cmocka_unit_test(wehr_rounds_and_is_tuned),
        cmocka_unit_test(large_trees_too),
        cmocka_unit_test(kandela_goes_by_groups),
    };
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
