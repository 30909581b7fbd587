/* Callbacks receive the same neighbours as the calls that return lists: every dimension and scalar
   type on every set of cases.h, by every method; callbacks that reduce the bound; changed trees,
   other norms and periods; invalid calls. */
#include "core/parallel/parallel.h"
#include "tests/cases.h"
#include "tests/test.h"
#include <kandela/points.h>
#include <stdio.h>

enum { LIMIT = 400, QUERY_COUNT = 24, NEAREST = 5 };

typedef struct visit_case {
    uint32_t count, dims;
    kd_scalar scalar;
    case_points which;
    const char *method;
    bool named, changed;
    double norm;
    bool periodic;
} visit_case;

static double cloud[LIMIT * 8], queries[QUERY_COUNT * 8];
static uint32_t names[LIMIT];

static void fill(const visit_case *test) {
    for (uint32_t i = 0; i < LIMIT + QUERY_COUNT; ++i)
        for (uint32_t axis = 0; axis < test->dims; ++axis) {
            const uint32_t seed = i < LIMIT ? i : 5 * i + 2;
            const vec3 p = case_point(test->which, seed + (axis / 3) * 7777, LIMIT);
            const double x = (double)vec3_axis(p, (int)axis % 3);
            double *to = i < LIMIT ? cloud + i * test->dims : queries + (i - LIMIT) * test->dims;
            if (test->scalar == KD_DOUBLE)
                to[axis] = x;
            else
                ((float *)(void *)(i < LIMIT ? cloud
                                             : queries))[(i < LIMIT ? i : i - LIMIT) * test->dims +
                                                         axis] = (float)x;
        }
    for (uint32_t i = 0; i < LIMIT; ++i) names[i] = 2 * LIMIT + 1 - 2 * i;
}

/* The first `count` points, or as many left of more by insertions and removals. */
static kd_points *open_tree(const visit_case *test) {
    kd_points_options options;
    kd_points_options_default(&options);
    snprintf(options.device, sizeof options.device, "cpu");
    options.split = test->count % 2 ? KD_POINTS_SPLIT_WIDEST : KD_POINTS_SPLIT_ROUND_ROBIN;
    const uint64_t bytes = test->dims * (test->scalar == KD_DOUBLE ? 8u : 4u);
    const uint32_t first = test->changed ? test->count / 2 : test->count;
    kd_point_array points = kd_point_array_make(cloud, first, test->dims, test->scalar);
    kd_points *tree = NULL;
    points.ids = test->named ? names : NULL;
    if (kd_points_open(&tree, &points, &options) != KD_OK) fail_msg("%s", kd_last_error());
    if (!test->changed) return tree;
    for (uint32_t from = first, step = 1; from < test->count; from += step, step = 3 * step + 1) {
        const uint32_t some = test->count - from < step ? test->count - from : step;
        points.coordinates = (const char *)cloud + from * bytes;
        points.count = some;
        points.ids = test->named ? names + from : NULL;
        assert_int_equal(kd_points_insert(tree, &points, NULL), KD_OK);
    }
    for (uint32_t i = 0; i < test->count; i += 7) {
        const uint32_t id = test->named ? names[i] : i;
        assert_int_equal(kd_points_remove(tree, &id, 1), KD_OK);
    }
    return tree;
}

/* --- what visitors do ------------------------------------------------------------------------- */

typedef struct neighbour_row {
    uint32_t id;
    double dist2;
} neighbour_row;

typedef struct ear {
    uint32_t counts[QUERY_COUNT], calls[QUERY_COUNT];
    neighbour_row rows[QUERY_COUNT][LIMIT];
    double sums[QUERY_COUNT];
    bool ends; /* stops after the first */
} ear;

static double visit_all(void *context, uint64_t query, uint64_t id, double dist2, double bound) {
    ear *to = (ear *)context;
    assert_true(query < QUERY_COUNT && to->counts[query] < LIMIT && dist2 <= bound);
    neighbour_row *row = &to->rows[query][to->counts[query]++];
    row->id = (uint32_t)id;
    row->dist2 = dist2;
    to->sums[query] = to->sums[query] * 0.75 + dist2 + (double)id; /* depends on the order */
    return to->ends ? -1.0 : to->calls[query]++ % 2 ? bound : (double)INFINITY;
}

static uint32_t place_of(const visit_case *test, uint32_t id) {
    return test->named ? (2 * LIMIT + 1 - id) / 2 : id;
}

static const visit_case *sorted_for;
static int neighbour_compare(const void *a, const void *b) {
    const neighbour_row *x = (const neighbour_row *)a, *y = (const neighbour_row *)b;
    if (x->dist2 != y->dist2) return x->dist2 < y->dist2 ? -1 : 1;
    const uint32_t s = place_of(sorted_for, x->id), t = place_of(sorted_for, y->id);
    return s < t ? -1 : s > t;
}

