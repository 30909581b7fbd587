/* Every query method on the device returns the results of the reference traversal on the host, bit
   for bit, on every set of cases.h. */
#include "core/device/device.h"
#include "points/select/builders.h"
#include "points/tree/walk.h"
#include "points/tree/walk_nd.h"
#include "tests/cases.h"
#include "tests/gpu.h"
#include "tests/neighbours/device_answers.h"

enum { QUERIES = 96, K_MAX = 1024 };

typedef struct tree_case {
    pointtree host;
    point_build_cuda built;
    point_index_cuda index;
    void *memory;
    void *tree_points; /* on the device */
    point_query_cuda query;
    void *points, *device_points; /* the query points, on the host and on the device */
} tree_case;

static void tree_open(tree_case *t, const point_array *points, pointtree_split split) {
    memset(t, 0, sizeof *t);
    const pointtree_options options = {.split = split};
    assert_int_equal(pointtree_open_nd(&t->host, points, &options, NULL, NULL), KD_OK);
    t->built.points = *points;
    t->tree_points = to_device(points->coordinates, points->count * points->stride_bytes);
    t->built.points.coordinates = t->tree_points;
    t->built.split = split;
    t->built.ids = (uint32_t *)to_device(NULL, points->count * sizeof(uint32_t));
    t->built.axes = (uint8_t *)to_device(NULL, points->count);
    const point_builder_cuda *builder = point_builders_cuda[0];
    assert_int_equal(builder->scratch_bytes(&t->built.scratch_bytes, &t->built), KD_OK);
    t->built.scratch = to_device(NULL, t->built.scratch_bytes);
    assert_int_equal(builder->build(&t->built), KD_OK);
    size_t bytes = 0;
    assert_int_equal(point_index_cuda_bytes(&bytes, &t->built), KD_OK);
    t->memory = to_device(NULL, bytes);
    assert_int_equal(point_index_cuda_open(&t->index, &t->built, t->memory, bytes), KD_OK);
    assert_int_equal(device_wait(), KD_OK);
}

static void tree_close(tree_case *t) {
    device_memory_free(t->tree_points);
    device_memory_free(t->built.ids);
    device_memory_free(t->built.axes);
    device_memory_free(t->built.scratch);
    device_memory_free(t->memory);
    device_memory_free(t->device_points);
    free(t->points);
    pointtree_close(&t->host);
}

/* Makes queries: half of them are points of the tree, the others lie near one or anywhere. */
static void queries_open(tree_case *t, const point_array *points) {
    const uint64_t bytes = points->dims * point_scalar_bytes(points->scalar);
    t->points = malloc(QUERIES * bytes);
    assert_non_null(t->points);
    for (uint32_t i = 0; i < QUERIES; ++i) {
        const rng_block r = rng_draw(rng_key_make(9, 0, i), 0, 0);
        for (uint32_t axis = 0; axis < points->dims; ++axis) {
            const uint64_t which = (uint64_t)i * 7919 % (points->count ? points->count : 1);
            double x = points->count ? point_array_coordinate(points, which, axis) : 0;
            if (i % 4 == 1) x *= 1 + 0.01 * (double)r.value[axis % 4];
            if (i % 4 == 3) x = 2 * (double)r.value[axis % 4] - 0.5;
            if (points->scalar == POINT_DOUBLE)
                ((double *)t->points)[i * points->dims + axis] = x;
            else
                ((float *)t->points)[i * points->dims + axis] = (float)x;
        }
    }
    t->query.index = &t->index;
    t->device_points = to_device(t->points, QUERIES * bytes);
    t->query.points = point_array_make(t->device_points, QUERIES, points->dims, points->scalar);
    t->query.max_radius = (double)INFINITY;
}

static double value_at(const void *values, point_scalar scalar, uint64_t i) {
    return scalar == POINT_DOUBLE ? ((const double *)values)[i]
                                  : (double)((const float *)values)[i];
}

static void expect_row(const char *name, const tree_case *t, uint32_t which, const uint32_t *ids,
                       const void *dist2, uint64_t at, uint32_t capacity, const neighbour_nd *right,
                       uint32_t count) {
    for (uint32_t j = 0; j < capacity; ++j) {
        const uint32_t id = j < count ? right[j].id : KD_NONE;
        const double d = j < count ? right[j].dist2 : (double)INFINITY;
        const double actual = value_at(dist2, t->host.scalar, at + j);
        if (ids[at + j] != id || actual != d)
            fail_msg("%s, %u points, method %d, k %u, query %u, answer %u: id %u at %g, expected "
                     "%u at %g",
                     name, t->host.count, (int)t->query.method, t->query.k, which, j, ids[at + j],
                     actual, id, d);
    }
}

