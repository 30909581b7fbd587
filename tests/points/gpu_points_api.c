/* A tree on a CUDA device returns the same results as one on the CPU for every call of
   <kandela/points.h>, bit for bit, from host and device memory, and rejects the same requests. */
#include "core/device/device.h"
#include "core/device/device_memory.h"
#include "tests/cases.h"
#include "tests/gpu.h"
#include <kandela/points.h>
#include <stdio.h>
#include <unistd.h>

enum { COUNT = 3000, QUERIES = 400, K = 9, DIMS_MAX = 8 };

static void *to_device(const void *host, uint64_t bytes) {
    void *pointer = NULL;
    assert_int_equal(device_memory_reserve(&pointer, bytes), KD_OK);
    if (host) assert_int_equal(device_memory_upload(pointer, host, bytes), KD_OK);
    return pointer;
}

/* Coordinates with many equal values, as floats or doubles. */
static void *make_points(uint64_t count, uint32_t dims, kd_scalar scalar, uint32_t seed) {
    const uint64_t size = scalar == KD_DOUBLE ? sizeof(double) : sizeof(float);
    void *points = malloc(count * dims * size + 1);
    assert_non_null(points);
    for (uint64_t i = 0; i < count * dims; ++i) {
        const rng_block r = rng_draw(rng_key_make(seed, 0, (uint32_t)i), 0, 0);
        const float x = i % 3 ? r.value[0] : floorf(5 * r.value[1]) / 5;
        if (scalar == KD_DOUBLE)
            ((double *)points)[i] = (double)x;
        else
            ((float *)points)[i] = x;
    }
    return points;
}

static kd_points *open_tree(const kd_point_array *points, const char *device_name,
                            kd_points_split split) {
    kd_points_options options;
    kd_points_options_default(&options);
    snprintf(options.device, sizeof options.device, "%s", device_name);
    options.split = split;
    kd_points *tree = NULL;
    const kd_status status = kd_points_open(&tree, points, &options);
    if (status != KD_OK) fail_msg("%s: %s", device_name, kd_last_error());
    return tree;
}

typedef struct answers {
    uint32_t ids[QUERIES * K], counts[QUERIES];
    double dist2[QUERIES * K]; /* or floats */
    uint64_t offsets[QUERIES + 1];
    uint32_t *within_ids;
    void *within_dist2;
} answers;

/* Each call with results in host memory. */
static void run_query(answers *out, const kd_points *tree, const kd_points_query *query) {
    memset(out, 0, sizeof *out);
    if (kd_points_nearest(tree, query, K, out->ids, out->dist2, out->counts) != KD_OK)
        fail_msg("nearest: %s", kd_last_error());
    kd_points_query near = *query;
    near.max_radius = 0.2;
    assert_int_equal(kd_points_within_count(tree, &near, out->offsets), KD_OK);
    const uint64_t count = out->offsets[QUERIES];
    out->within_ids = (uint32_t *)calloc(count + 1, sizeof(uint32_t));
    out->within_dist2 = calloc(count + 1, sizeof(double));
    assert_true(out->within_ids && out->within_dist2);
    if (kd_points_within(tree, &near, out->offsets, out->within_ids, out->within_dist2) != KD_OK)
        fail_msg("within: %s", kd_last_error());
}

static void expect_same(const answers *a, const answers *b) {
    assert_memory_equal(a->ids, b->ids, sizeof a->ids);
    assert_memory_equal(a->dist2, b->dist2, sizeof a->dist2);
    assert_memory_equal(a->counts, b->counts, sizeof a->counts);
    assert_memory_equal(a->offsets, b->offsets, sizeof a->offsets);
    const uint64_t count = a->offsets[QUERIES];
    assert_memory_equal(a->within_ids, b->within_ids, (count + 1) * sizeof(uint32_t));
    assert_memory_equal(a->within_dist2, b->within_dist2, (count + 1) * sizeof(double));
}

static void free_answers(answers *a) {
    free(a->within_ids);
    free(a->within_dist2);
}

static void expect_same_tree(const kd_points *a, const kd_points *b) {
    kd_points_info of_a, of_b;
    kd_points_describe(a, &of_a);
    kd_points_describe(b, &of_b);
    assert_int_equal(of_a.count, of_b.count);
    assert_int_equal(of_a.hash, of_b.hash);
    assert_string_equal(of_a.builder, of_b.builder);
    assert_memory_equal(of_a.lo, of_b.lo, of_a.dims * sizeof(double));
    assert_memory_equal(of_a.hi, of_b.hi, of_a.dims * sizeof(double));
    const uint64_t bytes = of_a.count * of_a.dims * (of_a.scalar == KD_DOUBLE ? 8 : 4);
    char *points_a = (char *)malloc(bytes + 1), *points_b = (char *)malloc(bytes + 1);
    uint32_t *ids = (uint32_t *)malloc((2 * of_a.count + 1) * sizeof *ids);
    uint8_t *axes = (uint8_t *)malloc(2 * of_a.count + 1);
    assert_true(points_a && points_b && ids && axes);
    assert_int_equal(kd_points_download(a, points_a, ids, axes), KD_OK);
    assert_int_equal(kd_points_download(b, points_b, ids + of_a.count, axes + of_a.count), KD_OK);
    assert_memory_equal(points_a, points_b, bytes);
    assert_memory_equal(ids, ids + of_a.count, of_a.count * sizeof *ids);
    assert_memory_equal(axes, axes + of_a.count, of_a.count);
    free(points_a);
    free(points_b);
    free(ids);
    free(axes);
}

