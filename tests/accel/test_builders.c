/* Every builder on every set of triangles in cases.h, verified by tritree_check; and tritree_check
   itself, on damaged trees. */
#include "accel/builders.h"
#include "accel/tree/tritree.h"
#include "core/parallel/parallel.h"
#include "triangle_sets.h"

static const struct {
    float traversal, intersect, empty_factor;
    int32_t max_depth;
} settings[] = {{1.5f, 1, 1, 0}, {1, 1, 0.8f, 0}, {0, 1, 1, 12}, {20, 1, 0.5f, 3}};
enum { SETTINGS = sizeof settings / sizeof *settings };

static tritree_options options_of(int setting) {
    tritree_options options = tritree_options_default();
    options.traversal_cost = settings[setting].traversal;
    options.intersect_cost = settings[setting].intersect;
    options.empty_factor = settings[setting].empty_factor;
    options.max_depth = settings[setting].max_depth;
    return options;
}

static void test_builders_satisfy_invariants(void **state) {
    (void)state;
    for (const tritree_builder *const *row = tritree_builders; *row; ++row)
        for (int which = 0; which < CASE_TRIANGLE_SETS; ++which)
            for (int i = 0; i < CASE_COUNTS; ++i) {
                if (case_counts[i] > 1023) continue;
                triangle_set set = triangle_set_make((case_triangles)which, case_counts[i]);
                const tritree_options options = options_of(i % SETTINGS);
                tritree tree;
                if (tritree_open(&tree, &set.input, &options, (*row)->name, NULL) != KD_OK ||
                    tritree_check(&tree) != KD_OK)
                    fail_msg("%s, %s %u: %s", (*row)->name,
                             case_triangles_name((case_triangles)which), case_counts[i],
                             kd_last_error());
                tritree_close(&tree);
                triangle_set_close(&set);
            }
}

static void test_same_input_gives_the_same_tree(void **state) {
    (void)state;
    for (const tritree_builder *const *row = tritree_builders; *row; ++row)
        for (int which = 0; which < CASE_TRIANGLE_SETS; ++which) {
            triangle_set set = triangle_set_make((case_triangles)which, 700);
            const tritree_options options = tritree_options_default();
            uint64_t hash = 0;
            for (int threads = 0; threads < 4; ++threads) {
                tritree tree;
                parallel_set_threads(threads);
                assert_int_equal(tritree_open(&tree, &set.input, &options, (*row)->name, NULL),
                                 KD_OK);
                if (threads) assert_true(hash == tritree_hash(&tree));
                hash = tritree_hash(&tree);
                tritree_close(&tree);
            }
            parallel_set_threads(0);
            triangle_set_close(&set);
        }
}

/* A cell of zero thickness contains the floor. */
static void test_planar_triangles_get_a_flat_cell(void **state) {
    (void)state;
    static const char *const builders[] = {"sweep", "parallel", "zhou"};
    const tritree_options options = options_of(1);
    for (uint32_t i = 0; i < 18; ++i) {
        triangle_set set = triangle_set_floor(4u << i / 6, i / 3 % 2);
        tritree tree;
        assert_int_equal(tritree_open(&tree, &set.input, &options, builders[i % 3], NULL), KD_OK);
        assert_int_equal(tritree_check(&tree), KD_OK);
        assert_int_equal(count_tiles_off_floor(&tree, 0, tree.box), 0);
        tritree_close(&tree);
        triangle_set_close(&set);
    }
}

static uint64_t hash_of(const triangle_set *set, const char *builder, int setting, int threads) {
    const tritree_options options = options_of(setting);
    tritree tree;
    parallel_set_threads(threads);
    assert_int_equal(tritree_open(&tree, &set->input, &options, builder, NULL), KD_OK);
    const uint64_t hash = tritree_hash(&tree);
    tritree_close(&tree);
    parallel_set_threads(0);
    return hash;
}

/* The exact builders build the same tree: a set large enough for tasks on every level, and cases
   with many ties. */
