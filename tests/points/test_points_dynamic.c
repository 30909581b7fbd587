/* A tree after insertions and removals equals a newly built one: the same results, the same tree,
   after each of 1000 batches; invalid changes are rejected without effect. */
#include "tests/points/dynamic_cases.h"
#include <unistd.h>

static void a_thousand_batches_answer_as_trees_built_anew(void **state) {
    (void)state;
    mixed_batches(CASE_UNIFORM, 3, KD_FLOAT, 1500, false, 250, 0);
    mixed_batches(CASE_UNIFORM, 3, KD_DOUBLE, 1500, true, 200, 0);
    mixed_batches(CASE_UNIFORM, 2, KD_FLOAT, 1023, true, 200, 0);
    mixed_batches(CASE_UNIFORM, 4, KD_FLOAT, 1024, false, 200, 0);
    mixed_batches(CASE_UNIFORM, 1, KD_FLOAT, 500, false, 150, 0);
}

static void nasty_points_and_no_points(void **state) {
    (void)state;
    for (int c = 0; c < CASE_POINT_SETS; ++c) {
        mixed_batches((case_points)c, 3, c % 2 ? KD_DOUBLE : KD_FLOAT, 200, c % 3 == 0, 12, 0);
        mixed_batches((case_points)c, 3, KD_FLOAT, 0, c % 3 == 1, 6, 0);
    }
}

static void files_and_updates(void **state) {
    (void)state;
    kd_points *tree = begin(CASE_UNIFORM, 3, KD_FLOAT, 900, true), *loaded = NULL;
    const kd_points_options options = on_device("cpu");
    insert(tree, 40, true);
    remove_some(tree, 30);
    assert_int_equal(kd_points_save(tree, "changed.kdpoints"), KD_OK);
    assert_int_equal(kd_points_load(&loaded, "changed.kdpoints", &options), KD_OK);
    unlink("changed.kdpoints");
    expect_same(loaded, true);
    kd_points_close(loaded);
    const kd_point_array all = array_from(0, true);
    assert_int_equal(kd_points_update(tree, &all), KD_OK);
    expect_same(tree, true);
    kd_points_close(tree);
}

static void expect_refused(kd_status status, kd_status expected, const char *says) {
    assert_int_equal(status, expected);
    if (!strstr(kd_last_error(), says)) fail_msg("\"%s\" lacks \"%s\"", kd_last_error(), says);
}

static void bad_changes_change_nothing(void **state) {
    (void)state;
    kd_points *tree = begin(CASE_UNIFORM, 3, KD_FLOAT, 300, false);
    insert(tree, 30, false);
    remove_some(tree, 20);
    const float bad[6] = {0, 0, 0, 1, NAN, 1};
    const double doubles[3] = {0, 0, 0};
    const uint32_t names[2] = {1, 2}, unknown[2] = {model_state.ids[3], 4000},
                   again = model_state.ids[9];
    kd_point_array points = kd_point_array_make(bad, 2, 3, KD_FLOAT);
    expect_refused(kd_points_insert(tree, &points, NULL), KD_ERROR_INPUT, "1");
    points.ids = names;
    expect_refused(kd_points_insert(tree, &points, NULL), KD_ERROR_USAGE,
                   "`points->ids` must be NULL");
    points = kd_point_array_make(bad, 2, 2, KD_FLOAT);
    expect_refused(kd_points_insert(tree, &points, NULL), KD_ERROR_USAGE, "2 dimensions");
    points = kd_point_array_make(doubles, 1, 3, KD_DOUBLE);
    expect_refused(kd_points_insert(tree, &points, NULL), KD_ERROR_USAGE, "scalar type 1");
    points = kd_point_array_make(NULL, 2, 3, KD_FLOAT);
    expect_refused(kd_points_insert(tree, &points, NULL), KD_ERROR_USAGE, "NULL coordinates");
    points = kd_point_array_make(bad, 1, 3, KD_FLOAT);
    points.stride_bytes = 4;
    expect_refused(kd_points_insert(tree, &points, NULL), KD_ERROR_USAGE, "`stride_bytes` is 4");
    expect_refused(kd_points_remove(tree, unknown, 2), KD_ERROR_INPUT, "no point has the id 4000");
    expect_refused(kd_points_remove(tree, NULL, 1), KD_ERROR_USAGE, "`ids` must not");
    expect_refused(kd_points_remove(NULL, unknown, 1), KD_ERROR_USAGE, "`tree` must not");
    expect_refused(kd_points_insert(NULL, &points, NULL), KD_ERROR_USAGE, "`tree` must not");
    expect_refused(kd_points_rebuild(NULL), KD_ERROR_USAGE, "`tree` must not");
    kd_points_query query = query_of();
    strcpy(query.method, "walk");
    expect_refused(kd_points_nearest(tree, &query, 1, ids[0], NULL, NULL), KD_ERROR_USAGE,
                   "kd_points_rebuild");
    expect_same(tree, true);
    const uint32_t once = again, twice[2] = {again, again};
    assert_int_equal(kd_points_remove(tree, twice, 2), KD_OK); /* the same id: it is removed once */
    expect_refused(kd_points_remove(tree, &once, 1), KD_ERROR_INPUT, "no point has the id");
    kd_points_close(tree);
}

int main(void) {
    model_state.device = "cpu";
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thousand_batches_answer_as_trees_built_anew),
        cmocka_unit_test(nasty_points_and_no_points),
        cmocka_unit_test(a_tree_may_become_empty),
        cmocka_unit_test(files_and_updates),
        cmocka_unit_test(bad_changes_change_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
