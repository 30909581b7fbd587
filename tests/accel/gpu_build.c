/* Device builders: on every case of cases.h their trees satisfy the invariants T1 to T7
   (accel/tree/tritree.h), are reproducible, and cost little more than the exact trees. */
#include "accel/build_memory.h"
#include "accel/builders.h"
#include "accel/tree/tritree.h"
#include "accel/triangles.h"
#include "core/device/device.h"
#include "core/device/device_memory.h"
#include "scenes/mesh/generate.h"
#include "tests/gpu.h"
#include "triangle_sets.h"

static tritree build_once(const tritree_builder_cuda *builder, const triangle_set *set,
                          const tritree_options *options, const char *name, uint32_t count) {
    tritree_build_memory memory;
    tritree_built built;
    tritree tree;
    memset(&tree, 0, sizeof tree);
    if (tritree_build_memory_build(&memory, &built, &set->input, options, builder) != KD_OK ||
        tritree_build_download(&memory, &tree, &set->input) != KD_OK)
        fail_msg("%s, %s %u: %s", builder->name, name, count, kd_last_error());
    tritree_build_memory_close(&memory);
    return tree;
}

static void check_set(const tritree_builder_cuda *builder, case_triangles which, uint32_t count,
                      const tritree_options *options) {
    triangle_set set = triangle_set_make(which, count);
    const char *name = case_triangles_name(which);
    tritree tree = build_once(builder, &set, options, name, count);
    if (tritree_check(&tree) != KD_OK)
        fail_msg("%s, %s %u: %s", builder->name, name, count, kd_last_error());
    tritree again = build_once(builder, &set, options, name, count);
    if (tritree_hash(&tree) != tritree_hash(&again))
        fail_msg("%s, %s %u: two builds, two trees", builder->name, name, count);
    if (which == CASE_SOUP && count >= 100) {
        tritree exact;
        assert_int_equal(tritree_open(&exact, &set.input, options, "sweep", NULL), KD_OK);
        if (tree.statistics.sah_cost > builder->cost_max * exact.statistics.sah_cost)
            fail_msg("%s, %s %u: SAH cost %g, exact %g", builder->name, name, count,
                     tree.statistics.sah_cost, exact.statistics.sah_cost);
        tritree_close(&exact);
    }
    tritree_close(&again);
    tritree_close(&tree);
    triangle_set_close(&set);
}

static void test_trees_satisfy_invariants(void **state) {
    (void)state;
    static const uint32_t counts[] = {0, 1, 2, 3, 5, 16, 17, 64, 65, 127, 500, 513, 1025, 5000};
    tritree_options options = tritree_options_default();
    for (const tritree_builder_cuda *const *row = tritree_builders_cuda; *row; ++row)
        for (int which = 0; which < CASE_TRIANGLE_SETS; ++which)
            for (size_t i = 0; i < sizeof counts / sizeof *counts; ++i)
                if (counts[i] <= gpu_size(5000, 520) &&
                    !gpu_leaves_out((uint32_t)which + (uint32_t)i, 7) &&
                    !test_leaves_out((uint32_t)which + (uint32_t)i, 14))
                    check_set(*row, (case_triangles)which, counts[i], &options);
    options.traversal_cost = 1;
    options.empty_factor = 0.8f;
    for (const tritree_builder_cuda *const *row = tritree_builders_cuda; *row; ++row)
        check_set(*row, CASE_SOUP, gpu_size(30000, 2000), &options);
}

static void compare_with_exact(const char *path, double maximum) {
    const tritree_builder_cuda *builder = tritree_builder_cuda_find("binned");
    tritree_options options = tritree_options_default();
    options.traversal_cost = 1;
    options.empty_factor = 0.8f;
    triangle_set set;
    mesh model;
    memset(&set, 0, sizeof set);
    assert_int_equal(procedural_load(&model, path), KD_OK);
    set.input.positions = model.positions;
    set.input.triangles = model.triangles;
    set.input.position_count = model.position_count;
    set.input.triangle_count = model.triangle_count;
    tritree exact, tree = build_once(builder, &set, &options, path, model.triangle_count);
    assert_int_equal(tritree_check(&tree), KD_OK);
    assert_int_equal(tritree_open(&exact, &set.input, &options, "sweep", NULL), KD_OK);
    if (tree.statistics.sah_cost > maximum * exact.statistics.sah_cost)
        fail_msg("%s: SAH cost %g, exact %g", path, tree.statistics.sah_cost,
                 exact.statistics.sah_cost);
    tritree_close(&exact);
    tritree_close(&tree);
    mesh_close(&model);
}

/* Small objects far apart, where a single pass over the bins of a large node misses the best plane;
   and a floor, where no plane strictly inside a node cuts off the empty space above it. */
