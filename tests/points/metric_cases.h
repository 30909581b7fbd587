/* Other norms, periodic space and box queries, on any device, against brute force. */
#ifndef KD_TESTS_POINTS_METRIC_CASES_H
#define KD_TESTS_POINTS_METRIC_CASES_H
#include "tests/cases.h"
#include "tests/neighbours/searches.h"
#include "tests/test.h"
#include <kandela/points.h>
#include <stdio.h>

enum { METRIC_MAX = 700, METRIC_QUERIES = 24, METRIC_K = 11 };

typedef struct metric_case {
    const char *device;
    uint32_t count, dims;
    kd_scalar scalar;
    case_points which;
    bool named;
    double norm;
    uint32_t periodic; /* periodic axes, one bit each */
} metric_case;

static double metric_cloud[METRIC_MAX][8], metric_queries[METRIC_QUERIES][8];
static uint32_t metric_names[METRIC_MAX];
static char metric_capacity[2][METRIC_MAX * 8 * 8];

/* Rounds to the scalar type of the case. */
static double metric_scalar(const metric_case *test, double x) {
    return test->scalar == KD_DOUBLE ? x : (double)(float)x;
}

static double metric_value(const metric_case *test, const void *at, uint64_t i) {
    return test->scalar == KD_DOUBLE ? ((const double *)at)[i] : (double)((const float *)at)[i];
}

static kd_point_array metric_array(const metric_case *test, void *to, const double (*from)[8],
                                   uint32_t count) {
    for (uint32_t i = 0; i < count; ++i)
        for (uint32_t axis = 0; axis < test->dims; ++axis) {
            if (test->scalar == KD_DOUBLE)
                ((double *)to)[i * test->dims + axis] = from[i][axis];
            else
                ((float *)to)[i * test->dims + axis] = (float)from[i][axis];
        }
    return kd_point_array_make(to, count, test->dims, test->scalar);
}

static void metric_fill(const metric_case *test) {
    for (uint32_t i = 0; i < METRIC_MAX + METRIC_QUERIES; ++i)
        for (uint32_t axis = 0; axis < test->dims; ++axis) {
            const uint32_t seed = i < METRIC_MAX ? i : 7 * i + 1;
            const vec3 p = case_point(test->which, seed + (axis / 3) * 9999, METRIC_MAX);
            const double x = (double)vec3_axis(p, (int)axis % 3);
            if (i < METRIC_MAX)
                metric_cloud[i][axis] = x;
            else
                metric_queries[i - METRIC_MAX][axis] = x;
        }
    for (uint32_t i = 0; i < METRIC_MAX; ++i) metric_names[i] = 3 * METRIC_MAX - 2 * i;
}

/* Returns the period along an axis: a sixteenth more than the extent of the points and queries. */
static double metric_period(const metric_case *test, uint32_t axis) {
    double lo = (double)INFINITY, hi = -(double)INFINITY;
    if (!(test->periodic >> axis & 1)) return 0;
    for (uint32_t i = 0; i < METRIC_MAX; ++i) {
        lo = fmin(lo, metric_cloud[i][axis]);
        hi = fmax(hi, metric_cloud[i][axis]);
    }
    return hi > lo ? 1.0625 * (hi - lo) : 1;
}

/* Distance in periodic space, accumulated axis by axis and rounded at every step. */
static double query_distance(const metric_case *test, const kd_points_query *query, const double *x,
                             const double *y) {
    double all = 0;
    for (uint32_t axis = 0; axis < test->dims; ++axis) {
        double minimum = fabs(metric_scalar(test, x[axis] - y[axis]));
        const double period = metric_scalar(test, query->period[axis]);
        if (period > 0) minimum = fmin(minimum, fabs(metric_scalar(test, period - minimum)));
        if (query->norm == 2) minimum = metric_scalar(test, minimum * minimum);
        all = query->norm == (double)INFINITY ? fmax(all, minimum)
                                              : metric_scalar(test, all + minimum);
    }
    return all;
}

typedef struct metric_answer {
    double difference;
    uint32_t place;
} metric_answer;

static int metric_before(const void *a, const void *b) {
    const metric_answer *x = (const metric_answer *)a, *y = (const metric_answer *)b;
    if (x->difference != y->difference) return x->difference < y->difference ? -1 : 1;
    return x->place < y->place ? -1 : 1;
}

static metric_answer metric_all[METRIC_MAX];

