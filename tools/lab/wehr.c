/* Wehr and Radkowski 2018: Table I with the column of Hu, Nooshabadi and Ahmadi, and Table II,
   builds by threads per block. On the CPU a block is the points of one histogram; on a device it
   has 1024 points or more, in a separate row. */
#include "tools/lab/wehr.h"
#include "core/device/device_memory.h"
#include "core/device/device_stream.h"
#include "core/job.h"
#include "core/memory.h"
#include "points/papers/approximate.h"
#include "points/select/builders.h"
#include "points/tree/bounds.h"
#include "points/tree/check.h"
#include "tools/lab/bench/inputs.h"
#include "tools/lab/papers.h"
#include <string.h>

/* --- Table I ---------------------------------------------------------------------------------- */

static kd_status table_1(const bench_request *request) {
    static const struct {
        uint64_t count;
        double wehr, hu;
    } sizes[] = {{3200, 3.5, 4.6},  {6400, 4, 7.2},     {12800, 4.8, 8.2},
                 {25600, 5.9, 8.8}, {51200, 9.5, 12.4}, {102400, 22.2, 20.2}};
    static const char *const builders[] = {"wehr", "select", NULL};
    const pointtree_options options = {POINTTREE_ROUND_ROBIN, false, 0};
    paper_table table = paper_table_make(request, "wehr-1", "GTX 660", false, 500000);
    table.other_on[0] = "Hu GTX 660";
    paper_table_head(&table, "Wehr and Radkowski, Table I, random points (\"Hu\" is Hu, Nooshabadi "
                             "and Ahmadi 2015)");
    for (int i = 0; i < 6; ++i)
        for (const char *const *builder = builders; *builder; ++builder) {
            char label[64];
            if (!paper_selects_size(request, sizes[i].count)) continue;
            snprintf(label, sizeof label, "%s, %llu points", *builder,
                     (unsigned long long)sizes[i].count);
            paper_row row = {
                .description = label, .published = sizes[i].wehr, .peers = {sizes[i].hu}};
            KD_TRY(paper_measure_build(&table, &row, *builder, sizes[i].count, 3, &options));
            KD_TRY(paper_table_row(&table, &row));
        }
    return KD_OK;
}

/* --- Table II --------------------------------------------------------------------------------- */

enum { BLOCKS = 4, SETS = 3 };
static const uint32_t blocks[BLOCKS] = {32, 64, 128, 256};
static const char *const set_names[SETS] = {"random", "workbench", "bunny"};

typedef struct wehr_size {
    uint64_t count;
    double published[BLOCKS][SETS], usual[BLOCKS][SETS]; /* in ms; 0: not measured in the paper */
} wehr_size;

static const wehr_size cloud_sizes[] = {
    {2000,
     {{1.5, 1.8, 1.9}, {1.8, 2.2, 2.2}, {2.4, 3.0, 2.8}, {3.2, 4.2, 4.2}},
     {{61, 24, 18}, {61, 24, 18}, {61, 24, 18}, {61, 24, 18}}},
    {50000,
     {{3.0, 3.8, 3.6}, {3.6, 4.5, 4.4}, {5.1, 6.6, 6.0}, {9.5, 13, 9.7}},
     {{302, 485, 315}, {302, 489, 315}, {302, 489, 315}, {301, 489, 315}}},
    {100000,
     {{4.2, 4.7, 0}, {4.6, 4.7, 0}, {6.0, 6.3, 0}, {11, 12, 0}},
     {{605, 958, 0}, {605, 958, 0}, {605, 958, 0}, {605, 958, 0}}},
    {300000,
     {{19, 16, 0}, {16, 11, 0}, {13, 11, 0}, {18, 18, 0}},
     {{1918, 2545, 0}, {1916, 2478, 0}, {1917, 2511, 0}, {1912, 2579, 0}}},
    {400000,
     {{29, 0, 0}, {28, 0, 0}, {21, 0, 0}, {23, 0, 0}},
     {{2559, 0, 0}, {2555, 0, 0}, {2559, 0, 0}, {2555, 0, 0}}},
    {500000,
     {{37, 0, 0}, {41, 0, 0}, {31, 0, 0}, {29, 0, 0}},
     {{3245, 0, 0}, {3249, 0, 0}, {3251, 0, 0}, {3249, 0, 0}}}};

