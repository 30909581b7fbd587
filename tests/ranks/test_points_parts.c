/* Trees on several devices (all CPUs here), distributed or replicated, return the same bytes as one
   tree, for every set of cases.h: the k nearest, all within a radius, boxes, other norms, periods,
   self-queries; 64-bit ids; insertions and removals; files; invalid calls. */
#include "distributed/ranks/ranks.h"
#include "tests/points/self_cases.h"
#include "tests/ranks/parts_cases.h"
#include <kandela/exchange.h>
#include <unistd.h>

static const char *const device_lists[] = {"cpu,cpu", "cpu,cpu,cpu", "cpu,cpu,cpu,cpu,cpu",
                                           "cpu,cpu,cpu,cpu,cpu,cpu,cpu,cpu"};

static void answers_are_those_of_one_tree(void **state) {
    (void)state;
    static const uint32_t sizes[] = {0, 1, 2, 5, 33, 257, 700};
    for (uint32_t variant = 0; variant < CASE_POINT_SETS * 7 * 4; ++variant) {
        const uint32_t mixed = variant * 13;
        if ((variant * 2654435761u >> 16) % 3) continue; /* a pseudo-random third of all variants */
        if (test_always_leaves_out(variant * 2654435761u >> 20, 3)) continue;
        const parts_case test = {(case_points)(variant % CASE_POINT_SETS),
                                 sizes[variant / CASE_POINT_SETS % 7],
                                 1 + mixed % 8,
                                 variant % 3 ? KD_FLOAT : KD_DOUBLE,
                                 device_lists[variant / (CASE_POINT_SETS * 7)],
                                 variant % 5 ? KD_POINTS_SPREAD_PARTS : KD_POINTS_SPREAD_COPIES,
                                 variant % 4 ? KD_POINTS_SPLIT_WIDEST : KD_POINTS_SPLIT_ROUND_ROBIN,
                                 variant % 6 == 1,
                                 0};
        check_all(&test);
    }
}

/* Points of three floats, as for photons, on every set, with 32-bit and 64-bit ids. */
static void three_floats(void **state) {
    (void)state;
    static const uint64_t firsts[] = {0, 1000, 0xffffffffu - 600, 1ull << 33};
    for (uint32_t which = 0; which < CASE_POINT_SETS; ++which)
        for (uint32_t f = 0; f < 4; ++f) {
            if (test_always_leaves_out(which + f, 3)) continue;
            const parts_case test = {(case_points)which,
                                     1500,
                                     3,
                                     which % 2 ? KD_DOUBLE : KD_FLOAT,
                                     device_lists[f],
                                     KD_POINTS_SPREAD_PARTS,
                                     KD_POINTS_SPLIT_WIDEST,
                                     false,
                                     firsts[f]};
            check_all(&test);
        }
}

static void self_queries_agree(void **state) {
    (void)state;
    static const uint32_t ks[] = {2, 1, 9, 0};
    static const uint32_t sizes[] = {0, 1, 17, 300};
    for (uint32_t variant = 0; variant < 2 * CASE_POINT_SETS * 4; ++variant) {
        if (test_always_leaves_out(variant * 2654435761u >> 20, 3)) continue;
        const self_case test = {device_lists[variant % 4],
                                sizes[variant / (2 * CASE_POINT_SETS)],
                                1 + variant * 5 % 8,
                                variant % 3 ? KD_FLOAT : KD_DOUBLE,
                                (case_points)(variant / 2 % CASE_POINT_SETS),
                                KD_POINTS_SPLIT_WIDEST,
                                variant % 4 == 1,
                                variant % 5 > 1,
                                "auto"};
        self_spread = variant % 2 ? KD_POINTS_SPREAD_PARTS : KD_POINTS_SPREAD_COPIES;
        self_check(&test, ks);
    }
}

/* --- other operations ------------------------------------------------------------------------- */

static void files_and_changes(void **state) {
    (void)state;
    static const char file[] = "parts.kdpoints", other[] = "one.kdpoints";
    static const uint32_t gone[] = {3, 99, 4, 250};
    const parts_case test = {
        CASE_CLUSTERED,         400,   3, KD_FLOAT, "cpu,cpu,cpu", KD_POINTS_SPREAD_PARTS,
        KD_POINTS_SPLIT_WIDEST, false, 0};
    both b;
    begin(&b, &test);
    ok(kd_points_save(b.parts, file));
    ok(kd_points_save(b.one, other));
    kd_points_close(b.parts);
    kd_points_options options;
    kd_points_options_default(&options);
    strcpy(options.device, test.devices);
    options.spread = test.spread;
    ok(kd_points_load(&b.parts, other, &options)); /* this file was written by a single tree */
    check_whole(&b);
    check_nearest(&b, 7);
    kd_points_close(b.parts);
    ok(kd_points_load(&b.parts, file, &options));
    kd_points *trees[] = {b.one, b.parts};
    const kd_point_array more = kd_point_array_make(b.queries, QUERIES, 3, KD_FLOAT);
    for (int t = 0; t < 2; ++t) {
        uint32_t first = 0;
        ok(kd_points_insert(trees[t], &more, &first));
        assert_int_equal(first, 400);
        ok(kd_points_remove(trees[t], gone, 4));
        ok(kd_points_rebuild(trees[t]));
        assert_int_equal(kd_points_count(trees[t]), 400 + QUERIES - 4);
    }
    check_nearest(&b, 7);
    b.query.max_radius = b.reach;
    check_within(&b);
    const kd_point_array all = kd_point_array_make(b.cloud, 300, 3, KD_FLOAT);
    for (int t = 0; t < 2; ++t) ok(kd_points_update(trees[t], &all));
    check_nearest(&b, 7);
    unlink(file);
    unlink(other);
    end(&b);
}

