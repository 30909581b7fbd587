/* Robinson, "Implementation of a parallel k-d tree on GPUs", after Brown 2015: the performance
   examples by stage and by threads, and Figure 1 with data. */
#include "core/job.h"
#include "core/memory.h"
#include "core/parallel/parallel.h"
#include "points/select/builders.h"
#include "points/tree/bounds.h"
#include "points/tree/check.h"
#include "tools/lab/papers.h"
#include <string.h>

enum { STAGES = 6, TUPLES = 16777216, SMALL = 100000 };
static const char *const stage_names[STAGES] = {"total",  "init", "sort",
                                                "remove", "tree", "verify"};

/* Seconds in the order of stage_names; on GPUs the sort includes the removal of duplicates. */
static const struct {
    const char *on;
    double seconds[STAGES];
} published[] = {
    {"MacBook Pro, 4-core i7 2.2 GHz, 8 threads", {11.88, 0.12, 5.14, 0.42, 5.97, 0.22}},
    {"Core i7 3.4 GHz, Windows 7, 8 threads", {14.77, 0.06, 7.05, 0.55, 6.92, 0.19}},
    {"AWS G2 CPU, 8 threads", {17.79, 0.05, 8.08, 0.62, 8.86, 0.17}},
    {"AWS G2 GRID K520 (GPU)", {2.371, 0.081, 0.823, 0, 1.365, 0.101}},
    {"NVIDIA Titan Black (GPU)", {1.437, 0.048, 0.388, 0, 0.920, 0.080}}};
enum { MACHINES = sizeof published / sizeof *published };

/* Builds and checks one tree. `seconds` are in the order of stage_names. */
static kd_status build_apart(double seconds[STAGES], uint64_t *hash, const bench_cloud *cloud) {
    const pointtree_options options = {POINTTREE_ROUND_ROBIN, true, 0};
    pointtree tree;
    const double started = timing_now();
    KD_TRY(pointtree_open_nd(&tree, &cloud->points, &options, "brown", NULL));
    const double opened = timing_now();
    const pointtree_nd_view view = pointtree_get_nd_view(&tree);
    const kd_status status = pointtree_check_nd(&view, &cloud->points);
    const double ended = timing_now();
    const double *stages = tree.stage_seconds;
    const double whole = stages[0] + stages[1] + stages[2] + stages[3];
    const double all[STAGES] = {ended - started, opened - started - whole, stages[0],
                                stages[1],       stages[2] + stages[3],    ended - opened};
    memcpy(seconds, all, sizeof all);
    *hash = pointtree_hash(&tree);
    pointtree_close(&tree);
    return status;
}

/* Reports the fastest run, with its stages, as a line of JSON. */
static kd_status measure_cpu(const bench_request *request, const bench_cloud *cloud,
                             const char *bench, int32_t threads, double best[STAGES]) {
    static const char *const names[BENCH_STAGES] = {"init", "sort", "remove", "tree"};
    bench_row row = {.bench = bench, .set = "uniform", .builder = "brown", .device = "cpu"};
    char variant[32];
    snprintf(variant, sizeof variant, "%d thread%s", threads, threads > 1 ? "s" : "");
    row.variant = variant;
    row.n = cloud->points.count;
    row.items = (double)row.n;
    row.dims = 4;
    row.threads = threads;
    row.runs = request->quick ? 1 : request->runs < 3 ? request->runs : 3;
    row.stage_names = names;
    row.checked = true; /* build_apart checks each */
    best[0] = 1e300;
    for (int run = 0; run < row.runs; ++run) {
        double seconds[STAGES];
        KD_TRY(build_apart(seconds, &row.hash, cloud));
        row.seconds[run] = seconds[0];
        if (seconds[0] < best[0]) memcpy(best, seconds, sizeof seconds);
    }
    memcpy(row.stage_seconds, best + 1, sizeof row.stage_seconds);
    return bench_write(request, &row);
}

static void print_head(const char *title, uint64_t count) {
    printf("%s; Kandela with %llu\n%-44s", title, (unsigned long long)count, "seconds");
    for (int i = 0; i < STAGES; ++i) printf(" %9s", stage_names[i]);
    printf("\n");
}

static void print_seconds(const char *label, const double seconds[STAGES]) {
    printf("%-44s", label);
    for (int i = 0; i < STAGES; ++i)
        if (seconds[i] > 0)
            printf(" %9.4g", seconds[i]);
        else
            printf(" %9s", i == 3 ? "in sort" : "-");
    printf("\n");
    fflush(stdout);
}

/* Measures the stages of a build on a device, and checks the tree there. */
static kd_status print_cuda(const bench_request *request, const bench_cloud *cloud) {
    const pointtree_options options = {POINTTREE_ROUND_ROBIN, true, 0};
    paper_table table = paper_table_make(request, "robinson-times", "", false, 0);
    bench_row row = paper_row_measured(&table, TABLE_CUDA, "brown", cloud->points.count, 4);
    if (!row.runs) {
        printf("%-44s %9s\n", "Kandela, brown on cuda:0",
               device_cuda_count() ? "not selected" : "no GPU");
        return KD_OK;
    }
    KD_TRY(bench_tree_cuda(&row, cloud, &options, NULL));
    const double *stages = row.stage_seconds, median = bench_summarise(&row).median;
    const double seconds[STAGES] = {median, 0, stages[0], 0, stages[2] + stages[3], 0};
    print_seconds("Kandela, brown on cuda:0 (points on device)", seconds);
    return bench_write(request, &row);
}

