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
    bool self_query;
} call_case;

typedef kd_status (*timed_call)(call_case *bench);

/* Builds the CPU's tree; the last QUERIES_MAX points are queries only. */
static kd_status open_oracle(call_case *bench) {
    const kd_point_array points = kd_point_array_make(bench->points, bench->count, 3, KD_FLOAT);
    kd_points_options options;
    kd_points_options_default(&options);
    snprintf(options.device, sizeof options.device, "cpu");
    return kd_points_open(&bench->oracle, &points, &options);
}

static kd_status open_tree(call_case *bench) {
    const kd_point_array points =
        kd_point_array_make(bench->device_points, bench->count, 3, KD_FLOAT);
    kd_points_options options;
    kd_points_options_default(&options);
    snprintf(options.device, sizeof options.device, "cuda:0");
    kd_points_close(bench->tree);
    bench->tree = NULL;
    return kd_points_open(&bench->tree, &points, &options);
}

static kd_status query_points(call_case *bench) {
    kd_points_query query = bench->query;
    query.self = bench->self_query;
    if (query.self) query.points.count = 0;
    const kd_points_rows rows = {.struct_size = sizeof rows,
                                 .ids = (uint32_t *)bench->ids,
                                 .dist2 = bench->dist2,
                                 .order = query.self ? (uint32_t *)bench->order : NULL};
    return kd_points_search_nearest(bench->tree, &query, bench->k, &rows);
}

/* Times a call. The time of `open_tree` includes closing the tree. Query results were checked
   before; a tree that was opened is queried afterwards. */
static kd_status time_call(call_case *bench, timed_call call, const char *label,
                           const char *variant, uint64_t items) {
    bench_row row = {.bench = "calls",
                     .set = bench->set,
                     .builder = label,
                     .device = "cuda:0",
                     .variant = variant,
                     .n = bench->count,
                     .dims = 3,
                     .k = (int32_t)bench->k,
                     .runs = bench->request->runs,
                     .items = (double)items,
                     .checked = true};
    for (int run = -1; run < row.runs; ++run) {
        const double started = timing_now();
        KD_TRY(call(bench));
        if (run >= 0) row.seconds[run] = timing_now() - started;
    }
    return bench_report(bench->request, &row);
}

static kd_status take_rows(call_case *bench, uint64_t queries, bool host) {
    const uint64_t bytes = queries * bench->k * sizeof(uint32_t);
    if (host) {
        KD_TRY(memory_reserve(&bench->ids, bytes, 1));
        return memory_reserve(&bench->dist2, bytes, 1);
    }
    KD_TRY(device_memory_reserve(&bench->ids, bytes));
    return device_memory_reserve(&bench->dist2, bytes);
}

static void give_rows(call_case *bench, bool host) {
    (host ? memory_free : device_memory_free)(bench->ids);
    (host ? memory_free : device_memory_free)(bench->dist2);
    bench->ids = bench->dist2 = NULL;
}

/* Compares the rows of the first queries with those of the tree on the CPU. */
static kd_status check_rows(call_case *bench, uint64_t queries, bool host) {
    const uint64_t bytes = queries * bench->k * sizeof(uint32_t);
    void *rows[4] = {NULL};
    kd_status status = KD_OK;
    for (int i = 0; i < 4; ++i) KD_TRY_GOTO(memory_reserve(&rows[i], bytes, 1));
    kd_points_query query = bench->query;
    query.points = kd_point_array_make(bench->points + bench->count, queries, 3, KD_FLOAT);
    KD_TRY_GOTO(
        kd_points_nearest(bench->oracle, &query, bench->k, (uint32_t *)rows[0], rows[1], NULL));
    KD_TRY_GOTO(query_points(bench));
    if (host) {
        memcpy(rows[2], bench->ids, bytes);
        memcpy(rows[3], bench->dist2, bytes);
    } else {
        KD_TRY_GOTO(device_memory_download(rows[2], bench->ids, bytes));
        KD_TRY_GOTO(device_memory_download(rows[3], bench->dist2, bytes));
    }
    if (memcmp(rows[0], rows[2], bytes) != 0 || memcmp(rows[1], rows[3], bytes) != 0)
        status =
            status_fail(KD_ERROR_CHECK, __FILE__, __LINE__,
                        "%s, %llu points, %llu queries: the results differ from the CPU's",
                        bench->set, (unsigned long long)bench->count, (unsigned long long)queries);
done:
    for (int i = 0; i < 4; ++i) memory_free(rows[i]);
    return status;
}

static kd_status time_queries(call_case *bench, uint64_t queries, bool host) {
    char variant[48];
    snprintf(variant, sizeof variant, "%llu queries, %s memory", (unsigned long long)queries,
             host ? "host" : "device");
    const vec3 *from = host ? bench->points : (const vec3 *)bench->device_points;
    bench->k = CALL_K;
    kd_points_query_default(&bench->query);
    bench->query.points = kd_point_array_make(from + bench->count, queries, 3, KD_FLOAT);
    kd_status status = take_rows(bench, queries, host);
    if (status == KD_OK) status = check_rows(bench, queries, host);
    if (status == KD_OK) status = time_call(bench, query_points, "nearest", variant, queries);
    give_rows(bench, host);
    return status;
}

