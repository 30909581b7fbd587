/* Calls the functions of <kandela/points.h> and <kandela/exchange.h> for test_small_stack.c. */
#ifndef KD_TESTS_API_SMALL_STACK_POINTS_H
#define KD_TESTS_API_SMALL_STACK_POINTS_H
#include "tests/neighbours/searches.h"
#include <kandela/exchange.h>
#include <math.h>

#define OK(call)                                                                                   \
    do {                                                                                           \
        const kd_status said_ = (call);                                                            \
        if (said_ != KD_OK) fail_msg("%s: %s: %s", #call, kd_status_name(said_), kd_last_error()); \
    } while (0)

enum { CLOUD = 300, MANY = 20000, QUERY_COUNT = 6, K_MAX = 300 };

static float cloud[9 * MANY];
static double cloud_double[9 * MANY];
static uint64_t stack_ids[9 * MANY];
static double stack_dist2[9 * MANY];
static uint32_t stack_counts[MANY];
static uint64_t stack_offsets[MANY + 1];

static kd_point_array points_of(uint64_t count, uint32_t dims, kd_scalar scalar) {
    return kd_point_array_make(scalar == KD_DOUBLE ? (void *)cloud_double : (void *)cloud, count,
                               dims, scalar);
}

static double report_all(void *context, uint64_t query, uint64_t id, double dist2, double bound) {
    (void)context, (void)query, (void)id, (void)dist2;
    return bound;
}

static void query_nearest(const kd_points *tree, const kd_points_query *query) {
    static const uint32_t many[] = {1, 8, K_MAX};
    uint32_t *ids = (uint32_t *)(void *)stack_ids;
    for (size_t i = 0; i < sizeof many / sizeof *many; ++i) {
        OK(kd_points_nearest(tree, query, many[i], ids, stack_dist2, stack_counts));
        kd_points_rows rows;
        kd_points_rows_default(&rows);
        rows.ids64 = stack_ids;
        rows.dist2 = stack_dist2;
        rows.counts = stack_counts;
        OK(kd_points_search_nearest(tree, query, many[i], &rows));
    }
    OK(kd_points_closest(tree, query, ids, stack_dist2));
}

static void query_within(const kd_points *tree, kd_points_query *query) {
    static const double radii[] = {0.02, 0.3, 3};
    uint32_t *ids = (uint32_t *)(void *)stack_ids;
    for (size_t i = 0; i < sizeof radii / sizeof *radii; ++i) {
        query->max_radius = radii[i];
        OK(kd_points_within_count(tree, query, stack_offsets));
        OK(kd_points_within(tree, query, stack_offsets, ids, stack_dist2));
        kd_points_rows rows;
        kd_points_rows_default(&rows);
        rows.offsets = stack_offsets;
        OK(kd_points_search_count(tree, query, &rows));
        rows.ids64 = stack_ids;
        rows.dist2 = stack_dist2;
        OK(kd_points_search_within(tree, query, &rows));
        OK(kd_points_visit(tree, query, report_all, NULL));
    }
    query->max_radius = (double)INFINITY;
}

static void query_self(const kd_points *tree, kd_points_query *query) {
    uint32_t *ids = (uint32_t *)(void *)stack_ids;
    for (int skip = 0; skip < 2; ++skip) {
        query->skip_self = skip;
        OK(self_nearest(tree, query, 8, NULL, ids, stack_dist2, stack_counts));
        OK(self_nearest(tree, query, 30, stack_counts, ids, stack_dist2, NULL));
        query->max_radius = 0.05;
        OK(self_within_count(tree, query, NULL, stack_offsets));
        OK(self_within(tree, query, NULL, stack_offsets, ids, stack_dist2));
        query->max_radius = (double)INFINITY;
    }
    query->skip_self = 0;
}

static void query_all_boxes(const kd_points *tree, const kd_points_query *query) {
    uint32_t *ids = (uint32_t *)(void *)stack_ids;
    OK(in_box_count(tree, &query->points, &query->points, stack_offsets));
    OK(in_box(tree, &query->points, &query->points, stack_offsets, ids));
}

static void query_points(const kd_points *tree, uint32_t dims, kd_scalar scalar) {
    static const char *const methods[] = {"auto", "leaves", "walk"};
    static const double norms[] = {2, 1, (double)INFINITY};
    kd_points_query query;
    kd_points_query_default(&query);
    query.points = points_of(QUERY_COUNT, dims, scalar);
    (void)kd_points_scratch_bytes(tree, &query);
    for (int method = 0; method < 3; ++method)
        for (int norm = 0; norm < 3; ++norm)
            for (int wraps = 0; wraps < 2; ++wraps) {
                const int plain = norm == 0 && wraps == 0;
                /* buckets support neither other norms nor periods */
                if (method == 1 && !plain) continue;
                if (!plain && dims != 3 && dims != 8)
                    continue; /* those dimensions share their code with others */
                strcpy(query.method, methods[method]);
                query.norm = norms[norm];
                for (uint32_t axis = 0; axis < dims && axis < 8; ++axis)
                    query.period[axis] = wraps ? 2 : 0;
                query_nearest(tree, &query);
                query_within(tree, &query);
                if (method == 0) query_self(tree, &query);
            }
    query_all_boxes(tree, &query);
}

static void open_and_query(const char *device, const char *builder, uint32_t dims, kd_scalar scalar,
                           kd_points_split split) {
    kd_points *tree = NULL, *read = NULL;
    kd_points_options options;
    kd_points_info info;
    kd_points_options_default(&options);
    strcpy(options.device, device);
    strcpy(options.builder, builder);
    options.split = split;
    const kd_point_array points = points_of(CLOUD, dims, scalar);
    OK(kd_points_open(&tree, &points, &options));
    query_points(tree, dims, scalar);
    kd_points_describe(tree, &info);
    OK(kd_points_download(tree, stack_dist2, (uint32_t *)(void *)stack_ids, NULL));
    OK(kd_points_download_nodes(tree, stack_dist2, NULL, stack_ids, NULL));
    OK(kd_points_save(tree, "small_stack.kdn"));
    OK(kd_points_load(&read, "small_stack.kdn", &options));
    kd_points_close(read);
    OK(kd_points_update(tree, &points));
    kd_points_close(tree);
}

static void change_points(void) {
    kd_points *tree = NULL;
    uint32_t first = 0, gone[QUERY_COUNT];
    kd_points_query query;
    const kd_point_array points = points_of(CLOUD, 3, KD_FLOAT), more = points_of(70, 3, KD_FLOAT);
    OK(kd_points_open(&tree, &points, NULL));
    for (int i = 0; i < 3; ++i) OK(kd_points_insert(tree, &more, &first));
    for (uint32_t i = 0; i < QUERY_COUNT; ++i) gone[i] = 7 * i;
    OK(kd_points_remove(tree, gone, QUERY_COUNT));
    kd_points_query_default(&query);
    query.points = points_of(QUERY_COUNT, 3, KD_FLOAT);
    query_nearest(tree, &query);
    query_within(tree, &query);
    query_self(tree, &query);
    query_all_boxes(tree, &query);
    OK(kd_points_save(tree, "small_stack.kdn"));
    OK(kd_points_rebuild(tree));
    assert_int_equal(kd_points_count(tree), CLOUD + 3 * 70 - QUERY_COUNT);
    kd_points_close(tree);
}

static int share_nothing(void *user_data, void *bytes, const uint64_t *begins) {
    (void)user_data, (void)bytes, (void)begins;
    return 0;
}
static int sum_one(void *user_data, int64_t *values, uint64_t count) {
    (void)user_data, (void)values, (void)count;
    return 0;
}
static int hand_over(void *user_data, const void *bytes, const uint64_t *begins, void *into,
                     const uint64_t *into_begins) {
    (void)user_data;
    memcpy((char *)into + into_begins[0], (const char *)bytes + begins[0], begins[1] - begins[0]);
    return 0;
}

static void open_shared(void) {
    kd_points *tree = NULL;
    kd_points_query query;
    const kd_point_array points = points_of(CLOUD, 3, KD_FLOAT);
    const kd_exchange exchange = {sizeof exchange, NULL,    0,         1,
                                  share_nothing,   sum_one, hand_over, NULL};
    OK(kd_points_open_shared(&tree, &points, NULL, &exchange));
    kd_points_query_default(&query);
    query.points = points_of(QUERY_COUNT, 3, KD_FLOAT);
    query_nearest(tree, &query);
    kd_points_close(tree);
}

static void open_many(uint32_t dims, kd_scalar scalar, const char *builder, const char *device) {
    kd_points *tree = NULL;
    kd_points_options options;
    kd_points_query query;
    const kd_point_array half = points_of(MANY / 2, dims, scalar), arrays[2] = {half, half};
    const kd_point_array points = points_of(MANY, dims, scalar);
    kd_points_options_default(&options);
    strcpy(options.builder, builder);
    strcpy(options.device, device);
    OK(kd_points_open(&tree, &points, &options));
    kd_points_query_default(&query);
    query.points = points;
    OK(kd_points_closest(tree, &query, (uint32_t *)(void *)stack_ids, stack_dist2));
    OK(self_nearest(tree, &query, 8, NULL, (uint32_t *)(void *)stack_ids, stack_dist2, NULL));
    kd_points_close(tree);
    if (strchr(device, ',')) {
        OK(kd_points_open_arrays(&tree, arrays, 2, &options));
        kd_points_close(tree);
    }
}

static void *points_in_thread(void *unused) {
    for (uint32_t i = 0; i < 9 * MANY; ++i) {
        cloud_double[i] = fmod(i * 0.6180339887498949 + i * (double)i * 1e-7, 1);
        cloud[i] = (float)cloud_double[i];
    }
    for (uint32_t dims = 1; dims <= 9; ++dims)
        for (int scalar = 0; scalar < 2; ++scalar)
            open_and_query("cpu", "auto", dims, (kd_scalar)scalar, (kd_points_split)(dims % 2));
    for (const pointtree_builder *const *row = pointtree_builders; *row; ++row) {
        open_many(3, KD_FLOAT, (*row)->name, "cpu");
        open_many(8, KD_DOUBLE, (*row)->name, "cpu");
    }
    open_many(3, KD_FLOAT, "auto", "cpu,cpu");
    change_points();
    open_shared();
    return unused;
}

#endif
