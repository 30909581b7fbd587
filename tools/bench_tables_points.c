/* kandela bench --table: tables of papers on point k-d trees, with ours beside them. A ratio above
   1 says how many times faster ours is than the published figure; both devices are named. Where
   ours has another size than the paper, rates are compared. All points are uniform in the unit
   cube. */
#include "core/memory.h"
#include "core/timing.h"
#include "photon/pointtree.h"
#include "photon/pointtree_check.h"
#include "shaders/pointtree_approximate.h"
#include "shaders/rng.h"
#include "tools/bench.h"
#include <kandela/points.h>
#include <string.h>

enum { QUERY_KINDS = 9, QUEUE = 16 };

static kd_status fill_uniform(float **out, uint64_t count, uint32_t dims, uint32_t seed) {
    KD_TRY(KD_RESERVE(*out, count * dims));
    for (uint64_t i = 0; i < count * dims; ++i)
        (*out)[i] = rng_draw(rng_key_make(seed, 0, i), 0, 0).value[0];
    return KD_OK;
}

static void print_head(const char *title, const char *published, const char *unit) {
    printf("%s; ours on the CPU\n%-34s %12s %14s %12s %8s\n", title, "case", "published", "ours",
           "unit", "ratio");
    printf("%-34s on %s, %s\n", "", published, unit);
}

static void print_row(const char *what, double published, double ours, const char *unit,
                      bool less_is_better) {
    const double ratio = less_is_better ? published / ours : ours / published;
    printf("%-34s %12.4g %14.4g %12s %8.3g\n", what, published, ours, unit, ratio);
}

/* One tree by a builder, checked; the seconds that it took. */
static kd_status time_build(double *seconds, uint64_t count, uint32_t dims, const char *builder,
                            bool unique) {
    float *points = NULL;
    pointtree tree;
    KD_TRY(fill_uniform(&points, count, dims, 1));
    const point_array array = point_array_make(points, count, dims, POINT_FLOAT);
    const pointtree_options options = {POINTTREE_ROUND_ROBIN, unique, 0};
    kd_status status = pointtree_open_nd(&tree, &array, &options, builder, NULL);
    if (status == KD_OK) {
        *seconds = tree.build_seconds;
        const pointtree_nd_view view = pointtree_get_nd_view(&tree);
        status = pointtree_check_nd(&view, &array);
        pointtree_close(&tree);
    }
    memory_free(points);
    return status;
}

typedef struct build_row {
    uint64_t count;
    double ms;
} build_row;

static kd_status print_builds(const build_row *rows, int count, uint32_t dims,
                              const char *const *builders, uint64_t most) {
    for (int i = 0; i < count; ++i)
        for (const char *const *builder = builders; rows[i].count <= most && *builder; ++builder) {
            double seconds = 0;
            KD_TRY(time_build(&seconds, rows[i].count, dims, *builder, false));
            char what[64];
            snprintf(what, sizeof what, "%s, %llu points", *builder,
                     (unsigned long long)rows[i].count);
            print_row(what, rows[i].ms, seconds * 1e3, "ms", true);
        }
    return KD_OK;
}

static kd_status wald_build(bool quick) {
    static const build_row rows[] = {
        {10000, 0.9}, {100000, 5.6}, {1000000, 44.4}, {10000000, 424}, {100000000, 5300}};
    static const char *const builders[] = {"wald", "kandela", NULL};
    print_head("Wald, left-balanced build, Table 1, float4", "NVIDIA RTX 3090 Ti", "ms");
    return print_builds(rows, 5, 4, builders, quick ? 100000 : 10000000);
}

typedef struct query_row {
    uint64_t count;
    double rates[QUERY_KINDS]; /* M queries a second: closest, k = 4, 8, 20, 50; within 0.01 */
} query_row;

