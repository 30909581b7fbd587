/* kandela bench scaling: how cost grows with size, on logarithmic axes, beside what theory says:
   builds n log n, a query of 8 neighbours and a ray log n. Where the slope is another one the note
   says which way, and what does that. */
#include "accel/builders.h"
#include "accel/rays/batch.h"
#include "core/device/device.h"
#include "core/memory.h"
#include "core/timing.h"
#include "points/builders.h"
#include "tools/bench/input_models.h"
#include "tools/bench/input_rays.h"
#include "tools/bench/input_sets.h"
#include "tools/bench/input_trees.h"
#include "tools/bench/report/plot.h"
#include <kandela/points.h>
#include <math.h>
#include <string.h>

enum { SIZES_MAX = BENCH_LIST_MAX, NEIGHBOURS = 8 };

typedef struct growth {
    const char *what, *theory;
    bool per_item; /* log n, else n log n */
    double n[SIZES_MAX], seconds[SIZES_MAX];
    int count;
} growth;

static double slope_of(const double *x, const double *y, int count) {
    plot_point points[SIZES_MAX];
    for (int i = 0; i < count; ++i) points[i].x = x[i], points[i].y = y[i];
    return plot_slope(points, count);
}

/* The slope that the theory's formula has at the same sizes. */
static double theory_of(const growth *of) {
    double cost[SIZES_MAX];
    for (int i = 0; i < of->count; ++i)
        cost[i] = (of->per_item ? 1 : of->n[i]) * log2(of->n[i] + 1);
    return slope_of(of->n, cost, of->count);
}

static void print_growth(const growth *of) {
    if (of->count < 2) return;
    const double measured = slope_of(of->n, of->seconds, of->count), theory = theory_of(of);
    const double off = measured - theory;
    printf("scaling %-34s n %.4g to %.4g: exponent %.3f, %s has %.3f: %s\n", of->what, of->n[0],
           of->n[of->count - 1], measured, of->theory, theory,
           fabs(off) <= 0.15 ? "as it should be"
           : off < 0         ? "flatter"
                             : "steeper");
    fflush(stdout);
}

static kd_status note(growth *to, const bench_request *request, bench_row *row) {
    const double median = bench_summarise(row).median;
    if (to->count < SIZES_MAX && median > 0) {
        to->n[to->count] = (double)row->n;
        to->seconds[to->count++] = to->per_item ? median / row->items : median;
    }
    return bench_report(request, row);
}

/* --- points -------------------------------------------------------------------------------------
 */

static kd_status ask(bench_row *row, const bench_cloud *cloud, const char *device_name) {
    kd_points *tree = NULL;
    uint32_t *ids = NULL;
    kd_points_options options;
    kd_points_query query;
    kd_points_options_default(&options);
    snprintf(options.device, sizeof options.device, "%s", device_name);
    const uint64_t n = cloud->points.count;
    const kd_point_array points = kd_point_array_make(cloud->points.coordinates, n, 3, KD_FLOAT);
    KD_TRY(kd_points_open(&tree, &points, &options));
    kd_status status = KD_OK;
    kd_points_query_default(&query);
    query.points = points; /* each point asks for those next to it: the first is itself */
    query.points.count = n < 100000 ? n : 100000;
    row->items = (double)query.points.count;
    KD_TRY_GOTO(KD_RESERVE(ids, query.points.count * NEIGHBOURS));
    for (int run = -1; run < row->runs; ++run) {
        const double started = timing_now();
        KD_TRY_GOTO(kd_points_nearest(tree, &query, NEIGHBOURS, ids, NULL, NULL));
        if (run >= 0) row->seconds[run] = timing_now() - started;
    }
    for (uint64_t i = 0; i < query.points.count; ++i)
        if (ids[i * NEIGHBOURS] != i)
            KD_TRY_GOTO(status_fail(KD_ERROR_CHECK, __FILE__, __LINE__,
                                    "point %llu is not its own nearest", (unsigned long long)i));
    row->checked = true;
done:
    memory_free(ids);
    kd_points_close(tree);
    return status;
}