/* Sorts all points by distance; returns how many lie within the radius. */
static uint32_t metric_brute_force(const metric_case *test, const kd_points_query *query,
                                   const double *x, uint32_t left_out) {
    uint32_t made = 0, within = 0;
    const double radius = metric_scalar(test, query->max_radius);
    const double bound = query->norm == 2 ? metric_scalar(test, radius * radius) : radius;
    for (uint32_t i = 0; i < test->count; ++i) {
        if (i == left_out) continue;
        metric_all[made].difference = query_distance(test, query, x, metric_cloud[i]);
        within += metric_all[made].difference <= bound;
        metric_all[made++].place = i;
    }
    qsort(metric_all, made, sizeof *metric_all, metric_before);
    return within;
}

static void metric_expect(const metric_case *test, const uint32_t *ids, const void *dist2,
                          uint64_t at, uint32_t count) {
    for (uint32_t j = 0; j < count; ++j) {
        const uint32_t place = metric_all[j].place;
        assert_int_equal(ids[at + j], test->named ? metric_names[place] : place);
        assert_true(metric_value(test, dist2, at + j) == metric_all[j].difference);
    }
}

static uint32_t metric_ids[METRIC_MAX * METRIC_MAX], metric_counts[METRIC_MAX];
static double metric_dist2[METRIC_MAX * METRIC_MAX];
static uint64_t metric_offsets[METRIC_MAX + 1];

static void metric_check_queries(const metric_case *test, const kd_points *tree,
                                 const kd_points_query *query) {
    if (kd_points_nearest(tree, query, METRIC_K, metric_ids, metric_dist2, metric_counts) != KD_OK)
        fail_msg("%s", kd_last_error());
    for (uint32_t i = 0; i < METRIC_QUERIES; ++i) {
        const uint32_t within = metric_brute_force(test, query, metric_queries[i], KD_NO_POINT);
        assert_int_equal(metric_counts[i], within < METRIC_K ? within : METRIC_K);
        metric_expect(test, metric_ids, metric_dist2, i * METRIC_K, metric_counts[i]);
    }
    assert_int_equal(kd_points_within_count(tree, query, metric_offsets), KD_OK);
    assert_int_equal(kd_points_within(tree, query, metric_offsets, metric_ids, metric_dist2),
                     KD_OK);
    for (uint32_t i = 0; i < METRIC_QUERIES; ++i) {
        const uint32_t within = metric_brute_force(test, query, metric_queries[i], KD_NO_POINT);
        assert_int_equal(metric_offsets[i + 1] - metric_offsets[i], within);
        metric_expect(test, metric_ids, metric_dist2, metric_offsets[i], within);
    }
}

/* Runs a self-query and compares some of its rows. */
static void metric_check_self(const metric_case *test, const kd_points *tree,
                              const kd_points_query *query) {
    if (self_nearest(tree, query, METRIC_K, NULL, metric_ids, metric_dist2, metric_counts) != KD_OK)
        fail_msg("%s", kd_last_error());
    for (uint32_t i = 0; i < test->count; i += 13) {
        const uint32_t left_out = query->skip_self ? i : KD_NO_POINT;
        const uint32_t within = metric_brute_force(test, query, metric_cloud[i], left_out);
        assert_int_equal(metric_counts[i], within < METRIC_K ? within : METRIC_K);
        metric_expect(test, metric_ids, metric_dist2, i * METRIC_K, metric_counts[i]);
    }
    assert_int_equal(self_within_count(tree, query, NULL, metric_offsets), KD_OK);
    assert_int_equal(self_within(tree, query, NULL, metric_offsets, metric_ids, metric_dist2),
                     KD_OK);
    for (uint32_t i = 0; i < test->count; i += 13) {
        const uint32_t left_out = query->skip_self ? i : KD_NO_POINT;
        const uint32_t within = metric_brute_force(test, query, metric_cloud[i], left_out);
        assert_int_equal(metric_offsets[i + 1] - metric_offsets[i], within);
        metric_expect(test, metric_ids, metric_dist2, metric_offsets[i], within);
    }
}

/* Queries boxes: between two queries each, one of them inverted, and one box that contains
   everything. */