static kd_status time_queries(double *seconds, const kd_points *tree, kd_points_query *query,
                              uint32_t k) {
    kd_status status = KD_OK;
    const uint64_t answers = query->points.count * k;
    float *dist2 = NULL, *walked = NULL;
    KD_TRY_GOTO(KD_RESERVE(dist2, answers));
    KD_TRY_GOTO(KD_RESERVE(walked, answers));
    const double started = timing_now();
    KD_TRY_GOTO(kd_points_nearest(tree, query, k, NULL, dist2, NULL));
    *seconds = timing_now() - started;
    kd_points_query walk = *query;
    snprintf(walk.method, sizeof walk.method, "walk");
    if (walk.points.count > 1000) walk.points.count = 1000;
    KD_TRY_GOTO(kd_points_nearest(tree, &walk, k, NULL, walked, NULL));
    if (memcmp(dist2, walked, walk.points.count * k * sizeof *dist2) != 0)
        status = status_fail(KD_ERROR_CHECK, __FILE__, __LINE__, "k %u: not the walk's answers", k);
done:
    memory_free(dist2);
    memory_free(walked);
    return status;
}

static kd_status print_queries(const query_row *row, uint64_t query_count) {
    static const uint32_t ks[QUERY_KINDS] = {1, 4, 8, 20, 50, 4, 8, 20, 50};
    kd_status status = KD_OK;
    float *points = NULL, *asked = NULL;
    kd_points *tree = NULL;
    kd_points_options options;
    kd_points_options_default(&options);
    snprintf(options.device, sizeof options.device, "cpu");
    KD_TRY_GOTO(fill_uniform(&points, row->count, 4, 1));
    KD_TRY_GOTO(fill_uniform(&asked, query_count, 4, 2));
    const kd_point_array array = kd_point_array_make(points, row->count, 4, KD_FLOAT);
    KD_TRY_GOTO(kd_points_open(&tree, &array, &options));
    kd_points_query query;
    kd_points_query_default(&query);
    query.points = kd_point_array_make(asked, query_count, 4, KD_FLOAT);
    for (int i = 0; i < QUERY_KINDS; ++i) {
        double seconds = 0;
        if (i > 4) query.max_radius = 0.01;
        KD_TRY_GOTO(time_queries(&seconds, tree, &query, ks[i]));
        char what[64];
        snprintf(what, sizeof what, "%llu points, k %u, radius %s", (unsigned long long)row->count,
                 ks[i], i > 4 ? "0.01" : "inf");
        print_row(what, row->rates[i], (double)query_count / seconds * 1e-6, "M/s", false);
    }
done:
    kd_points_close(tree);
    memory_free(points);
    memory_free(asked);
    return status;
}

static kd_status wald_query(bool quick) {
    static const query_row rows[] = {{1000, {888, 563, 359, 48, 14, 5200, 6600, 4000, 1800}},
                                     {10000, {664, 407, 262, 29.5, 8.7, 3300, 3900, 3300, 1600}},
                                     {100000, {396, 184, 122, 20.6, 6.0, 1700, 1800, 1700, 1100}},
                                     {1000000, {100, 42.1, 26.6, 7.5, 2.9, 334, 338, 282, 255}},
                                     {10000000, {44, 19.3, 12.3, 5.0, 2.3, 58.2, 58.5, 52.8, 51}}};
    print_head("Wald, stack-free traversal, Table 1, float4", "NVIDIA RTX 3090 Ti",
               "M queries a second");
    for (int i = 0; i < (quick ? 2 : 5); ++i)
        KD_TRY(print_queries(&rows[i], quick ? 10000 : 1000000));
    return KD_OK;
}

/* 16,777,216 tuples in the paper: its seconds for sort, removal of duplicates and tree. */
static kd_status robinson(bool quick) {
    const double tuples = 16777216, titan = 0.388 + 0.920, k520 = 0.823 + 1.365;
    const uint64_t count = quick ? 100000 : 16777216;
    double seconds = 0;
    print_head("Robinson and Brown, performance examples, 4-D tuples",
               "NVIDIA Titan Black and GRID K520", "M tuples a second");
    KD_TRY(time_build(&seconds, count, 4, "brown", true));
    const double ours = (double)count / seconds * 1e-6;
    print_row("brown, against Titan Black", tuples / titan * 1e-6, ours, "M/s", false);
    print_row("brown, against GRID K520", tuples / k520 * 1e-6, ours, "M/s", false);
    return KD_OK;
}

