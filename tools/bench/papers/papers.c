/* kandela bench --table: the rows of papers on point k-d trees, ours measured on the CPU and on the
   first CUDA device. Where ours has another size than the paper, rates are compared. All points are
   uniform in the unit cube. */
#include "tools/bench/papers/papers.h"
#include <string.h>

paper_table paper_table_make(const bench_request *request, const char *name,
                             const char *published_on, bool is_rate, uint64_t cpu_most) {
    paper_table table;
    table.request = request;
    table.name = name;
    table.published_on = published_on;
    table.is_rate = is_rate;
    table.on_cpu = bench_wants(&request->devices, "cpu");
    table.on_cuda =
        !request->quick && device_cuda_count() > 0 && bench_wants(&request->devices, "cuda:0");
    table.cpu_most = cpu_most;
    return table;
}

void paper_table_head(const paper_table *table, const char *title) {
    device where;
    const bool found = table->on_cuda && device_find(&where, "cuda:0") == KD_OK;
    printf("%s\npublished on %s; ours on the CPU and on %s\n%-36s %10s %5s %10s %7s %10s %7s\n",
           title, table->published_on, found ? where.name : "no CUDA device", "case", "published",
           "unit", "cpu", "ratio", "cuda:0", "ratio");
}

bench_row paper_row_ours(const paper_table *table, int on, const char *builder, uint64_t n,
                         uint32_t dims) {
    bench_row row;
    memset(&row, 0, sizeof row);
    row.bench = table->name;
    row.set = "uniform";
    row.builder = builder;
    row.device = on == TABLE_CPU ? "cpu" : "cuda:0";
    row.n = n;
    row.dims = (int32_t)dims;
    row.items = (double)n;
    const bool runs = on == TABLE_CPU ? table->on_cpu && n <= table->cpu_most : table->on_cuda;
    const int32_t most = table->request->quick ? 3 : BENCH_RUNS_MAX;
    row.runs = !runs ? 0 : table->request->runs < most ? table->request->runs : most;
    return row;
}

kd_status paper_table_row(const paper_table *table, const paper_row *row) {
    printf("%-36s %10.4g %5s", row->what, row->published, table->is_rate ? "M/s" : "ms");
    for (int i = 0; i < TABLE_DEVICES; ++i) {
        bench_row ours = row->ours[i];
        if (ours.runs == 0) {
            printf(" %10s %7s", "-", "-");
            continue;
        }
        const double median = bench_summarise(&ours).median;
        const double value = table->is_rate ? ours.items / median * 1e-6 : median * 1e3;
        ours.published = row->published;
        ours.published_on = table->published_on;
        ours.ratio = table->is_rate ? value / row->published : row->published / value;
        printf(" %10.4g %7.3g", value, ours.ratio);
        KD_TRY(bench_write(table->request, &ours));
    }
    printf("\n");
    fflush(stdout);
    return KD_OK;
}

kd_status bench_table(const char *name, const bench_request *request) {
    static const struct {
        const char *name;
        kd_status (*run)(const bench_request *request);
    } tables[] = {{"wald-build", table_wald_build},
                  {"wald-query", table_wald_query},
                  {"robinson", table_robinson},
                  {"wehr", table_wehr},
                  {"choi-ye", table_choi_ye}};
    char names[128] = "";
    for (size_t i = 0; i < sizeof tables / sizeof *tables; ++i) {
        if (strcmp(name, tables[i].name) == 0) return tables[i].run(request);
        const size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "", tables[i].name);
    }
    KD_FAIL(KD_ERROR_USAGE, "unknown table \"%s\", expected one of: %s", name, names);
}