/* The paper's CPU build ("comparison"), beside the plain recursive build. */
static kd_status print_usual(const paper_table *table, const wehr_size *size,
                             const wehr_cloud *cloud, int set) {
    char label[64];
    const pointtree_options options = {POINTTREE_ROUND_ROBIN, false, 0};
    paper_row row = {.description = label, .published = size->usual[0][set]};
    paper_row_begin(&row, table, "recursive", cloud->points.points.count, 3);
    if (device_cuda_count() > 0) paper_row_leave(&row, TABLE_CUDA, "CPU alone");
    snprintf(label, sizeof label, "%llu %s, comparison", (unsigned long long)size->count,
             set_names[set]);
    row.measured[TABLE_CPU].set = cloud->name;
    if (row.measured[TABLE_CPU].runs)
        KD_TRY(bench_tree_cpu(&row.measured[TABLE_CPU], &cloud->points, &options));
    return paper_table_row(table, &row);
}

/* The paper's block sizes, on the CPU; blocks on a device are larger. */
static kd_status print_block(const paper_table *table, const wehr_size *size,
                             const wehr_cloud *cloud, int set, int b) {
    char label[64], variant[32];
    paper_row row = {.description = label, .published = size->published[b][set]};
    paper_row_begin(&row, table, "wehr", cloud->points.points.count, 3);
    paper_row_leave(&row, TABLE_CUDA, device_cuda_count() ? "see below" : "no GPU");
    snprintf(label, sizeof label, "%llu %s, TPB %u", (unsigned long long)size->count,
             set_names[set], blocks[b]);
    snprintf(variant, sizeof variant, "blocks of %u", blocks[b]);
    row.measured[TABLE_CPU].set = cloud->name;
    row.measured[TABLE_CPU].variant = variant;
    const wehr_parameters parameters = {blocks[b], 5, blocks[b], 0, NULL};
    if (row.measured[TABLE_CPU].runs)
        KD_TRY(wehr_build_cpu(&row.measured[TABLE_CPU], &cloud->points, &parameters));
    return paper_table_row(table, &row);
}

/* Builds on a device, beside the paper's fastest. */
static kd_status print_device(const paper_table *table, const wehr_size *size,
                              const wehr_cloud *cloud, int set, uint32_t block) {
    char label[64], variant[32];
    double best = size->published[0][set];
    for (int b = 1; b < BLOCKS; ++b)
        if (size->published[b][set] < best) best = size->published[b][set];
    paper_row row = {.description = label, .published = best};
    paper_row_begin(&row, table, "wehr", cloud->points.points.count, 3);
    paper_row_leave(&row, TABLE_CPU, "see above");
    snprintf(label, sizeof label, "%llu %s, blocks of %u, their best",
             (unsigned long long)size->count, set_names[set], block);
    snprintf(variant, sizeof variant, "blocks of %u", block);
    row.measured[TABLE_CUDA].set = cloud->name;
    row.measured[TABLE_CUDA].variant = variant;
    const wehr_parameters parameters = {block, 5, 2048, 0, NULL};
    if (row.measured[TABLE_CUDA].runs)
        KD_TRY(bench_tree_cuda(&row.measured[TABLE_CUDA], &cloud->points, NULL, &parameters));
    return paper_table_row(table, &row);
}

