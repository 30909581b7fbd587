/* <kandela/points.h>: every query against brute force in 1 to 9 and 41 dimensions, float and
   double; invalid input is rejected without effect, and the error names it; corrupt files are
   rejected. */
#include "core/files/file.h"
#include "core/hash.h"
#include "core/memory.h"
#include "core/parallel/parallel.h"
#include "points/select/builders.h"
#include "tests/cases.h"
#include "tests/test.h"
#include <kandela/points.h>
#include <unistd.h>

enum { POINTS_MAX = 3000, QUERIES_MAX = 1500, DIMS_MAX = 8, DIMS_CASES = 10, K_MAX = 1100 };

typedef struct answer {
    double dist2;
    uint32_t id;
} answer;

static double cloud[POINTS_MAX * (DIMS_MAX + 1)], queries[QUERIES_MAX * (DIMS_MAX + 1)];
static double radii[QUERIES_MAX];
static answer all[POINTS_MAX];
static uint32_t ids[QUERIES_MAX * 100], counts[QUERIES_MAX], renamed[POINTS_MAX];
static double dist2[QUERIES_MAX * 100];
static uint64_t offsets[QUERIES_MAX + 1];

static double scalar_at(const void *scalars, uint64_t i, kd_scalar scalar) {
    return scalar == KD_DOUBLE ? ((const double *)scalars)[i] : (double)((const float *)scalars)[i];
}

static void scalar_set(void *scalars, uint64_t i, kd_scalar scalar, double x) {
    if (scalar == KD_DOUBLE)
        ((double *)scalars)[i] = x;
    else
        ((float *)scalars)[i] = (float)x;
}

static void fill(void *to, case_points which, uint32_t first, uint32_t count, uint32_t dims,
                 uint32_t stride, kd_scalar scalar) {
    for (uint32_t i = 0; i < count; ++i)
        for (uint32_t axis = 0; axis < dims; ++axis) {
            const vec3 p = case_point(which, first + i + axis / 3 * 977, count);
            const double x = (double)vec3_axis(p, (int)(axis % 3));
            scalar_set(to, i * stride + axis, scalar,
                       scalar == KD_DOUBLE ? x * (1 + 1e-12 * i) : x);
        }
}

static int compare(const void *a, const void *b) {
    const answer x = *(const answer *)a, y = *(const answer *)b;
    if (x.dist2 != y.dist2) return x.dist2 < y.dist2 ? -1 : 1;
    return x.id < y.id ? -1 : x.id > y.id;
}

/* Neighbours by definition: all points sorted by (dist2, index). */
static void brute_force(const kd_point_array *points, const kd_point_array *from, uint64_t q,
                        uint64_t point_stride, uint64_t query_stride) {
    for (uint32_t i = 0; i < points->count; ++i) {
        double sum = 0;
        float sum_float = 0;
        for (uint32_t axis = 0; axis < points->dims; ++axis) {
            const double p =
                scalar_at(points->coordinates, i * point_stride + axis, points->scalar);
            const double x = scalar_at(from->coordinates, q * query_stride + axis, points->scalar);
            const float d = (float)x - (float)p;
            sum_float = sum_float + d * d;
            sum = sum + (x - p) * (x - p);
        }
        all[i].dist2 = points->scalar == KD_DOUBLE ? sum : (double)sum_float;
        all[i].id = i;
    }
    qsort(all, points->count, sizeof *all, compare);
}

static uint32_t count_within(uint64_t count, double radius, kd_scalar scalar) {
    const double bound2 =
        scalar == KD_DOUBLE ? radius * radius : (double)((float)radius * (float)radius);
    uint32_t within = 0;
    while (within < count && all[within].dist2 <= bound2) ++within;
    return within;
}

static void expect_row(uint64_t at, uint32_t count, kd_scalar scalar, const uint32_t *names) {
    for (uint32_t i = 0; i < count; ++i) {
        assert_int_equal(ids[at + i], names ? names[all[i].id] : all[i].id);
        assert_true(scalar_at(dist2, at + i, scalar) == all[i].dist2);
    }
}