static void check_nearest(const char *name, tree_case *t, point_query_method method, uint32_t k) {
    point_query_cuda *q = &t->query;
    q->method = method;
    q->k = k;
    const uint64_t answers = (uint64_t)QUERIES * k, scalar = point_scalar_bytes(t->host.scalar);
    q->ids = (uint32_t *)to_device(NULL, answers * sizeof(uint32_t));
    q->dist2 = to_device(NULL, answers * scalar);
    q->counts = (uint32_t *)to_device(NULL, QUERIES * sizeof(uint32_t));
    assert_int_equal(point_query_cuda_scratch_bytes(&q->scratch_bytes, q), KD_OK);
    q->scratch = to_device(NULL, q->scratch_bytes);
    assert_int_equal(point_query_cuda_nearest(q), KD_OK);
    assert_int_equal(device_wait(), KD_OK);
    uint32_t *ids = (uint32_t *)malloc(answers * sizeof *ids), counts[QUERIES];
    void *dist2 = malloc(answers * scalar);
    neighbour_nd *right = (neighbour_nd *)malloc(k * sizeof *right);
    assert_true(ids && dist2 && right);
    assert_int_equal(device_memory_download(ids, q->ids, answers * sizeof *ids), KD_OK);
    assert_int_equal(device_memory_download(dist2, q->dist2, answers * scalar), KD_OK);
    assert_int_equal(device_memory_download(counts, q->counts, sizeof counts), KD_OK);
    const pointtree_nd_view view = pointtree_get_nd_view(&t->host);
    for (uint32_t i = 0; i < QUERIES; ++i) {
        const double bound2 = pointtree_nd_bound2(t->host.scalar, q->max_radius);
        const void *point = (const char *)t->points + i * t->host.dims * scalar;
        const uint32_t count = pointtree_nd_nearest_k(&view, NULL, point, k, bound2, right);
        assert_int_equal(counts[i], count);
        expect_row(name, t, i, ids, dist2, (uint64_t)i * k, k, right, count);
    }
    free(ids);
    free(dist2);
    free(right);
    device_memory_free(q->ids);
    device_memory_free(q->dist2);
    device_memory_free(q->counts);
    device_memory_free(q->scratch);
}

static void check_within(const char *name, tree_case *t, point_query_method method) {
    point_query_cuda *q = &t->query;
    q->method = method;
    q->k = 0;
    assert_int_equal(point_query_cuda_scratch_bytes(&q->scratch_bytes, q), KD_OK);
    q->scratch = to_device(NULL, q->scratch_bytes);
    uint64_t offsets[QUERIES + 1];
    uint64_t *device_offsets = (uint64_t *)to_device(NULL, sizeof offsets);
    assert_int_equal(point_query_cuda_count_within(q, device_offsets), KD_OK);
    assert_int_equal(device_memory_download(offsets, device_offsets, sizeof offsets), KD_OK);
    const uint64_t answers = offsets[QUERIES], scalar = point_scalar_bytes(t->host.scalar);
    q->ids = (uint32_t *)to_device(NULL, answers * sizeof(uint32_t));
    q->dist2 = to_device(NULL, answers * scalar);
    assert_int_equal(point_query_cuda_within(q, device_offsets), KD_OK);
    assert_int_equal(device_wait(), KD_OK);
    uint32_t *ids = (uint32_t *)malloc(answers * sizeof *ids + 1);
    void *dist2 = malloc(answers * scalar + 1);
    neighbour_nd *right = (neighbour_nd *)malloc((t->host.count + 1) * sizeof *right);
    assert_true(ids && dist2 && right);
    assert_int_equal(device_memory_download(ids, q->ids, answers * sizeof *ids), KD_OK);
    assert_int_equal(device_memory_download(dist2, q->dist2, answers * scalar), KD_OK);
    const pointtree_nd_view view = pointtree_get_nd_view(&t->host);
    for (uint32_t i = 0; i < QUERIES; ++i) {
        const double bound2 = pointtree_nd_bound2(t->host.scalar, q->max_radius);
        const void *point = (const char *)t->points + i * t->host.dims * scalar;
        const uint32_t count =
            pointtree_nd_within(&view, NULL, point, bound2, t->host.count, right);
        neighbour_nd_sort(right, count);
        assert_int_equal(offsets[i + 1] - offsets[i], count);
        expect_row(name, t, i, ids, dist2, offsets[i], count, right, count);
    }
    free(ids);
    free(dist2);
    free(right);
    device_memory_free(q->ids);
    device_memory_free(q->dist2);
    device_memory_free(q->scratch);
    device_memory_free(device_offsets);
}

static const uint32_t ks[] = {1,  2,  3,  8,   11,  12,  16,  20,   24,
                              28, 50, 56, 100, 112, 300, 600, K_MAX};
