#include "tools/lab/papers.h"
#include "core/math/rng.h"
#include "core/memory.h"
#include "core/parallel/parallel.h"
#include "core/system/machine.h"
#include "points/select/builders.h"
#include <string.h>

static const struct {
    const char *name, *what;
    kd_status (*run)(const bench_request *request, unsigned parts);
    unsigned part;
} catalogue[] = {
    {"wald-build-1", "Wald, left-balanced build, Table 1: int1 and float4, 1K to 1B points",
     table_wald_build, WALD_TABLE_1},
    {"wald-build-example", "section 5: ten points, step by step", table_wald_build, WALD_EXAMPLE},
    {"wald-build-figure1", "Figure 1: a tree in the plane", table_wald_build, WALD_FIGURE_1},
    {"wald-build-widest", "section 6: split by the widest side", table_wald_build, WALD_WIDEST},
    {"wald-query-1", "Wald, stack-free traversal, Table 1: 1K to 200M points", table_wald_query, 1},
    {"wald-query-figure1", "Figure 1: a tree in the plane", table_wald_build, WALD_FIGURE_1},
    {"choi-ye-1", "Choi and Ye, Table I: serial CPU and GPU", table_choi_ye, CHOI_TABLE_1},
    {"choi-ye-2", "Table II: stages of the build", table_choi_ye, CHOI_TABLE_2},
    {"choi-ye-3", "Table III: eight threads", table_choi_ye, CHOI_TABLE_3},
    {"choi-ye-figure1", "Figure 1: where the parallelism is, level by level", table_choi_ye,
     CHOI_FIGURE_1},
    {"choi-ye-figure2", "Figure 2: the models", table_choi_ye, CHOI_FIGURE_2},
    {"choi-ye-figure3", "Figure 3: build time against triangles", table_choi_ye, CHOI_FIGURE_3},
    {"choi-ye-threads", "section IV: builders by threads of the CPU", table_choi_ye, CHOI_THREADS},
    {"choi-ye-frames", "section V: the frame rates that its authors did not reach", table_choi_ye,
     CHOI_FRAMES},
    {"robinson-times", "Robinson, performance examples: each stage", table_robinson,
     ROBINSON_TIMES},
    {"robinson-threads", "the CPU examples by threads", table_robinson, ROBINSON_THREADS},
    {"robinson-figure1", "Figure 1: a single pass of the partition", table_robinson,
     ROBINSON_FIGURE_1},
    {"robinson-gpus", "multi-GPU performance", table_robinson, ROBINSON_GPUS},
    {"wehr-1", "Wehr and Radkowski, Table I: with Hu et al.'s column", table_wehr, 1},
    {"wehr-2", "Table II: builds by threads per block", table_wehr, 2},
    {"wehr-3", "Table III: approximate closest points", table_wehr_searches, 1},
    {"wehr-figure4", "Figure 4: what cutoff = block loses", table_wehr_figures, 1u << 4},
    {"wehr-figure5", "Figure 5: random points by threads per block", table_wehr_figures, 1u << 5},
    {"wehr-figure6", "Figure 6: a scan by threads per block", table_wehr_figures, 1u << 6},
    {"wehr-figure7", "Figure 7: the scanned points", table_wehr_figures, 1u << 7},
    {"wehr-figure8", "Figure 8: a chunk a thread, radix and insertion", table_wehr_figures,
     1u << 8},
    {"wehr-figure9", "Figure 9: a usual build on the CPU", table_wehr_figures, 1u << 9},
    {"wehr-figure10", "Figure 10: sorts of the final levels", table_wehr_figures, 1u << 10},
};
enum { TABLES = sizeof catalogue / sizeof *catalogue };

void bench_table_list(void) {
    for (int i = 0; i < TABLES; ++i) printf("%-20s %s\n", catalogue[i].name, catalogue[i].what);
}

/* Returns true if `name` is this name or the part before its first "-". */
static bool is_named(const char *row, const char *name) {
    const size_t length = strlen(name);
    return strncmp(row, name, length) == 0 && (row[length] == '\0' || row[length] == '-');
}

kd_status bench_table(const char *name, const bench_request *request) {
    bool found = false;
    for (int i = 0; i < TABLES;) {
        unsigned parts = 0; /* tables of consecutive rows with the same function */
        const int first = i;
        for (; i < TABLES && catalogue[i].run == catalogue[first].run; ++i)
            if (is_named(catalogue[i].name, name)) parts |= catalogue[i].part;
        found = found || parts;
        if (parts) KD_TRY(catalogue[first].run(request, parts));
    }
    KD_REQUIRE(found, KD_ERROR_USAGE,
               "unknown table \"%s\"; expected a paper (wald-build, wald-query, choi-ye, robinson, "
               "wehr) or one of its tables; --table list shows all",
               name);
    return KD_OK;
}

