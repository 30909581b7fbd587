/* Tables I to III of Choi and Ye, and what the authors had no time to measure: the trees' costs and
   the rays per second that they give. */
#include "core/parallel/parallel.h"
#include "tools/lab/papers/choi_ye.h"
#include <string.h>

static kd_status write_row(const bench_request *request, const choi_column *of,
                           const choi_tree *from, const char *table, double published_ms,
                           const char *published_on) {
    bench_row row = {.bench = "choi-ye", .set = of->name, .builder = from->builder};
    row.device = from->device;
    row.variant = table;
    row.n = row.triangles = of->triangles;
    row.items = (double)of->triangles;
    row.runs = request->runs;
    memcpy(row.seconds, from->seconds, sizeof row.seconds);
    memcpy(row.stage_seconds, from->stages, sizeof row.stage_seconds);
    row.checked = true;
    row.hash = from->hash;
    row.sah_cost = from->sah_cost;
    row.references_per_triangle = from->references;
    row.primary_rate = from->primary;
    row.diffuse_rate = from->diffuse;
    row.published = published_ms;
    if (published_ms > 0 && of->from)
        row.ratio = published_ms / of->from->triangles * of->triangles / (from->median * 1e3);
    row.published_on = published_ms > 0 ? published_on : NULL;
    return bench_write(request, &row);
}

/* Times are compared where the model has the paper's size, else triangles per second. */
static kd_status print_time(const bench_request *request, const choi_column *of, const char *table,
                            const choi_tree *from, double published_ms, const char *published_on) {
    if (!from) return KD_OK;
    char what[192], theirs[32] = "-", ratio[32] = "-";
    snprintf(what, sizeof what, "%s, %s on %s", of->label, from->builder, from->device);
    const double ms = from->median * 1e3, size = of->from ? of->from->triangles : 0;
    const bool same = size > 0 && of->triangles > 0.9 * size && of->triangles < 1.1 * size;
    if (size > 0) {
        snprintf(theirs, sizeof theirs, "%.4g", same ? published_ms : size / published_ms * 1e-3);
        snprintf(ratio, sizeof ratio, "%.3g", published_ms / size * of->triangles / ms);
    }
    if (size > 0 && same) snprintf(ratio, sizeof ratio, "%.3g", published_ms / ms);
    printf("%-40s %12s %12.4g %6s %8s\n", what, theirs,
           same || size <= 0 ? ms : of->triangles / ms * 1e-3, same || size <= 0 ? "ms" : "M/s",
           ratio);
    return write_row(request, of, from, table, published_ms, published_on);
}

static void print_head(const char *title, const char *devices, const char *unit) {
    printf("%s\n%-40s %12s %12s %6s %8s\n%-40s on %s\n", title, "case", "published", "ours", unit,
           "ratio", "", devices);
}

static const char serial[] = "a CPU, one thread", gpu[] = "NVIDIA GeForce RTX 2080",
                  eight[] = "a CPU, 8 threads";

static kd_status print_table_1(const bench_request *request, const choi_column *columns,
                               int count) {
    char devices[128];
    snprintf(devices, sizeof devices, "%s and %s", serial, gpu);
    print_head("Choi and Ye 2020, Table I: construction, serial and on a GPU", devices, "unit");
    for (const choi_column *c = columns; c < columns + count; ++c) {
        const choi_model none = {0}, *from = c->from ? c->from : &none;
        KD_TRY(print_time(request, c, "I", choi_find(c, "sweep", "cpu"), from->serial_ms, serial));
        KD_TRY(print_time(request, c, "I", choi_find(c, "zhou", "cuda:0"), from->gpu_ms, gpu));
        KD_TRY(print_time(request, c, "I", choi_find(c, "binned", "cuda:0"), from->gpu_ms, gpu));
    }
    return KD_OK;
}

static kd_status print_table_3(const bench_request *request, const choi_column *columns,
                               int count) {
    char devices[128];
    snprintf(devices, sizeof devices, "%s; ours on %d", eight, parallel_threads());
    print_head("Table III: construction on all cores", devices, "unit");
    for (const choi_column *c = columns; c < columns + count; ++c) {
        const choi_model none = {0}, *from = c->from ? c->from : &none;
        KD_TRY(print_time(request, c, "III", choi_find(c, "parallel", "cpu"), from->threads8_ms,
                          eight));
        KD_TRY(
            print_time(request, c, "III", choi_find(c, "zhou", "cpu"), from->threads8_ms, eight));
    }
    return KD_OK;
}

static void print_stages(const choi_column *columns, int count) {
    static const char *const stages[TRITREE_STAGES] = {"Init", "Large", "Small", "Other"};
    print_head("Table II: stages, per cent of the time", "NVIDIA GeForce RTX 2080", "unit");
    for (const choi_column *c = columns; c < columns + count; ++c)
        for (int i = 0; i < TABLE_DEVICES; ++i) {
            const choi_tree *from = choi_find(c, "zhou", i == TABLE_CPU ? "cpu" : "cuda:0");
            if (!from) continue;
            double whole = 0;
            for (int k = 0; k < TRITREE_STAGES; ++k) whole += from->stages[k];
            for (int k = 0; k < TRITREE_STAGES; ++k) {
                char what[192], theirs[32] = "-";
                snprintf(what, sizeof what, "%s, zhou on %s, %s", c->label, from->device,
                         stages[k]);
                if (c->from) snprintf(theirs, sizeof theirs, "%.4g", c->from->share[k]);
                printf("%-40s %12s %12.3g %6s %8s\n", what, theirs,
                       whole > 0 ? 100 * from->stages[k] / whole : 0, "%", "-");
            }
        }
}

/* A frame: a primary ray for each of a million pixels, nothing else. */
static void print_trees(const bench_request *request, const choi_column *columns, int count) {
    static const double pixels = 1024.0 * 1024;
    printf("All trees: C_t 1.5, C_i 1, empty factor 1; rays on %s; frames of 1024 x 1024 primary "
           "rays\n%-40s %9s %9s %9s %6s %12s %12s %9s\n",
           bench_wants_cuda(request) ? "cuda:0" : "the CPU", "case", "SAH cost", "to sweep",
           "refs/tri", "depth", "primary M/s", "diffuse M/s", "frames/s");
    for (const choi_column *c = columns; c < columns + count; ++c)
        for (int i = 0; i < c->count; ++i) {
            const choi_tree *from = &c->results[i];
            char what[192];
            snprintf(what, sizeof what, "%s, %s on %s", c->label, from->builder, from->device);
            printf("%-40s %9.2f %9.3f %9.2f %6u %12.4g %12.4g %9.4g\n", what, from->sah_cost,
                   from->sah_cost / c->results[0].sah_cost, from->references, from->depth,
                   from->primary * 1e-6, from->diffuse * 1e-6, from->primary / pixels);
        }
}

kd_status choi_print(const bench_request *request, const choi_column *columns, int count,
                     unsigned parts) {
    if (parts & CHOI_TABLE_1) KD_TRY(print_table_1(request, columns, count));
    if (parts & CHOI_TABLE_3) KD_TRY(print_table_3(request, columns, count));
    if (parts & CHOI_TABLE_2) print_stages(columns, count);
    if (parts & CHOI_FRAMES) print_trees(request, columns, count);
    return KD_OK;
}