/* Closest points by the paper's approximate search, one core. */
static kd_status print_searches(uint64_t count, uint64_t queries, double published) {
    kd_status status = KD_OK;
    float *points = NULL, *asked = NULL;
    pointtree tree;
    memset(&tree, 0, sizeof tree);
    KD_TRY_GOTO(fill_uniform(&points, count, 3, 1));
    KD_TRY_GOTO(fill_uniform(&asked, queries, 3, 2));
    const point_array array = point_array_make(points, count, 3, POINT_FLOAT);
    KD_TRY_GOTO(pointtree_open_nd(&tree, &array, NULL, "wehr", NULL));
    const pointtree_nd_view view = pointtree_get_nd_view(&tree);
    uint64_t found = 0;
    const double started = timing_now();
    for (uint64_t i = 0; i < queries; ++i) {
        neighbour_nd best;
        found += pointtree_approximate(&view, asked + 3 * i, QUEUE, &best);
    }
    const double seconds = timing_now() - started;
    if (found != queries) {
        status = status_fail(KD_ERROR_CHECK, __FILE__, __LINE__, "%llu of %llu queries answered",
                             (unsigned long long)found, (unsigned long long)queries);
        goto done;
    }
    char what[64];
    snprintf(what, sizeof what, "III: %llu points, %llu queries", (unsigned long long)count,
             (unsigned long long)queries);
    print_row(what, published, seconds * 1e3, "ms", true);
done:
    pointtree_close(&tree);
    memory_free(points);
    memory_free(asked);
    return status;
}

static kd_status wehr(bool quick) {
    static const build_row first[] = {{3200, 3.5},  {6400, 4},    {12800, 4.8},
                                      {25600, 5.9}, {51200, 9.5}, {102400, 22.2}};
    static const build_row second[] = {{2000, 2.4},  {50000, 5.1}, {100000, 6.0},
                                       {300000, 13}, {400000, 21}, {500000, 31}};
    static const uint64_t sizes[] = {2000, 50000, 100000, 500000};
    static const double third[][2] = {{1024, 9672}, {1502, 15769}, {1466, 17104}, {1976, 20535}};
    static const char *const builders[] = {"wehr", "kandela", NULL};
    const uint64_t most = quick ? 50000 : 500000;
    print_head("Wehr and Radkowski, Table I, random points", "NVIDIA GeForce GTX 660", "ms");
    KD_TRY(print_builds(first, 6, 3, builders, most));
    print_head("Wehr and Radkowski, Table II, random points, TPB 128", "NVIDIA Titan X", "ms");
    KD_TRY(print_builds(second, 6, 3, builders, most));
    print_head("Wehr and Radkowski, Table III, one core", "NVIDIA Titan X", "ms");
    for (int i = 0; i < 4 && sizes[i] <= most; ++i) {
        KD_TRY(print_searches(sizes[i], 10000, third[i][0]));
        KD_TRY(print_searches(sizes[i], 100000, third[i][1]));
    }
    return KD_OK;
}

kd_status bench_table(const char *name, const bench_request *request) {
    const bool quick = request->quick;
    if (strcmp(name, "wald-build") == 0) return wald_build(quick);
    if (strcmp(name, "wald-query") == 0) return wald_query(quick);
    if (strcmp(name, "robinson") == 0) return robinson(quick);
    if (strcmp(name, "wehr") == 0) return wehr(quick);
    KD_FAIL(KD_ERROR_USAGE,
            "unknown table \"%s\", expected one of: wald-build, wald-query, robinson, wehr", name);
}