static void check_pair(uint32_t dims, kd_scalar scalar, kd_points_split split, bool named) {
    void *cloud = make_points(COUNT, dims, scalar, 1),
         *queries = make_points(QUERIES, dims, scalar, 2);
    uint32_t names[COUNT];
    for (uint32_t i = 0; i < COUNT; ++i) names[i] = 7 * i + 3;
    kd_point_array points = kd_point_array_make(cloud, COUNT, dims, scalar);
    if (named) points.ids = names;
    kd_points *cpu = open_tree(&points, "cpu", split), *gpu = open_tree(&points, "cuda:0", split);
    expect_same_tree(cpu, gpu);
    kd_points_query query;
    kd_points_query_default(&query);
    query.points = kd_point_array_make(queries, QUERIES, dims, scalar);
    static const char *const methods[] = {"auto", "leaves", "walk"};
    for (int i = 0; i < 3; ++i) {
        snprintf(query.method, sizeof query.method, "%s", methods[i]);
        static answers of_cpu, of_gpu;
        run_query(&of_cpu, cpu, &query);
        run_query(&of_gpu, gpu, &query);
        expect_same(&of_cpu, &of_gpu);
        free_answers(&of_cpu);
        free_answers(&of_gpu);
    }
    kd_points_close(cpu);
    kd_points_close(gpu);
    free(cloud);
    free(queries);
}

static void same_answers(void **state) {
    (void)state;
    for (uint32_t dims = 1; dims <= DIMS_MAX; ++dims)
        for (int i = 0; i < 4; ++i)
            check_pair(dims, (kd_scalar)(i % 2), (kd_points_split)(i / 2), i % 3 == 0);
}

/* Points, queries, radii and results in device memory. */
static void device_pointers(void **state) {
    (void)state;
    float *cloud = (float *)make_points(COUNT, 3, KD_FLOAT, 3);
    float *queries = (float *)make_points(QUERIES, 3, KD_FLOAT, 4);
    float radii[QUERIES];
    for (uint32_t i = 0; i < QUERIES; ++i) radii[i] = 0.001F * (float)i;
    const kd_point_array host = kd_point_array_make(cloud, COUNT, 3, KD_FLOAT);
    kd_point_array device_points = host;
    device_points.coordinates = to_device(cloud, COUNT * 3 * sizeof(float));
    kd_points *cpu = open_tree(&host, "cpu", KD_POINTS_SPLIT_WIDEST);
    kd_points *gpu = open_tree(&device_points, "auto", KD_POINTS_SPLIT_WIDEST);
    expect_same_tree(cpu, gpu);
    kd_points_info info;
    kd_points_describe(gpu, &info);
    assert_null(strstr(info.device, "CPU")); /* few points, but they are in device memory */
    kd_points_query query;
    kd_points_query_default(&query);
    query.points = kd_point_array_make(queries, QUERIES, 3, KD_FLOAT);
    query.radii = radii;
    static uint32_t right_ids[QUERIES * K], ids[QUERIES * K];
    static float right[QUERIES * K], actual[QUERIES * K];
    assert_int_equal(kd_points_nearest(cpu, &query, K, right_ids, right, NULL), KD_OK);
    uint32_t *device_ids = (uint32_t *)to_device(NULL, sizeof ids);
    float *device_dist2 = (float *)to_device(NULL, sizeof actual);
    void *device_queries = to_device(queries, QUERIES * 3 * sizeof(float));
    void *device_radii = to_device(radii, sizeof radii);
    query.points.coordinates = device_queries;
    query.radii = device_radii;
    query.stream = (void *)(uintptr_t)2; /* cudaStreamPerThread */
    assert_int_equal(kd_points_nearest(gpu, &query, K, device_ids, device_dist2, NULL), KD_OK);
    assert_int_equal(device_memory_download(ids, device_ids, sizeof ids), KD_OK);
    assert_int_equal(device_memory_download(actual, device_dist2, sizeof actual), KD_OK);
    assert_memory_equal(ids, right_ids, sizeof ids);
    assert_memory_equal(actual, right, sizeof actual);
    kd_points_close(cpu);
    kd_points_close(gpu);
    device_memory_free((void *)(uintptr_t)device_points.coordinates);
    device_memory_free(device_queries);
    device_memory_free(device_radii);
    device_memory_free(device_ids);
    device_memory_free(device_dist2);
    free(cloud);
    free(queries);
}