static void compare_with_brute_force(const kd_points *tree, const kd_point_array *points,
                                     const kd_points_query *query, uint64_t point_stride,
                                     uint64_t query_stride, uint32_t k) {
    const kd_scalar scalar = points->scalar;
    const uint64_t query_count = query->points.count;
    assert_int_equal(kd_points_nearest(tree, query, k, ids, dist2, counts), KD_OK);
    for (uint64_t q = 0; q < query_count; ++q) {
        brute_force(points, &query->points, q, point_stride, query_stride);
        double radius = query->max_radius;
        if (query->radii && scalar_at(query->radii, q, scalar) < radius)
            radius = scalar_at(query->radii, q, scalar);
        const uint32_t within = count_within(points->count, radius, scalar);
        const uint32_t expected = within < k ? within : k;
        assert_int_equal(counts[q], expected);
        expect_row(q * k, expected, scalar, points->ids);
        for (uint32_t i = expected; i < k; ++i) {
            assert_int_equal(ids[q * k + i], KD_NO_POINT);
            assert_true(scalar_at(dist2, q * k + i, scalar) == (double)INFINITY);
        }
    }
    assert_int_equal(kd_points_within_count(tree, query, offsets), KD_OK);
    if (offsets[query_count] > sizeof ids / sizeof *ids) return;
    assert_int_equal(kd_points_within(tree, query, offsets, ids, dist2), KD_OK);
    for (uint64_t q = 0; q < query_count; ++q) {
        brute_force(points, &query->points, q, point_stride, query_stride);
        double radius = query->max_radius;
        if (query->radii && scalar_at(query->radii, q, scalar) < radius)
            radius = scalar_at(query->radii, q, scalar);
        const uint32_t within = count_within(points->count, radius, scalar);
        assert_int_equal(offsets[q + 1] - offsets[q], within);
        expect_row(offsets[q], within, scalar, points->ids);
    }
}

static void answers_equal_brute_force(void **state) {
    (void)state;
    static const uint32_t point_counts[] = {0, 1, 5, 33, 400};
    for (uint32_t i = 0; i < POINTS_MAX; ++i) renamed[i] = 5000000 - 3 * i;
    static const uint32_t dims_of[DIMS_CASES] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 41};
    for (uint32_t variant = 0; variant < DIMS_CASES * 2 * CASE_POINT_SETS; ++variant) {
        const uint32_t dims = dims_of[variant % DIMS_CASES];
        const kd_scalar scalar = variant / DIMS_CASES % 2 ? KD_DOUBLE : KD_FLOAT;
        const case_points which = (case_points)(variant / (2 * DIMS_CASES));
        for (uint32_t c = 0; c < 5; ++c) {
            const uint32_t count = point_counts[c], padding = c % 2, query_count = 12;
            fill(cloud, which, 0, count, dims, dims + padding, scalar);
            fill(queries, which, c % 3 ? 7 : 100000, query_count, dims, dims + 1 - padding, scalar);
            const uint64_t size = scalar == KD_DOUBLE ? sizeof(double) : sizeof(float);
            kd_point_array points = kd_point_array_make(cloud, count, dims, scalar);
            points.stride_bytes = padding ? (dims + 1) * size : 0;
            points.ids = c == 3 ? renamed : NULL;
            kd_points_options options;
            kd_points_options_default(&options);
            if (variant % 3 == 0) options.split = KD_POINTS_SPLIT_ROUND_ROBIN;
            kd_points *tree = NULL;
            assert_int_equal(kd_points_open(&tree, &points, &options), KD_OK);
            kd_points_query query;
            kd_points_query_default(&query);
            query.points = kd_point_array_make(queries, query_count, dims, scalar);
            query.points.stride_bytes = padding ? 0 : (dims + 1) * size;
            for (uint32_t q = 0; q < query_count; ++q) {
                brute_force(&points, &query.points, q, dims + padding, dims + 1 - padding);
                scalar_set(radii, q, scalar, count ? sqrt(all[q * 7 % count].dist2) : q);
            }
            for (int limits = 0; limits < 3; ++limits) {
                query.radii = limits == 1 ? radii : NULL;
                query.max_radius = limits == 2 ? 0.3 : (double)INFINITY;
                snprintf(query.method, sizeof query.method, "%s", c % 2 ? "auto" : "walk");
                compare_with_brute_force(tree, &points, &query, dims + padding, dims + 1 - padding,
                                         c % 2 ? 8 : 50);
            }
            kd_points_close(tree);
        }
    }
}

