#include "tools/lab/choi_ye.h"
#include "accel/tree/tritree.h"
#include "core/hash.h"
#include "core/memory.h"
#include "core/parallel/parallel.h"
#include "tools/lab/bench/build.h"
#include <ctype.h>
#include <string.h>

static const choi_model paper[] = {
    {"bunny", "gen:blob:69451", "gen:blob:4000", 69000, 73.8, 25.1, 26.8, {0.51, 72.8, 21.9, 4.82}},
    {"fairy",
     "gen:room:172000",
     "gen:room:8000",
     172000,
     177.0,
     62.4,
     70.1,
     {0.55, 79.1, 15.4, 4.98}},
    {"dragon",
     "gen:blob:202520",
     "gen:blob:8000",
     203000,
     216.4,
     39.6,
     93.5,
     {0.63, 70.0, 20.8, 8.57}},
    {"happy",
     "gen:blob:293231",
     "gen:blob:12000",
     293000,
     317.6,
     46.0,
     148.6,
     {0.71, 74.1, 23.3, 1.88}},
    {"angel",
     "gen:blob:474000",
     "gen:blob:16000",
     474000,
     538.5,
     71.2,
     318.5,
     {0.76, 70.0, 22.1, 7.12}},
};
enum { PAPER = sizeof paper / sizeof *paper };

const choi_tree *choi_find(const choi_column *column, const char *builder,
                           const char *device_name) {
    for (int i = 0; i < column->count; ++i)
        if (strcmp(column->results[i].row.builder, builder) == 0 &&
            strcmp(column->results[i].row.device, device_name) == 0)
            return &column->results[i];
    return NULL;
}

static kd_status cast(const bench_request *request, const tritree *tree, const char *set,
                      double *rate, uint64_t *hash) {
    const int32_t side = request->quick ? 128 : 1024;
    const bench_rays_request rays_request = {tree, side, side, 1, 0};
    bench_row row = {.device = bench_selects_cuda(request) ? "cuda:0" : "cpu",
                     .runs = request->runs};
    bench_rays rays;
    ray_hit *hits = NULL;
    KD_TRY(bench_rays_open(&rays, &rays_request, set));
    kd_status status = KD_OK;
    KD_TRY_GOTO(KD_RESERVE(hits, rays.count));
    KD_TRY_GOTO(bench_rays_cast(&row, tree, &rays, TRACE_ONCE, hits));
    *rate = (double)rays.count / bench_summarise(&row).median;
    *hash = hash_bytes(hits, rays.count * sizeof *hits);
done:
    memory_free(hits);
    bench_rays_close(&rays);
    return status;
}

/* Adds a node and its subtree to the column's levels; returns the number of references below the
   node. */
static double count_levels(choi_column *column, const tritree *tree, uint32_t at, uint32_t level) {
    const tritree_node node = tree->nodes[at];
    double below = 0;
    if (tritree_is_leaf(node))
        below = (double)tritree_count(node);
    else
        for (uint32_t side = 0; side < 2; ++side)
            below += count_levels(column, tree, tritree_left(node) + side, level + 1);
    if (level < CHOI_LEVELS) {
        ++column->level_nodes[level];
        column->level_triangles[level] += below;
    }
    return below;
}

/* Checks the tree and measures its statistics and rays. */
static kd_status take_tree(const bench_request *request, choi_column *column, choi_tree *out,
                           const tritree *tree) {
    uint64_t primary = 0, diffuse = 0;
    KD_TRY(bench_take_tree(&out->row, tree, true));
    out->depth = tree->statistics.depth;
    if (out == column->results) count_levels(column, tree, 0, 0);
    KD_TRY(cast(request, tree, "primary", &out->row.primary_rate, &primary));
    KD_TRY(cast(request, tree, "diffuse", &out->row.diffuse_rate, &diffuse));
    out->hits = hash_combine(primary, &diffuse, sizeof diffuse);
    KD_REQUIRE(out->hits == column->results[0].hits || out == column->results, KD_ERROR_CHECK,
               "%s: rays hit different triangles in the trees of %s and %s", column->name,
               out->row.builder, column->results[0].row.builder);
    return KD_OK;
}

static choi_tree *new_tree(const bench_request *request, choi_column *column, const char *builder,
                           const char *device_name) {
    choi_tree *out = &column->results[column->count++];
    out->row = (bench_row){.set = column->name, .builder = builder, .device = device_name};
    out->row.n = out->row.triangles = column->triangles;
    out->row.items = (double)column->triangles;
    out->row.runs = request->runs;
    return out;
}

