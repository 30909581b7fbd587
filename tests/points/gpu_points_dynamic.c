/* A tree on a device after insertions and removals returns the results of a newly built one.
   Compared with the CPU after each of 1000 mixed batches, and with a new tree on the same device
   for more points and queries, by every query method. */
#include "core/device/device_memory.h"
#include "core/device/device_stream.h"
#include "points/api/points_device.h"
#include "tests/gpu.h"
#include "tests/neighbours/searches.h"
#include "tests/points/dynamic_cases.h"

static void a_thousand_batches_answer_as_trees_built_anew(void **state) {
    (void)state;
    const int batches = (int)gpu_size(1, 5);
    mixed_batches(CASE_UNIFORM, 3, KD_FLOAT, 1500, false, 500 / batches, 0);
    mixed_batches(CASE_UNIFORM, 3, KD_FLOAT, 1023, true, 300 / batches, 0);
    mixed_batches(CASE_UNIFORM, 3, KD_FLOAT, 1500, true, 50 / batches, 1000);
    mixed_batches(CASE_UNIFORM, 3, KD_DOUBLE, 500, false, 50 / batches, 0);
    mixed_batches(CASE_UNIFORM, 2, KD_FLOAT, 700, true, 50 / batches, 0);
    mixed_batches(CASE_UNIFORM, 4, KD_FLOAT, 400, false, 50 / batches, 0);
}

static void nasty_points_and_no_points(void **state) {
    (void)state;
    for (int c = 0; c < CASE_POINT_SETS; ++c) {
        mixed_batches((case_points)c, 3, KD_FLOAT, 200, c % 3 == 0, (int)gpu_size(12, 4), 0);
        mixed_batches((case_points)c, 3, c % 2 ? KD_DOUBLE : KD_FLOAT, 0, c % 3 == 1, 4, 0);
    }
}

/* Returns a tree with several layers and tombstones, for queries that are supported for trees
   without layers only. */
static kd_points *layered(void) {
    kd_points *tree = begin(CASE_UNIFORM, 3, KD_FLOAT, 1500, true);
    assert_int_equal(points_begin_change(tree), KD_OK);
    tree->dynamic->small = 0;
    insert(tree, 120, true);
    remove_some(tree, 90);
    insert(tree, 20, true);
    kd_points_info info;
    kd_points_describe(tree, &info);
    assert_int_equal(info.layers, 3);
    assert_int_equal(info.touched, 20); /* only the newest layer was built */
    return tree;
}

static void own_points_boxes_walks_and_norms(void **state) {
    (void)state;
    static uint32_t near[2][3 * MODEL_MAX];
    kd_points *changed = layered(), *rebuilt = NULL;
    const kd_points_options options = on_device("cpu");
    const kd_point_array array = array_from(0, true);
    assert_int_equal(kd_points_open(&rebuilt, &array, &options), KD_OK);
    const kd_points *const trees[2] = {changed, rebuilt};
    kd_points_query query = query_of(), points_query = query;
    strcpy(query.method, "walk");
    expect_same_rows(trees, &query, 5);
    strcpy(query.method, "auto");
    query.norm = 1;
    expect_same_rows(trees, &query, 5);
    points_query.points.count = 0;
    points_query.skip_self = 1;
    for (int t = 0; t < 2; ++t)
        assert_int_equal(self_nearest(trees[t], &points_query, 3, NULL, near[t], NULL, NULL),
                         KD_OK);
    assert_memory_equal(near[0], near[1], model_state.count * sizeof(uint32_t[3]));
    const float lo[3] = {-0.4f, -0.3f, -0.2f}, hi[3] = {0.5f, 0.6f, 0.7f};
    const kd_point_array lower = kd_point_array_make(lo, 1, 3, KD_FLOAT);
    const kd_point_array upper = kd_point_array_make(hi, 1, 3, KD_FLOAT);
    for (int t = 0; t < 2; ++t) {
        assert_int_equal(in_box_count(trees[t], &lower, &upper, offsets[t]), KD_OK);
        assert_int_equal(in_box(trees[t], &lower, &upper, offsets[t], near[t]), KD_OK);
    }
    assert_true(offsets[0][1] > 0 && offsets[0][1] == offsets[1][1]);
    assert_memory_equal(near[0], near[1], offsets[0][1] * sizeof **near);
    kd_points_close(rebuilt);
    kd_points_close(changed);
}

