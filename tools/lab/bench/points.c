#include "core/device/device_memory.h"
#include "core/job.h"
#include "core/memory.h"
#include "points/select/builders.h"
#include "tools/lab/bench/bench.h"
#include "tools/lab/bench/inputs.h"
#include <kandela/points.h>
#include <string.h>

enum { ORDERS = 3 };

typedef struct point_case {
    const bench_request *request;
    const char *set;
    bench_cloud cloud;
    pointtree_options options;
    uint64_t hash[ORDERS]; /* hash of the first tree of each order; 0: none yet */
} point_case;

static kd_status same_tree(point_case *bench, const bench_row *row) {
    uint64_t *first = &bench->hash[pointtree_builder_find(row->builder)->order];
    if (!*first) *first = row->hash;
    KD_REQUIRE(*first == row->hash, KD_ERROR_CHECK,
               "%s on %s built a different tree of %s %llu points", row->builder, row->device,
               row->set, (unsigned long long)row->n);
    return KD_OK;
}

static const char *variant_of(const pointtree_options *options) {
    return options->split == POINTTREE_WIDEST ? (options->unique ? "widest, unique" : "widest")
                                              : (options->unique ? "unique" : NULL);
}

static kd_status measure(point_case *bench, const char *builder, bool on_cpu) {
    bench_row row = {.bench = "points", .set = bench->set, .builder = builder};
    row.device = on_cpu ? "cpu" : "cuda:0";
    row.variant = variant_of(&bench->options);
    row.n = bench->cloud.points.count;
    row.dims = (int32_t)bench->cloud.points.dims;
    row.items = (double)row.n;
    row.runs = bench->request->runs;
    KD_TRY(on_cpu ? bench_tree_cpu(&row, &bench->cloud, &bench->options)
                  : bench_tree_cuda(&row, &bench->cloud, &bench->options, NULL));
    KD_TRY(same_tree(bench, &row));
    return bench_report(bench->request, &row);
}

static void print_parameters(const point_case *bench, const char *device_name,
                             const wehr_parameters *best) {
    printf("points  %-24s wehr       %-7s n %-10llu the best of all tried: blocks of %u points, "
           "digits of %u bits, cutoff %u points\n",
           bench->set, device_name, (unsigned long long)bench->cloud.points.count, best->block,
           best->digit_bits, best->cutoff);
    fflush(stdout);
}

/* Searches for the best parameters of `wehr` on each device, as in the paper. */
static kd_status tune(const point_case *bench) {
    wehr_parameters best;
    if (bench_selects(&bench->request->devices, "cpu")) {
        KD_TRY(wehr_tune(&best, &bench->cloud.points, &bench->options));
        print_parameters(bench, "cpu", &best);
    }
    if (!bench->cloud.device_points.coordinates) return KD_OK;
    KD_TRY(bench_tune_cuda(&best, &bench->cloud, &bench->options));
    print_parameters(bench, "cuda:0", &best);
    return KD_OK;
}

static kd_status run_split(point_case *bench, pointtree_split split) {
    const bench_request *request = bench->request;
    memset(bench->hash, 0, sizeof bench->hash);
    bench->options.split = split;
    bench->options.unique = request->unique;
    if (request->tune) return tune(bench);
    if (bench_selects(&request->devices, "cpu"))
        for (const pointtree_builder *const *row = pointtree_builders; *row; ++row)
            if (bench_selects(&request->builders, (*row)->name) &&
                (!request->unique || (*row)->removes))
                KD_TRY(measure(bench, (*row)->name, true));
    if (bench->cloud.device_points.coordinates)
        for (const point_builder_cuda *const *row = point_builders_cuda; *row; ++row)
            if (bench_selects(&request->builders, (*row)->name) &&
                (!request->unique || (*row)->removes))
                KD_TRY(measure(bench, (*row)->name, false));
    return KD_OK;
}

static kd_status run_case(const bench_request *request, const char *set, uint64_t count,
                          uint32_t dims) {
    point_case bench = {.request = request, .set = set};
    const bool on_device = device_cuda_count() > 0 && bench_selects(&request->devices, "cuda:0");
    KD_TRY(bench_cloud_open(&bench.cloud, set, count, dims,
                            request->doubles ? POINT_DOUBLE : POINT_FLOAT,
                            (uint64_t)request->stride, on_device));
    kd_status status = KD_OK;
    if (bench_selects(&request->splits, "round-robin"))
        status = run_split(&bench, POINTTREE_ROUND_ROBIN);
    if (status == KD_OK && bench_selects(&request->splits, "widest"))
        status = run_split(&bench, POINTTREE_WIDEST);
    bench_cloud_close(&bench.cloud);
    return status;
}

static kd_status run_sets(const bench_request *request, uint64_t count, uint32_t dims) {
    KD_REQUIRE(count >= 1 && count <= POINTTREE_COUNT_MAX, KD_ERROR_USAGE,
               "the size is %llu; expected 1 to %u", (unsigned long long)count,
               POINTTREE_COUNT_MAX);

    for (const char *const *set = bench_sets; *set; ++set)
        if (request->sets.count ? bench_selects(&request->sets, *set) : set == bench_sets)
            KD_TRY(run_case(request, *set, count, dims));
    return KD_OK;
}