static void saved_loaded_updated(void **state) {
    (void)state;
    float *cloud = (float *)make_points(COUNT, 3, KD_FLOAT, 5);
    kd_point_array points = kd_point_array_make(cloud, COUNT, 3, KD_FLOAT);
    kd_points *gpu = open_tree(&points, "cuda:0", KD_POINTS_SPLIT_WIDEST);
    char path[64];
    snprintf(path, sizeof path, "/tmp/gpu_points_api.%d", (int)getpid());
    assert_int_equal(kd_points_save(gpu, path), KD_OK);
    kd_points_query query;
    kd_points_query_default(&query);
    query.points = kd_point_array_make(cloud + 1, QUERIES, 3, KD_FLOAT);
    static answers before, after;
    run_query(&before, gpu, &query);
    kd_points_options options;
    kd_points_options_default(&options);
    static const char *const places[] = {"cpu", "cuda:0", "auto"};
    for (int i = 0; i < 3; ++i) {
        kd_points *loaded = NULL;
        snprintf(options.device, sizeof options.device, "%s", places[i]);
        assert_int_equal(kd_points_load(&loaded, path, &options), KD_OK);
        expect_same_tree(gpu, loaded);
        run_query(&after, loaded, &query);
        expect_same(&before, &after);
        free_answers(&after);
        kd_points_close(loaded);
    }
    unlink(path);
    free_answers(&before);
    points.count = COUNT / 2;
    kd_points *cpu = open_tree(&points, "cpu", KD_POINTS_SPLIT_WIDEST);
    assert_int_equal(kd_points_update(gpu, &points), KD_OK);
    expect_same_tree(cpu, gpu);
    cloud[7] = NAN;
    assert_int_equal(kd_points_update(gpu, &points), KD_ERROR_INPUT);
    assert_non_null(strstr(kd_last_error(), "coordinate 1 of point 2"));
    expect_same_tree(cpu, gpu);
    kd_points_close(cpu);
    kd_points_close(gpu);
    free(cloud);
}

static void auto_chooses_by_size(void **state) {
    (void)state;
    if (gpu_is_emulated()) skip(); /* a million threads */
    enum { MANY = 200000 };
    float *cloud = (float *)make_points(MANY, 3, KD_FLOAT, 6);
    kd_points_info info;
    for (uint64_t count = 0; count <= MANY; count += MANY / 2) {
        const kd_point_array points = kd_point_array_make(cloud, count, 3, KD_FLOAT);
        kd_points *chosen = open_tree(&points, "auto", KD_POINTS_SPLIT_WIDEST);
        kd_points *cpu = open_tree(&points, "cpu", KD_POINTS_SPLIT_WIDEST);
        kd_points_describe(chosen, &info);
        assert_int_equal(strncmp(info.device, "CPU", 3) == 0, count == 0);
        expect_same_tree(cpu, chosen);
        kd_points_close(chosen);
        kd_points_close(cpu);
    }
    free(cloud);
}

static void bad_requests(void **state) {
    (void)state;
    float *cloud = (float *)make_points(COUNT, 3, KD_FLOAT, 7);
    const kd_point_array points = kd_point_array_make(cloud, COUNT, 3, KD_FLOAT);
    kd_points *gpu = open_tree(&points, "cuda:0", KD_POINTS_SPLIT_WIDEST), *none = NULL;
    float queries[6] = {0, 0, 0, 1, NAN, 1}, radii[2] = {1, -1}, dist2[4];
    uint32_t ids[4];
    uint64_t offsets[3];
    kd_points_query query;
    kd_points_query_default(&query);
    query.points = kd_point_array_make(queries, 2, 3, KD_FLOAT);
    assert_int_equal(kd_points_nearest(gpu, &query, 2, ids, dist2, NULL), KD_ERROR_INPUT);
    assert_non_null(strstr(kd_last_error(), "coordinate 1 of point 1"));
    queries[4] = 1;
    query.radii = radii;
    assert_int_equal(kd_points_nearest(gpu, &query, 2, ids, dist2, NULL), KD_ERROR_INPUT);
    assert_non_null(strstr(kd_last_error(), "radius 1 is -1"));
    radii[1] = 1e-3F;
    assert_int_equal(kd_points_within_count(gpu, &query, offsets), KD_OK);
    offsets[1] += 1;
    assert_int_equal(kd_points_within(gpu, &query, offsets, ids, dist2), KD_ERROR_USAGE);
    assert_int_equal(kd_points_nearest(gpu, &query, 0, ids, dist2, NULL), KD_ERROR_USAGE);
    kd_points_options options;
    kd_points_options_default(&options);
    snprintf(options.device, sizeof options.device, "cuda:0");
    snprintf(options.builder, sizeof options.builder, "recursive");
    assert_int_equal(kd_points_open(&none, &points, &options), KD_ERROR_DEVICE);
    assert_null(none);
    snprintf(options.device, sizeof options.device, "auto"); /* it is on the CPU */
    assert_int_equal(kd_points_open(&none, &points, &options), KD_OK);
    kd_points_close(none);
    kd_points_close(gpu);
    free(cloud);
}

