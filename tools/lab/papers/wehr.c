/* Wehr and Radkowski 2018: Table I with the column of Hu, Nooshabadi and Ahmadi, and Table II,
   builds by threads per block. A block of ours on the CPU is the points that one histogram counts;
   on a device it is 1024 points or more, which stand in a row of their own. */
#include "tools/lab/papers/wehr.h"
#include "points/builders.h"
#include "tools/lab/bench/inputs.h"
#include <string.h>

/* --- Table I ------------------------------------------------------------------------------------
 */

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
            char what[64];
            if (!paper_wants_size(request, sizes[i].count)) continue;
            snprintf(what, sizeof what, "%s, %llu points", *builder,
                     (unsigned long long)sizes[i].count);
            paper_row row = {.what = what, .published = sizes[i].wehr, .others = {sizes[i].hu}};
            KD_TRY(paper_measure_build(&table, &row, *builder, sizes[i].count, 3, &options));
            KD_TRY(paper_table_row(&table, &row));
        }
    return KD_OK;
}

/* --- Table II -----------------------------------------------------------------------------------
 */

enum { BLOCKS = 4, SETS = 3 };
static const uint32_t blocks[BLOCKS] = {32, 64, 128, 256};
static const char *const set_names[SETS] = {"random", "workbench", "bunny"};

typedef struct wehr_size {
    uint64_t count;
    double theirs[BLOCKS][SETS], usual[BLOCKS][SETS]; /* ms; 0: not measured by them */
} wehr_size;

static const wehr_size sizes[] = {
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

/* Theirs on a CPU ("comparison"), ours by the plain recursive build. */
static kd_status print_usual(const paper_table *table, const wehr_size *of, const wehr_cloud *cloud,
                             int set) {
    char what[64];
    const pointtree_options options = {POINTTREE_ROUND_ROBIN, false, 0};
    paper_row row = {.what = what, .published = of->usual[0][set]};
    paper_row_begin(&row, table, "recursive", cloud->points.points.count, 3);
    if (device_cuda_count() > 0) paper_row_leave(&row, TABLE_CUDA, "CPU alone");
    snprintf(what, sizeof what, "%llu %s, comparison", (unsigned long long)of->count,
             set_names[set]);
    row.ours[TABLE_CPU].set = cloud->name;
    if (row.ours[TABLE_CPU].runs)
        KD_TRY(bench_tree_cpu(&row.ours[TABLE_CPU], &cloud->points, &options));
    return paper_table_row(table, &row);
}

/* The paper's own block sizes on the CPU; a device has none so small. */
static kd_status print_block(const paper_table *table, const wehr_size *of, const wehr_cloud *cloud,
                             int set, int b) {
    char what[64], variant[32];
    paper_row row = {.what = what, .published = of->theirs[b][set]};
    paper_row_begin(&row, table, "wehr", cloud->points.points.count, 3);
    paper_row_leave(&row, TABLE_CUDA, device_cuda_count() ? "see below" : "no GPU");
    snprintf(what, sizeof what, "%llu %s, TPB %u", (unsigned long long)of->count, set_names[set],
             blocks[b]);
    snprintf(variant, sizeof variant, "blocks of %u", blocks[b]);
    row.ours[TABLE_CPU].set = cloud->name;
    row.ours[TABLE_CPU].variant = variant;
    const wehr_parameters parameters = {blocks[b], 5, blocks[b], 0, NULL};
    if (row.ours[TABLE_CPU].runs)
        KD_TRY(wehr_build_cpu(&row.ours[TABLE_CPU], &cloud->points, &parameters));
    return paper_table_row(table, &row);
}

/* Ours on a device, beside their fastest. */
static kd_status print_device(const paper_table *table, const wehr_size *of,
                              const wehr_cloud *cloud, int set, uint32_t block) {
    char what[64], variant[32];
    double best = of->theirs[0][set];
    for (int b = 1; b < BLOCKS; ++b)
        if (of->theirs[b][set] < best) best = of->theirs[b][set];
    paper_row row = {.what = what, .published = best};
    paper_row_begin(&row, table, "wehr", cloud->points.points.count, 3);
    paper_row_leave(&row, TABLE_CPU, "see above");
    snprintf(what, sizeof what, "%llu %s, blocks of %u, their best", (unsigned long long)of->count,
             set_names[set], block);
    snprintf(variant, sizeof variant, "blocks of %u", block);
    row.ours[TABLE_CUDA].set = cloud->name;
    row.ours[TABLE_CUDA].variant = variant;
    const wehr_parameters parameters = {block, 5, 2048, 0, NULL};
    if (row.ours[TABLE_CUDA].runs)
        KD_TRY(bench_tree_cuda_wehr(&row.ours[TABLE_CUDA], &cloud->points, &parameters));
    return paper_table_row(table, &row);
}

static kd_status print_set(const paper_table *table, const wehr_size *of, int set) {
    wehr_cloud cloud;
    KD_TRY(wehr_cloud_open(&cloud, table, (wehr_set)set, of->count));
    kd_status status = print_usual(table, of, &cloud, set);
    for (int b = 0; b < BLOCKS && status == KD_OK; ++b)
        status = print_block(table, of, &cloud, set, b);
    for (uint32_t block = 1024; block <= 4096 && table->on_cuda && status == KD_OK; block *= 2)
        status = print_device(table, of, &cloud, set, block);
    wehr_cloud_close(&cloud);
    return status;
}

static kd_status table_2(const bench_request *request) {
    const paper_table table =
        paper_table_make(request, "wehr-2", "Titan X, i7-7700HQ", false, 500000);
    paper_table_head(&table, "Wehr and Radkowski, Table II, by threads per block (TPB)");
    printf("their scan is lost: \"workbench\" is what a camera sees of walls and spheres; their "
           "bunny had 36,000 points: %s\n",
           request->models.count ? request->models.items[0]
                                 : "the corners of gen:blob stand in, --models bunny.obj is taken");
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i)
        for (int set = 0; set < SETS; ++set) {
            const bool small = !request->quick || sizes[i].count <= 2000 || request->sizes.count;
            if (sizes[i].theirs[0][set] > 0 && small && paper_wants_size(request, sizes[i].count))
                KD_TRY(print_set(&table, &sizes[i], set));
        }
    return KD_OK;
}

kd_status table_wehr(const bench_request *request, unsigned parts) {
    if (parts & 1) KD_TRY(table_1(request));
    if (parts & 2) KD_TRY(table_2(request));
    return KD_OK;
}