/* Parts are balanced, finding the splitting planes exchanges few bytes, and queries in the middle
   of a part involve no other part. */
static void work_is_divided(void **state) {
    (void)state;
    enum { COUNT = 40000 };
    const parts_case test = {
        CASE_DUPLICATES,        COUNT, 3, KD_FLOAT, "cpu,cpu,cpu,cpu", KD_POINTS_SPREAD_PARTS,
        KD_POINTS_SPLIT_WIDEST, false, 0};
    both b;
    begin(&b, &test);
    kd_points_info info;
    kd_points_describe(b.parts, &info);
    assert_int_equal(info.parts, 4);
    assert_int_equal(info.copies, 0);
    /* at most each rank's points once and some rounds of histograms, never all points to all
       ranks */
    assert_true(info.sent > 0 && info.sent < COUNT / 4 * 16 + 40 * 2 * 2048 * 8);
    check_nearest(&b, 8);
    kd_points_close(b.parts);
    b.test.spread = KD_POINTS_SPREAD_AUTO;
    b.parts = open_on(&b, test.devices);
    kd_points_describe(b.parts, &info);
    assert_int_equal(info.copies, 1);
    end(&b);
}

/* Points in separate arrays of different sizes, one of them empty. */
static void arrays_of_their_own(void **state) {
    (void)state;
    const parts_case test = {
        CASE_DUPLICATES,        600,   4, KD_DOUBLE, "cpu,cpu,cpu,cpu", KD_POINTS_SPREAD_PARTS,
        KD_POINTS_SPLIT_WIDEST, false, 0};
    static const uint64_t ends[] = {0, 70, 70, 71, 600};
    both b;
    begin(&b, &test);
    kd_point_array arrays[4];
    for (int a = 0; a < 4; ++a)
        arrays[a] = kd_point_array_make((const double *)b.cloud + ends[a] * test.dims,
                                        ends[a + 1] - ends[a], test.dims, test.scalar);
    kd_points_options options;
    kd_points_options_default(&options);
    strcpy(options.device, test.devices);
    kd_points_close(b.parts);
    ok(kd_points_open_arrays(&b.parts, arrays, 4, &options));
    check_whole(&b);
    check_nearest(&b, 7);
    b.query.max_radius = b.reach;
    check_within(&b);
    kd_points *none = NULL;
    assert_int_equal(kd_points_open_arrays(&none, arrays, 3, &options), KD_ERROR_USAGE);
    arrays[2].dims = 3;
    assert_int_equal(kd_points_open_arrays(&none, arrays, 4, &options), KD_ERROR_USAGE);
    end(&b);
}

/* --- several processes, represented by threads ------------------------------------------------ */

/* Rank r opens the tree with its slice of the points and runs all queries. */
static kd_status query_shared(void *context, ranks *comm) {
    both *b = (both *)context;
    const uint64_t bytes = b->test.dims * (b->test.scalar == KD_DOUBLE ? 8u : 4u);
    uint64_t begin = 0, end = 0;
    ranks_part(comm, comm->rank, b->test.count, &begin, &end);
    kd_point_array part = kd_point_array_make((const char *)b->cloud + begin * bytes, end - begin,
                                              b->test.dims, b->test.scalar);
    const kd_exchange exchange = {sizeof exchange,
                                  comm->user_data,
                                  comm->rank,
                                  comm->size,
                                  comm->calls->all_gather,
                                  comm->calls->all_sum,
                                  comm->calls->all_to_all,
                                  NULL};
    kd_points_options options;
    kd_points_options_default(&options);
    strcpy(options.device, "cpu");
    options.first_id = b->test.first_id;
    kd_points *tree = NULL;
    KD_TRY(kd_points_open_shared(&tree, &part, &options, &exchange));
    uint64_t *actual = (uint64_t *)guarded_allocate(QUERIES * 6 * sizeof *actual);
    uint64_t *sums = (uint64_t *)guarded_allocate((QUERIES + 1) * sizeof *sums);
    kd_status status = nearest64(tree, &b->query, 6, actual, NULL, NULL);
    if (status == KD_OK) status = kd_points_within_count(tree, &b->query, sums);
    if (status == KD_OK && (memcmp(actual, ids[0], QUERIES * 6 * sizeof *actual) != 0 ||
                            memcmp(sums, offsets[0], sizeof offsets[0]) != 0))
        status = status_fail(KD_ERROR_CHECK, __FILE__, __LINE__, "rank %d has other answers",
                             comm->rank);
    free(actual);
    free(sums);
    kd_points_close(tree);
    return status;
}