static void test_room_cost_is_near_exact_tree(void **state) {
    (void)state;
    compare_with_exact(gpu_is_emulated() ? "gen:room:16000" : "gen:room:200000", 1.01);
    compare_with_exact(gpu_is_emulated() ? "gen:hall:10000" : "gen:hall:100000", 1.02);
}

static void test_planar_triangles_get_a_flat_cell(void **state) {
    (void)state;
    const tritree_options options = {1, 1, 0.8f, 0};
    for (const tritree_builder_cuda *const *row = tritree_builders_cuda; *row; ++row)
        for (uint32_t i = 0; i < 4; ++i) {
            triangle_set set = triangle_set_floor(4u << i / 2, i % 2);
            tritree tree = build_once(*row, &set, &options, "floor", set.input.triangle_count);
            assert_int_equal(tritree_check(&tree), KD_OK);
            assert_int_equal(count_tiles_off_floor(&tree, 0, tree.box), 0);
            tritree_close(&tree);
            triangle_set_close(&set);
        }
}

static void test_invalid_input_is_rejected(void **state) {
    (void)state;
    const tritree_options options = tritree_options_default();
    triangle_set set = triangle_set_make(CASE_SOUP, 40);
    static const float bad[] = {NAN, INFINITY, -INFINITY};
    for (const tritree_builder_cuda *const *row = tritree_builders_cuda; *row; ++row) {
        tritree_build_memory memory;
        for (int i = 0; i < 3; ++i) {
            const float kept = set.positions[3 * 17 + i].y;
            set.positions[3 * 17 + i].y = bad[i];
            assert_int_equal(tritree_build_memory_open(&memory, &set.input, &options, *row),
                             KD_ERROR_INPUT);
            assert_non_null(strstr(kd_last_error(), "triangle 17 has the vertex"));
            assert_null(memory.memory);
            set.positions[3 * 17 + i].y = kept;
        }
        const uint32_t kept = set.triangles[3 * 23 + 1];
        set.triangles[3 * 23 + 1] = set.input.position_count;
        assert_int_equal(tritree_build_memory_open(&memory, &set.input, &options, *row),
                         KD_ERROR_INPUT);
        assert_non_null(strstr(kd_last_error(), "triangle 23 has vertex index 120"));
        set.triangles[3 * 23 + 1] = kept;
    }
    triangle_set_close(&set);
}

/* A scratch limit that is too small is rejected before anything runs, and the message states the
   bytes needed. */
static void test_insufficient_memory_is_rejected(void **state) {
    (void)state;
    const tritree_options options = tritree_options_default();
    triangle_set set = triangle_set_make(CASE_SOUP, 1000);
    for (const tritree_builder_cuda *const *row = tritree_builders_cuda; *row; ++row) {
        tritree_build_memory memory;
        assert_int_equal(tritree_build_memory_open(&memory, &set.input, &options, *row), KD_OK);
        const uint64_t needed = memory.build.scratch_bytes;
        memory.build.scratch_bytes = needed - 1;
        assert_int_equal((*row)->build(&memory.build), KD_ERROR_MEMORY);
        char bytes[32];
        snprintf(bytes, sizeof bytes, "%llu are needed", (unsigned long long)needed);
        assert_non_null(strstr(kd_last_error(), bytes));
        tritree_build_memory_close(&memory);
    }
    triangle_set_close(&set);
}

/* Plans capacities that are too small until they have been doubled several times. */
static const tritree_builder_cuda *original_builder;
static uint32_t doublings;
static void plan_too_little(tritree_build_cuda *build) {
    original_builder->plan(build);
    if (build->doubled < doublings) build->node_capacity = 4;
}

/* A tree that needs more capacity than was planned is rebuilt with more; one that exceeds every
   limit fails with a clear message. */
static void test_capacity_grows(void **state) {
    (void)state;
    const tritree_options options = tritree_options_default();
    triangle_set set = triangle_set_make(CASE_SOUP, 300);
    const kd_triangle_mesh soup = kd_triangle_mesh_make(
        &set.positions[0].x, set.input.position_count, set.triangles, set.input.triangle_count);
    for (const tritree_builder_cuda *const *row = tritree_builders_cuda; *row; ++row) {
        tritree_builder_cuda poor = **row;
        tritree_build_memory memory;
        tritree_built built;
        tritree tree = build_once(*row, &set, &options, "soup", set.input.triangle_count);
        original_builder = *row;
        poor.plan = plan_too_little;
        doublings = 2;
        assert_int_equal(tritree_build_memory_build(&memory, &built, &set.input, &options, &poor),
                         KD_OK);
        assert_int_equal(memory.build.doubled, 2);
        assert_int_equal(built.node_count, tree.node_count);
        tritree_build_memory_close(&memory);
        kd_triangles api;
        memset(&api, 0, sizeof api);
        api.tree.options = options;
        assert_int_equal(triangles_cuda_build(&api, &soup, &poor, 0), KD_OK);
        assert_int_equal(api.tree.node_count, tree.node_count);
        triangles_cuda_close(api.cuda);
        doublings = UINT32_MAX;
        assert_int_equal(tritree_build_memory_build(&memory, &built, &set.input, &options, &poor),
                         KD_ERROR_MEMORY);
        assert_non_null(strstr(kd_last_error(), "bytes"));
        tritree_close(&tree);
    }
    triangle_set_close(&set);
}