/* So many queries that they are sorted, with the caller's scratch memory, on any threads. */
static void sorted_queries_answer_in_the_callers_order(void **state) {
    (void)state;
    static uint32_t first_ids[QUERIES_MAX * 8];
    for (uint32_t dims = 1; dims <= 4; ++dims) {
        fill(cloud, CASE_CLUSTERED, 0, POINTS_MAX, dims, dims, KD_FLOAT);
        fill(queries, CASE_CLUSTERED, 5, QUERIES_MAX, dims, dims, KD_FLOAT);
        kd_point_array points = kd_point_array_make(cloud, POINTS_MAX, dims, KD_FLOAT);
        static float many[4 * 4 * POINTS_MAX];
        for (uint32_t i = 0; i < 4 * POINTS_MAX * dims; ++i)
            many[i] =
                ((const float *)cloud)[i % (POINTS_MAX * dims)] + (float)(i / (POINTS_MAX * dims));
        points.coordinates = many;
        points.count = 4 * POINTS_MAX;
        kd_points *tree = NULL;
        assert_int_equal(kd_points_open(&tree, &points, NULL), KD_OK);
        kd_points_query query;
        kd_points_query_default(&query);
        query.points = kd_point_array_make(queries, QUERIES_MAX, dims, KD_FLOAT);
        const uint64_t needed = kd_points_scratch_bytes(tree, &query);
        assert_true(needed > 0);
        assert_int_equal(memory_reserve(&query.scratch, needed, 1), KD_OK);
        query.scratch_bytes = needed - 1;
        assert_int_equal(kd_points_nearest(tree, &query, 8, ids, dist2, NULL), KD_ERROR_USAGE);
        query.scratch_bytes = needed;
        for (int threads = 1; threads <= 8; threads *= 2) {
            parallel_set_threads(threads);
            assert_int_equal(kd_points_nearest(tree, &query, 8, ids, NULL, NULL), KD_OK);
            if (threads == 1) memcpy(first_ids, ids, sizeof first_ids);
            assert_memory_equal(first_ids, ids, sizeof first_ids);
        }
        parallel_set_threads(0);
        memory_free(query.scratch);
        query.scratch = NULL;
        query.coherent = 1;
        assert_int_equal(kd_points_scratch_bytes(tree, &query), 0);
        snprintf(query.method, sizeof query.method, "walk");
        assert_int_equal(kd_points_nearest(tree, &query, 8, ids, NULL, NULL), KD_OK);
        assert_memory_equal(first_ids, ids, sizeof first_ids);
        kd_points_close(tree);
    }
}

static void any_k_is_answered(void **state) {
    (void)state;
    static uint32_t row[K_MAX];
    for (uint32_t dims = 3; dims <= 4; ++dims) {
        fill(cloud, CASE_DUPLICATES, 0, 1000, dims, dims, KD_FLOAT);
        const kd_point_array points = kd_point_array_make(cloud, 1000, dims, KD_FLOAT);
        kd_points *tree = NULL;
        assert_int_equal(kd_points_open(&tree, &points, NULL), KD_OK);
        kd_points_query query;
        kd_points_query_default(&query);
        query.points = kd_point_array_make(queries, 1, dims, KD_FLOAT);
        fill(queries, CASE_UNIFORM, 3, 1, dims, dims, KD_FLOAT);
        brute_force(&points, &query.points, 0, dims, dims);
        for (uint32_t k = 1; k <= K_MAX; k += k < 70 ? 1 : 103) {
            assert_int_equal(kd_points_nearest(tree, &query, k, row, NULL, NULL), KD_OK);
            for (uint32_t i = 0; i < k; ++i)
                assert_int_equal(row[i], i < 1000 ? all[i].id : KD_NO_POINT);
        }
        kd_points_close(tree);
    }
}