static void expect_refused(kd_status status, kd_status expected, const char *says) {
    assert_int_equal(status, expected);
    if (!strstr(kd_last_error(), says)) fail_msg("\"%s\" lacks \"%s\"", kd_last_error(), says);
}

static void bad_changes_change_nothing(void **state) {
    (void)state;
    kd_points *tree = layered();
    const float bad[6] = {0, 0, 0, 1, NAN, 1};
    const uint32_t names[2] = {1, 2}, unknown[3] = {model_state.ids[3], 4, 3};
    kd_point_array points = kd_point_array_make(bad, 2, 3, KD_FLOAT);
    points.ids = names;
    expect_refused(kd_points_insert(tree, &points, NULL), KD_ERROR_INPUT, "point 1");
    void *on_card = NULL;
    assert_int_equal(device_memory_reserve(&on_card, sizeof bad), KD_OK);
    assert_int_equal(device_memory_upload(on_card, bad, sizeof bad), KD_OK);
    points.coordinates = on_card;
    expect_refused(kd_points_insert(tree, &points, NULL), KD_ERROR_INPUT, "point 1");
    device_memory_free(on_card);
    expect_refused(kd_points_remove(tree, unknown, 3), KD_ERROR_INPUT, "no point has the id 3");
    expect_same(tree, true);
    const uint32_t twice[2] = {model_state.ids[9], model_state.ids[9]};
    assert_int_equal(kd_points_remove(tree, twice, 2), KD_OK); /* two equal ids remove one point */
    expect_refused(kd_points_remove(tree, twice, 1), KD_ERROR_INPUT, "no point has the id");
    kd_points_close(tree);
}

/* --- many points, in device memory ------------------------------------------------------------ */

enum { MANY_MAX = 400000, QUERIES_MAX = 300000, CHANGES = 6, ROW_MAX = 100 };

/* The points that the tree must contain, in host memory and as passed to the device. */
static struct {
    float at[MANY_MAX][3];
    uint32_t ids[MANY_MAX];
    uint32_t count, next;
} many;

static void *to_device(const void *from, uint64_t bytes) {
    void *to = NULL;
    assert_int_equal(device_memory_reserve(&to, bytes), KD_OK);
    assert_int_equal(device_memory_upload(to, from, bytes), KD_OK);
    return to;
}

static kd_point_array many_from(uint32_t first) {
    kd_point_array array = kd_point_array_make(many.at + first, many.count - first, 3, KD_FLOAT);
    array.ids = many.ids + first;
    return array;
}

static void add_many(uint32_t count, case_points from) {
    for (uint32_t i = 0; i < count; ++i, ++many.count, ++many.next) {
        const vec3 at = case_point(from, many.next, MANY_MAX);
        many.at[many.count][0] = at.x;
        many.at[many.count][1] = at.y;
        many.at[many.count][2] = at.z;
        many.ids[many.count] = many.next * 7 + 1;
    }
}

/* Inserts points from device memory, with one unused float after each point. */
static void insert_many(kd_points *tree, uint32_t count, case_points from) {
    const uint32_t first = many.count;
    add_many(count, from);
    static float difference[MANY_MAX][4];
    for (uint32_t i = 0; i < count; ++i) memcpy(difference[i], many.at[first + i], sizeof *many.at);
    void *coordinates = to_device(difference, count * sizeof *difference);
    void *names = to_device(many.ids + first, count * sizeof *many.ids);
    kd_point_array array = kd_point_array_make(coordinates, count, 3, KD_FLOAT);
    array.stride_bytes = sizeof *difference;
    array.ids = (const uint32_t *)names;
    assert_int_equal(kd_points_insert(tree, &array, NULL), KD_OK);
    device_memory_free(coordinates);
    device_memory_free(names);
}

/* Removes one point in `one_in`. */
static void remove_many(kd_points *tree, uint32_t one_in) {
    static uint32_t gone[MANY_MAX];
    uint32_t left = 0, count = 0;
    for (uint32_t i = 0; i < many.count; ++i)
        if (draw(one_in) == 0) {
            gone[count++] = many.ids[i];
        } else {
            memmove(many.at[left], many.at[i], sizeof *many.at);
            many.ids[left++] = many.ids[i];
        }
    many.count = left;
    void *names = to_device(gone, count * sizeof *gone);
    assert_int_equal(kd_points_remove(tree, (const uint32_t *)names, count), KD_OK);
    device_memory_free(names);
}

static uint32_t rows_of[2][QUERIES_MAX * ROW_MAX];

