/* Queries that leave their warp's packet after too many steps (the patience limit): for every limit
   the results equal the reference traversal's, bit for bit, for queries and self-queries; queries
   that need the same leaves stay together. */
#include "points/select/builders.h"
#include "tests/cases.h"
#include "tests/gpu.h"
#include "tests/neighbours/device_answers.h"

/* A tree and its index on the device, and the results of two methods. */
typedef struct split_state {
    point_build_cuda built;
    void *tree_points; /* device memory */
    point_index_cuda index;
    void *memory;
    point_query_cuda query;
    uint32_t *parted; /* device memory: the number of queries that left their packet */
    uint64_t rows;
} split_state;

static void split_state_open(split_state *s, case_points set, uint32_t count,
                             pointtree_split split) {
    memset(s, 0, sizeof *s);
    vec3 *points = (vec3 *)malloc(count * sizeof *points);
    assert_non_null(points);
    for (uint32_t i = 0; i < count; ++i) points[i] = case_point(set, i, count);
    point_build_cuda *a = &s->built;
    s->tree_points = to_device(points, count * sizeof *points);
    a->points = point_array_make(s->tree_points, count, 3, POINT_FLOAT);
    free(points);
    a->split = split;
    a->ids = (uint32_t *)to_device(NULL, count * sizeof(uint32_t));
    a->axes = (uint8_t *)to_device(NULL, count);
    const point_builder_cuda *builder = point_builders_cuda[0];
    assert_int_equal(builder->scratch_bytes(&a->scratch_bytes, a), KD_OK);
    a->scratch = to_device(NULL, a->scratch_bytes);
    assert_int_equal(builder->build(a), KD_OK);
    size_t bytes = 0;
    assert_int_equal(point_index_cuda_bytes(&bytes, a), KD_OK);
    s->memory = to_device(NULL, bytes);
    assert_int_equal(point_index_cuda_open(&s->index, a, s->memory, bytes), KD_OK);
    s->parted = (uint32_t *)to_device(NULL, sizeof *s->parted);
    s->query.index = &s->index;
    s->query.points = a->points;
    s->query.max_radius = (double)INFINITY;
}

static void split_state_close(split_state *s) {
    device_memory_free(s->tree_points);
    device_memory_free(s->built.ids);
    device_memory_free(s->built.axes);
    device_memory_free(s->built.scratch);
    device_memory_free(s->memory);
    device_memory_free(s->parted);
}

/* Queries all points of the tree, given by the caller or as a self-query. */
static device_answers query_leaves(split_state *s, point_query_method method,
                                   const point_self_query *self_query, uint32_t patience) {
    s->query.method = method;
    s->query.patience = patience;
    s->query.parted = patience ? s->parted : NULL;
    return answers_of(&s->query, self_query, s->built.points.count);
}

/* Compares one method with a patience limit with the reference traversal. Returns how many queries
   left their packet. */
static uint32_t check(split_state *s, const char *name, point_query_method method,
                      const point_self_query *self_query, uint32_t k, uint32_t patience) {
    s->query.k = k;
    device_answers right = query_leaves(s, POINT_QUERY_WALK, self_query, 0),
                   got = query_leaves(s, method, self_query, patience);
    const uint64_t count = s->built.points.count;
    for (uint64_t i = 0; i < count * k; ++i)
        if (got.ids[i] != right.ids[i] || got.dist2[i] != right.dist2[i] ||
            got.counts[i / k] != right.counts[i / k])
            fail_msg("%s, %u points, method %d, %s, k %u, patience %u, query %u, answer %u: id %u "
                     "at %g, expected %u at %g",
                     name, (unsigned)count, (int)method, self_query ? "own" : "asked", k, patience,
                     (unsigned)(i / k), (unsigned)(i % k), got.ids[i], (double)got.dist2[i],
                     right.ids[i], (double)right.dist2[i]);
    uint32_t parted = 0;
    if (patience)
        assert_int_equal(device_memory_download(&parted, s->parted, sizeof parted), KD_OK);
    assert_true(parted <= count);
    answers_free(&right);
    answers_free(&got);
    return parted;
}