static void the_tree_can_be_had_changed_and_described(void **state) {
    (void)state;
    fill(cloud, CASE_UNIFORM, 0, 500, 3, 3, KD_FLOAT);
    kd_point_array points = kd_point_array_make(cloud, 500, 3, KD_FLOAT);
    kd_points *tree = NULL;
    assert_int_equal(kd_points_open(&tree, &points, NULL), KD_OK);
    static float coordinates[1500];
    static uint32_t order[500];
    static uint8_t axes[500];
    assert_int_equal(kd_points_download(tree, coordinates, order, axes), KD_OK);
    for (uint32_t i = 0; i < 500; ++i)
        assert_memory_equal(coordinates + 3 * i, (const float *)cloud + 3 * order[i], 12);
    kd_points_info info, after;
    kd_points_describe(tree, &info);
    assert_int_equal(info.count, 500);
    assert_int_equal(info.dims, 3);
    assert_true(info.bytes > 500 * 16 && info.lo[0] >= 0 && info.hi[2] <= 1);
    /* rejected input changes nothing */
    ((float *)cloud)[700] = NAN;
    assert_int_equal(kd_points_update(tree, &points), KD_ERROR_INPUT);
    kd_points_describe(tree, &after);
    assert_true(after.hash == info.hash);
    fill(cloud, CASE_CLUSTERED, 0, 400, 5, 5, KD_DOUBLE);
    points = kd_point_array_make(cloud, 400, 5, KD_DOUBLE);
    assert_int_equal(kd_points_update(tree, &points), KD_OK);
    kd_points_describe(tree, &after);
    assert_int_equal(after.count, 400);
    assert_int_equal(after.scalar, KD_DOUBLE);
    kd_points_close(tree), kd_points_close(NULL);
}

static void bad_requests_are_refused(void **state) {
    (void)state;
    fill(cloud, CASE_UNIFORM, 0, 100, 3, 3, KD_FLOAT);
    fill(queries, CASE_UNIFORM, 7, 10, 3, 3, KD_FLOAT);
    kd_point_array points = kd_point_array_make(cloud, 100, 3, KD_FLOAT);
    kd_points *tree = NULL;
    kd_points_options options;
    kd_points_options_default(&options);
    assert_int_equal(kd_points_open(NULL, &points, NULL), KD_ERROR_USAGE);
    assert_int_equal(kd_points_open(&tree, NULL, NULL), KD_ERROR_USAGE);
    snprintf(options.device, sizeof options.device, "cuda:99");
    assert_int_equal(kd_points_open(&tree, &points, &options), KD_ERROR_DEVICE);
    kd_points_options_default(&options);
    snprintf(options.builder, sizeof options.builder, "oak");
    assert_int_equal(kd_points_open(&tree, &points, &options), KD_ERROR_USAGE);
    memset(options.builder, 'x', sizeof options.builder);
    assert_int_equal(kd_points_open(&tree, &points, &options), KD_ERROR_USAGE);
    assert_null(tree);
    assert_int_equal(kd_points_open(&tree, &points, NULL), KD_OK);
    kd_points_query query;
    kd_points_query_default(&query);
    query.points = kd_point_array_make(queries, 10, 3, KD_FLOAT);
#define REFUSED(change, status, text)                                                              \
    do {                                                                                           \
        kd_points_query bad = query;                                                               \
        change;                                                                                    \
        assert_int_equal(kd_points_nearest(tree, &bad, 4, ids, dist2, counts), status);            \
        assert_non_null(strstr(kd_last_error(), text));                                            \
        assert_int_equal(kd_points_within_count(tree, &bad, offsets), status);                     \
    } while (0)
    REFUSED(bad.points.dims = 2, KD_ERROR_USAGE, "2 dimensions");
    REFUSED(bad.points.scalar = KD_DOUBLE, KD_ERROR_USAGE, "scalar type 1");
    REFUSED(bad.points.coordinates = NULL, KD_ERROR_USAGE, "NULL");
    REFUSED(bad.points.stride_bytes = 8, KD_ERROR_USAGE, "`stride_bytes` is 8");
    REFUSED(bad.max_radius = -2, KD_ERROR_INPUT, "-2");
    REFUSED(bad.max_radius = (double)NAN, KD_ERROR_INPUT, "nan");
    REFUSED(snprintf(bad.method, sizeof bad.method, "magic"), KD_ERROR_USAGE, "magic");
    float some_radii[10] = {1, 2, 3, -4, 5, 6, 7, 8, 9, 10};
    REFUSED(bad.radii = some_radii, KD_ERROR_INPUT, "radius 3 is -4");
    ((float *)queries)[13] = NAN;
    REFUSED((void)bad, KD_ERROR_INPUT, "point 4 is nan");
    ((float *)queries)[13] = 0;
    assert_int_equal(kd_points_nearest(tree, &query, 0, ids, dist2, counts), KD_ERROR_USAGE);
    assert_int_equal(kd_points_nearest(NULL, &query, 1, ids, dist2, counts), KD_ERROR_USAGE);
    assert_int_equal(kd_points_nearest(tree, NULL, 1, ids, dist2, counts), KD_ERROR_USAGE);
    /* no longer the offsets of this query */
    query.max_radius = 0.3;
    assert_int_equal(kd_points_within_count(tree, &query, offsets), KD_OK);
    query.max_radius = 0.4;
    assert_int_equal(kd_points_within(tree, &query, offsets, ids, dist2), KD_ERROR_USAGE);
    offsets[3] = UINT64_MAX / 2;
    assert_int_equal(kd_points_within(tree, &query, offsets, ids, dist2), KD_ERROR_USAGE);
    kd_points_close(tree);
}