kd_status bench_points(const bench_request *request) {
    static const uint64_t usual[] = {10000, 100000, 1000000}, quick[] = {1000, 10000, 100000};
    const uint64_t *counts = request->quick ? quick : usual;
    const int size_count = request->sizes.count;
    const int sizes = size_count ? size_count : 3;
    for (int i = 0; i < sizes; ++i)
        for (int j = 0; j < (request->dims.count ? request->dims.count : 1); ++j) {
            uint64_t count = size_count ? 0 : counts[i], dims = 3;
            if (size_count) KD_TRY(bench_count(&count, &request->sizes, i));
            if (request->dims.count) KD_TRY(bench_count(&dims, &request->dims, j));
            KD_REQUIRE(dims >= POINT_DIMS_MIN && dims <= POINT_DIMS_MAX, KD_ERROR_USAGE,
                       "the number of dimensions is %llu; supported: %u to %u",
                       (unsigned long long)dims, POINT_DIMS_MIN, POINT_DIMS_MAX);
            KD_TRY(run_sets(request, count, (uint32_t)dims));
        }
    return KD_OK;
}

enum { BATCHES = 16, QUERIES = 100000, CHECKED_K = 8, SHARES = 3 };
enum { ROW_BYTES = QUERIES * CHECKED_K * 4 };
static const double shares[SHARES] = {0.001, 0.01, 0.1};

typedef struct change_case {
    const bench_request *request;
    const char *set, *device;
    vec3 *points; /* points of the tree, then of the batches, then the queries */
    /* device memory: the points, rows, ids to remove; NULL on the CPU */
    void *device_points, *rows, *gone;
    uint64_t count, batch;
    double share;
    kd_points *tree;
    uint32_t *ids, *anew_ids;
} change_case;

static kd_status report(const change_case *bench, const char *label, double seconds, uint64_t items,
                        int32_t k) {
    char variant[32];
    snprintf(variant, sizeof variant, "%s %g %%", label, 100 * bench->share);
    bench_row row = {.bench = "changes",
                     .set = bench->set,
                     .builder = "auto",
                     .device = bench->device,
                     .variant = variant,
                     .n = bench->count,
                     .dims = 3,
                     .k = k,
                     .runs = 1,
                     .items = (double)items,
                     .checked = true};
    row.seconds[0] = seconds;
    return bench_report(bench->request, &row);
}

static const vec3 *points_of(const change_case *bench, uint64_t first) {
    return (bench->device_points ? (const vec3 *)bench->device_points : bench->points) + first;
}

static kd_points_query queries_of(const change_case *bench) {
    kd_points_query query;
    kd_points_query_default(&query);
    query.points = kd_point_array_make(points_of(bench, bench->count + BATCHES * bench->batch),
                                       QUERIES, 3, KD_FLOAT);
    return query;
}

/* Queries twice and sets *seconds to the faster time, since the first includes allocation. */
static kd_status time_queries(double *seconds, const change_case *bench, const kd_points *tree,
                              uint32_t *ids) {
    const kd_points_query query = queries_of(bench);
    uint32_t *const rows = bench->rows ? (uint32_t *)bench->rows : ids;
    for (int turn = 0; turn < 2; ++turn) {
        const double started = timing_now();
        KD_TRY(kd_points_nearest(tree, &query, CHECKED_K, rows, NULL, NULL));
        const double query_seconds = timing_now() - started;
        if (turn == 0 || query_seconds < *seconds) *seconds = query_seconds;
    }
    return bench->rows ? device_memory_download(ids, rows, ROW_BYTES) : KD_OK;
}

static kd_status open_tree(kd_points **out, const change_case *bench, uint64_t count) {
    kd_points_options options;
    kd_points_options_default(&options);
    snprintf(options.device, sizeof options.device, "%s", bench->device);
    const kd_point_array points = kd_point_array_make(points_of(bench, 0), count, 3, KD_FLOAT);
    return kd_points_open(out, &points, &options);
}

/* Inserts all batches, then compares results with those of a tree of all points. */
static kd_status insert_all(change_case *bench) {
    double seconds = 0, changed = 0, rebuild_seconds = 0, again = 0;
    for (int b = 0; b < BATCHES; ++b) {
        const kd_point_array more = kd_point_array_make(
            points_of(bench, bench->count + (uint64_t)b * bench->batch), bench->batch, 3, KD_FLOAT);
        const double started = timing_now();
        KD_TRY(kd_points_insert(bench->tree, &more, NULL));
        seconds += timing_now() - started;
    }
    kd_points *whole = NULL;
    for (int turn = 0; turn < 2; ++turn) { /* the first includes memory allocation */
        const double started = timing_now();
        kd_points_close(whole);
        KD_TRY(open_tree(&whole, bench, bench->count + BATCHES * bench->batch));
        again = timing_now() - started;
    }
    kd_status status = time_queries(&changed, bench, bench->tree, bench->ids);
    if (status == KD_OK) status = time_queries(&rebuild_seconds, bench, whole, bench->anew_ids);
    kd_points_close(whole);
    KD_TRY(status);
    KD_REQUIRE(memcmp(bench->ids, bench->anew_ids, ROW_BYTES) == 0, KD_ERROR_CHECK,
               "%s: the results of a dynamic tree differ from those of a rebuilt one", bench->set);
    KD_TRY(report(bench, "insert", seconds / BATCHES, bench->batch, 0));
    KD_TRY(report(bench, "built anew for", again, bench->count, 0));
    KD_TRY(report(bench, "asked after", changed, QUERIES, CHECKED_K));
    return report(bench, "asked anew", rebuild_seconds, QUERIES, CHECKED_K);
}

