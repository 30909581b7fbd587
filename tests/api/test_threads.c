/* The C interface used by eight threads at once: queries of a shared tree, trees built per thread,
   and error messages per thread. tools/tsan runs it under ThreadSanitizer; every build compares the
   results with those of one thread. */
#include "tests/test.h"
#include <kandela/machine.h>
#include <kandela/points.h>
#include <kandela/triangles.h>
#include <math.h>
#include <pthread.h>

enum { THREADS = 8, POINTS = 3000, QUERY_COUNT = 200, K = 4, SHAPES = 400, ROUNDS = 3 };

static float cloud[3 * POINTS], corners[9 * SHAPES];
static uint32_t expected_ids[QUERY_COUNT * K], expected_within[QUERY_COUNT + 1];
static kd_ray rays[QUERY_COUNT];
static kd_ray_hit expected_hits[QUERY_COUNT];
static kd_near_triangle expected_near[QUERY_COUNT];

static uint32_t draw(uint32_t *state) {
    return *state = *state * 1664525u + 1013904223u;
}

static void make_data(void) {
    uint32_t state = 7;
    for (int i = 0; i < 3 * POINTS; ++i) cloud[i] = (float)(draw(&state) >> 8) * 0x1p-24f;
    for (int i = 0; i < SHAPES; ++i)
        for (int k = 0; k < 9; ++k)
            corners[9 * i + k] = cloud[3 * i + k % 3] + (float)(draw(&state) >> 8) * 0x1p-27f;
    for (int i = 0; i < QUERY_COUNT; ++i)
        rays[i] = (kd_ray){{cloud[3 * i], cloud[3 * i + 1], -1}, 0, {0, 0, 1}, INFINITY};
}

static kd_status points_open(kd_points **out) {
    const kd_point_array points = kd_point_array_make(cloud, POINTS, 3, KD_FLOAT);
    kd_points_options options;
    kd_points_options_default(&options);
    strcpy(options.device, "cpu");
    return kd_points_open(out, &points, &options);
}

static kd_status triangles_open(kd_triangles **out) {
    const kd_triangle_mesh mesh = kd_triangle_mesh_make(corners, 3 * SHAPES, NULL, SHAPES);
    kd_triangles_options options;
    kd_triangles_options_default(&options);
    strcpy(options.device, "cpu");
    return kd_triangles_open(out, &mesh, &options);
}

static kd_status query_points(const kd_points *tree, uint32_t *ids, uint64_t *offsets) {
    kd_points_query query;
    kd_points_query_default(&query);
    query.points = kd_point_array_make(cloud, QUERY_COUNT, 3, KD_FLOAT);
    const kd_status status = kd_points_nearest(tree, &query, K, ids, NULL, NULL);
    query.max_radius = 0.1;
    return status == KD_OK ? kd_points_within_count(tree, &query, offsets) : status;
}

static kd_status query_triangles(const kd_triangles *tree, kd_ray_hit *hits,
                                 kd_near_triangle *near) {
    const kd_status status = kd_triangles_intersect(tree, rays, QUERY_COUNT, hits, NULL);
    return status == KD_OK ? kd_triangles_closest_point(tree, cloud, QUERY_COUNT, INFINITY, near)
                           : status;
}

typedef struct worker {
    pthread_t thread;
    int number;
    const kd_points *points; /* a tree shared by all threads; NULL: each thread builds its own */
    const kd_triangles *triangles;
    int wrong;
} worker;

static bool same_points(const kd_points *tree) {
    uint32_t ids[QUERY_COUNT * K];
    uint64_t offsets[QUERY_COUNT + 1];
    if (query_points(tree, ids, offsets) != KD_OK) return false;
    if (memcmp(ids, expected_ids, sizeof ids) != 0) return false;
    for (int i = 0; i <= QUERY_COUNT; ++i)
        if (offsets[i] != expected_within[i]) return false;
    return true;
}