/* Compares the results of both trees, for queries in device memory. */
static void expect_same_on_device(const kd_points *const trees[2], const kd_points_query *query,
                                  uint32_t k) {
    const uint64_t answers = query->points.count * k;
    void *actual[2] = {NULL, NULL}, *far[2] = {NULL, NULL};
    for (int t = 0; t < 2; ++t) {
        assert_int_equal(device_memory_reserve(&actual[t], answers * 4), KD_OK);
        assert_int_equal(device_memory_reserve(&far[t], answers * 4), KD_OK);
        assert_int_equal(kd_points_nearest(trees[t], query, k, (uint32_t *)actual[t], far[t], NULL),
                         KD_OK);
        assert_int_equal(device_stream_wait(NULL), KD_OK);
    }
    void *const *const all[2] = {actual, far};
    for (int kind = 0; kind < 2; ++kind) {
        for (int t = 0; t < 2; ++t)
            assert_int_equal(device_memory_download(rows_of[t], all[kind][t], answers * 4), KD_OK);
        assert_memory_equal(rows_of[0], rows_of[1], answers * 4);
    }
    for (int t = 0; t < 2; ++t) device_memory_free(actual[t]), device_memory_free(far[t]);
}

static void query_all_strategies(const kd_points *tree, const void *places, uint32_t count) {
    static const uint32_t ks[] = {1, 2, 4, 8, 12, 16, 24, 50, 100};
    kd_points *rebuilt = NULL;
    const kd_points_options options = on_device(model_state.device);
    const kd_point_array array = many_from(0);
    assert_int_equal(kd_points_open(&rebuilt, &array, &options), KD_OK);
    const kd_points *const trees[2] = {tree, rebuilt};
    kd_points_query query;
    kd_points_query_default(&query);
    query.asynchronous = 1;
    for (size_t i = 0; i < sizeof ks / sizeof *ks; ++i)
        for (uint32_t share = 1; share <= 30; share *= 30) {
            query.points = kd_point_array_make(places, count / share, 3, KD_FLOAT);
            query.coherent = i % 2;
            query.max_radius = i % 3 ? (double)INFINITY : 0.05;
            expect_same_on_device(trees, &query, ks[i]);
        }
    kd_points_close(rebuilt);
}

static void many_points_by_all_ways(void **state) {
    (void)state;
    const uint32_t count = gpu_size(200000, 3000), queries = gpu_size(QUERIES_MAX, 300);
    const case_points sets[] = {CASE_UNIFORM, CASE_CLUSTERED, CASE_DUPLICATES};
    for (size_t s = 0; s < sizeof sets / sizeof *sets; ++s) {
        kd_points *tree = NULL;
        const kd_points_options options = on_device(model_state.device);
        many.count = many.next = 0;
        add_many(count, sets[s]);
        const kd_point_array array = many_from(0);
        assert_int_equal(kd_points_open(&tree, &array, &options), KD_OK);
        assert_int_equal(points_begin_change(tree), KD_OK);
        tree->dynamic->small = gpu_size(4000, 100);
        static float places[QUERIES_MAX][3];
        for (uint32_t i = 0; i < queries; ++i) {
            const vec3 at = case_point(sets[s], draw(MANY_MAX), MANY_MAX);
            places[i][0] = at.x, places[i][1] = at.y, places[i][2] = at.z;
        }
        void *device_queries = to_device(places, queries * sizeof *places);
        for (int c = 0; c < CHANGES; ++c) {
            insert_many(tree, count / (c % 2 ? 10 : 200), sets[s]);
            remove_many(tree, c % 2 ? 11 : 200);
            if (c % 3 == 2) query_all_strategies(tree, device_queries, queries);
        }
        kd_points_info info;
        kd_points_describe(tree, &info);
        assert_int_equal(info.count, many.count);
        assert_true(info.layers >= 2);
        device_memory_free(device_queries);
        kd_points_close(tree);
    }
}

int main(void) {
    if (gpu_is_missing()) return TEST_SKIPPED;
    model_state.device = "cuda:0";
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thousand_batches_answer_as_trees_built_anew),
        cmocka_unit_test(nasty_points_and_no_points),
        cmocka_unit_test(a_tree_may_become_empty),
        cmocka_unit_test(own_points_boxes_walks_and_norms),
        cmocka_unit_test(bad_changes_change_nothing),
        cmocka_unit_test(many_points_by_all_ways),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