static kd_status print_set(const paper_table *table, const wehr_size *size, int set) {
    wehr_cloud cloud;
    KD_TRY(wehr_cloud_open(&cloud, table, (wehr_set)set, size->count));
    kd_status status = print_usual(table, size, &cloud, set);
    for (int b = 0; b < BLOCKS && status == KD_OK; ++b)
        status = print_block(table, size, &cloud, set, b);
    for (uint32_t block = 1024; block <= 4096 && table->on_cuda && status == KD_OK; block *= 2)
        status = print_device(table, size, &cloud, set, block);
    wehr_cloud_close(&cloud);
    return status;
}

static kd_status table_2(const bench_request *request) {
    const paper_table table =
        paper_table_make(request, "wehr-2", "Titan X, i7-7700HQ", false, 500000);
    paper_table_head(&table, "Wehr and Radkowski, Table II, by threads per block (TPB)");
    printf(
        "the paper's scan is not available: \"workbench\" is walls and spheres seen by a simulated "
        "camera; the paper's bunny of 36,000 points is replaced by %s\n",
        request->models.count ? request->models.items[0]
                              : "the vertices of gen:blob (--models bunny.obj: of a bunny)");
    for (size_t i = 0; i < sizeof cloud_sizes / sizeof *cloud_sizes; ++i)
        for (int set = 0; set < SETS; ++set) {
            const bool small =
                !request->quick || cloud_sizes[i].count <= 2000 || request->sizes.count;
            if (cloud_sizes[i].published[0][set] > 0 && small &&
                paper_selects_size(request, cloud_sizes[i].count))
                KD_TRY(print_set(&table, &cloud_sizes[i], set));
        }
    return KD_OK;
}

kd_status table_wehr(const bench_request *request, unsigned parts) {
    if (parts & 1) KD_TRY(table_1(request));
    if (parts & 2) KD_TRY(table_2(request));
    return KD_OK;
}

/* The paper's bunny has 36,000 vertices. */
static kd_status take_corners(vec3 **out, uint64_t *count, const bench_request *request) {
    bench_model model;
    KD_TRY(bench_model_open(&model,
                            request->models.count ? request->models.items[0] : "gen:blob:72000"));
    kd_status status = KD_OK;
    if (*count > model.input.position_count) *count = model.input.position_count;
    KD_TRY_GOTO(KD_RESERVE(*out, *count));
    memcpy(*out, model.input.positions, *count * sizeof **out);
done:
    bench_model_close(&model);
    return status;
}

static kd_status upload(bench_cloud *cloud) {
    const uint64_t bytes = cloud->points.count * sizeof(vec3);
    KD_TRY(device_memory_reserve(&cloud->memory[1], bytes));
    cloud->device_points = cloud->points;
    cloud->device_points.coordinates = cloud->memory[1];
    return device_memory_upload(cloud->memory[1], cloud->memory[0], bytes);
}

kd_status wehr_cloud_open(wehr_cloud *out, const paper_table *table, wehr_set set, uint64_t count) {
    static const char *const names[] = {"uniform", "scan", "bunny"};
    bench_cloud *cloud = &out->points;
    vec3 *points = NULL;
    memset(out, 0, sizeof *out);
    out->name = names[set];
    if (set == WEHR_RANDOM)
        return bench_cloud_open(cloud, "uniform", count, 3, POINT_FLOAT, 0, table->on_cuda);
    kd_status status = KD_OK;
    if (set == WEHR_BUNNY) {
        status = take_corners(&points, &count, table->request);
    } else {
        KD_TRY_GOTO(KD_RESERVE(points, count));
        bench_image_fill(points, count);
    }
    cloud->memory[0] = points;
    if (status == KD_OK) {
        cloud->points = point_array_make(points, count, 3, POINT_FLOAT);
        KD_TRY_GOTO(point_scan(&cloud->box, &cloud->points));
        if (table->on_cuda) KD_TRY_GOTO(upload(cloud));
    }
done:
    if (status != KD_OK) wehr_cloud_close(out);
    return status;
}

void wehr_cloud_close(wehr_cloud *owned) {
    bench_cloud_close(&owned->points);
}