/* Every builder builds the same tree on both devices. */
static void builders_make_the_same_tree(void **state) {
    (void)state;
    static const char *const builders[] = {"select", "wald", "brown", "wehr"};
    float cloud[4 * 5000];
    for (int i = 0; i < 4 * 5000; ++i) cloud[i] = (float)(i * 7919 % 1009) / 64;
    const kd_point_array points = kd_point_array_make(cloud, 5000, 4, KD_FLOAT);
    for (int i = 0; i < 8; ++i) {
        kd_points_options options;
        kd_points_info info[2];
        kd_points_options_default(&options);
        options.split = (kd_points_split)(i % 2);
        snprintf(options.builder, sizeof options.builder, "%s", builders[i / 2]);
        for (int on = 0; on < 2; ++on) {
            kd_points *tree = NULL;
            snprintf(options.device, sizeof options.device, "%s", on ? "cuda:0" : "cpu");
            assert_int_equal(kd_points_open(&tree, &points, &options), KD_OK);
            kd_points_describe(tree, &info[on]);
            kd_points_close(tree);
        }
        assert_true(info[0].hash == info[1].hash);
        assert_string_equal(info[0].builder, info[1].builder);
    }
}

/* A tree on the CPU cannot read device pointers: each is rejected by name before it is
   dereferenced. */
static void device_pointers_on_the_cpu(void **state) {
    (void)state;
    float *cloud = (float *)make_points(100, 3, KD_FLOAT, 3);
    void *device_data = to_device(cloud, 100 * 3 * sizeof *cloud);
    uint32_t ids[100];
    uint64_t offsets[101];
    kd_point_array points = kd_point_array_make(cloud, 100, 3, KD_FLOAT);
    kd_points *tree = open_tree(&points, "cpu", KD_POINTS_SPLIT_WIDEST), *none = NULL;
    kd_points_options options;
    kd_points_options_default(&options);
    snprintf(options.device, sizeof options.device, "cpu");
#define REFUSED(call, says)                                                                        \
    do {                                                                                           \
        assert_int_equal(call, KD_ERROR_USAGE);                                                    \
        if (!strstr(kd_last_error(), says) || !strstr(kd_last_error(), "is memory of cuda:0"))     \
            fail_msg("%s", kd_last_error());                                                       \
    } while (0)
    points.coordinates = device_data;
    REFUSED(kd_points_open(&none, &points, &options), "points");
    REFUSED(kd_points_update(tree, &points), "points");
    points.coordinates = cloud;
    points.ids = (const uint32_t *)device_data;
    REFUSED(kd_points_open(&none, &points, &options), "`points->ids`");
    kd_points_query query;
    kd_points_query_default(&query);
    query.points = kd_point_array_make(device_data, 100, 3, KD_FLOAT);
    REFUSED(kd_points_closest(tree, &query, ids, NULL), "`query.points`");
    query.points.coordinates = cloud;
    query.radii = device_data;
    REFUSED(kd_points_within_count(tree, &query, offsets), "radii");
    query.radii = NULL;
    REFUSED(kd_points_closest(tree, &query, (uint32_t *)device_data, NULL), "`ids`");
    REFUSED(kd_points_closest(tree, &query, NULL, device_data), "`dist2`");
    REFUSED(kd_points_nearest(tree, &query, 1, ids, NULL, (uint32_t *)device_data), "`counts`");
    REFUSED(kd_points_within_count(tree, &query, (uint64_t *)device_data), "offsets");
    REFUSED(kd_points_within(tree, &query, (uint64_t *)device_data, ids, NULL), "offsets");
    REFUSED(kd_points_download(tree, device_data, NULL, NULL), "`coordinates`");
#undef REFUSED
    kd_points_close(tree);
    device_memory_free(device_data);
    free(cloud);
}

int main(void) {
    if (gpu_is_missing()) return TEST_SKIPPED;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_answers),
        cmocka_unit_test(device_pointers),
        cmocka_unit_test(saved_loaded_updated),
        cmocka_unit_test(auto_chooses_by_size),
        cmocka_unit_test(bad_requests),
        cmocka_unit_test(builders_make_the_same_tree),
        cmocka_unit_test(device_pointers_on_the_cpu),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