static kd_status build_on_cpu(const bench_request *request, const bench_model *model,
                              choi_column *column, const char *builder) {
    choi_tree *out = new_tree(request, column, builder, "cpu");
    const tritree_options options = tritree_options_default();
    for (int run = 0; run < request->runs; ++run) {
        tritree tree;
        KD_TRY(tritree_open(&tree, &model->input, &options, builder, NULL));
        out->row.seconds[run] = tree.statistics.build_seconds;
        memcpy(out->row.stage_seconds, tree.stage_seconds, sizeof out->row.stage_seconds);
        const kd_status status = run == 0 ? take_tree(request, column, out, &tree) : KD_OK;
        tritree_close(&tree);
        KD_TRY(status);
    }
    out->median = bench_summarise(&out->row).median;
    return KD_OK;
}

static kd_status build_on_cuda(const bench_request *request, const bench_model *model,
                               choi_column *column, const tritree_builder_cuda *builder) {
    choi_tree *out = new_tree(request, column, builder->name, "cuda:0");
    const tritree_options options = tritree_options_default();
    tritree_build_memory memory;
    tritree tree;
    memset(&tree, 0, sizeof tree);
    tritree_built built;
    KD_TRY(tritree_build_memory_build(&memory, &built, &model->input, &options, builder));
    kd_status status = KD_OK;
    KD_TRY_GOTO(tritree_build_download(&memory, &tree, &model->input));
    KD_TRY_GOTO(bench_build_time(&out->row, builder, &memory));
    KD_TRY_GOTO(bench_build_stages(&out->row, builder, &memory));
    KD_TRY_GOTO(take_tree(request, column, out, &tree));
    out->median = bench_summarise(&out->row).median;
done:
    tritree_close(&tree);
    tritree_build_memory_close(&memory);
    return status;
}

static const choi_model *find_paper(const char *path) {
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    for (int i = 0; i < PAPER; ++i) {
        const char *paper_name = paper[i].name;
        size_t same = 0;
        while (paper_name[same] && tolower((unsigned char)name[same]) == paper_name[same]) ++same;
        if (!paper_name[same]) return &paper[i];
    }
    return NULL;
}

kd_status choi_measure(const bench_request *request, choi_column *column, const char *path) {
    bench_model model;
    KD_TRY(bench_model_open(&model, path));
    column->path = path;
    snprintf(column->name, sizeof column->name, "%s", model.name);
    if (column->model && strncmp(path, "gen:", 4) == 0)
        snprintf(column->label, sizeof column->label, "%s (%s)", column->model->name, column->name);
    else
        snprintf(column->label, sizeof column->label, "%s", column->name);
    column->triangles = model.input.triangle_count;
    kd_status status = KD_OK;
    KD_TRY_GOTO(build_on_cpu(request, &model, column, "sweep"));
    KD_TRY_GOTO(build_on_cpu(request, &model, column, "parallel"));
    KD_TRY_GOTO(build_on_cpu(request, &model, column, "zhou"));
    if (bench_selects_cuda(request))
        for (const tritree_builder_cuda *const *row = tritree_builders_cuda; *row; ++row)
            if (column->count < CHOI_RESULTS)
                KD_TRY_GOTO(build_on_cuda(request, &model, column, *row));
done:
    bench_model_close(&model);
    return status;
}

static kd_status measure_all(const bench_request *request, choi_column *columns, const char **paths,
                             int count) {
    for (int i = 0; i < count; ++i) {
        const char *stand_in =
            i < PAPER ? (request->quick ? paper[i].quick : paper[i].stand_in) : NULL;
        paths[i] = request->models.count ? request->models.items[i] : stand_in;
        columns[i].model = request->models.count ? find_paper(paths[i]) : &paper[i];
        KD_TRY(choi_measure(request, &columns[i], paths[i]));
    }
    return KD_OK;
}

kd_status table_choi_ye(const bench_request *request, unsigned parts) {
    choi_column *columns = NULL;
    const char *paths[BENCH_LIST_MAX];
    const int count = request->models.count ? request->models.count : PAPER;
    bench_request bench = *request;
    if (request->quick) bench.runs = 1;
    kd_status status = KD_OK;
    KD_TRY_GOTO(KD_RESERVE_ZEROED(columns, (uint64_t)count));
    KD_TRY_GOTO(measure_all(&bench, columns, paths, count));
    if (!request->models.count)
        printf("no --models: generated blobs and a room of %s replace\n"
               "bunny, fairy, dragon, happy and angel\n",
               bench.quick ? "reduced size" : "the paper's sizes");
    if (device_cuda_count() == 0)
        printf("no GPU: the rows of Tables I and II that need one are skipped\n");
    KD_TRY_GOTO(choi_print(&bench, columns, count, parts));
    KD_TRY_GOTO(choi_figures(&bench, columns, count, parts));
    for (int i = 0; i < count && parts & CHOI_THREADS; ++i)
        KD_TRY_GOTO(choi_threads(&bench, &columns[i], paths[i]));
done:
    memory_free(columns);
    return status;
}

