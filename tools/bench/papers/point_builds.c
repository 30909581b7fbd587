/* The papers' tables of builders. */
#include "points/builders.h"
#include "tools/bench/papers/papers.h"

typedef struct published_build {
    uint64_t count;
    double ms;
} published_build;

/* Both devices' builds of one case, each checked before it is timed. */
static kd_status measure(const paper_table *table, paper_row *row, const char *builder,
                         uint64_t count, uint32_t dims, const pointtree_options *options) {
    for (int on = 0; on < TABLE_DEVICES; ++on)
        row->ours[on] = paper_row_ours(table, on, builder, count, dims);
    if (!point_builder_cuda_find(builder)) row->ours[TABLE_CUDA].runs = 0;
    const bool on_cpu = row->ours[TABLE_CPU].runs > 0, on_cuda = row->ours[TABLE_CUDA].runs > 0;
    bench_cloud cloud;
    if (!on_cpu && !on_cuda) return KD_OK;
    KD_TRY(bench_cloud_open(&cloud, "uniform", count, dims, POINT_FLOAT, 0, on_cuda));
    kd_status status = KD_OK;
    if (on_cpu) status = bench_tree_cpu(&row->ours[TABLE_CPU], &cloud, options);
    if (on_cuda && status == KD_OK)
        status = bench_tree_cuda(&row->ours[TABLE_CUDA], &cloud, options);
    bench_cloud_close(&cloud);
    return status;
}

static kd_status print_builds(const paper_table *table, const published_build *rows, int count,
                              uint32_t dims, const char *const *builders, uint64_t most) {
    const pointtree_options options = {POINTTREE_ROUND_ROBIN, false, 0};
    for (int i = 0; i < count; ++i)
        for (const char *const *builder = builders; rows[i].count <= most && *builder; ++builder) {
            char what[64];
            snprintf(what, sizeof what, "%s, %llu points", *builder,
                     (unsigned long long)rows[i].count);
            paper_row row = {.what = what, .published = rows[i].ms};
            KD_TRY(measure(table, &row, *builder, rows[i].count, dims, &options));
            KD_TRY(paper_table_row(table, &row));
        }
    return KD_OK;
}

kd_status table_wald_build(const bench_request *request) {
    static const published_build rows[] = {
        {10000, 0.9}, {100000, 5.6}, {1000000, 44.4}, {10000000, 424}, {100000000, 5300}};
    static const char *const builders[] = {"wald", "kandela", NULL};
    const paper_table table =
        paper_table_make(request, "wald-build", "NVIDIA RTX 3090 Ti", false, 1000000);
    paper_table_head(&table, "Wald, left-balanced build, Table 1, float4");
    const uint64_t most = request->quick ? 100000 : table.on_cuda ? 100000000 : table.cpu_most;
    return print_builds(&table, rows, 5, 4, builders, most);
}

/* The paper's seconds for sort, removal of duplicates and tree. */
kd_status table_robinson(const bench_request *request) {
    static const struct {
        const char *what, *on;
        double seconds;
    } published[] = {{"brown, against Titan Black", "NVIDIA Titan Black", 0.388 + 0.920},
                     {"brown, against GRID K520", "NVIDIA GRID K520", 0.823 + 1.365}};
    const double tuples = 16777216;
    const uint64_t count = request->quick ? 100000 : 16777216;
    const pointtree_options options = {POINTTREE_ROUND_ROBIN, true, 0};
    paper_table table =
        paper_table_make(request, "robinson", "NVIDIA Titan Black and GRID K520", true, count);
    paper_row row = {.what = NULL};
    paper_table_head(&table, "Robinson and Brown, performance examples, 16,777,216 4-D tuples");
    KD_TRY(measure(&table, &row, "brown", count, 4, &options));
    for (int i = 0; i < 2; ++i) {
        row.what = published[i].what;
        row.published = tuples / published[i].seconds * 1e-6;
        table.published_on = published[i].on;
        KD_TRY(paper_table_row(&table, &row));
    }
    return KD_OK;
}

kd_status table_wehr(const bench_request *request) {
    static const published_build first[] = {{3200, 3.5},  {6400, 4},    {12800, 4.8},
                                            {25600, 5.9}, {51200, 9.5}, {102400, 22.2}};
    static const published_build second[] = {{2000, 2.4},  {50000, 5.1}, {100000, 6.0},
                                             {300000, 13}, {400000, 21}, {500000, 31}};
    static const char *const builders[] = {"wehr", "kandela", NULL};
    const uint64_t most = request->quick ? 50000 : 500000;
    paper_table table = paper_table_make(request, "wehr", "NVIDIA GeForce GTX 660", false, 500000);
    paper_table_head(&table, "Wehr and Radkowski, Table I, random points");
    KD_TRY(print_builds(&table, first, 6, 3, builders, most));
    table.published_on = "NVIDIA Titan X";
    paper_table_head(&table, "Wehr and Radkowski, Table II, random points, TPB 128");
    KD_TRY(print_builds(&table, second, 6, 3, builders, most));
    return table_wehr_searches(request);
}