static const struct {
    point_query_method method;
    uint32_t k;
} strategies[] = {{POINT_QUERY_PACKETS, 8},  {POINT_QUERY_PACKETS, 1}, {POINT_QUERY_GROUPS, 20},
                  {POINT_QUERY_PACKETS, 16}, {POINT_QUERY_GROUPS, 50}, {POINT_QUERY_GROUPS, 100},
                  {POINT_QUERY_PACKETS, 3},  {POINT_QUERY_GROUPS, 3}};
enum { STRATEGIES = sizeof strategies / sizeof *strategies };

/* A limit that all queries exceed, one that few exceed, and the default. */
static void test_results_are_independent_of_limit(void **state) {
    (void)state;
    static const uint32_t counts[] = {1, 33, 1023, 1500, 5000}, patience[] = {1, 5, 0};
    uint32_t number = 0, parted = 0;
    for (int set = 0; set < CASE_POINT_SETS; ++set)
        for (int c = 0; c < 5; ++c) {
            if (gpu_leaves_out((uint32_t)(5 * set + c), 7) || counts[c] > gpu_size(5000, 1500))
                continue;
            split_state s;
            split_state_open(&s, (case_points)set, counts[c], (pointtree_split)(c % 2));
            for (int strategy = 0; strategy < STRATEGIES; ++strategy)
                /* as queries, as self-query, as self-query without the point itself */
                for (int self = 0; self < 3; ++self, ++number) {
                    if (gpu_leaves_out(number, 3)) continue;
                    const point_self_query self_query = {.skips = self == 2};
                    s.query.max_radius = number % 4 ? (double)INFINITY : 0.05;
                    parted += check(&s, case_points_name((case_points)set),
                                    strategies[strategy].method, self ? &self_query : NULL,
                                    strategies[strategy].k, patience[number % 3]);
                }
            split_state_close(&s);
        }
    assert_true(parted > 0);
}

/* Nine in ten points lie in a cluster: queries around it leave their packets, those inside do
   not. */
static void test_queries_around_a_cluster_leave_packets(void **state) {
    (void)state;
    const uint32_t count = gpu_size(100000, 6000), patience = gpu_size(0, 8);
    split_state s;
    split_state_open(&s, CASE_CLUSTERED, count, POINTTREE_WIDEST);
    for (int strategy = 0; strategy < 3; ++strategy) {
        const point_self_query self_query = {.skips = true};
        const uint32_t parted = check(&s, "clustered", strategies[strategy].method, &self_query,
                                      strategies[strategy].k, patience ? patience : 32);
        assert_true(parted > 0 && parted < count / 2);
    }
    split_state_close(&s);
}

/* Every query needs every leaf, and a query on its own would visit all of them, so they must stay
   together. Queries of ancestors always run on their own. */
static void test_equal_points_stay_in_packets(void **state) {
    (void)state;
    const uint32_t count = gpu_size(8000, 2500);
    split_state s;
    split_state_open(&s, CASE_ALL_EQUAL, count, POINTTREE_WIDEST);
    for (int strategy = 0; strategy < STRATEGIES; ++strategy) {
        const point_self_query self_query = {.skips = true};
        if (gpu_leaves_out((uint32_t)strategy, 3)) continue;
        assert_true(check(&s, "equal", strategies[strategy].method, &self_query,
                          strategies[strategy].k, 1) <= s.index.chunk_count);
    }
    split_state_close(&s);
}

int main(void) {
    if (gpu_is_missing()) return TEST_SKIPPED;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_results_are_independent_of_limit),
        cmocka_unit_test(test_queries_around_a_cluster_leave_packets),
        cmocka_unit_test(test_equal_points_stay_in_packets)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