/* Removes as many points as were inserted, sampled uniformly from the initial points. */
static kd_status remove_all(change_case *bench) {
    const uint64_t step =
        bench->count / (BATCHES * bench->batch) ? bench->count / (BATCHES * bench->batch) : 1;
    uint64_t next = 0, removed = 0;
    double seconds = 0;
    uint32_t *gone = NULL;
    kd_status status = KD_OK;
    KD_TRY(KD_RESERVE(gone, bench->batch));
    for (int b = 0; b < BATCHES && next < bench->count; ++b) {
        uint64_t size = 0;
        for (; size < bench->batch && next < bench->count; next += step)
            gone[size++] = (uint32_t)next;
        if (bench->gone) KD_TRY_GOTO(device_memory_upload(bench->gone, gone, size * sizeof *gone));
        const double started = timing_now();
        KD_TRY_GOTO(
            kd_points_remove(bench->tree, bench->gone ? (uint32_t *)bench->gone : gone, size));
        seconds += timing_now() - started;
        removed += size;
    }
    seconds *= (double)bench->batch / (double)removed;
    KD_TRY_GOTO(report(bench, "remove", seconds, bench->batch, 0));
done:
    memory_free(gone);
    return status;
}

static kd_status run_share(change_case *bench, double share) {
    kd_status status = KD_OK;
    bench->share = share;
    bench->batch = (uint64_t)((double)bench->count * share);
    if (bench->batch == 0) return KD_OK;
    const uint64_t all = bench->count + BATCHES * bench->batch + QUERIES;
    KD_TRY_GOTO(KD_RESERVE(bench->points, all));
    KD_TRY_GOTO(KD_RESERVE(bench->ids, (uint64_t)QUERIES * CHECKED_K));
    KD_TRY_GOTO(KD_RESERVE(bench->anew_ids, (uint64_t)QUERIES * CHECKED_K));
    KD_TRY_GOTO(bench_set_fill(bench->points, all, bench->set));
    if (strcmp(bench->device, "cpu") != 0) {
        KD_TRY_GOTO(device_memory_reserve(&bench->device_points, all * sizeof *bench->points));
        KD_TRY_GOTO(device_memory_reserve(&bench->rows, ROW_BYTES));
        KD_TRY_GOTO(device_memory_reserve(&bench->gone, bench->batch * sizeof *bench->ids));
        KD_TRY_GOTO(
            device_memory_upload(bench->device_points, bench->points, all * sizeof *bench->points));
    }
    KD_TRY_GOTO(open_tree(&bench->tree, bench, bench->count));
    KD_TRY_GOTO(insert_all(bench));
    KD_TRY_GOTO(remove_all(bench));
done:
    kd_points_close(bench->tree);
    device_memory_free(bench->device_points);
    device_memory_free(bench->rows);
    device_memory_free(bench->gone);
    bench->device_points = bench->rows = bench->gone = NULL;
    memory_free(bench->points);
    memory_free(bench->ids);
    memory_free(bench->anew_ids);
    bench->tree = NULL;
    bench->points = NULL;
    bench->ids = bench->anew_ids = NULL;
    return status;
}

kd_status bench_changes(const bench_request *request) {
    static const char *const devices[] = {"cpu", "cuda:0"};
    const int sizes = request->sizes.count ? request->sizes.count : 1;
    for (int d = 0; d < 2; ++d)
        for (int i = 0; i < sizes; ++i)
            for (int s = 0; s < SHARES; ++s) {
                change_case bench = {.request = request,
                                     .set =
                                         request->sets.count ? request->sets.items[0] : "uniform",
                                     .device = devices[d],
                                     .count = request->quick ? 20000 : 1000000};
                if (!bench_selects(&request->devices, bench.device)) continue;
                if (d == 1 && device_cuda_count() == 0) continue;
                if (request->sizes.count) KD_TRY(bench_count(&bench.count, &request->sizes, i));
                KD_REQUIRE(bench.count >= 1 && bench.count < 1u << 30, KD_ERROR_USAGE,
                           "the size is %llu; expected 1 to 2^30", (unsigned long long)bench.count);
                KD_TRY(run_share(&bench, shares[s]));
            }
    return KD_OK;
}
