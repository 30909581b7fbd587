/* kandela bench scaling: growth of cost with size on logarithmic axes, compared with theory: n log
   n for builds, log n for a query of 8 neighbours and for a ray. If the slope differs, the output
   states the direction and the cause. */
#include "tools/lab/bench/scaling.h"
#include "core/device/device_memory.h"
#include "core/job.h"
#include "core/memory.h"
#include "tools/lab/bench/inputs.h"
#include <kandela/points.h>
#include <math.h>
#include <string.h>

enum { NEIGHBOURS = 8, QUERIES_MAX = 100000 };

/* Larger differences between exponents are reported. */
static const double same_slope = 0.15;

/* Returns the slope of y over x on logarithmic axes by least squares; NaN for a single x. */
static double slope_of(const double *x, const double *y, int count) {
    double mean_x = 0, mean_y = 0, product = 0, square = 0;
    for (int i = 0; i < count; ++i) mean_x += log(x[i]) / count, mean_y += log(y[i]) / count;
    for (int i = 0; i < count; ++i) {
        product += (log(x[i]) - mean_x) * (log(y[i]) - mean_y);
        square += (log(x[i]) - mean_x) * (log(x[i]) - mean_x);
    }
    return square > 0 ? product / square : (double)NAN;
}

/* Returns the measured exponent minus the theoretical one, from size `first` on. */
static double excess(const bench_growth *growth, int first, double *measured, double *theory) {
    double cost[BENCH_LIST_MAX];
    for (int i = 0; i < growth->count; ++i)
        cost[i] = (growth->per_item ? 1 : growth->n[i]) * log2(growth->n[i] + 1);
    *measured = slope_of(growth->n + first, growth->seconds + first, growth->count - first);
    *theory = slope_of(growth->n + first, cost + first, growth->count - first);
    return *measured - *theory;
}

/* Returns the cause of a difference from theory. */
static const char *cause(const bench_growth *growth, double off, double off_at_end) {
    const bool cuda = strcmp(growth->device, "cpu") != 0;
    if (fabs(off) <= same_slope) return "as it should be";
    if (off > 0)
        return fabs(off_at_end) <= same_slope
                   ? "steeper where the data outgrow a cache, then as it should be"
                   : "steeper: what is read lies ever farther away in caches and memory";
    if (fabs(off_at_end) <= same_slope)
        return cuda ? "flatter: small sizes take what launches take; then as it should be"
                    : "flatter: small sizes do not occupy all threads; then as it should be";
    return off_at_end > 0
               ? "flatter at small sizes, which take what starting takes, then steeper by caches"
           : cuda ? "flatter: these sizes do not fill the device yet"
                  : "flatter: the larger the size, the more of the threads are at work";
}

void bench_growth_print(const bench_growth *growth) {
    double measured, theory, at_end, theory_at_end;
    if (growth->count < 2) return;
    const double off = excess(growth, 0, &measured, &theory);
    const double off_at_end = excess(growth, growth->count - 2, &at_end, &theory_at_end);
    printf(
        "scaling %s, %s: n %.4g to %.4g: exponent %.3f (between the last two %.3f), %s has %.3f: "
        "%s\n",
        growth->subject, growth->device, growth->n[0], growth->n[growth->count - 1], measured,
        at_end, growth->theory, theory, cause(growth, off, off_at_end));
    fflush(stdout);
}

kd_status bench_growth_note(bench_growth *growth, const bench_request *request, bench_row *row) {
    const double minimum = bench_summarise(row).minimum;
    if (growth->count < BENCH_LIST_MAX && minimum > 0) {
        growth->n[growth->count] = (double)row->n;
        growth->seconds[growth->count++] = growth->per_item ? minimum / row->items : minimum;
    }
    return bench_report(request, row);
}

/* Memory for rows: on the host, or on the device if the queries are there. */
static kd_status reserve_ids(uint32_t **out, uint64_t count, bool cuda) {
    return cuda ? device_memory_reserve((void **)out, count * sizeof **out)
                : memory_reserve((void **)out, count, sizeof **out);
}

static kd_status check_ids(const uint32_t *ids, uint64_t queries, bool cuda) {
    const uint64_t count = queries * NEIGHBOURS;
    uint32_t *copy = NULL;
    kd_status status = KD_OK;
    if (cuda) {
        KD_TRY_GOTO(KD_RESERVE(copy, count));
        KD_TRY_GOTO(device_memory_download(copy, ids, count * sizeof *copy));
        ids = copy;
    }
    for (uint64_t i = 0; i < queries; ++i)
        if (ids[i * NEIGHBOURS] != i)
            KD_TRY_GOTO(status_fail(KD_ERROR_CHECK, __FILE__, __LINE__,
                                    "point %llu is not its own nearest neighbour",
                                    (unsigned long long)i));
done:
    memory_free(copy);
    return status;
}