/* The five nearest with an even index. */
static double visit_nearest_even(void *context, uint64_t query, uint64_t id, double dist2,
                                 double bound) {
    ear *to = (ear *)context;
    uint32_t *count = &to->counts[query];
    assert_true(dist2 <= bound);
    ++to->calls[query];
    if (place_of(sorted_for, (uint32_t)id) % 2) return bound;
    const neighbour_row neighbour = {(uint32_t)id, dist2};
    to->rows[query][(*count)++] = neighbour;
    qsort(to->rows[query], *count, sizeof neighbour, neighbour_compare);
    if (*count > NEAREST) --*count;
    return *count == NEAREST ? to->rows[query][NEAREST - 1].dist2 : bound;
}

static double value(const visit_case *test, const void *at, uint64_t i) {
    return test->scalar == KD_DOUBLE ? ((const double *)at)[i] : (double)((const float *)at)[i];
}

/* --- a case ----------------------------------------------------------------------------------- */

static ear first_ear, second_ear;
static uint64_t offsets[QUERY_COUNT + 1];
static uint32_t ids[QUERY_COUNT * LIMIT];
static double dist2[QUERY_COUNT * LIMIT];

static void visit_points(const kd_points *tree, const kd_points_query *query,
                         kd_points_visitor visit, ear *listener) {
    memset(listener, 0, sizeof *listener);
    if (kd_points_visit(tree, query, visit, listener) != KD_OK) fail_msg("%s", kd_last_error());
}

static void check_all(const visit_case *test, const kd_points *tree, const kd_points_query *query) {
    visit_points(tree, query, visit_all, &first_ear);
    assert_int_equal(kd_points_within_count(tree, query, offsets), KD_OK);
    assert_int_equal(kd_points_within(tree, query, offsets, ids, dist2), KD_OK);
    for (uint32_t i = 0; i < QUERY_COUNT; ++i) {
        assert_int_equal(first_ear.counts[i], offsets[i + 1] - offsets[i]);
        qsort(first_ear.rows[i], first_ear.counts[i], sizeof(neighbour_row), neighbour_compare);
        for (uint32_t j = 0; j < first_ear.counts[i]; ++j) {
            assert_int_equal(first_ear.rows[i][j].id, ids[offsets[i] + j]);
            assert_true(first_ear.rows[i][j].dist2 == value(test, dist2, offsets[i] + j));
        }
    }
}

static void check_nearest_even(const visit_case *test, const kd_points *tree,
                               const kd_points_query *query) {
    visit_points(tree, query, visit_nearest_even, &second_ear);
    for (uint32_t i = 0; i < QUERY_COUNT; ++i) {
        uint32_t count = 0;
        for (uint64_t j = offsets[i]; j < offsets[i + 1] && count < NEAREST; ++j) {
            if (place_of(test, ids[j]) % 2) continue;
            assert_int_equal(second_ear.rows[i][count].id, ids[j]);
            assert_true(second_ear.rows[i][count++].dist2 == value(test, dist2, j));
        }
        assert_int_equal(second_ear.counts[i], count);
    }
}

/* Single queries, backwards, unsorted and on many threads: the same sums. */
static void check_order(const visit_case *test, const kd_points *tree,
                        const kd_points_query *query) {
    const uint64_t bytes = test->dims * (test->scalar == KD_DOUBLE ? 8u : 4u);
    kd_points_query one = *query;
    one.points.count = 1;
    one.coherent = 1;
    for (uint32_t i = QUERY_COUNT; i-- > 0;) {
        one.points.coordinates = (const char *)queries + i * bytes;
        visit_points(tree, &one, visit_all, &second_ear);
        assert_true(memcmp(&second_ear.sums[0], &first_ear.sums[i], sizeof(double)) == 0);
    }
    memset(&second_ear, 0, sizeof second_ear);
    second_ear.ends = true;
    assert_int_equal(kd_points_visit(tree, query, visit_all, &second_ear), KD_OK);
    for (uint32_t i = 0; i < QUERY_COUNT; ++i)
        assert_int_equal(second_ear.counts[i], first_ear.counts[i] > 0);
}

static void check_case(const visit_case *test) {
    fill(test);
    sorted_for = test;
    kd_points *tree = open_tree(test);
    kd_points_query query;
    kd_points_query_default(&query);
    query.points = kd_point_array_make(queries, QUERY_COUNT, test->dims, test->scalar);
    query.norm = test->norm;
    snprintf(query.method, sizeof query.method, "%s", test->method);
    const double size = fabs(value(test, queries, 0) - value(test, cloud, 0)) + 1e-30;
    for (uint32_t axis = 0; test->periodic && axis < test->dims; axis += 2)
        query.period[axis] = 1.5 * size;
    const double radii[] = {(double)INFINITY, size, 0.2 * size, 0};
    for (int r = 0; r < 4; ++r) {
        query.max_radius = radii[r];
        check_all(test, tree, &query);
        check_nearest_even(test, tree, &query);
        check_order(test, tree, &query);
    }
    kd_points_close(tree);
}