static void processes_share_a_tree(void **state) {
    (void)state;
    for (uint32_t which = 0; which < CASE_POINT_SETS; ++which) {
        if (test_always_leaves_out(which, 3)) continue;
        const parts_case test = {(case_points)which,
                                 200 + which,
                                 1 + which % 5,
                                 which % 2 ? KD_DOUBLE : KD_FLOAT,
                                 "cpu,cpu",
                                 KD_POINTS_SPREAD_PARTS,
                                 KD_POINTS_SPLIT_WIDEST,
                                 false,
                                 which % 3 ? 0 : 1ull << 36};
        both b;
        begin(&b, &test);
        b.query.max_radius = b.reach;
        ok(nearest64(b.one, &b.query, 6, ids[0], NULL, NULL));
        for (uint32_t i = 0; i < QUERIES * 6; ++i)
            if (ids[0][i] != KD_NO_POINT64) ids[0][i] += test.first_id;
        ok(kd_points_within_count(b.one, &b.query, offsets[0]));
        for (int32_t size = 1; size <= 4; ++size) ok(ranks_threads_run(size, query_shared, &b));
        end(&b);
    }
}

static void bad_requests_are_refused(void **state) {
    (void)state;
    static float cloud[60][3];
    static const uint32_t names[60] = {0};
    kd_points_options options;
    kd_points_options_default(&options);
    strcpy(options.device, "cpu,cpu,cpu");
    options.spread = KD_POINTS_SPREAD_PARTS;
    kd_point_array points = kd_point_array_make(cloud, 60, 3, KD_FLOAT);
    kd_points *tree = NULL;
    cloud[45][1] = NAN; /* in the slice of the last device */
    assert_int_equal(kd_points_open(&tree, &points, &options), KD_ERROR_INPUT);
    assert_null(tree);
    assert_non_null(strstr(kd_last_error(), "point 45"));
    cloud[45][1] = 0;
    strcpy(options.builder, "none");
    assert_int_equal(kd_points_open(&tree, &points, &options), KD_ERROR_USAGE);
    strcpy(options.builder, "auto");
    strcpy(options.device, "cpu,tpu");
    assert_int_equal(kd_points_open(&tree, &points, &options), KD_ERROR_DEVICE);
    strcpy(options.device, "cpu,cpu");
    options.first_id = 5;
    points.ids = names;
    assert_int_equal(kd_points_open(&tree, &points, &options), KD_ERROR_USAGE);
    points.ids = NULL;
    options.first_id = UINT64_MAX - 10;
    assert_int_equal(kd_points_open(&tree, &points, &options), KD_ERROR_USAGE);
    options.spread = KD_POINTS_SPREAD_COPIES;
    options.first_id = 1;
    assert_int_equal(kd_points_open(&tree, &points, &options), KD_ERROR_USAGE);
    options.spread = (kd_points_spread)9;
    assert_int_equal(kd_points_open(&tree, &points, &options), KD_ERROR_USAGE);
    options.spread = KD_POINTS_SPREAD_PARTS;
    ok(kd_points_open(&tree, &points, &options));
    assert_int_equal(kd_points_remove(tree, names, 1), KD_ERROR_USAGE);
    kd_points_query query;
    kd_points_query_default(&query);
    query.points = kd_point_array_make(cloud, 60, 2, KD_FLOAT);
    assert_int_equal(kd_points_nearest(tree, &query, 2, narrow_ids[0], NULL, NULL), KD_ERROR_USAGE);
    query.points = points;
    assert_int_equal(kd_points_nearest(tree, &query, 0, narrow_ids[0], NULL, NULL), KD_ERROR_USAGE);
    cloud[7][0] = INFINITY;
    assert_int_equal(kd_points_nearest(tree, &query, 2, narrow_ids[0], NULL, NULL), KD_ERROR_INPUT);
    kd_points_close(tree);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(answers_are_those_of_one_tree),
                                       cmocka_unit_test(three_floats),
                                       cmocka_unit_test(self_queries_agree),
                                       cmocka_unit_test(files_and_changes),
                                       cmocka_unit_test(work_is_divided),
                                       cmocka_unit_test(arrays_of_their_own),
                                       cmocka_unit_test(processes_share_a_tree),
                                       cmocka_unit_test(bad_requests_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