static void files_come_back_or_are_refused(void **state) {
    (void)state;
    char path[] = "/tmp/kandela-points-XXXXXX";
    const int handle = mkstemp(path);
    assert_true(handle >= 0);
    close(handle);
    for (int variant = 0; variant < 5; ++variant) {
        const kd_scalar scalar = variant % 2 ? KD_DOUBLE : KD_FLOAT;
        const uint32_t dims = variant < 2 ? 3 : variant < 4 ? 4 : 9, count = variant == 3 ? 0 : 41;
        fill(cloud, CASE_UNIFORM, 0, count, dims, dims, scalar);
        kd_point_array points = kd_point_array_make(cloud, count, dims, scalar);
        if (variant == 1) points.ids = renamed;
        kd_points_options options;
        kd_points_options_default(&options);
        if (variant == 2) options.split = KD_POINTS_SPLIT_ROUND_ROBIN;
        kd_points *tree = NULL, *loaded = NULL;
        assert_int_equal(kd_points_open(&tree, &points, &options), KD_OK);
        assert_int_equal(kd_points_save(tree, path), KD_OK);
        assert_int_equal(kd_points_load(&loaded, path, NULL), KD_OK);
        kd_points_info before, after;
        kd_points_describe(tree, &before);
        kd_points_describe(loaded, &after);
        assert_true(before.hash == after.hash && before.count == after.count);
        assert_int_equal(before.split, after.split);
        assert_string_equal(before.builder, after.builder);
        assert_memory_equal(before.lo, after.lo, sizeof before.lo);
        static uint32_t names[2][41];
        assert_int_equal(kd_points_download(tree, NULL, names[0], NULL), KD_OK);
        assert_int_equal(kd_points_download(loaded, NULL, names[1], NULL), KD_OK);
        assert_memory_equal(names[0], names[1], count * sizeof **names);
        kd_points_close(loaded);
        kd_points_close(tree);
        file_view file;
        assert_int_equal(file_open(&file, path), KD_OK);
        char *bytes = (char *)malloc(file.count);
        const size_t size = file.count;
        memcpy(bytes, file.bytes, size);
        file_close(&file);
        for (size_t i = 0; i < size; ++i) { /* each byte changed, each length truncated */
            bytes[i] = (char)(bytes[i] ^ (1 << i % 8));
            FILE *out = fopen(path, "wb");
            assert_int_equal(fwrite(bytes, i % 3 ? size : i, 1, out), i % 3 || i ? 1 : 0);
            fclose(out);
            bytes[i] = (char)(bytes[i] ^ (1 << i % 8));
            assert_int_equal(kd_points_load(&loaded, path, NULL), KD_ERROR_INPUT);
            assert_null(loaded);
        }
        free(bytes);
    }
    unlink(path);
    kd_points *loaded = NULL;
    assert_int_equal(kd_points_load(&loaded, path, NULL), KD_ERROR_INPUT);
}