bench_row choi_row(const choi_column *column, const choi_tree *tree, double published_ms,
                   const char *on) {
    bench_row row = tree->row;
    row.published = published_ms;
    row.published_on = published_ms > 0 ? on : NULL;
    if (published_ms > 0 && column->model)
        row.ratio =
            published_ms / column->model->triangles * column->triangles / (tree->median * 1e3);
    return row;
}

/* Compares times if the model has the paper's size, else triangles per second. */
static kd_status print_time(const bench_request *request, const choi_column *column,
                            const char *table, const choi_tree *tree, double published_ms,
                            const char *published_on) {
    if (!tree) return KD_OK;
    char label[192], published[32] = "-", ratio[32] = "-";
    snprintf(label, sizeof label, "%s, %s on %s", column->label, tree->row.builder,
             tree->row.device);
    const double ms = tree->median * 1e3, size = column->model ? column->model->triangles : 0;
    const bool same = size > 0 && column->triangles > 0.9 * size && column->triangles < 1.1 * size;
    if (size > 0) {
        snprintf(published, sizeof published, "%.4g",
                 same ? published_ms : size / published_ms * 1e-3);
        snprintf(ratio, sizeof ratio, "%.3g", published_ms / size * column->triangles / ms);
    }
    if (size > 0 && same) snprintf(ratio, sizeof ratio, "%.3g", published_ms / ms);
    printf("%-40s %12s %12.4g %6s %8s\n", label, published,
           same || size <= 0 ? ms : column->triangles / ms * 1e-3, same || size <= 0 ? "ms" : "M/s",
           ratio);
    bench_row row = choi_row(column, tree, published_ms, published_on);
    row.bench = "choi-ye";
    row.variant = table;
    return bench_write(request, &row);
}

static void print_head(const char *title, const char *devices, const char *unit) {
    printf("%s\n%-40s %12s %12s %6s %8s\n%-40s on %s\n", title, "case", "published", "Kandela",
           unit, "ratio", "", devices);
}

static const char serial[] = "a CPU, one thread", gpu[] = "NVIDIA GeForce RTX 2080",
                  eight[] = "a CPU, 8 threads";

static kd_status print_table_1(const bench_request *request, const choi_column *columns,
                               int count) {
    char devices[128];
    snprintf(devices, sizeof devices, "%s and %s", serial, gpu);
    print_head("Choi and Ye 2020, Table I: construction, serial and on a GPU", devices, "unit");
    for (const choi_column *c = columns; c < columns + count; ++c) {
        const choi_model none = {0}, *from = c->model ? c->model : &none;
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
        const choi_model none = {0}, *from = c->model ? c->model : &none;
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
            for (int k = 0; k < TRITREE_STAGES; ++k) whole += from->row.stage_seconds[k];
            for (int k = 0; k < TRITREE_STAGES; ++k) {
                char label[192], published[32] = "-";
                snprintf(label, sizeof label, "%s, zhou on %s, %s", c->label, from->row.device,
                         stages[k]);
                if (c->model) snprintf(published, sizeof published, "%.4g", c->model->share[k]);
                printf("%-40s %12s %12.3g %6s %8s\n", label, published,
                       whole > 0 ? 100 * from->row.stage_seconds[k] / whole : 0, "%", "-");
            }
        }
}

/* A frame consists of one primary ray for each of a million pixels. */
static void print_trees(const bench_request *request, const choi_column *columns, int count) {
    static const double pixels = 1024.0 * 1024;
    printf("All trees: C_t 1.5, C_i 1, empty factor 1; rays on %s; frames of 1024 x 1024 primary "
           "rays\n%-40s %9s %9s %9s %6s %12s %12s %9s\n",
           bench_selects_cuda(request) ? "cuda:0" : "the CPU", "case", "SAH cost", "to sweep",
           "refs/tri", "depth", "primary M/s", "diffuse M/s", "frames/s");
    for (const choi_column *c = columns; c < columns + count; ++c)
        for (int i = 0; i < c->count; ++i) {
            const choi_tree *from = &c->results[i];
            char label[192];
            snprintf(label, sizeof label, "%s, %s on %s", c->label, from->row.builder,
                     from->row.device);
            printf("%-40s %9.2f %9.3f %9.2f %6u %12.4g %12.4g %9.4g\n", label, from->row.sah_cost,
                   from->row.sah_cost / c->results[0].row.sah_cost,
                   from->row.references_per_triangle, from->depth, from->row.primary_rate * 1e-6,
                   from->row.diffuse_rate * 1e-6, from->row.primary_rate / pixels);
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