kd_status wehr_build_cpu(bench_row *row, const bench_cloud *cloud,
                         const wehr_parameters *parameters) {
    const pointtree_options options = {POINTTREE_ROUND_ROBIN, false, 0};
    pointtree tree;
    KD_TRY(pointtree_open_nd(&tree, &cloud->points, &options, "wehr", NULL));
    kd_status status = KD_OK;
    for (int run = -1; run < row->runs; ++run) {
        const double started = timing_now();
        KD_TRY_GOTO(build_wehr_with(&tree, &cloud->points, parameters, NULL));
        if (run >= 0) row->seconds[run] = timing_now() - started;
        if (run >= 0) continue;
        const pointtree_nd_view view = pointtree_get_nd_view(&tree);
        KD_TRY_GOTO(pointtree_check_nd(&view, &cloud->points));
        row->hash = pointtree_hash(&tree);
        row->checked = true;
    }
    memcpy(row->stage_seconds, tree.stage_seconds, sizeof tree.stage_seconds);
    row->stage_names = pointtree_builder_find("wehr")->stage_names;
done:
    pointtree_close(&tree);
    return status;
}

/* Wehr and Radkowski 2018, Table III: closest points by their approximate search. */

enum { QUEUE = 16, CHECKED = 1000 };

/* Times queries on one core. */
static kd_status search_cpu(bench_row *row, const pointtree_nd_view *tree, const float *queries,
                            uint64_t count) {
    for (int run = 0; run < row->runs; ++run) {
        uint64_t with_result = 0;
        const double started = timing_now();
        for (uint64_t i = 0; i < count; ++i) {
            neighbour_nd best;
            with_result += pointtree_approximate(tree, queries + 3 * i, QUEUE, &best);
        }
        row->seconds[run] = timing_now() - started;
        KD_REQUIRE(with_result == count, KD_ERROR_CHECK, "only %llu of %llu queries have results",
                   (unsigned long long)with_result, (unsigned long long)count);
    }
    row->checked = true;
    return KD_OK;
}

/* A copy of host memory on the device. */
static kd_status copy_over(void **out, const void *host, uint64_t bytes) {
    KD_TRY(device_memory_reserve(out, bytes));
    return device_memory_upload(*out, host, bytes);
}

/* Results must equal those of the CPU. */
static kd_status check_searches(const pointtree_nd_view *tree, const float *queries, uint64_t count,
                                const uint32_t *device_ids) {
    uint32_t ids[CHECKED];
    const uint64_t checked = count < CHECKED ? count : CHECKED;
    KD_TRY(device_memory_download(ids, device_ids, checked * sizeof *ids));
    for (uint64_t i = 0; i < checked; ++i) {
        neighbour_nd best;
        pointtree_approximate(tree, queries + 3 * i, QUEUE, &best);
        KD_REQUIRE(best.id == ids[i], KD_ERROR_CHECK, "query %llu: found point %u, expected %u",
                   (unsigned long long)i, ids[i], best.id);
    }
    return KD_OK;
}

typedef struct cuda_search {
    pointtree_nd_view tree;
    void *points, *names, *queries, *ids, *dist2;
    uint64_t count; /* number of queries */
} cuda_search;

static kd_status search_again(void *context) {
    const cuda_search *work = (const cuda_search *)context;
    return point_approximate_cuda(&work->tree, work->queries, work->count, QUEUE,
                                  (uint32_t *)work->ids, (double *)work->dist2, NULL);
}