typedef struct attempts {
    int count;
    char names[4][32];
    kd_status answers[4];
} attempts;

static kd_status note_attempt(void *context, const tritree_builder_cuda *row) {
    attempts *builds = (attempts *)context;
    snprintf(builds->names[builds->count], sizeof builds->names[0], "%s", row ? row->name : "cpu");
    return builds->answers[builds->count++];
}

/* "auto" falls back to the next builder if memory is short, to the CPU last, and skips builders
   whose triangle limit is exceeded. A builder requested by name has no fallback. */
static void test_automatic_builder_falls_back(void **state) {
    (void)state;
    attempts builds = {.answers = {KD_ERROR_MEMORY, KD_ERROR_MEMORY, KD_OK}};
    assert_int_equal(tritree_build_by_turns("auto", 100, 200, note_attempt, &builds), KD_OK);
    assert_int_equal(builds.count, 3);
    assert_string_equal(builds.names[0], "binned");
    assert_string_equal(builds.names[1], "zhou");
    assert_string_equal(builds.names[2], "cpu");
    builds = (attempts){.answers = {KD_ERROR_INPUT}};
    assert_int_equal(tritree_build_by_turns("auto", 100, 200, note_attempt, &builds),
                     KD_ERROR_INPUT);
    assert_int_equal(builds.count, 1);
    builds = (attempts){.answers = {KD_ERROR_MEMORY}};
    assert_int_equal(tritree_build_by_turns("zhou", 100, 200, note_attempt, &builds),
                     KD_ERROR_MEMORY);
    assert_int_equal(builds.count, 1);
    assert_string_equal(builds.names[0], "zhou");
    builds = (attempts){.answers = {KD_OK}};
    assert_int_equal(tritree_build_by_turns("auto", 100, TRITREE_CUDA_TRIANGLES_MAX + 1ull,
                                            note_attempt, &builds),
                     KD_OK);
    assert_int_equal(builds.count, 1);
    assert_string_equal(builds.names[0], "cpu");
    builds = (attempts){.answers = {KD_OK}};
    assert_int_equal(tritree_build_by_turns("sweep", 100, 200, note_attempt, &builds), KD_OK);
    assert_string_equal(builds.names[0], "cpu");
}

/* A large mesh is built by `binned` only in an eighth of the free memory. */
static void test_large_meshes_take_an_eighth(void **state) {
    (void)state;
    const uint64_t gigabyte = (uint64_t)1 << 30;
    uint64_t available = 0;
    assert_int_equal(device_memory_free_bytes(&available), KD_OK);
    if (available < 90 * gigabyte) skip();
    static const struct {
        const char *limit, *builder;
        uint64_t triangles;
    } cases[] = {{"60G", "zhou", 9000000}, {"90G", "zhou", 9000000}, {"60G", "binned", 7900000}};
    for (int i = 0; i < 3; ++i) {
        attempts builds = {.answers = {KD_OK}};
        assert_int_equal(setenv("KANDELA_DEVICE_MEMORY", cases[i].limit, 1), 0);
        assert_int_equal(
            tritree_build_by_turns("auto", 4500000, cases[i].triangles, note_attempt, &builds),
            KD_OK);
        assert_string_equal(builds.names[0], cases[i].builder);
    }
    assert_int_equal(unsetenv("KANDELA_DEVICE_MEMORY"), 0);
}

int main(void) {
    if (gpu_is_missing()) return TEST_SKIPPED;
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_trees_satisfy_invariants),
                                       cmocka_unit_test(test_room_cost_is_near_exact_tree),
                                       cmocka_unit_test(test_planar_triangles_get_a_flat_cell),
                                       cmocka_unit_test(test_invalid_input_is_rejected),
                                       cmocka_unit_test(test_insufficient_memory_is_rejected),
                                       cmocka_unit_test(test_capacity_grows),
                                       cmocka_unit_test(test_automatic_builder_falls_back),
                                       cmocka_unit_test(test_large_meshes_take_an_eighth)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