static void test_exact_builders_agree(void **state) {
    (void)state;
    for (int which = 0; which < CASE_TRIANGLE_SETS; ++which)
        for (uint32_t count = 700; count <= 12000; count += 11300) {
            if (count > 1000 && which != CASE_SOUP && which != CASE_LAYERS) continue;
            triangle_set set = triangle_set_make((case_triangles)which, count);
            const uint64_t expected = hash_of(&set, tritree_builders[0]->name, which % 2, 1);
            for (const tritree_builder *const *row = tritree_builders; *row; ++row)
                for (int threads = 1; (*row)->exact && threads <= 5; threads += 2)
                    if ((*row)->all_cores || (threads == 1 && count < 1000))
                        assert_true(hash_of(&set, (*row)->name, which % 2, threads) == expected);
            triangle_set_close(&set);
        }
}

/* Returns a valid tree of random triangles, which the tests below damage. */
static tritree sound_tree(triangle_set *set) {
    *set = triangle_set_make(CASE_DEGENERATE, 600);
    const tritree_options options = tritree_options_default();
    tritree tree;
    assert_int_equal(tritree_open(&tree, &set->input, &options, "auto", NULL), KD_OK);
    assert_int_equal(tritree_check(&tree), KD_OK);
    return tree;
}

static uint32_t inner_node(const tritree *tree, uint32_t from) {
    while (tritree_is_leaf(tree->nodes[from])) ++from;
    return from;
}
static uint32_t full_leaf(const tritree *tree, uint32_t minimum) {
    uint32_t at = 0;
    while (!tritree_is_leaf(tree->nodes[at]) || tritree_count(tree->nodes[at]) < minimum) ++at;
    return at;
}

static void node_reached_twice(tritree *tree) {
    tree->nodes[inner_node(tree, 1)].word = tree->nodes[0].word;
}
static void node_out_of_range(tritree *tree) {
    const uint32_t at = inner_node(tree, 1);
    tree->nodes[at] = tritree_inner(0, tree->nodes[at].split, tree->node_count - 1);
}
static void node_never_reached(tritree *tree) {
    tree->nodes[inner_node(tree, 1)] = tritree_leaf(0, 0);
}
static void split_outside(tritree *tree) {
    tree->nodes[0].split = 2 * vec3_largest(tree->box.hi) + 1;
}
static void split_nan(tritree *tree) {
    tree->nodes[0].split = NAN;
}
static void triangle_lost(tritree *tree) {
    const tritree_node leaf = tree->nodes[full_leaf(tree, 1)];
    uint32_t *id = tree->references + tritree_first(leaf);
    const uint32_t other = *id == 0 ? 3 : 0; /* every third triangle has area */
    for (uint32_t i = 0; i < tritree_count(leaf); ++i)
        if (id[i] == other) return;
    *id = other;
}
static void triangle_twice(tritree *tree) {
    uint32_t *ids = tree->references + tritree_first(tree->nodes[full_leaf(tree, 2)]);
    ids[1] = ids[0];
}
static void id_out_of_range(tritree *tree) {
    tree->references[0] = tree->input.triangle_count;
}
static void id_without_area(tritree *tree) {
    tree->references[0] = 1;
}
static void leaf_out_of_range(tritree *tree) {
    const uint32_t at = full_leaf(tree, 1);
    tree->nodes[at] = tritree_leaf(tree->reference_count, 1);
}
static void references_shared(tritree *tree) {
    const uint32_t at = full_leaf(tree, 1);
    uint32_t other = at + 1;
    while (!tritree_is_leaf(tree->nodes[other]) || tritree_count(tree->nodes[other]) == 0) ++other;
    tree->nodes[other] = tree->nodes[at];
}
static void too_deep(tritree *tree) {
    tree->options.max_depth = (int32_t)tree->statistics.depth - 1;
}
static void box_too_large(tritree *tree) {
    tree->box.hi.x += 1;
}
static void cost_wrong(tritree *tree) {
    tree->statistics.sah_cost *= 1.000001;
}
static void leaves_wrong(tritree *tree) {
    ++tree->statistics.leaves;
}