paper_table paper_table_make(const bench_request *request, const char *name,
                             const char *published_on, bool is_rate, uint64_t cpu_threads_max) {
    paper_table table;
    memset(&table, 0, sizeof table);
    table.request = request;
    table.name = name;
    table.published_on = published_on;
    table.is_rate = is_rate;
    table.on_cpu = bench_selects(&request->devices, "cpu");
    /* --quick uses a device only if --devices names it */
    table.on_cuda = device_cuda_count() > 0 && bench_selects(&request->devices, "cuda:0") &&
                    (!request->quick || request->devices.count > 0);
    table.cpu_threads_max = request->sizes.count ? UINT64_MAX : cpu_threads_max;
    return table;
}

void paper_table_head(const paper_table *table, const char *title) {
    device device;
    const bool found = table->on_cuda && device_find(&device, "cuda:0") == KD_OK;
    printf("%s\npublished on %s; Kandela on the CPU and on %s\n%-40s", title, table->published_on,
           found                     ? device.name
           : device_cuda_count() > 0 ? "no CUDA device in a quick run"
                                     : "no CUDA device (no GPU)",
           "case");
    for (int i = 0; i < PAPER_PEERS; ++i)
        if (table->other_on[i]) printf(" %12s", table->other_on[i]);
    printf(" %12s %5s %12s %7s %12s %7s\n", "published", "unit", "cpu", "ratio", "cuda:0", "ratio");
}

bench_row paper_row_measured(const paper_table *table, int on, const char *builder, uint64_t n,
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
    const bool runs =
        on == TABLE_CPU ? table->on_cpu && n <= table->cpu_threads_max : table->on_cuda;
    const int32_t maximum = table->request->quick ? 3 : BENCH_RUNS_MAX;
    row.runs = !runs ? 0 : table->request->runs < maximum ? table->request->runs : maximum;
    return row;
}

void paper_row_leave(paper_row *row, int on, const char *remark) {
    row->measured[on].runs = 0;
    snprintf(row->remarks[on], PAPER_REMARK, "%s", remark);
}

void paper_row_begin(paper_row *row, const paper_table *table, const char *builder, uint64_t n,
                     uint32_t dims) {
    for (int on = 0; on < TABLE_DEVICES; ++on) {
        row->measured[on] = paper_row_measured(table, on, builder, n, dims);
        snprintf(row->remarks[on], PAPER_REMARK, "%s",
                 on == TABLE_CPU            ? table->on_cpu ? "by --sizes" : "not selected"
                 : device_cuda_count() == 0 ? "no GPU"
                                            : "not selected");
    }
}

bool paper_selects_size(const bench_request *request, uint64_t n) {
    for (int i = 0; i < request->sizes.count; ++i) {
        uint64_t size = 0;
        if (bench_count(&size, &request->sizes, i) == KD_OK && size == n) return true;
    }
    return request->sizes.count == 0;
}

int paper_threads(int32_t out[PAPER_THREADS]) {
    const int32_t maximum = parallel_threads();
    int count = 0;
    for (int32_t threads = 1; threads < maximum && count < PAPER_THREADS - 1; threads *= 2)
        out[count++] = threads;
    out[count++] = maximum;
    return count;
}

static void print_figure(double value, const char *text) {
    if (text)
        printf(" %12s", text);
    else if (value > 0)
        printf(" %12.4g", value);
    else
        printf(" %12s", "-");
}

static kd_status print_measured(const paper_table *table, const paper_row *row, int on) {
    bench_row measured = row->measured[on];
    if (measured.runs == 0) {
        printf(" %12s %7s", row->remarks[on][0] ? row->remarks[on] : "-", "-");
        return KD_OK;
    }
    const double median = bench_summarise(&measured).median;
    const double value = table->is_rate ? measured.items / median * 1e-6 : median * 1e3;
    printf(" %12.4g", value);
    if (row->published > 0) {
        measured.published = row->published;
        measured.published_on = table->published_on;
        measured.published_unit = table->is_rate ? "M/s" : "ms";
        measured.ratio = table->is_rate ? value / row->published : row->published / value;
        printf(" %7.3g", measured.ratio);
    } else {
        printf(" %7s", "-");
    }
    return bench_write(table->request, &measured);
}

