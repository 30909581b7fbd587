/* A batched query may start where the previous one did. Batches return the same results as separate
   queries: in the caller's order, along the Morton curve, and with one radius per query. */
#include "tests/test.h"
#include <kandela/points.h>
#include <string.h>

enum { POINTS = 6000, QUERY_COUNT = 1600, K_MAX = 20 };
static double cloud[POINTS * 5], queries[QUERY_COUNT * 5], radii[QUERY_COUNT];
static float narrow[POINTS * 5], narrow_queries[QUERY_COUNT * 5], narrow_radii[QUERY_COUNT];
static uint32_t ids[QUERY_COUNT * K_MAX], counts[QUERY_COUNT], one_ids[K_MAX], one_count,
    random_state = 3;
static double dist2[QUERY_COUNT * K_MAX], one_dist2[K_MAX];

static uint32_t draw(uint32_t bound) {
    random_state = random_state * 1664525u + 1013904223u;
    return (uint32_t)((uint64_t)random_state * bound >> 32);
}

static void make(uint32_t dims) {
    for (uint32_t i = 0; i < POINTS * dims; ++i) cloud[i] = (double)draw(7) - 3;
    for (uint32_t i = 0; i < QUERY_COUNT; ++i) {
        /* from == i: a new position, otherwise that of query `from` */
        const uint32_t from = i && draw(3) ? i - 1 : draw(i + 1);
        for (uint32_t axis = 0; axis < dims; ++axis)
            queries[i * dims + axis] =
                from == i ? (double)draw(9) - 4 : queries[from * dims + axis];
        radii[i] = (double)draw(4);
        if (i % 60 == 59) queries[i * dims] = -0.0;
    }
    for (uint32_t i = 0; i < POINTS * dims; ++i) narrow[i] = (float)cloud[i];
    for (uint32_t i = 0; i < QUERY_COUNT * dims; ++i) narrow_queries[i] = (float)queries[i];
    for (uint32_t i = 0; i < QUERY_COUNT; ++i) narrow_radii[i] = (float)radii[i];
}

static void compare(const kd_points *tree, kd_points_query query, uint32_t k) {
    const uint64_t bytes = query.points.scalar == KD_DOUBLE ? sizeof(double) : sizeof(float);
    assert_int_equal(kd_points_nearest(tree, &query, k, ids, dist2, counts), KD_OK);
    kd_points_query one = query;
    one.points.count = 1;
    for (uint32_t i = 0; i < QUERY_COUNT; ++i) {
        one.points.coordinates =
            (const char *)query.points.coordinates + i * query.points.dims * bytes;
        if (query.radii) one.radii = (const char *)query.radii + i * bytes;
        assert_int_equal(kd_points_nearest(tree, &one, k, one_ids, one_dist2, &one_count), KD_OK);
        assert_int_equal(counts[i], one_count);
        assert_memory_equal(ids + i * k, one_ids, k * sizeof *ids);
        assert_memory_equal((const char *)dist2 + i * k * bytes, one_dist2, k * bytes);
    }
}

static void test_repeated_queries_are_independent(void **state) {
    (void)state;
    for (uint32_t dims = 2; dims <= 5; ++dims)
        for (int wide = 0; wide < 2; ++wide) {
            kd_points *tree = NULL;
            kd_points_query query;
            make(dims);
            const kd_scalar scalar = wide ? KD_DOUBLE : KD_FLOAT;
            const kd_point_array points =
                kd_point_array_make(wide ? (void *)cloud : (void *)narrow, POINTS, dims, scalar);
            kd_points_options options;
            kd_points_options_default(&options);
            strcpy(options.device, "cpu");
            assert_int_equal(kd_points_open(&tree, &points, &options), KD_OK);
            kd_points_query_default(&query);
            query.points = kd_point_array_make(wide ? (void *)queries : (void *)narrow_queries,
                                               QUERY_COUNT, dims, scalar);
            for (int form = 0; form < 4; ++form) {
                query.coherent = form % 2;
                query.radii = form < 2 ? NULL : wide ? (void *)radii : (void *)narrow_radii;
                for (uint32_t k = 1; k <= K_MAX; k += 6) compare(tree, query, k);
            }
            kd_points_close(tree);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_repeated_queries_are_independent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