/* Queries the nearest neighbours of the first points of the tree (each finds itself first); on a
   device, queries and results are in device memory. */
static kd_status query_points(bench_row *row, const bench_cloud *cloud, bool cuda) {
    kd_points *tree = NULL;
    uint32_t *ids = NULL;
    kd_points_options options;
    kd_points_query query;
    kd_points_options_default(&options);
    snprintf(options.device, sizeof options.device, "%s", row->device);
    const point_array *at = cuda ? &cloud->device_points : &cloud->points;
    const kd_point_array points = kd_point_array_make(at->coordinates, at->count, 3, KD_FLOAT);
    KD_TRY(kd_points_open(&tree, &points, &options));
    kd_status status = KD_OK;
    kd_points_query_default(&query);
    query.points = points;
    query.points.count = points.count < QUERIES_MAX ? points.count : QUERIES_MAX;
    row->items = (double)query.points.count;
    KD_TRY_GOTO(reserve_ids(&ids, query.points.count * NEIGHBOURS, cuda));
    for (int run = -1; run < row->runs; ++run) {
        const double started = timing_now();
        KD_TRY_GOTO(kd_points_nearest(tree, &query, NEIGHBOURS, ids, NULL, NULL));
        if (run >= 0) row->seconds[run] = timing_now() - started;
    }
    KD_TRY_GOTO(check_ids(ids, query.points.count, cuda));
    row->checked = true;
done:
    (cuda ? device_memory_free : memory_free)(ids);
    kd_points_close(tree);
    return status;
}

static kd_status scale_points(const bench_request *request, const uint64_t *sizes, int count,
                              bool cuda) {
    const char *device = cuda ? "cuda:0" : "cpu";
    bench_growth build = {.subject = "point trees", .device = device, .theory = "n log n"};
    bench_growth query = {.subject = "8 nearest", .device = device, .theory = "log n"};
    const pointtree_options options = {POINTTREE_ROUND_ROBIN, false, 0};
    query.per_item = true;
    for (int i = 0; i < count; ++i) {
        bench_cloud cloud;
        bench_row row = {.bench = "scaling", .set = "point trees", .builder = "select"};
        row.device = device;
        row.n = sizes[i];
        row.dims = 3;
        row.items = (double)row.n;
        row.runs = request->runs;
        KD_TRY(bench_cloud_open(&cloud, "uniform", sizes[i], 3, POINT_FLOAT, 0, cuda));
        kd_status status = cuda ? bench_tree_cuda(&row, &cloud, &options, NULL)
                                : bench_tree_cpu(&row, &cloud, &options);
        if (status == KD_OK) status = bench_growth_note(&build, request, &row);
        bench_row bench = {.bench = "scaling", .set = "8 nearest", .builder = "select"};
        bench.device = row.device;
        bench.n = sizes[i];
        bench.dims = 3;
        bench.k = NEIGHBOURS;
        bench.runs = request->runs;
        if (status == KD_OK) status = query_points(&bench, &cloud, cuda);
        if (status == KD_OK) status = bench_growth_note(&query, request, &bench);
        bench_cloud_close(&cloud);
        KD_TRY(status);
    }
    bench_growth_print(&build);
    bench_growth_print(&query);
    return KD_OK;
}

kd_status bench_scaling(const bench_request *request) {
    static const uint64_t usual[] = {1000, 10000, 100000, 1000000}, quick[] = {1000, 8000, 64000};
    uint64_t sizes[BENCH_LIST_MAX];
    int count = request->sizes.count;
    for (int i = 0; i < count; ++i) {
        KD_TRY(bench_count(&sizes[i], &request->sizes, i));
        KD_REQUIRE(sizes[i] >= 100, KD_ERROR_USAGE, "--sizes contains %llu; expected at least 100",
                   (unsigned long long)sizes[i]);
    }
    if (!count) {
        count = request->quick ? 3 : 4;
        memcpy(sizes, request->quick ? quick : usual, (size_t)count * sizeof *sizes);
    }
    if (bench_selects(&request->devices, "cpu")) {
        KD_TRY(scale_points(request, sizes, count, false));
        KD_TRY(bench_scale_triangles(request, sizes, count, false));
    }
    if (bench_selects_cuda(request)) {
        KD_TRY(scale_points(request, sizes, count, true));
        return bench_scale_triangles(request, sizes, count, true);
    }
    if (device_cuda_count() == 0) printf("scaling cuda:0: no GPU\n");
    return KD_OK;
}