/* Trees of every builder can be saved, in the builder's total order, also with ties. */
static void every_builders_tree_can_be_saved(void **state) {
    (void)state;
    char path[] = "/tmp/kandela-points-XXXXXX";
    close(mkstemp(path));
    fill(cloud, CASE_DUPLICATES, 0, 800, 3, 3, KD_FLOAT);
    fill(queries, CASE_DUPLICATES, 9, 20, 3, 3, KD_FLOAT);
    const kd_point_array points = kd_point_array_make(cloud, 800, 3, KD_FLOAT);
    kd_points_query query;
    kd_points_query_default(&query);
    query.points = kd_point_array_make(queries, 20, 3, KD_FLOAT);
    for (const pointtree_builder *const *row = pointtree_builders; *row; ++row) {
        kd_points_options options;
        kd_points_options_default(&options);
        snprintf(options.builder, sizeof options.builder, "%s", (*row)->name);
        kd_points *tree = NULL, *loaded = NULL;
        assert_int_equal(kd_points_open(&tree, &points, &options), KD_OK);
        assert_int_equal(kd_points_save(tree, path), KD_OK);
        assert_int_equal(kd_points_load(&loaded, path, NULL), KD_OK);
        compare_with_brute_force(loaded, &points, &query, 3, 3, 30);
        kd_points_close(tree);
        kd_points_close(loaded);
    }
    unlink(path);
}

/* A file with a valid checksum, but an invalid tree. */
static void forged_files_are_refused(void **state) {
    (void)state;
    char path[] = "/tmp/kandela-points-XXXXXX";
    close(mkstemp(path));
    fill(cloud, CASE_UNIFORM, 0, 41, 3, 3, KD_FLOAT);
    const kd_point_array points = kd_point_array_make(cloud, 41, 3, KD_FLOAT);
    kd_points *tree = NULL, *loaded = NULL;
    assert_int_equal(kd_points_open(&tree, &points, NULL), KD_OK);
    assert_int_equal(kd_points_save(tree, path), KD_OK);
    kd_points_close(tree);
    file_view file;
    assert_int_equal(file_open(&file, path), KD_OK);
    static char bytes[4096], saved[4096];
    const size_t size = file.count, header = size - 8 - 41 * 17;
    memcpy(saved, file.bytes, size);
    file_close(&file);
    for (int forgery = 0; forgery < 4; ++forgery) {
        memcpy(bytes, saved, size);
        const float nan = NAN;
        char *coordinates = bytes + header, *order = coordinates + 41 * 12, *axes = order + 41 * 4;
        if (forgery == 0) memset(order + 8, 0xff, 4);                      /* id out of range */
        if (forgery == 1) memcpy(order + 8, order + 12, 4);                /* id twice */
        if (forgery == 2) axes[5] = 7;                                     /* axis out of range */
        if (forgery == 3) memcpy(coordinates + 40 * 12, &nan, sizeof nan); /* not a number */
        uint64_t hash = hash_bytes(bytes, header);
        hash = hash_combine(hash, coordinates, 41 * 12);
        hash = hash_combine(hash, order, 41 * 4);
        hash = hash_combine(hash, axes, 41);
        memcpy(bytes + size - 8, &hash, 8);
        FILE *out = fopen(path, "wb");
        assert_int_equal(fwrite(bytes, size, 1, out), 1);
        fclose(out);
        assert_int_equal(kd_points_load(&loaded, path, NULL), KD_ERROR_INPUT);
        assert_null(strstr(kd_last_error(), "checksum"));
    }
    unlink(path);
}