kd_status paper_table_row(const paper_table *table, const paper_row *row) {
    printf("%-40s", row->description);
    for (int i = 0; i < PAPER_PEERS; ++i)
        if (table->other_on[i])
            print_figure(row->peers[i], row->peers[i] > 0 ? NULL : row->published_text);
    print_figure(row->published, row->published_text);
    printf(" %5s", table->is_rate ? "M/s" : "ms");
    for (int i = 0; i < TABLE_DEVICES; ++i) KD_TRY(print_measured(table, row, i));
    printf("\n");
    fflush(stdout);
    return KD_OK;
}

/* Estimates the bytes of points, tree and scratch memory of a CPU build. */
static uint64_t cpu_bytes(const char *builder, uint64_t count, uint32_t dims) {
    const uint64_t scratch = pointtree_builder_find(builder)->scratch_bytes(count);
    const uint64_t points = count * dims * sizeof(float);
    return 2 * points + count * sizeof(uint32_t) + scratch / 3 * (dims > 3 ? dims : 3);
}

/* Sets a remark if the case does not fit into the machine's memory. */
static void omit_if_too_large(paper_row *row, uint64_t needed, uint64_t available, int on) {
    char text[PAPER_REMARK];
    if (needed <= available) return;
    snprintf(text, sizeof text, "needs %.0f GB", (double)needed * 1e-9 + 0.5);
    paper_row_leave(row, on, text);
}

static uint64_t host_memory(void) {
    const uint64_t bytes = machine_bytes();
    return bytes > 0 ? bytes : UINT64_MAX;
}

static kd_status build_on_device(paper_row *row, const bench_cloud *cloud,
                                 const pointtree_options *options) {
    const kd_status status = bench_tree_cuda(&row->measured[TABLE_CUDA], cloud, options, NULL);
    if (status != KD_ERROR_MEMORY) return status;
    status_clear();
    paper_row_leave(row, TABLE_CUDA, "out of memory");
    return KD_OK;
}

kd_status paper_measure_build(const paper_table *table, paper_row *row, const char *builder,
                              uint64_t count, uint32_t dims, const pointtree_options *options) {
    const uint64_t host = host_memory(), needed = cpu_bytes(builder, count, dims);
    device device;
    paper_row_begin(row, table, builder, count, dims);
    if (options->split == POINTTREE_WIDEST)
        row->measured[TABLE_CPU].variant = row->measured[TABLE_CUDA].variant = "widest";
    if (table->on_cpu) omit_if_too_large(row, needed, host, TABLE_CPU);
    if (!point_builder_cuda_find(builder) && device_cuda_count() > 0)
        paper_row_leave(row, TABLE_CUDA, "CPU alone");
    if (row->measured[TABLE_CUDA].runs && device_find(&device, "cuda:0") == KD_OK)
        omit_if_too_large(row, count * (dims * sizeof(float) + sizeof(uint32_t)),
                          device.memory_bytes, TABLE_CUDA);
    const bool on_cpu = row->measured[TABLE_CPU].runs > 0,
               on_cuda = row->measured[TABLE_CUDA].runs > 0;
    bench_cloud cloud;
    if (!on_cpu && !on_cuda) return KD_OK;
    KD_TRY(bench_cloud_open(&cloud, "uniform", count, dims, POINT_FLOAT, 0, on_cuda));
    kd_status status = KD_OK;
    if (on_cpu) status = bench_tree_cpu(&row->measured[TABLE_CPU], &cloud, options);
    if (on_cuda && status == KD_OK) status = build_on_device(row, &cloud, options);
    bench_cloud_close(&cloud);
    return status;
}

kd_status paper_uniform(float **out, uint64_t count, uint32_t dims, uint32_t seed) {
    KD_TRY(KD_RESERVE(*out, count * dims));
    for (uint64_t i = 0; i < count * dims; ++i)
        (*out)[i] = rng_draw(rng_key_make(seed, 0, i), 0, 0).value[0];
    return KD_OK;
}

bool paper_picture(char *out, size_t bytes, const bench_request *request, const char *name) {
    if (!request->folder) {
        printf("    (drawn as %s with --report FOLDER)\n", name);
        return false;
    }
    const int length = snprintf(out, bytes, "%s/%s", request->folder, name);
    return length > 0 && (size_t)length < bytes;
}