static void metric_check_boxes(const metric_case *test, const kd_points *tree) {
    static double lo[METRIC_QUERIES][8], hi[METRIC_QUERIES][8];
    for (uint32_t i = 0; i < METRIC_QUERIES; ++i)
        for (uint32_t axis = 0; axis < test->dims; ++axis) {
            const double a = metric_queries[i][axis];
            const double b =
                i % 3 ? metric_queries[(i + 1) % METRIC_QUERIES][axis] : metric_cloud[i][axis];
            lo[i][axis] = i == 5 ? -(double)INFINITY : i == 6 ? fmax(a, b) : fmin(a, b);
            hi[i][axis] = i == 5 ? (double)INFINITY : i == 6 ? fmin(a, b) : fmax(a, b);
            if (i == 7 && axis == 0) lo[i][axis] = (double)NAN;
        }
    const kd_point_array lower =
        metric_array(test, metric_capacity[0], (const double(*)[8])lo, METRIC_QUERIES);
    const kd_point_array upper =
        metric_array(test, metric_capacity[1], (const double(*)[8])hi, METRIC_QUERIES);
    if (in_box_count(tree, &lower, &upper, metric_offsets) != KD_OK)
        fail_msg("%s", kd_last_error());
    assert_int_equal(in_box(tree, &lower, &upper, metric_offsets, metric_ids), KD_OK);
    for (uint32_t i = 0; i < METRIC_QUERIES; ++i) {
        uint64_t at = metric_offsets[i];
        for (uint32_t p = 0; p < test->count; ++p) {
            bool in = true;
            for (uint32_t axis = 0; axis < test->dims; ++axis)
                in = in && metric_cloud[p][axis] >= lo[i][axis] &&
                     metric_cloud[p][axis] <= hi[i][axis];
            if (!in) continue;
            assert_true(at < metric_offsets[i + 1]);
            assert_int_equal(metric_ids[at++], test->named ? metric_names[p] : p);
        }
        assert_int_equal(at, metric_offsets[i + 1]);
    }
    if (metric_offsets[METRIC_QUERIES] == 0) return;
    metric_offsets[1] = metric_offsets[1] ? 0 : 1; /* no longer the offsets of these boxes */
    assert_int_not_equal(in_box(tree, &lower, &upper, metric_offsets, metric_ids), KD_OK);
}

static void metric_check(const metric_case *test) {
    static char cloud[METRIC_MAX * 8 * 8], queries[METRIC_QUERIES * 8 * 8];
    metric_fill(test);
    kd_points_options options;
    kd_points_options_default(&options);
    snprintf(options.device, sizeof options.device, "%s", test->device);
    options.split = test->count % 2 ? KD_POINTS_SPLIT_ROUND_ROBIN : KD_POINTS_SPLIT_WIDEST;
    kd_point_array points =
        metric_array(test, cloud, (const double(*)[8])metric_cloud, test->count);
    points.ids = test->named ? metric_names : NULL;
    kd_points *tree = NULL;
    if (kd_points_open(&tree, &points, &options) != KD_OK) fail_msg("%s", kd_last_error());
    kd_points_query query;
    kd_points_query_default(&query);
    query.points = metric_array(test, queries, (const double(*)[8])metric_queries, METRIC_QUERIES);
    query.norm = test->norm;
    for (uint32_t axis = 0; axis < test->dims; ++axis)
        query.period[axis] = metric_period(test, axis);
    query.skip_self = test->count % 3 == 0;
    metric_check_queries(test, tree, &query);
    if (test->count) {
        const double reach = metric_all[test->count / 4].difference;
        query.max_radius = test->norm == 2 ? sqrt(reach) : reach;
        metric_check_queries(test, tree, &query);
        metric_check_self(test, tree, &query);
        snprintf(query.method, sizeof query.method, "walk");
        metric_check_queries(test, tree, &query);
        query.max_radius = (double)INFINITY;
        metric_check_queries(test, tree, &query);
    }
    metric_check_boxes(test, tree);
    kd_points_close(tree);
}

static const double metric_norms[] = {1, 2, (double)INFINITY};

/* Checks every norm with and without periods, for each type of point. */
static void metric_check_all(const char *device, uint32_t one_in, const uint32_t *counts) {
    uint32_t number = 0;
    for (int which = 0; which < CASE_POINT_SETS; ++which)
        for (uint32_t dims = 1; dims <= 8; ++dims)
            for (int norm = 0; norm < 3; ++norm)
                for (uint32_t strategy = 0; strategy < 4; ++strategy, ++number) {
                    if (number % one_in || (dims > 4 && strategy % 2)) continue;
                    const uint32_t axes = dims > 3 ? 3 : dims;
                    const metric_case test = {device,
                                              counts[number / one_in % 4],
                                              dims,
                                              strategy / 2 ? KD_DOUBLE : KD_FLOAT,
                                              (case_points)which,
                                              number % 5 == 1,
                                              metric_norms[norm],
                                              strategy % 2 ? (1u << axes) - 1 - (number % 2) : 0};
                    metric_check(&test);
                }
}

#endif