static void test_validation_detects_damage(void **state) {
    (void)state;
    static const struct {
        void (*damage)(tritree *tree);
        const char *found;
    } sabotages[] = {
        {node_reached_twice, "T1"}, {node_out_of_range, "T1"}, {node_never_reached, "T1"},
        {split_outside, "T2"},      {split_nan, "T2"},         {triangle_lost, "T3"},
        {triangle_twice, "T3"},     {id_out_of_range, "T4"},   {id_without_area, "T4"},
        {leaf_out_of_range, "T4"},  {references_shared, "T4"}, {too_deep, "T5"},
        {box_too_large, "T6"},      {cost_wrong, "T7"},        {leaves_wrong, "T7"}};
    for (size_t i = 0; i < sizeof sabotages / sizeof *sabotages; ++i) {
        triangle_set set;
        tritree tree = sound_tree(&set);
        sabotages[i].damage(&tree);
        assert_int_equal(tritree_check(&tree), KD_ERROR_CHECK);
        if (strncmp(kd_last_error(), sabotages[i].found, 2) != 0)
            fail_msg("sabotage %zu: expected %s, got \"%s\"", i, sabotages[i].found,
                     kd_last_error());
        tritree_close(&tree);
        triangle_set_close(&set);
    }
}

static void test_invalid_input_is_rejected(void **state) {
    (void)state;
    triangle_set set = triangle_set_make(CASE_SOUP, 40);
    tritree_options options = tritree_options_default();
    tritree tree;
    const float bad[] = {NAN, INFINITY, -INFINITY};
    for (int i = 0; i < 3; ++i) {
        const float kept = set.positions[3 * 17 + i].y;
        set.positions[3 * 17 + i].y = bad[i];
        assert_int_equal(tritree_open(&tree, &set.input, &options, "auto", NULL), KD_ERROR_INPUT);
        assert_non_null(strstr(kd_last_error(), "triangle 17"));
        assert_null(tree.nodes);
        set.positions[3 * 17 + i].y = kept;
    }
    set.triangles[3 * 23 + 1] = set.input.position_count;
    assert_int_equal(tritree_open(&tree, &set.input, &options, "auto", NULL), KD_ERROR_INPUT);
    assert_non_null(strstr(kd_last_error(), "triangle 23"));
    set.triangles[3 * 23 + 1] = 0;
    assert_int_equal(tritree_open(&tree, &set.input, &options, "nobody", NULL), KD_ERROR_USAGE);
    options.empty_factor = 1.5f;
    assert_int_equal(tritree_open(&tree, &set.input, &options, "auto", NULL), KD_ERROR_USAGE);
    options.empty_factor = 1;
    options.intersect_cost = NAN;
    assert_int_equal(tritree_open(&tree, &set.input, &options, "auto", NULL), KD_ERROR_USAGE);
    triangle_set_close(&set);
}

static void test_cancelled_build_frees_everything(void **state) {
    (void)state;
    triangle_set set = triangle_set_make(CASE_SOUP, 500);
    const tritree_options options = tritree_options_default();
    for (const tritree_builder *const *row = tritree_builders; *row; ++row) {
        job_control job;
        job_init(&job);
        job.cancelled = true;
        tritree tree;
        assert_int_equal(tritree_open(&tree, &set.input, &options, (*row)->name, &job),
                         KD_INTERRUPTED);
        assert_null(tree.nodes);
    }
    triangle_set_close(&set);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_builders_satisfy_invariants),
                                       cmocka_unit_test(test_same_input_gives_the_same_tree),
                                       cmocka_unit_test(test_planar_triangles_get_a_flat_cell),
                                       cmocka_unit_test(test_exact_builders_agree),
                                       cmocka_unit_test(test_validation_detects_damage),
                                       cmocka_unit_test(test_invalid_input_is_rejected),
                                       cmocka_unit_test(test_cancelled_build_frees_everything)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