static kd_status search_cuda(bench_row *row, const pointtree_nd_view *tree,
                             const float *query_points, uint64_t count) {
    kd_status status = KD_OK;
    cuda_search work = {.tree = *tree, .count = count};
    KD_TRY_GOTO(copy_over(&work.points, tree->coordinates, tree->count * sizeof(vec3)));
    KD_TRY_GOTO(copy_over(&work.names, tree->ids, tree->count * sizeof *tree->ids));
    KD_TRY_GOTO(copy_over(&work.queries, query_points, count * sizeof(vec3)));
    KD_TRY_GOTO(device_memory_reserve(&work.ids, count * sizeof(uint32_t)));
    KD_TRY_GOTO(device_memory_reserve(&work.dist2, count * sizeof(double)));
    work.tree.coordinates = work.points;
    work.tree.ids = (const uint32_t *)work.names;
    KD_TRY_GOTO(bench_time_device(row, true, search_again, &work));
    KD_TRY_GOTO(check_searches(tree, query_points, count, (const uint32_t *)work.ids));
    row->checked = true;
done:
    device_memory_free(work.points);
    device_memory_free(work.names);
    device_memory_free(work.queries);
    device_memory_free(work.ids);
    device_memory_free(work.dist2);
    return status;
}

enum { QUERIES = 4 };

static kd_status search(bench_row *row, int on, const pointtree_nd_view *view,
                        const float *query_points, uint64_t queries) {
    row->items = (double)queries;
    return on == TABLE_CPU ? search_cpu(row, view, query_points, queries)
                           : search_cuda(row, view, query_points, queries);
}

static kd_status print_searches(const paper_table *table, uint64_t count, uint64_t queries,
                                double published) {
    kd_status status = KD_OK;
    float *points = NULL, *query_points = NULL;
    pointtree tree;
    char label[64], variant[32];
    snprintf(label, sizeof label, "%llu points, %llu queries", (unsigned long long)count,
             (unsigned long long)queries);
    snprintf(variant, sizeof variant, "%llu searches", (unsigned long long)queries);
    paper_row row = {.description = label, .published = published};
    paper_row_begin(&row, table, "wehr", count, 3);
    memset(&tree, 0, sizeof tree);
    KD_TRY_GOTO(paper_uniform(&points, count, 3, 1));
    KD_TRY_GOTO(paper_uniform(&query_points, queries, 3, 2));
    const point_array array = point_array_make(points, count, 3, POINT_FLOAT);
    KD_TRY_GOTO(pointtree_open_nd(&tree, &array, NULL, "wehr", NULL));
    const pointtree_nd_view view = pointtree_get_nd_view(&tree);
    for (int on = 0; on < TABLE_DEVICES; ++on) {
        row.measured[on].variant = variant;
        if (row.measured[on].runs)
            KD_TRY_GOTO(search(&row.measured[on], on, &view, query_points, queries));
    }
    KD_TRY_GOTO(paper_table_row(table, &row));
done:
    pointtree_close(&tree);
    memory_free(points);
    memory_free(query_points);
    return status;
}

kd_status table_wehr_searches(const bench_request *request, unsigned parts) {
    static const uint64_t sizes[] = {2000, 5000, 50000, 100000, 200000, 500000};
    static const uint64_t queries[QUERIES] = {100, 10000, 50000, 100000};
    static const double published[][QUERIES] = {
        {676, 1024, 4897, 9672},  {762, 1055, 5421, 10781}, {871, 1502, 7851, 15769},
        {849, 1466, 8454, 17104}, {844, 1763, 9293, 18896}, {899, 1976, 10082, 20535}};
    (void)parts;
    const paper_table table = paper_table_make(request, "wehr-3", "NVIDIA Titan X", false, 500000);
    paper_table_head(&table, "Wehr and Radkowski, Table III (\"ms\" as it is printed there); the "
                             "CPU by one core");
    for (int i = 0; i < 6; ++i)
        for (int q = 0; q < QUERIES; ++q) {
            const bool small = !request->quick || request->sizes.count ||
                               (sizes[i] <= 5000 && queries[q] <= 10000);
            if (small && paper_selects_size(request, sizes[i]))
                KD_TRY(print_searches(&table, sizes[i], queries[q], published[i][q]));
        }
    return KD_OK;
}