enum { KS = sizeof ks / sizeof *ks };

static void check_three_floats(case_points set, uint32_t count, pointtree_split split) {
    vec3 *points = (vec3 *)malloc((count + 1) * sizeof *points);
    assert_non_null(points);
    for (uint32_t i = 0; i < count; ++i) points[i] = case_point(set, i, count);
    const point_array array = point_array_make(points, count, 3, POINT_FLOAT);
    const char *name = case_points_name(set);
    tree_case t;
    tree_open(&t, &array, split);
    queries_open(&t, &array);
    const double side = count ? t.host.box.hi[0] - t.host.box.lo[0] : 1;
    const double radii[] = {(double)INFINITY, 0.1 * side, 0, -1};
    for (int r = 0; r < 4; ++r) {
        t.query.max_radius = radii[r];
        for (int i = 0; i < KS; ++i) {
            if (r > 1 && ks[i] > 8) break;
            if (gpu_leaves_out((uint32_t)(r + i), 2)) continue;
            t.query.turns = (uint32_t)(r + i / 2) % 4;
            check_nearest(name, &t, POINT_QUERY_AUTO, ks[i]);
            check_nearest(name, &t, POINT_QUERY_LEAVES, ks[i]);
            if (ks[i] <= POINT_THREADS_K_MAX) check_nearest(name, &t, POINT_QUERY_THREADS, ks[i]);
            if (ks[i] <= POINT_PACKETS_K_MAX) check_nearest(name, &t, POINT_QUERY_PACKETS, ks[i]);
            if (ks[i] <= POINT_GROUPS_K_MAX) check_nearest(name, &t, POINT_QUERY_GROUPS, ks[i]);
            if (ks[i] <= 20) check_nearest(name, &t, POINT_QUERY_WALK, ks[i]);
        }
        if (r == 0 && count > 1024) continue;
        check_within(name, &t, POINT_QUERY_LEAVES);
        check_within(name, &t, POINT_QUERY_WALK);
    }
    tree_close(&t);
    free(points);
}

static void all_ways_agree(void **state) {
    (void)state;
    static const uint32_t counts[] = {0, 1, 2, 7, 16, 31, 32, 33, 63, 64, 200, 1023, 3000};
    for (int set = 0; set < CASE_POINT_SETS; ++set)
        for (int i = 0; i < (int)(sizeof counts / sizeof *counts); ++i)
            if (!gpu_leaves_out((uint32_t)(set + i), 17))
                check_three_floats((case_points)set, counts[i], (pointtree_split)(i % 2));
}

static void large_trees_too(void **state) {
    (void)state;
    check_three_floats(CASE_UNIFORM, gpu_size(100003, 20000), POINTTREE_ROUND_ROBIN);
    if (gpu_is_emulated()) return;
    check_three_floats(CASE_CLUSTERED, 100003, POINTTREE_WIDEST);
    check_three_floats(CASE_DUPLICATES, 70000, POINTTREE_WIDEST);
}

static device_answers run_query(tree_case *t, point_query_method method, uint64_t count,
                                uint32_t k) {
    t->query.method = method;
    t->query.k = k;
    return answers_of(&t->query, NULL, count);
}

static void expect_same(const tree_case *t, const device_answers *a, const device_answers *right,
                        uint64_t count) {
    const uint32_t k = t->query.k;
    for (uint64_t i = 0; i < count * k; ++i)
        if (a->ids[i] != right->ids[i] || a->dist2[i] != right->dist2[i] ||
            a->counts[i / k] != right->counts[i / k])
            fail_msg("method %d, k %u, query %u, answer %u: id %u at %g, expected %u at %g",
                     (int)t->query.method, k, (unsigned)(i / k), (unsigned)(i % k), a->ids[i],
                     (double)a->dist2[i], right->ids[i], (double)right->dist2[i]);
}

/* So many queries that they are sorted, with one radius per query, against the stack-free traversal
   on the device. */