static kd_status times(const bench_request *request, const bench_cloud *cloud) {
    double measured[STAGES];
    char label[64];
    print_head("Robinson, performance examples, 16,777,216 tuples of four", cloud->points.count);
    for (int i = 0; i < MACHINES; ++i) print_seconds(published[i].on, published[i].seconds);
    if (bench_selects(&request->devices, "cpu")) {
        KD_TRY(measure_cpu(request, cloud, "robinson-times", parallel_threads(), measured));
        snprintf(label, sizeof label, "Kandela, brown on the CPU, %d threads", parallel_threads());
        print_seconds(label, measured);
    }
    KD_TRY(print_cuda(request, cloud));
    const double millions = (double)cloud->points.count * 1e-6;
    printf("tuples per second, with verification: published at most %.3g M/s (%s)",
           TUPLES * 1e-6 / 1.437, published[MACHINES - 1].on);
    if (bench_selects(&request->devices, "cpu"))
        printf(", on a CPU %.3g M/s; Kandela on the CPU %.3g M/s", TUPLES * 1e-6 / 11.88,
               millions / measured[0]);
    printf("\n");
    return KD_OK;
}

static kd_status by_threads(const bench_request *request, const bench_cloud *cloud) {
    int32_t ladder[PAPER_THREADS];
    const int32_t usual = parallel_threads();
    const int steps = paper_threads(ladder);
    double first = 0, measured[STAGES];
    print_head("Robinson, the CPU examples (8 threads each), ours by threads", cloud->points.count);
    for (int i = 0; i < 3; ++i) print_seconds(published[i].on, published[i].seconds);
    kd_status status = KD_OK;
    for (int i = 0; i < steps && status == KD_OK; ++i) {
        char label[64];
        parallel_set_threads(ladder[i]);
        status = measure_cpu(request, cloud, "robinson-threads", ladder[i], measured);
        if (i == 0) first = measured[0];
        snprintf(label, sizeof label, "Kandela, %d thread%s (%.2f x one)", ladder[i],
                 ladder[i] > 1 ? "s" : "", first / measured[0]);
        if (status == KD_OK) print_seconds(label, measured);
    }
    parallel_set_threads(usual);
    if (usual < 8) printf("    (8 threads need 8 cores; this machine has %d)\n", usual);
    return status;
}

/* --- Figure 1 --------------------------------------------------------------------------------- */

enum { WARP = 32 };

/* The partition of Figure 1, for four groups: a warp reads 32 references, compares their tuples
   with the pivot, and computes positions by counting before it writes. */
static kd_status figure_1(void) {
    enum { GROUPS = 4 };
    float *values = NULL;
    float parted[2][WARP * GROUPS]; /* elements below the pivot; the others */
    KD_TRY(paper_uniform(&values, WARP * GROUPS, 1, 3));
    uint32_t below = 0, above = 0;
    const float pivot = 0.5f;
    printf("Robinson, Figure 1: a pass of the partition, 32 references (one warp) per step\n"
           "%-6s %-34s %6s %6s %12s %12s\n",
           "step", "ballot: 1 is below the pivot", "below", "above", "written to <",
           "written to >");
    for (uint32_t group = 0; group < GROUPS; ++group) {
        char ballot[WARP + 1] = "";
        uint32_t ones = 0;
        for (uint32_t lane = 0; lane < WARP; ++lane) {
            const bool is_below = values[group * WARP + lane] < pivot;
            const uint32_t before = is_below ? ones : lane - ones; /* count of preceding lanes */
            parted[!is_below][(is_below ? below : above) + before] = values[group * WARP + lane];
            ballot[lane] = is_below ? '1' : '0';
            ones += is_below;
        }
        printf("%-6u %-34s %6u %6u %5u + %-5u %5u + %-5u\n", group, ballot, ones, WARP - ones,
               below, ones, above, WARP - ones);
        below += ones;
        above += WARP - ones;
    }
    memory_free(values);
    for (uint32_t i = 0; i < below; ++i)
        KD_REQUIRE(parted[0][i] < pivot, KD_ERROR_CHECK,
                   "element %u of the reference partition is not below the pivot", i);
    for (uint32_t i = 0; i < above; ++i)
        KD_REQUIRE(parted[1][i] >= pivot, KD_ERROR_CHECK,
                   "element %u of the reference partition is below the pivot", i);
    return KD_OK;
}

static void gpus(void) {
    printf("Robinson, multi-GPU performance: two GPUs are 1.9 times as fast as one\n"
           "    Kandela: not measured; needs two GPUs in one machine, this one has %d\n",
           device_cuda_count());
}

kd_status table_robinson(const bench_request *request, unsigned parts) {
    const uint64_t count = request->quick ? SMALL : TUPLES;
    if (parts & (ROBINSON_TIMES | ROBINSON_THREADS)) {
        bench_cloud cloud;
        const bool on_device = bench_selects(&request->devices, "cuda:0") &&
                               device_cuda_count() > 0 &&
                               (!request->quick || request->devices.count > 0);
        KD_TRY(bench_cloud_open(&cloud, "uniform", count, 4, POINT_FLOAT, 0, on_device));
        kd_status status = parts & ROBINSON_TIMES ? times(request, &cloud) : KD_OK;
        if (status == KD_OK && parts & ROBINSON_THREADS) status = by_threads(request, &cloud);
        bench_cloud_close(&cloud);
        KD_TRY(status);
    }
    if (parts & ROBINSON_FIGURE_1) KD_TRY(figure_1());
    if (parts & ROBINSON_GPUS) gpus();
    return KD_OK;
}