/* Compares the rows of the self-query with those of the copy. */
static kd_status check_own(call_case *bench) {
    const uint64_t bytes = bench->count * bench->k * sizeof(uint32_t);
    void *rows[4] = {NULL};
    kd_status status = KD_OK;
    for (int i = 0; i < 4; ++i) KD_TRY_GOTO(memory_reserve(&rows[i], bytes, 1));
    for (int self = 0; self < 2; ++self) {
        bench->self_query = self;
        KD_TRY_GOTO(query_points(bench));
        KD_TRY_GOTO(device_memory_download(rows[self], bench->ids, bytes));
        KD_TRY_GOTO(device_memory_download(rows[2 + self], bench->dist2, bytes));
    }
    if (memcmp(rows[0], rows[1], bytes) != 0 || memcmp(rows[2], rows[3], bytes) != 0)
        status = status_fail(
            KD_ERROR_CHECK, __FILE__, __LINE__,
            "%s, %llu points, k %u: self-queries differ from queries with a copy of the points",
            bench->set, (unsigned long long)bench->count, bench->k);
done:
    for (int i = 0; i < 4; ++i) memory_free(rows[i]);
    return status;
}

static kd_status time_joins(call_case *bench, uint32_t k) {
    kd_status status = KD_OK;
    bench->k = k;
    kd_points_query_default(&bench->query);
    bench->query.points = kd_point_array_make(bench->device_points, bench->count, 3, KD_FLOAT);
    KD_TRY_GOTO(take_rows(bench, bench->count, false));
    KD_TRY_GOTO(check_own(bench));
    bench->self_query = false;
    KD_TRY_GOTO(time_call(bench, query_points, "self join", "by a copy", bench->count));
    bench->self_query = true;
    KD_TRY_GOTO(time_call(bench, query_points, "self join", "own", bench->count));
    KD_TRY_GOTO(device_memory_reserve(&bench->order, bench->count * sizeof(uint32_t)));
    KD_TRY_GOTO(time_call(bench, query_points, "self join", "own, cheapest order", bench->count));
    device_memory_free(bench->order);
    bench->order = NULL;
    bench->query.skip_self = 1;
    KD_TRY_GOTO(time_call(bench, query_points, "self join", "own, without itself", bench->count));
done:
    bench->self_query = false;
    device_memory_free(bench->order);
    bench->order = NULL;
    give_rows(bench, false);
    return status;
}

static kd_status run_case(call_case *bench) {
    static const uint64_t queries[] = {1, 100, HOST_QUERIES_MAX, QUERIES_MAX};
    const bench_names *ks = &bench->request->counts;
    const uint64_t all = bench->count + QUERIES_MAX;
    kd_status status = KD_OK;
    KD_TRY_GOTO(KD_RESERVE(bench->points, all));
    KD_TRY_GOTO(bench_set_fill(bench->points, all, bench->set));
    KD_TRY_GOTO(device_memory_reserve(&bench->device_points, all * sizeof *bench->points));
    KD_TRY_GOTO(
        device_memory_upload(bench->device_points, bench->points, all * sizeof *bench->points));
    KD_TRY_GOTO(open_oracle(bench));
    KD_TRY_GOTO(time_call(bench, open_tree, "open", "and the one before closed", bench->count));
    for (int i = 0; i < 4; ++i) {
        KD_TRY_GOTO(time_queries(bench, queries[i], false));
        if (queries[i] <= HOST_QUERIES_MAX) KD_TRY_GOTO(time_queries(bench, queries[i], true));
    }
    for (int i = 0; i < (ks->count ? ks->count : 1); ++i) {
        uint64_t k = CALL_K;
        if (ks->count) KD_TRY_GOTO(bench_count(&k, ks, i));
        KD_TRY_GOTO(time_joins(bench, (uint32_t)k));
    }
done:
    kd_points_close(bench->tree);
    kd_points_close(bench->oracle);
    device_memory_free(bench->device_points);
    memory_free(bench->points);
    return status;
}

kd_status bench_calls(const bench_request *request) {
    static const char *const usual[] = {"uniform", "photon"};
    const int sets = request->sets.count ? request->sets.count : 2;
    const int sizes = request->sizes.count ? request->sizes.count : 1;
    for (int s = 0; s < sets; ++s)
        for (int i = 0; i < sizes; ++i) {
            call_case bench = {.request = request,
                               .set = request->sets.count ? request->sets.items[s] : usual[s],
                               .count = request->quick ? 20000 : 1000000};
            if (request->sizes.count) KD_TRY(bench_count(&bench.count, &request->sizes, i));
            KD_REQUIRE(bench.count >= 1 && bench.count < 1u << 30, KD_ERROR_USAGE,
                       "the size is %llu; expected 1 to 2^30", (unsigned long long)bench.count);
            KD_TRY(run_case(&bench));
        }
    return KD_OK;
}
