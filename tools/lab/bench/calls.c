/* kandela bench calls: wall-clock times of calls of <kandela/points.h> on a CUDA device: building a
   tree of points in device memory, few and many queries in device and host memory, and
   self-queries, with and without a copy of the points. Before timing, results are compared with a
   tree on the CPU, and self-queries with those of the copy. */
#include "core/device/device_memory.h"
#include "core/job.h"
#include "core/memory.h"
#include "tools/lab/bench/bench.h"
#include "tools/lab/bench/inputs.h"
#include <kandela/points.h>
#include <stdio.h>
#include <string.h>

enum { CALL_K = 8, HOST_QUERIES_MAX = 10000, QUERIES_MAX = 100000 };

typedef struct call_case {
    const bench_request *request;
    const char *set;
    vec3 *points; /* points of the tree, then QUERIES_MAX others */
    void *device_points;
    uint64_t count;
    kd_points *tree, *oracle; /* trees on the device and on the CPU */
    kd_points_query query;
    uint32_t k;
    void *ids, *dist2, *order; /* order: NULL or memory for it */
    bool own;
} call_case;

typedef kd_status (*timed_call)(call_case *of);

/* Builds the CPU's tree; the last QUERIES_MAX points are queries only. */
static kd_status open_oracle(call_case *of) {
    const kd_point_array points = kd_point_array_make(of->points, of->count, 3, KD_FLOAT);
    kd_points_options options;
    kd_points_options_default(&options);
    snprintf(options.device, sizeof options.device, "cpu");
    return kd_points_open(&of->oracle, &points, &options);
}

static kd_status open_tree(call_case *of) {
    const kd_point_array points = kd_point_array_make(of->device_points, of->count, 3, KD_FLOAT);
    kd_points_options options;
    kd_points_options_default(&options);
    snprintf(options.device, sizeof options.device, "cuda:0");
    kd_points_close(of->tree);
    of->tree = NULL;
    return kd_points_open(&of->tree, &points, &options);
}

static kd_status ask(call_case *of) {
    return of->own ? kd_points_self_nearest(of->tree, &of->query, of->k, (uint32_t *)of->order,
                                            (uint32_t *)of->ids, of->dist2, NULL)
                   : kd_points_nearest(of->tree, &of->query, of->k, (uint32_t *)of->ids, of->dist2,
                                       NULL);
}

/* Times a call. The time of `open_tree` includes closing the tree. Query results were checked
   before; a tree that was opened is queried afterwards. */
static kd_status time_call(call_case *of, timed_call call, const char *what, const char *variant,
                           uint64_t items) {
    bench_row row = {.bench = "calls",
                     .set = of->set,
                     .builder = what,
                     .device = "cuda:0",
                     .variant = variant,
                     .n = of->count,
                     .dims = 3,
                     .k = (int32_t)of->k,
                     .runs = of->request->runs,
                     .items = (double)items,
                     .checked = true};
    for (int run = -1; run < row.runs; ++run) {
        const double started = timing_now();
        KD_TRY(call(of));
        if (run >= 0) row.seconds[run] = timing_now() - started;
    }
    return bench_report(of->request, &row);
}

static kd_status take_rows(call_case *of, uint64_t queries, bool host) {
    const uint64_t bytes = queries * of->k * sizeof(uint32_t);
    if (host) {
        KD_TRY(memory_reserve(&of->ids, bytes, 1));
        return memory_reserve(&of->dist2, bytes, 1);
    }
    KD_TRY(device_memory_reserve(&of->ids, bytes));
    return device_memory_reserve(&of->dist2, bytes);
}

static void give_rows(call_case *of, bool host) {
    (host ? memory_free : device_memory_free)(of->ids);
    (host ? memory_free : device_memory_free)(of->dist2);
    of->ids = of->dist2 = NULL;
}

/* Compares the rows of the first queries with those of the tree on the CPU. */
static kd_status check_rows(call_case *of, uint64_t queries, bool host) {
    const uint64_t bytes = queries * of->k * sizeof(uint32_t);
    void *rows[4] = {NULL};
    kd_status status = KD_OK;
    for (int i = 0; i < 4; ++i) KD_TRY_GOTO(memory_reserve(&rows[i], bytes, 1));
    kd_points_query query = of->query;
    query.points = kd_point_array_make(of->points + of->count, queries, 3, KD_FLOAT);
    KD_TRY_GOTO(kd_points_nearest(of->oracle, &query, of->k, (uint32_t *)rows[0], rows[1], NULL));
    KD_TRY_GOTO(ask(of));
    if (host) {
        memcpy(rows[2], of->ids, bytes);
        memcpy(rows[3], of->dist2, bytes);
    } else {
        KD_TRY_GOTO(device_memory_download(rows[2], of->ids, bytes));
        KD_TRY_GOTO(device_memory_download(rows[3], of->dist2, bytes));
    }
    if (memcmp(rows[0], rows[2], bytes) != 0 || memcmp(rows[1], rows[3], bytes) != 0)
        status = status_fail(KD_ERROR_CHECK, __FILE__, __LINE__,
                             "%s, %llu points, %llu queries: the results differ from the CPU's",
                             of->set, (unsigned long long)of->count, (unsigned long long)queries);
done:
    for (int i = 0; i < 4; ++i) memory_free(rows[i]);
    return status;
}

