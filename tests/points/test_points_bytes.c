/* A tree of floats on a CPU is stored only once, in its buckets; callers that need the tree itself
   get it, bit for bit. */
#include "points/select/builders.h"
#include "tests/cases.h"
#include "tests/test.h"
#include <kandela/points.h>
#include <pthread.h>
#include <stdio.h>

enum { POINTS_MAX = 10000, QUERY_COUNT = 16, K = 5, THREADS = 4 };
static float cloud[3 * POINTS_MAX], coordinates[3 * POINTS_MAX];
static uint32_t order[POINTS_MAX];
static uint8_t axes[POINTS_MAX];

static void fill(int which, uint32_t count, uint32_t dims) {
    for (uint32_t i = 0; i < count; ++i) {
        const vec3 at = case_point((case_points)which, i, count);
        for (uint32_t axis = 0; axis < dims; ++axis)
            cloud[i * dims + axis] = vec3_axis(at, (int)axis);
    }
}

typedef struct bytes_case {
    const kd_points *tree;
    const char *method;
    uint32_t dims, count, ids[QUERY_COUNT * K];
    float dist2[QUERY_COUNT * K];
    kd_status status;
} bytes_case;

static void *run_query(void *context) {
    bytes_case *a = (bytes_case *)context;
    kd_points_query query;
    kd_points_query_default(&query);
    query.points = kd_point_array_make(cloud, a->count < QUERY_COUNT ? a->count : QUERY_COUNT,
                                       a->dims, KD_FLOAT);
    snprintf(query.method, sizeof query.method, "%s", a->method);
    a->status = kd_points_nearest(a->tree, &query, K, a->ids, a->dist2, NULL);
    return NULL;
}

static void expect_tree(const kd_points *tree, const pointtree *same) {
    memset(coordinates, 0x55, sizeof coordinates);
    memset(order, 0x55, sizeof order);
    assert_int_equal(kd_points_download(tree, coordinates, order, axes), KD_OK);
    assert_memory_equal(coordinates, same->coordinates, same->count * same->dims * sizeof(float));
    assert_memory_equal(order, same->ids, same->count * sizeof *order);
    assert_memory_equal(axes, same->axes, same->count);
}

/* By several threads at once; the first one makes the arrays. */
static void expect_walks(const kd_points *tree, uint32_t dims, uint32_t count) {
    static bytes_case by_leaves, walks[THREADS];
    pthread_t threads[THREADS];
    by_leaves = (bytes_case){.tree = tree, .method = "leaves", .dims = dims, .count = count};
    run_query(&by_leaves);
    assert_int_equal(by_leaves.status, KD_OK);
    for (int t = 0; t < THREADS; ++t) {
        walks[t] = (bytes_case){.tree = tree, .method = "walk", .dims = dims, .count = count};
        assert_int_equal(pthread_create(&threads[t], NULL, run_query, &walks[t]), 0);
    }
    for (int t = 0; t < THREADS; ++t) pthread_join(threads[t], NULL);
    for (int t = 0; t < THREADS; ++t) {
        assert_int_equal(walks[t].status, KD_OK);
        assert_memory_equal(walks[t].ids, by_leaves.ids, sizeof by_leaves.ids);
        assert_memory_equal(walks[t].dist2, by_leaves.dist2, sizeof by_leaves.dist2);
    }
}

static void compare_set(int which, uint32_t count, uint32_t dims) {
    kd_points *tree = NULL;
    kd_points_options options;
    pointtree same;
    kd_points_info before, after;
    const pointtree_options widest = {POINTTREE_WIDEST, false, 0};
    fill(which, count, dims);
    const kd_point_array points = kd_point_array_make(cloud, count, dims, KD_FLOAT);
    const point_array input = point_array_make(cloud, count, dims, POINT_FLOAT);
    kd_points_options_default(&options);
    snprintf(options.device, sizeof options.device, "cpu");
    assert_int_equal(kd_points_open(&tree, &points, &options), KD_OK);
    assert_int_equal(pointtree_open_nd(&same, &input, &widest, "auto", NULL), KD_OK);
    kd_points_describe(tree, &before);
    assert_true(before.hash == pointtree_hash(&same));
    /* positions 16, boxes at most 4, the axis 1 */
    assert_true(before.bytes < 21 * (uint64_t)count + 4096);
    expect_tree(tree, &same);
    expect_walks(tree, dims, count);
    kd_points_describe(tree, &after);
    assert_int_equal(after.bytes - before.bytes, count * (dims + 1) * sizeof(float));
    assert_true(after.hash == before.hash);
    expect_tree(tree, &same);
    kd_points_close(tree);
    pointtree_close(&same);
}

static void a_tree_of_floats_is_held_once(void **state) {
    (void)state;
    for (int which = 0; which < CASE_POINT_SETS; ++which)
        for (int c = 0; c < CASE_COUNTS; ++c)
            if (case_counts[c] > 0) compare_set(which, case_counts[c], 1 + (uint32_t)c % 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_tree_of_floats_is_held_once)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