/* Single-query calls return the same results and errors as batches. */
static void one_query_a_call(void **state) {
    (void)state;
    enum { COUNT = 500, QUERY_COUNT = 40, MAX_K = 22 };
    static float self_cloud[COUNT * 3], self_cloud_queries[QUERY_COUNT * 3],
        self_dist2[QUERY_COUNT * MAX_K], one_dist2[MAX_K];
    static uint32_t names[COUNT], self_ids[QUERY_COUNT * MAX_K], self_counts[QUERY_COUNT],
        one_ids[MAX_K], one_count;
    for (uint32_t variant = 0; variant < 3 * CASE_POINT_SETS; ++variant) {
        const uint32_t dims = 1 + variant % 3;
        for (uint32_t i = 0; i < COUNT + QUERY_COUNT; ++i) {
            const vec3 p = case_point((case_points)(variant / 3), i < COUNT ? i : 3 * i, COUNT);
            float *to = i < COUNT ? self_cloud + i * dims : self_cloud_queries + (i - COUNT) * dims;
            for (uint32_t axis = 0; axis < dims; ++axis) to[axis] = vec3_axis(p, (int)axis);
            if (i < COUNT) names[i] = 7 * COUNT - 3 * i;
        }
        kd_point_array points = kd_point_array_make(self_cloud, COUNT, dims, KD_FLOAT);
        points.ids = variant % 2 ? names : NULL;
        kd_points *tree = NULL;
        assert_int_equal(kd_points_open(&tree, &points, NULL), KD_OK);
        kd_points_query query;
        kd_points_query_default(&query);
        for (uint32_t k = 1; k <= MAX_K; ++k) {
            query.max_radius =
                k % 3 ? (double)INFINITY : (double)(fabsf(self_cloud[0]) + 1e-30f) / k;
            query.points = kd_point_array_make(self_cloud_queries, QUERY_COUNT, dims, KD_FLOAT);
            assert_int_equal(kd_points_nearest(tree, &query, k, self_ids, self_dist2, self_counts),
                             KD_OK);
            query.points.count = 1;
            for (uint32_t i = 0; i < QUERY_COUNT; ++i) {
                query.points.coordinates = self_cloud_queries + i * dims;
                assert_int_equal(kd_points_nearest(tree, &query, k, one_ids, one_dist2, &one_count),
                                 KD_OK);
                assert_memory_equal(one_ids, self_ids + i * k, k * sizeof *self_ids);
                assert_memory_equal(one_dist2, self_dist2 + i * k, k * sizeof *self_dist2);
                assert_int_equal(one_count, self_counts[i]);
            }
        }
        self_cloud_queries[dims - 1] = NAN;
        query.points.coordinates = self_cloud_queries;
        assert_int_equal(kd_points_nearest(tree, &query, 1, one_ids, NULL, NULL), KD_ERROR_INPUT);
        query.max_radius = (double)NAN;
        query.points.coordinates = self_cloud;
        assert_int_equal(kd_points_nearest(tree, &query, 1, one_ids, NULL, NULL), KD_ERROR_INPUT);
        query.max_radius = 1;
        assert_int_equal(kd_points_nearest(tree, &query, 0, one_ids, NULL, NULL), KD_ERROR_USAGE);
        kd_points_close(tree);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_query_a_call),
        cmocka_unit_test(answers_equal_brute_force),
        cmocka_unit_test(sorted_queries_answer_in_the_callers_order),
        cmocka_unit_test(any_k_is_answered),
        cmocka_unit_test(the_tree_can_be_had_changed_and_described),
        cmocka_unit_test(bad_requests_are_refused),
        cmocka_unit_test(files_come_back_or_are_refused),
        cmocka_unit_test(every_builders_tree_can_be_saved),
        cmocka_unit_test(forged_files_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