static kd_status scale_points(const bench_request *request, const uint64_t *sizes, int count,
                              bool cuda) {
    growth build = {.what = cuda ? "point trees, cuda:0" : "point trees, cpu", .theory = "n log n"};
    growth query = {.what = cuda ? "8 nearest, cuda:0" : "8 nearest, cpu", .theory = "log n"};
    const pointtree_options options = {POINTTREE_ROUND_ROBIN, false, 0};
    query.per_item = true;
    for (int i = 0; i < count; ++i) {
        bench_cloud cloud;
        bench_row row = {.bench = "scaling", .set = "point trees", .builder = "kandela"};
        row.device = cuda ? "cuda:0" : "cpu";
        row.n = sizes[i];
        row.dims = 3;
        row.items = (double)row.n;
        row.runs = request->runs;
        KD_TRY(bench_cloud_open(&cloud, "uniform", sizes[i], 3, POINT_FLOAT, 0, cuda));
        kd_status status =
            cuda ? bench_tree_cuda(&row, &cloud, &options) : bench_tree_cpu(&row, &cloud, &options);
        if (status == KD_OK) status = note(&build, request, &row);
        bench_row asked = {.bench = "scaling", .set = "8 nearest", .builder = "kandela"};
        asked.device = row.device;
        asked.n = sizes[i];
        asked.dims = 3;
        asked.k = NEIGHBOURS;
        asked.runs = request->runs;
        if (status == KD_OK) status = ask(&asked, &cloud, row.device);
        if (status == KD_OK) status = note(&query, request, &asked);
        bench_cloud_close(&cloud);
        KD_TRY(status);
    }
    print_growth(&build);
    print_growth(&query);
    return KD_OK;
}

/* --- triangles ----------------------------------------------------------------------------------
 */

static kd_status cast(bench_row *row, const tritree *tree, int32_t side) {
    const bench_rays_request wanted = {tree, side, side, 1, 0};
    const tritree_view view = tritree_get_view(tree);
    bench_rays rays;
    ray_hit *hits = NULL;
    KD_TRY(bench_rays_open(&rays, &wanted, "diffuse"));
    kd_status status = KD_OK;
    KD_TRY_GOTO(KD_RESERVE(hits, rays.count));
    row->items = (double)rays.count;
    for (int run = -1; run < row->runs; ++run) {
        const double started = timing_now();
        KD_TRY_GOTO(trace_closest(&view, rays.rays, hits, rays.count, NULL, NULL));
        if (run >= 0) row->seconds[run] = timing_now() - started;
    }
    row->checked = true; /* by the tests: the cast is the plain walk, bit for bit */
done:
    memory_free(hits);
    bench_rays_close(&rays);
    return status;
}

static kd_status scale_model(const bench_request *request, uint64_t size, growth *build,
                             growth *rays) {
    char path[64];
    bench_model model;
    snprintf(path, sizeof path, "gen:blob:%llu", (unsigned long long)size);
    KD_TRY(bench_model_open(&model, path));
    kd_status status = KD_OK;
    bench_row row = {.bench = "scaling", .set = "triangle trees", .builder = "parallel"};
    row.device = "cpu";
    row.n = row.triangles = model.input.triangle_count;
    row.items = (double)row.n;
    row.runs = request->runs;
    bench_row traced = row;
    traced.set = "diffuse rays";
    const tritree_options options = tritree_options_default();
    for (int run = 0; run < row.runs; ++run) {
        tritree tree;
        KD_TRY_GOTO(tritree_open(&tree, &model.input, &options, row.builder, NULL));
        row.seconds[run] = tree.statistics.build_seconds;
        row.sah_cost = tree.statistics.sah_cost;
        row.hash = tritree_hash(&tree);
        if (run == 0) status = cast(&traced, &tree, request->quick ? 128 : 512);
        tritree_close(&tree);
        KD_TRY_GOTO(status);
    }
    row.checked = true;
    KD_TRY_GOTO(note(build, request, &row));
    KD_TRY_GOTO(note(rays, request, &traced));
done:
    bench_model_close(&model);
    return status;
}

static kd_status scale_triangles(const bench_request *request, const uint64_t *sizes, int count) {
    growth build = {.what = "triangle trees, cpu", .theory = "n log n"};
    growth rays = {.what = "diffuse rays, cpu", .theory = "log n", .per_item = true};
    for (int i = 0; i < count; ++i) KD_TRY(scale_model(request, sizes[i], &build, &rays));
    print_growth(&build);
    print_growth(&rays);
    return KD_OK;
}

kd_status bench_scaling(const bench_request *request) {
    static const uint64_t usual[] = {1000, 10000, 100000, 1000000}, quick[] = {1000, 8000, 64000};
    uint64_t sizes[SIZES_MAX];
    int count = request->sizes.count;
    for (int i = 0; i < count; ++i) {
        KD_TRY(bench_count(&sizes[i], &request->sizes, i));
        KD_REQUIRE(sizes[i] >= 100, KD_ERROR_USAGE, "--sizes %llu: expected at least 100",
                   (unsigned long long)sizes[i]);
    }
    if (!count) {
        count = request->quick ? 3 : 4;
        memcpy(sizes, request->quick ? quick : usual, (size_t)count * sizeof *sizes);
    }
    if (bench_wants(&request->devices, "cpu")) {
        KD_TRY(scale_points(request, sizes, count, false));
        KD_TRY(scale_triangles(request, sizes, count));
    }
    if (bench_wants_cuda(request)) return scale_points(request, sizes, count, true);
    if (device_cuda_count() == 0) printf("scaling cuda:0: no GPU\n");
    return KD_OK;
}
