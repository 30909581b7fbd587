/* A tree distributed over several devices and one tree on the CPU: makes the same calls to both and
   compares their results. */
#ifndef KD_TESTS_POINTS_PARTS_CASES_H
#define KD_TESTS_POINTS_PARTS_CASES_H
#include "distributed/points/parts.h"
#include "points/api/points.h"
#include "tests/cases.h"
#include "tests/neighbours/searches.h"
#include "tests/test.h"
#include <kandela/points.h>
#include <stdio.h>
#include <stdlib.h>

enum { QUERIES = 90, CAPACITY = 1 << 17 };

typedef struct parts_case {
    case_points which;
    uint32_t count, dims;
    kd_scalar scalar;
    const char *devices;
    kd_points_spread spread;
    kd_points_split split;
    bool named;
    uint64_t first_id;
} parts_case;

typedef struct both {
    parts_case test;
    void *cloud, *queries, *radii, *lo, *hi;
    uint32_t *names;
    kd_points *one, *parts;
    kd_points_query query;
    double reach; /* a radius with some points inside */
} both;

static void *parts_allocate(uint64_t bytes) {
    void *buffer = calloc(bytes + 8, 1);
    assert_non_null(buffer);
    return buffer;
}

static void put_scalar(void *at, kd_scalar scalar, uint64_t i, double x) {
    if (scalar == KD_DOUBLE)
        ((double *)at)[i] = x;
    else
        ((float *)at)[i] = (float)x;
}

static double coordinate_of(case_points which, uint32_t i, uint32_t count, uint32_t axis) {
    return (double)vec3_axis(case_point(which, i + axis / 3 * count, count), (int)axis % 3);
}

static kd_points *open_on(const both *b, const char *devices) {
    kd_points_options options;
    kd_points_options_default(&options);
    snprintf(options.device, sizeof options.device, "%s", devices);
    options.split = b->test.split;
    if (strchr(devices, ',') || b->test.first_id) {
        options.spread = b->test.spread;
        options.first_id = strchr(devices, ',') ? b->test.first_id : 0;
    }
    kd_point_array points =
        kd_point_array_make(b->cloud, b->test.count, b->test.dims, b->test.scalar);
    points.ids = b->test.named ? b->names : NULL;
    kd_points *tree = NULL;
    if (kd_points_open(&tree, &points, &options) != KD_OK) fail_msg("%s", kd_last_error());
    return tree;
}

static void begin(both *b, const parts_case *test) {
    memset(b, 0, sizeof *b);
    b->test = *test;
    const uint64_t scalar = test->scalar == KD_DOUBLE ? 8 : 4;
    b->cloud = parts_allocate((uint64_t)test->count * test->dims * scalar);
    b->names = (uint32_t *)parts_allocate(test->count * sizeof(uint32_t));
    b->queries = parts_allocate(QUERIES * test->dims * scalar);
    b->lo = parts_allocate(QUERIES * test->dims * scalar);
    b->hi = parts_allocate(QUERIES * test->dims * scalar);
    b->radii = parts_allocate(QUERIES * scalar);
    for (uint32_t i = 0; i < test->count; ++i) {
        b->names[i] = 3 * test->count - 2 * i;
        for (uint32_t axis = 0; axis < test->dims; ++axis)
            put_scalar(b->cloud, test->scalar, (uint64_t)i * test->dims + axis,
                       coordinate_of(test->which, i, test->count, axis));
    }
    double size = 0;
    for (uint32_t i = 0; i < 64; ++i) /* the mean distance between points */
        size +=
            fabs(coordinate_of(test->which, i, 64, 0) - coordinate_of(test->which, i + 64, 64, 0));
    b->reach = size / 64;
    for (uint32_t i = 0; i < QUERIES;
         ++i) { /* every third query is a point, the others lie near one */
        const uint32_t like = test->count ? i * 7 % test->count : i;
        put_scalar(b->radii, test->scalar, i,
                   i % 7   ? b->reach * i / 60
                   : i % 2 ? (double)INFINITY
                           : 0);
        for (uint32_t axis = 0; axis < test->dims; ++axis) {
            const double x = coordinate_of(test->which, like, test->count, axis);
            const double offset = i % 3 ? b->reach * ((double)(i * (axis + 3) % 11) - 5) / 4 : 0;
            const uint64_t at = (uint64_t)i * test->dims + axis;
            put_scalar(b->queries, test->scalar, at, x + offset);
            put_scalar(b->lo, test->scalar, at, i % 9 ? x - b->reach * i / 90 : -(double)INFINITY);
            put_scalar(b->hi, test->scalar, at, i % 8 ? x + b->reach * i / 70 : (double)INFINITY);
        }
    }
    b->one = open_on(b, "cpu");
    b->parts = open_on(b, test->devices);
    kd_points_query_default(&b->query);
    b->query.points = kd_point_array_make(b->queries, QUERIES, test->dims, test->scalar);
}

static void end(both *b) {
    kd_points_close(b->one);
    kd_points_close(b->parts);
    free(b->cloud);
    free(b->names);
    free(b->queries);
    free(b->lo);
    free(b->hi);
    free(b->radii);
}

/* --- the same calls to both ------------------------------------------------------------------- */

static uint64_t ids[2][CAPACITY], offsets[2][QUERIES + 1];
static uint32_t narrow_ids[2][CAPACITY], counts[2][QUERIES];
static double dist2[2][CAPACITY];

static void ok(kd_status status) {
    if (status != KD_OK) fail_msg("%s", kd_last_error());
}

/* Compares ids and distances. Ids of a single tree are indices; those of a distributed tree count
   from first_id. */