static bool same_triangles(const kd_triangles *tree) {
    kd_ray_hit hits[QUERY_COUNT];
    kd_near_triangle near[QUERY_COUNT];
    return query_triangles(tree, hits, near) == KD_OK &&
           memcmp(hits, expected_hits, sizeof hits) == 0 &&
           memcmp(near, expected_near, sizeof near) == 0;
}

static void *query_together(void *context) {
    worker *job = (worker *)context;
    for (int round = 0; round < ROUNDS; ++round)
        job->wrong += !same_points(job->points) + !same_triangles(job->triangles);
    return NULL;
}

static void *build_alone(void *context) {
    worker *job = (worker *)context;
    for (int round = 0; round < ROUNDS; ++round) {
        kd_points *points = NULL;
        kd_triangles *triangles = NULL;
        job->wrong += points_open(&points) != KD_OK || !same_points(points);
        job->wrong += triangles_open(&triangles) != KD_OK || !same_triangles(triangles);
        kd_points_close(points);
        kd_triangles_close(triangles);
    }
    return NULL;
}

/* Each thread fails in a different way and then reads its own message. */
static void *fail_alone(void *context) {
    worker *job = (worker *)context;
    for (int round = 0; round < 50 * ROUNDS; ++round) {
        char path[64];
        kd_points *points = NULL;
        snprintf(path, sizeof path, "/absent/of-thread-%d", job->number);
        job->wrong += kd_points_load(&points, path, NULL) == KD_OK;
        job->wrong += !strstr(kd_last_error(), path);
        job->wrong += kd_points_nearest(job->points, NULL, 1, NULL, NULL, NULL) == KD_OK;
        job->wrong += strstr(kd_last_error(), "absent") != NULL;
    }
    return NULL;
}

static void run_all(void *(*body)(void *), const kd_points *points, const kd_triangles *triangles) {
    worker workers[THREADS];
    for (int i = 0; i < THREADS; ++i) {
        workers[i] = (worker){.number = i, .points = points, .triangles = triangles};
        assert_int_equal(pthread_create(&workers[i].thread, NULL, body, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; ++i) {
        assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
        assert_int_equal(workers[i].wrong, 0);
    }
}

static void test_concurrent_results_match_single_thread(void **state) {
    (void)state;
    kd_points *points = NULL;
    kd_triangles *triangles = NULL;
    uint64_t offsets[QUERY_COUNT + 1];
    make_data();
    assert_int_equal(points_open(&points), KD_OK);
    assert_int_equal(triangles_open(&triangles), KD_OK);
    assert_int_equal(query_points(points, expected_ids, offsets), KD_OK);
    for (int i = 0; i <= QUERY_COUNT; ++i) expected_within[i] = (uint32_t)offsets[i];
    assert_int_equal(query_triangles(triangles, expected_hits, expected_near), KD_OK);
    run_all(query_together, points, triangles);
    run_all(build_alone, NULL, NULL);
    run_all(fail_alone, points, NULL);
    kd_points_close(points);
    kd_triangles_close(triangles);
}

static void test_threads_and_devices_are_reported(void **state) {
    (void)state;
    const int32_t usual = kd_threads();
    kd_threads_set(1);
    assert_int_equal(kd_threads(), 1);
    kd_threads_set(0);
    assert_int_equal(kd_threads(), usual);
    assert_true(usual >= 1 && kd_device_count() >= 1 && kd_device_bytes(0) > 0);
    assert_string_equal(kd_device_id(0), "cpu");
    assert_non_null(strstr(kd_device_name(0), "CPU"));
    assert_string_equal(kd_device_id(1000), "");
    assert_string_equal(kd_device_name(1000), "");
    assert_int_equal(kd_device_bytes(1000), 0);
    assert_true(strncmp(kd_points_builders(), "select ", 7) == 0);
    assert_true(strncmp(kd_triangles_builders(), "sweep ", 6) == 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_concurrent_results_match_single_thread),
        cmocka_unit_test(test_threads_and_devices_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