static kd_status time_queries(call_case *of, uint64_t queries, bool host) {
    char variant[48];
    snprintf(variant, sizeof variant, "%llu queries, %s memory", (unsigned long long)queries,
             host ? "host" : "device");
    const vec3 *from = host ? of->points : (const vec3 *)of->device_points;
    of->k = CALL_K;
    kd_points_query_default(&of->query);
    of->query.points = kd_point_array_make(from + of->count, queries, 3, KD_FLOAT);
    kd_status status = take_rows(of, queries, host);
    if (status == KD_OK) status = check_rows(of, queries, host);
    if (status == KD_OK) status = time_call(of, ask, "nearest", variant, queries);
    give_rows(of, host);
    return status;
}

/* Compares the rows of the self-query with those of the copy. */
static kd_status check_own(call_case *of) {
    const uint64_t bytes = of->count * of->k * sizeof(uint32_t);
    void *rows[4] = {NULL};
    kd_status status = KD_OK;
    for (int i = 0; i < 4; ++i) KD_TRY_GOTO(memory_reserve(&rows[i], bytes, 1));
    for (int own = 0; own < 2; ++own) {
        of->own = own;
        KD_TRY_GOTO(ask(of));
        KD_TRY_GOTO(device_memory_download(rows[own], of->ids, bytes));
        KD_TRY_GOTO(device_memory_download(rows[2 + own], of->dist2, bytes));
    }
    if (memcmp(rows[0], rows[1], bytes) != 0 || memcmp(rows[2], rows[3], bytes) != 0)
        status = status_fail(
            KD_ERROR_CHECK, __FILE__, __LINE__,
            "%s, %llu points, k %u: self-queries differ from queries with a copy of the points",
            of->set, (unsigned long long)of->count, of->k);
done:
    for (int i = 0; i < 4; ++i) memory_free(rows[i]);
    return status;
}

static kd_status time_joins(call_case *of, uint32_t k) {
    kd_status status = KD_OK;
    of->k = k;
    kd_points_query_default(&of->query);
    of->query.points = kd_point_array_make(of->device_points, of->count, 3, KD_FLOAT);
    KD_TRY_GOTO(take_rows(of, of->count, false));
    KD_TRY_GOTO(check_own(of));
    of->own = false;
    KD_TRY_GOTO(time_call(of, ask, "self join", "by a copy", of->count));
    of->own = true;
    KD_TRY_GOTO(time_call(of, ask, "self join", "own", of->count));
    KD_TRY_GOTO(device_memory_reserve(&of->order, of->count * sizeof(uint32_t)));
    KD_TRY_GOTO(time_call(of, ask, "self join", "own, cheapest order", of->count));
    device_memory_free(of->order);
    of->order = NULL;
    of->query.skip_self = 1;
    KD_TRY_GOTO(time_call(of, ask, "self join", "own, without itself", of->count));
done:
    of->own = false;
    device_memory_free(of->order);
    of->order = NULL;
    give_rows(of, false);
    return status;
}

static kd_status run_case(call_case *of) {
    static const uint64_t queries[] = {1, 100, HOST_QUERIES_MAX, QUERIES_MAX};
    const bench_names *ks = &of->request->counts;
    const uint64_t all = of->count + QUERIES_MAX;
    kd_status status = KD_OK;
    KD_TRY_GOTO(KD_RESERVE(of->points, all));
    KD_TRY_GOTO(bench_set_fill(of->points, all, of->set));
    KD_TRY_GOTO(device_memory_reserve(&of->device_points, all * sizeof *of->points));
    KD_TRY_GOTO(device_memory_upload(of->device_points, of->points, all * sizeof *of->points));
    KD_TRY_GOTO(open_oracle(of));
    KD_TRY_GOTO(time_call(of, open_tree, "open", "and the one before closed", of->count));
    for (int i = 0; i < 4; ++i) {
        KD_TRY_GOTO(time_queries(of, queries[i], false));
        if (queries[i] <= HOST_QUERIES_MAX) KD_TRY_GOTO(time_queries(of, queries[i], true));
    }
    for (int i = 0; i < (ks->count ? ks->count : 1); ++i) {
        uint64_t k = CALL_K;
        if (ks->count) KD_TRY_GOTO(bench_count(&k, ks, i));
        KD_TRY_GOTO(time_joins(of, (uint32_t)k));
    }
done:
    kd_points_close(of->tree);
    kd_points_close(of->oracle);
    device_memory_free(of->device_points);
    memory_free(of->points);
    return status;
}

kd_status bench_calls(const bench_request *request) {
    static const char *const usual[] = {"uniform", "photon"};
    const int sets = request->sets.count ? request->sets.count : 2;
    const int sizes = request->sizes.count ? request->sizes.count : 1;
    for (int s = 0; s < sets; ++s)
        for (int i = 0; i < sizes; ++i) {
            call_case of = {.request = request,
                            .set = request->sets.count ? request->sets.items[s] : usual[s],
                            .count = request->quick ? 20000 : 1000000};
            if (request->sizes.count) KD_TRY(bench_count(&of.count, &request->sizes, i));
            KD_REQUIRE(of.count >= 1 && of.count < 1u << 30, KD_ERROR_USAGE,
                       "the size is %llu; expected 1 to 2^30", (unsigned long long)of.count);
            KD_TRY(run_case(&of));
        }
    return KD_OK;
}