static void expect_rows(const both *b, uint64_t answers) {
    const uint64_t scalar = b->test.scalar == KD_DOUBLE ? 8 : 4;
    for (uint64_t i = 0; i < answers; ++i) {
        const uint64_t expected =
            ids[0][i] == KD_NO_POINT64 || b->test.named ? ids[0][i] : ids[0][i] + b->test.first_id;
        if (ids[1][i] != expected)
            fail_msg("%s of %u, %u dims, on %s: answer %llu is %llu, expected %llu",
                     case_points_name(b->test.which), b->test.count, b->test.dims, b->test.devices,
                     (unsigned long long)i, (unsigned long long)ids[1][i],
                     (unsigned long long)expected);
    }
    assert_memory_equal(dist2[1], dist2[0], answers * scalar);
}

static bool is_wide(const both *b) {
    return b->test.first_id + b->test.count > KD_NO_POINT;
}

static void check_nearest(const both *b, uint32_t k) {
    const kd_points *trees[] = {b->one, b->parts};
    for (int t = 0; t < 2; ++t) ok(nearest64(trees[t], &b->query, k, ids[t], dist2[t], counts[t]));
    expect_rows(b, (uint64_t)QUERIES * k);
    assert_memory_equal(counts[1], counts[0], sizeof counts[0]);
    const kd_status narrow = kd_points_nearest(b->parts, &b->query, k, narrow_ids[1], NULL, NULL);
    assert_int_equal(narrow, is_wide(b) ? KD_ERROR_USAGE : KD_OK);
    for (uint64_t i = 0; !is_wide(b) && i < (uint64_t)QUERIES * k; ++i)
        assert_true(narrow_ids[1][i] ==
                    (ids[1][i] == KD_NO_POINT64 ? KD_NO_POINT : (uint32_t)ids[1][i]));
}

static void check_within(const both *b) {
    const kd_points *trees[] = {b->one, b->parts};
    for (int t = 0; t < 2; ++t) ok(kd_points_within_count(trees[t], &b->query, offsets[t]));
    assert_memory_equal(offsets[1], offsets[0], sizeof offsets[0]);
    if (offsets[0][QUERIES] > CAPACITY) return;
    for (int t = 0; t < 2; ++t) ok(within64(trees[t], &b->query, offsets[t], ids[t], dist2[t]));
    expect_rows(b, offsets[0][QUERIES]);
    ++offsets[1][QUERIES]; /* no longer the offsets of this query */
    assert_int_equal(within64(b->parts, &b->query, offsets[1], ids[1], dist2[1]), KD_ERROR_USAGE);
}

static void check_boxes(const both *b) {
    const kd_points *trees[] = {b->one, b->parts};
    const kd_point_array lo = kd_point_array_make(b->lo, QUERIES, b->test.dims, b->test.scalar);
    const kd_point_array hi = kd_point_array_make(b->hi, QUERIES, b->test.dims, b->test.scalar);
    for (int t = 0; t < 2; ++t) ok(in_box_count(trees[t], &lo, &hi, offsets[t]));
    assert_memory_equal(offsets[1], offsets[0], sizeof offsets[0]);
    if (offsets[0][QUERIES] > CAPACITY) return;
    for (int t = 0; t < 2; ++t) ok(in_box(trees[t], &lo, &hi, offsets[t], narrow_ids[t]));
    assert_memory_equal(narrow_ids[1], narrow_ids[0], offsets[0][QUERIES] * sizeof(uint32_t));
}

/* Expects every node of the upper levels to divide its points in proportion to the number of parts
   on each side. */
static void expect_even(const points_parts *points_parts, int32_t first, int32_t last,
                        uint64_t count) {
    const uint64_t parts = (uint64_t)(last - first), half = (parts + 1) / 2;
    if (parts == 1) {
        assert_int_equal(points_parts->all[first].count, count);
        return;
    }
    const uint64_t left = count * half / parts;
    expect_even(points_parts, first, first + (int32_t)half, left);
    expect_even(points_parts, first + (int32_t)half, last, count - left);
}

static void check_whole(const both *b) {
    kd_points_info one, parts;
    kd_points_describe(b->one, &one);
    kd_points_describe(b->parts, &parts);
    assert_true(one.hash == parts.hash && parts.count == b->test.count);
    assert_memory_equal(one.lo, parts.lo, b->test.dims * sizeof(double));
    assert_memory_equal(one.hi, parts.hi, b->test.dims * sizeof(double));
    assert_true(parts.parts > 1 && one.parts == 1);
    assert_string_equal(parts.device, b->test.devices);
    if (!parts.copies) expect_even(b->parts->parts, 0, (int32_t)parts.parts, parts.count);
}

static void check_all(const parts_case *test) {
    both b;
    begin(&b, test);
    check_whole(&b);
    static const uint32_t ks[] = {1, 8, 20};
    for (int i = 0; i < 3; ++i) check_nearest(&b, ks[i]);
    b.query.radii = b.radii;
    check_nearest(&b, 5);
    check_within(&b);
    b.query.max_radius = b.reach / 3;
    check_nearest(&b, 5);
    check_within(&b);
    b.query.max_radius = (double)INFINITY;
    b.query.norm = 1;
    check_nearest(&b, 6);
    check_within(&b);
    b.query.norm = (double)INFINITY;
    check_nearest(&b, 6);
    if (test->dims <= 3 && test->which != CASE_HUGE && test->which != CASE_WILD) {
        b.query.period[0] = test->which == CASE_STRETCHED ? 100 : 1;
        check_nearest(&b, 6);
        b.query.norm = 2;
        check_within(&b);
    }
    if (!is_wide(&b) && test->first_id == 0) check_boxes(&b);
    end(&b);
}

#endif