static void check_many(case_points set, uint32_t count, uint32_t queries, pointtree_split split) {
    static const struct {
        point_query_method method;
        uint32_t k, kernel_k;
    } calls[] = {
        {POINT_QUERY_AUTO, 1, 0},    {POINT_QUERY_THREADS, 8, 0},  {POINT_QUERY_THREADS, 3, 9},
        {POINT_QUERY_PACKETS, 8, 0}, {POINT_QUERY_PACKETS, 3, 0},  {POINT_QUERY_PACKETS, 5, 16},
        {POINT_QUERY_PACKETS, 9, 0}, {POINT_QUERY_PACKETS, 20, 0}, {POINT_QUERY_PACKETS, 18, 24},
        {POINT_QUERY_GROUPS, 20, 0}, {POINT_QUERY_GROUPS, 20, 56}, {POINT_QUERY_GROUPS, 50, 0},
        {POINT_QUERY_GROUPS, 99, 0}, {POINT_QUERY_LEAVES, 20, 0},  {POINT_QUERY_LEAVES, 20, 300}};
    const uint32_t all = count + queries;
    vec3 *points = (vec3 *)malloc(all * sizeof *points);
    float *radii = (float *)malloc(queries * sizeof *radii);
    assert_true(points && radii);
    for (uint32_t i = 0; i < all; ++i) points[i] = case_point(set, i, all);
    for (uint32_t i = 0; i < queries; ++i) radii[i] = i % 3 ? INFINITY : (float)(i % 100) * 1e-3f;
    const point_array array = point_array_make(points, count, 3, POINT_FLOAT);
    tree_case t;
    tree_open(&t, &array, split);
    t.query.index = &t.index;
    t.device_points = to_device(points + count, queries * sizeof *points);
    t.query.points = point_array_make(t.device_points, queries, 3, POINT_FLOAT);
    t.query.max_radius = (double)INFINITY;
    void *device_radii = to_device(radii, queries * sizeof *radii);
    t.query.radii = device_radii;
    for (int i = 0; i < (int)(sizeof calls / sizeof *calls); ++i) {
        t.query.kernel_k = 0;
        device_answers right = run_query(&t, POINT_QUERY_WALK, queries, calls[i].k);
        t.query.turns = (uint32_t)(7 * i) % 5;
        t.query.kernel_k = calls[i].kernel_k;
        device_answers a = run_query(&t, calls[i].method, queries, calls[i].k);
        expect_same(&t, &a, &right, queries);
        answers_free(&a);
        answers_free(&right);
    }
    device_memory_free(device_radii);
    tree_close(&t);
    free(points);
    free(radii);
}

static void many_queries_too(void **state) {
    (void)state;
    check_many(CASE_UNIFORM, 30000, gpu_size(110000, 5000), POINTTREE_WIDEST);
    if (gpu_is_emulated()) return;
    check_many(CASE_CLUSTERED, 1500000, 101003, POINTTREE_WIDEST);
    check_many(CASE_UNIFORM, 2200000, 600000, POINTTREE_ROUND_ROBIN);
}

static void any_dimensions(void **state) {
    (void)state;
    enum { COUNT = 1500 };
    double doubles[COUNT * 8];
    float floats[COUNT * 8];
    for (uint32_t i = 0; i < COUNT * 8; ++i) {
        const rng_block r = rng_draw(rng_key_make(4, 1, i), 0, 0);
        doubles[i] = (double)(i % 3 ? r.value[0] : floorf(4 * r.value[1]));
        floats[i] = (float)doubles[i];
    }
    for (uint32_t dims = 1; dims <= 8; ++dims)
        for (int scalar = 0; scalar < 2; ++scalar) {
            const point_array array =
                point_array_make(scalar ? (const void *)doubles : (const void *)floats, COUNT, dims,
                                 (point_scalar)scalar);
            tree_case t;
            tree_open(&t, &array, POINTTREE_WIDEST);
            queries_open(&t, &array);
            check_nearest("any dimensions", &t, POINT_QUERY_AUTO, 5);
            t.query.max_radius = 0.4;
            check_nearest("any dimensions", &t, POINT_QUERY_AUTO, 40);
            check_within("any dimensions", &t, POINT_QUERY_AUTO);
            tree_close(&t);
        }
}

static void bad_requests_are_refused(void **state) {
    (void)state;
    const vec3 points[3] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}};
    const point_array array = point_array_make(points, 3, 3, POINT_FLOAT);
    tree_case t;
    tree_open(&t, &array, POINTTREE_ROUND_ROBIN);
    queries_open(&t, &array);
    t.query.k = 17;
    t.query.method = POINT_QUERY_THREADS;
    assert_int_equal(point_query_cuda_nearest(&t.query), KD_ERROR_USAGE);
    t.query.k = 7;
    t.query.kernel_k = 6;
    assert_int_equal(point_query_cuda_nearest(&t.query), KD_ERROR_USAGE);
    t.query.kernel_k = 0;
    t.query.method = POINT_QUERY_WALK;
    /* because no scratch memory is given */
    assert_int_equal(point_query_cuda_nearest(&t.query), KD_ERROR_MEMORY);
    t.query.points.dims = 2;
    assert_int_equal(point_query_cuda_nearest(&t.query), KD_ERROR_USAGE);
    tree_close(&t);
}

int main(void) {
    if (gpu_is_missing()) return TEST_SKIPPED;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_ways_agree),           cmocka_unit_test(large_trees_too),
        cmocka_unit_test(many_queries_too),         cmocka_unit_test(any_dimensions),
        cmocka_unit_test(bad_requests_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