static void what_is_told_is_what_is_listed(void **state) {
    (void)state;
    static const uint32_t counts[] = {0, 1, 17, 130, LIMIT};
    for (uint32_t variant = 0; variant < 8 * 2 * CASE_POINT_SETS; ++variant)
        for (uint32_t c = 0; c < 5; ++c) {
            const uint32_t mixed = variant * 5 + c * 3;
            const visit_case test = {counts[c],
                                     1 + variant % 8,
                                     variant / 8 % 2 ? KD_DOUBLE : KD_FLOAT,
                                     (case_points)(variant / 16),
                                     mixed % 3 ? "auto" : "walk",
                                     mixed % 2 == 1,
                                     false,
                                     2,
                                     false};
            check_case(&test);
        }
}

static void of_trees_that_changed(void **state) {
    (void)state;
    for (uint32_t variant = 0; variant < 8 * 2 * CASE_POINT_SETS; ++variant) {
        const visit_case test = {200,
                                 1 + variant % 8,
                                 variant / 8 % 2 ? KD_DOUBLE : KD_FLOAT,
                                 (case_points)(variant / 16),
                                 "auto",
                                 variant % 3 == 1,
                                 true,
                                 2,
                                 false};
        check_case(&test);
    }
}

static void of_other_norms_and_periods(void **state) {
    (void)state;
    for (uint32_t variant = 0; variant < 3 * 2 * CASE_POINT_SETS; ++variant)
        for (uint32_t strategy = 0; strategy < 4; ++strategy) {
            const visit_case test = {150,
                                     1 + variant % 3,
                                     variant / 3 % 2 ? KD_DOUBLE : KD_FLOAT,
                                     (case_points)(variant / 6),
                                     "auto",
                                     variant % 2 == 1,
                                     false,
                                     strategy % 3 == 0   ? 2
                                     : strategy % 3 == 1 ? 1
                                                         : (double)INFINITY,
                                     strategy % 2 == 1 || strategy == 0};
            if (test.which != CASE_HUGE && test.which != CASE_WILD) check_case(&test);
        }
}

/* --- many queries, on many threads ------------------------------------------------------------ */

enum { MANY = 6000 };
static float many_points[MANY][3];

static double add_up(void *context, uint64_t query, uint64_t id, double distance2, double bound) {
    double *sums = (double *)context;
    sums[query] = sums[query] * 0.75 + distance2 + (double)id;
    return bound;
}

static void sums_know_no_threads(void **state) {
    (void)state;
    static double sums[3][MANY];
    kd_points *tree = NULL;
    kd_points_query query;
    for (uint32_t i = 0; i < MANY; ++i) {
        const vec3 p = case_point(CASE_CLUSTERED, i, MANY);
        for (int axis = 0; axis < 3; ++axis) many_points[i][axis] = vec3_axis(p, axis);
    }
    const kd_point_array points = kd_point_array_make(many_points, MANY, 3, KD_FLOAT);
    assert_int_equal(kd_points_open(&tree, &points, NULL), KD_OK);
    kd_points_query_default(&query);
    query.points = points;
    query.max_radius = 0.01;
    for (int strategy = 0; strategy < 3; ++strategy) {
        parallel_set_threads(strategy == 1 ? 5 : 1);
        query.coherent = strategy == 2;
        assert_int_equal(kd_points_visit(tree, &query, add_up, sums[strategy]), KD_OK);
    }
    parallel_set_threads(0);
    assert_memory_equal(sums[0], sums[1], sizeof sums[0]);
    assert_memory_equal(sums[0], sums[2], sizeof sums[0]);
    kd_points_close(tree);
}

static void bad_requests_are_refused(void **state) {
    (void)state;
    static double sums[50];
    static float nowhere[3] = {0, NAN, 0};
    const kd_point_array points = kd_point_array_make(many_points, 50, 3, KD_FLOAT);
    kd_points *tree = NULL, *other_tree = NULL;
    kd_points_query query;
    kd_points_options options;
    assert_int_equal(kd_points_open(&tree, &points, NULL), KD_OK);
    kd_points_query_default(&query);
    query.points = points;
    assert_int_equal(kd_points_visit(tree, &query, NULL, sums), KD_ERROR_USAGE);
    query.max_radius = -1;
    assert_int_equal(kd_points_visit(tree, &query, add_up, sums), KD_ERROR_INPUT);
    query.max_radius = 1;
    query.points = kd_point_array_make(nowhere, 1, 3, KD_FLOAT);
    assert_int_equal(kd_points_visit(tree, &query, add_up, sums), KD_ERROR_INPUT);
    query.points = points;
    kd_points_options_default(&options);
    options.spread = KD_POINTS_SPREAD_PARTS;
    snprintf(options.device, sizeof options.device, "cpu,cpu");
    assert_int_equal(kd_points_open(&other_tree, &points, &options), KD_OK);
    assert_int_equal(kd_points_visit(other_tree, &query, add_up, sums), KD_ERROR_USAGE);
    assert_non_null(strstr(kd_last_error(), "cpu,cpu"));
    for (int i = 0; i < 50; ++i) assert_true(sums[i] == 0);
    kd_points_close(other_tree);
    kd_points_close(tree);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_told_is_what_is_listed), cmocka_unit_test(of_trees_that_changed),
        cmocka_unit_test(of_other_norms_and_periods), cmocka_unit_test(sums_know_no_threads),
        cmocka_unit_test(bad_requests_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
